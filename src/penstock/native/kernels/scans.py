"""Sums and products of all elements up to each one, one-hot rows, bands of matrices, reversed sequences. What ``emit.scans`` is."""
from __future__ import annotations

import math
from typing import Any

from llvmlite import ir

from penstock.native.calls import Array, Code
from penstock.native.kernels.axes import split_work
from penstock.native.vector.pieces import number
from penstock.native.vector.vectors import I64, IR
from penstock.native.vector.writer import Writer, element, of, word


class Scans:
    """Rows are independent of each other."""

    def __init__(self, emit: Any) -> None:
        self.emit = emit

    def _parts(self, rows: int, work: int) -> list[tuple[int, int]]:
        return split_work(rows, self.emit.threads, work)

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

    def band(self, array: Array, lower: int, upper: int) -> Array:
        """Matrices with zeros outside a band around the main diagonal; a negative width keeps the whole triangle."""
        rows, columns = array.shape[-2:]
        if lower > rows or upper > columns or array.dtype.hasobject:
            self.emit.unsupported("the band does not fit")
        result = self.emit.empty(array.shape, array.dtype)
        if result.size:
            numbers = [rows, columns, rows if lower < 0 else lower, columns if upper < 0 else upper, array.dtype.itemsize]
            parts = [[start, stop, *numbers] for start, stop in self._parts(array.size // columns, array.size)]
            self.emit.call(Code.of("band", _build_band), [self.emit.contiguous(array), result], parts, "band")
        return result

    def reverse_sequence(self, array: Array, lengths: Array, seq_axis: int, batch_axis: int) -> Array:
        """Per entry of the batch, the first elements of a sequence backwards."""
        rank = array.rank
        apart = seq_axis != batch_axis and 0 <= seq_axis < rank and 0 <= batch_axis < rank
        if not apart or lengths.shape != (array.shape[batch_axis],) or array.dtype.hasobject:
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
        code = Code.of(f"reverse_sequence {kind} {seq_axis < batch_axis}", lambda: _build_reverse(8 * kind.itemsize, seq_axis < batch_axis))
        parts = [[start, stop, first, middle, second, inner * size] for start, stop in self._parts(outer, array.size)]
        self.emit.call(code, [array, lengths, result], parts, "reverse_sequence")
        return result


def _build_cumulative(how: str, kind: ir.Type, exclusive: bool) -> str:
    w = Writer(["source", "result"], ["first", "last", "count", "inner", "start", "step"])
    b = w.b
    join = getattr(b, how if isinstance(kind, ir.IntType) else "f" + how)
    neutral = {"add": 0, "mul": 1}[how]
    with w.range(w.last, w.first) as outer:
        origin = b.add(b.mul(b.mul(outer, w.count), w.inner), w.start)

        def column(index: IR, lanes: int) -> None:
            total = w.variable(of(kind, lanes), w.splat(kind, neutral, lanes))
            with w.range(w.count) as position:
                at = b.add(b.add(origin, b.mul(position, w.step)), index)
                before = b.load(total, typ=of(kind, lanes))
                after = join(before, w.load(w.item(w.source, at, kind), kind, lanes))
                b.store(after, total)
                w.store(before if exclusive else after, w.item(w.result, at, kind), kind)

        w.strips(w.inner, column)
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


def _build_reverse(bits: int, sequence_first: bool) -> str:
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


def _build_band() -> str:
    w = Writer(["source", "result"], ["first", "last", "rows", "columns", "lower", "upper", "size"])
    b = w.b
    with w.range(w.last, w.first) as line:
        row, length = b.urem(line, w.rows), b.mul(w.columns, w.size)
        start = w.minimum(w.maximum(b.sub(row, w.lower), number(0)), w.columns)
        stop = w.minimum(b.add(b.add(row, w.upper), number(1)), w.columns)
        start, stop = b.mul(w.minimum(start, stop), w.size), b.mul(stop, w.size)
        source, result = w.at(w.source, b.mul(line, length)), w.at(w.result, b.mul(line, length))
        w.clear_bytes(result, start)
        w.copy_bytes(w.at(result, start), w.at(source, start), b.sub(stop, start))
        w.clear_bytes(w.at(result, stop), b.sub(length, stop))
    return w.finish()
