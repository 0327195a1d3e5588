"""Sums and products of all elements up to each one; the largest elements of rows; one-hot rows; reversed sequences. What ``emit.scans`` is."""
from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir

from penstock.compiler.calls import Array, Code
from penstock.compiler.layout import cut
from penstock.compiler.pieces import number
from penstock.compiler.vectors import I64, IR, LANES
from penstock.compiler.writer import Writer, element, of, word

_MANY = 1 << 15  # elements from which on several threads pay
_MOST = 64  # elements of a top-k that are kept in order while a row is gone through


class Scans:
    """Rows are independent of each other."""

    def __init__(self, emit: Any) -> None:
        self.emit = emit

    def _parts(self, rows: int, work: int) -> list[tuple[int, int]]:
        return cut(rows, 2 * self.emit.threads if work >= _MANY and self.emit.threads > 1 else 1, 1)

    def cumulative(self, array: Array, axis: int, how: str, exclusive: bool, reverse: bool) -> Array:
        """Sums ("add") or products ("mul") along an axis."""
        if not -array.rank <= axis < array.rank:
            self.emit.unsupported(f"axis {axis} of rank {array.rank}")
        kind = element(array.dtype)
        result = self.emit.empty(array.shape, array.dtype)
        if not array.size:
            return result
        axis %= array.rank
        count, inner = array.shape[axis], math.prod(array.shape[axis + 1:])
        first, step = ((count - 1) * inner, -inner) if reverse else (0, inner)
        code = Code.of(f"cumulative {how} {array.dtype} {exclusive}", lambda: _build_cumulative(how, kind, exclusive))
        parts = self._parts(array.size // (count * inner), array.size)
        self.emit.call(code, [self.emit.contiguous(array), result], [[start, stop, count, inner, first, step] for start, stop in parts], "cumulative",
                       flops=array.size)
        return result

    def top_k(self, array: Array, k: int) -> tuple[Array, Array]:
        """The k largest of each row, largest first, of equal ones the earlier first; and where they stand. NaNs are larger than all numbers."""
        if not array.rank or not 0 <= k <= array.shape[-1] or k > _MOST:
            self.emit.unsupported(f"{k} elements of rows of {array.shape[-1:]}")
        kind = element(array.dtype)
        shape = [*array.shape[:-1], k]
        values, indices = self.emit.empty(shape, array.dtype), self.emit.empty(shape, np.int32)
        if values.size:
            length = array.shape[-1]
            code = Code.of(f"top_k {array.dtype}", lambda: _build_top_k(kind, array.dtype.kind))
            self.emit.call(code, [self.emit.contiguous(array), values, indices],
                           [[start, stop, length, k] for start, stop in self._parts(array.size // length, array.size)], "top_k", writes=2)
        return values, indices

    def one_hot(self, indices: Array, depth: int, on_value: Array, off_value: Array, axis: int) -> Array:
        """``off_value`` everywhere but where an index says."""
        if depth < 0 or not -1 <= axis <= indices.rank or on_value.dtype.hasobject:
            self.emit.unsupported("the depth or the axis does not fit")
        axis = indices.rank if axis == -1 else axis
        result = self.emit.empty([*indices.shape[:axis], depth, *indices.shape[axis:]], on_value.dtype)
        self.emit.copy(off_value, result)
        if result.size:
            rows, inner = math.prod(indices.shape[:axis]), math.prod(indices.shape[axis:])
            size, kind = on_value.dtype.itemsize, indices.dtype
            code = Code.of(f"one_hot {kind} {size}", lambda: _build_one_hot(8 * kind.itemsize, kind.kind == "u", size))
            self.emit.call(code, [self.emit.contiguous(indices), on_value, result], [[rows, inner, depth]], "one_hot")
        return result

    def reverse_sequence(self, array: Array, lengths: Array, seq_axis: int, batch_axis: int) -> Array:
        """Per entry of the batch, the first elements of a sequence backwards."""
        rank = array.rank
        if seq_axis == batch_axis or not (0 <= seq_axis < rank and 0 <= batch_axis < rank) or lengths.shape != (array.shape[batch_axis],):
            self.emit.unsupported("the axes or the lengths do not fit")
        extent = array.shape[seq_axis]
        lengths = self.emit.index.check(lengths, extent + 1)
        array, result = self.emit.contiguous(array), self.emit.empty(array.shape, array.dtype)
        if not array.size:
            return result
        low, high = sorted((seq_axis, batch_axis))
        outer, middle, inner = (math.prod(array.shape[a:b]) for a, b in ((0, low), (low + 1, high), (high + 1, rank)))
        first, second = array.shape[low], array.shape[high]
        size, kind = array.dtype.itemsize, lengths.dtype
        word(size)
        code = Code.of(f"reverse_sequence {kind} {size} {seq_axis < batch_axis}", lambda: _build_reverse(8 * kind.itemsize, size, seq_axis < batch_axis))
        self.emit.call(code, [array, lengths, result], [[start, stop, first, middle, second, inner * size] for start, stop in self._parts(outer, array.size)],
                       "reverse_sequence")
        return result


def _build_cumulative(how: str, kind: ir.Type, exclusive: bool) -> str:
    w = Writer(["source", "result"], ["first", "last", "count", "inner", "start", "step"])
    b = w.b
    join = getattr(b, how if isinstance(kind, ir.IntType) else "f" + how)
    neutral = {"add": 0, "mul": 1}[how]
    with w.range(w.last, w.first) as outer:
        origin = b.add(b.mul(b.mul(outer, w.count), w.inner), w.start)

        def column(index: IR, lanes: int) -> None:
            total = w.variable(of(kind, lanes), w.same(kind, neutral, lanes))
            with w.range(w.count) as position:
                at = b.add(b.add(origin, b.mul(position, w.step)), index)
                before = b.load(total, typ=of(kind, lanes))
                after = join(before, w.load(w.item(w.source, at, kind), kind, lanes))
                b.store(after, total)
                w.store(before if exclusive else after, w.item(w.result, at, kind), kind)

        w.strips(w.inner, column)
    return w.finish()


def _build_top_k(kind: ir.Type, letter: str) -> str:
    """A sorted list of the best so far; most vectors hold nothing that is larger than its last element, and are passed over."""
    w = Writer(["source", "values", "indices"], ["first", "last", "length", "k"])
    b, small = w.b, ir.IntType(32)

    def larger(x: IR, y: IR) -> IR:
        if letter != "f":
            return (b.icmp_signed if letter == "i" else b.icmp_unsigned)(">", x, y)
        return b.or_(b.fcmp_ordered(">", x, y), b.and_(b.fcmp_unordered("uno", x, x), b.fcmp_ordered("ord", y, y)))

    with w.range(w.last, w.first) as row:
        source, values = w.item(w.source, b.mul(row, w.length), kind), w.item(w.values, b.mul(row, w.k), kind)
        indices = w.item(w.indices, b.mul(row, w.k), small)
        filled = w.variable(I64, number(0))

        def insert(index: IR) -> None:
            value = w.load(w.item(source, index, kind), kind)
            have = b.load(filled, typ=I64)
            full = b.icmp_signed("==", have, w.k)
            place = w.variable(I64, b.select(full, b.sub(w.k, number(1)), have))
            lowest = w.load(w.item(values, b.sub(w.k, number(1)), kind), kind)
            with b.if_then(b.or_(b.not_(full), larger(value, lowest))):
                head, shift, done = (b.append_basic_block(name) for name in ("head", "shift", "placed"))
                b.branch(head)
                b.position_at_end(head)
                at = b.load(place, typ=I64)
                before = w.most(b.sub(at, number(1)), number(0))
                other = w.load(w.item(values, before, kind), kind)
                b.cbranch(b.and_(b.icmp_signed(">", at, number(0)), larger(value, other)), shift, done)
                b.position_at_end(shift)
                w.store(other, w.item(values, at, kind), kind)
                w.store(w.load(w.item(indices, before, small), small), w.item(indices, at, small), small)
                b.store(before, place)
                b.branch(head)
                b.position_at_end(done)
                w.store(value, w.item(values, at, kind), kind)
                w.store(b.trunc(index, small), w.item(indices, at, small), small)
                b.store(w.least(b.add(have, number(1)), w.k), filled)

        with w.range(w.k) as index:  # what is compared with must have been written
            w.store(w.same(kind, 0, 1), w.item(values, index, kind), kind)

        def look(index: IR, lanes: int) -> None:
            if lanes == 1:
                insert(index)
                return
            lowest = w.load(w.item(values, b.sub(w.k, number(1)), kind), kind)
            some = larger(w.load(w.item(source, index, kind), kind, lanes), w.spread(lowest, lanes))
            some = b.icmp_unsigned("!=", b.bitcast(some, ir.IntType(lanes)), ir.Constant(ir.IntType(lanes), 0))
            with b.if_then(b.or_(some, b.icmp_signed("<", b.load(filled, typ=I64), w.k))), w.range(b.add(index, number(lanes)), index) as each:
                insert(each)

        w.strips(w.length, look, LANES)
    return w.finish()


def _build_one_hot(bits: int, unsigned: bool, itemsize: int) -> str:
    w = Writer(["indices", "on", "result"], ["rows", "inner", "depth"])
    b, kind = w.b, word(itemsize)
    value = w.load(w.on, kind)
    with w.range(w.rows) as row, w.range(w.inner) as column:
        index = w.load(w.item(w.indices, b.add(b.mul(row, w.inner), column), ir.IntType(bits)), ir.IntType(bits))
        if bits < 64:
            index = (b.zext if unsigned else b.sext)(index, I64)
        with b.if_then(b.icmp_unsigned("<", index, w.depth)):
            w.store(value, w.item(w.result, b.add(b.mul(b.add(b.mul(row, w.depth), index), w.inner), column), kind), kind)
    return w.finish()


def _build_reverse(bits: int, itemsize: int, sequence_first: bool) -> str:
    """Lengths are in range: they have been checked."""
    w = Writer(["source", "lengths", "result"], ["first", "last", "before", "middle", "behind", "size"])
    b = w.b
    with w.range(w.last, w.first) as outer, w.range(w.before) as i, w.range(w.middle) as m, w.range(w.behind) as k:
        entry, position = (k, i) if sequence_first else (i, k)
        length = w.load(w.item(w.lengths, entry, ir.IntType(bits)), ir.IntType(bits))
        length = length if bits == 64 else b.sext(length, I64)
        inside = b.icmp_signed("<", position, length)
        origin = b.select(inside, b.sub(b.sub(length, number(1)), position), position)

        def place(at: IR) -> IR:
            x, y = (at, k) if sequence_first else (i, at)
            line = b.add(b.mul(b.add(b.mul(outer, w.before), x), w.middle), m)
            return b.mul(b.add(b.mul(line, w.behind), y), w.size)

        w.copy_bytes(w.at(w.result, place(position)), w.at(w.source, place(origin)), w.size)
    return w.finish()
