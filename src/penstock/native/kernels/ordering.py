"""Sorting, searching, the largest elements of rows. What ``emit.order`` is."""
from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir

from penstock.graph.dtypes import as_dtype
from penstock.native.calls import Array, Code
from penstock.native.kernels.axes import split_work
from penstock.native.kernels.sorting import larger, scratch_bytes, search_code, sort_code
from penstock.native.vector.pieces import number
from penstock.native.vector.types import NARROW
from penstock.native.vector.vectors import I32, I64, IR, LANES
from penstock.native.vector.writer import FLOAT, Writer, element, of

_MOST = 64  # elements of a top-k that are kept in order while a row is gone through


class Ordering:
    """Rows are independent of each other."""

    def __init__(self, emit: Any) -> None:
        self.emit = emit

    def _parts(self, rows: int, work: int) -> list[tuple[int, int]]:
        return split_work(rows, self.emit.threads, work)

    def top_k(self, array: Array, k: int) -> tuple[Array, Array]:
        """The k largest of each row, largest first, of equal ones the earlier first; and where they stand. NaNs are larger than all numbers."""
        if not array.rank or not 0 <= k <= array.shape[-1]:
            self.emit.unsupported(f"{k} elements of rows of {array.shape[-1:]}")
        if k > _MOST or as_dtype(array.dtype) in NARROW:
            return self.sort(array, k)
        kind = element(array.dtype)
        shape = [*array.shape[:-1], k]
        values, indices = self.emit.empty(shape, array.dtype), self.emit.empty(shape, np.int32)
        if values.size:
            length = array.shape[-1]
            code = Code.of(f"top_k {array.dtype}", lambda: _TopK(kind, array.dtype.kind).text)
            self.emit.call(code, [self.emit.contiguous(array), values, indices],
                           [[start, stop, length, k] for start, stop in self._parts(array.size // length, array.size)], "top_k", writes=2)
        return values, indices

    def sort(self, array: Array, k: int) -> tuple[Array, Array]:
        """``top_k`` for any k: the rows are sorted."""
        length = array.shape[-1]
        if length >= 1 << 31:
            self.emit.unsupported("rows that 32 bits cannot count")
        shape = [*array.shape[:-1], k]
        values, indices = self.emit.empty(shape, array.dtype), self.emit.empty(shape, np.int32)
        if values.size:
            parts = self._parts(array.size // length, array.size)
            room = scratch_bytes(array.dtype.itemsize, length)
            scratch = self.emit.empty([len(parts), room], np.uint8)
            numbers = [[start, stop, length, k, room * part] for part, (start, stop) in enumerate(parts)]
            self.emit.call(sort_code(array.dtype), [self.emit.contiguous(array), values, indices, scratch], numbers, "sort", writes=3)
        return values, indices

    def nth(self, array: Array, n: int, reverse: bool) -> Array:
        """The n-th smallest (or largest) element of each row."""
        if not array.rank or not 0 <= n < array.shape[-1]:
            self.emit.unsupported(f"element {n} of rows of {array.shape[-1:]}")
        place = n if reverse else array.shape[-1] - 1 - n
        values, _ = self.top_k(array, place + 1)
        return self.emit.move.view(lambda x: x[..., place], values)

    def search(self, rows: Array, values: Array, right: bool, dtype: np.dtype) -> Array:
        """Where each value would be inserted into its sorted row: before its equals, or behind them."""
        if rows.rank != 2 or values.rank != 2 or rows.shape[0] != values.shape[0] or rows.dtype != values.dtype:
            self.emit.unsupported("the shapes do not fit")
        result = self.emit.empty(values.shape, dtype)
        if result.size:
            parts = [[*part, rows.shape[1], values.shape[1]] for part in self._parts(values.size, 8 * values.size)]
            operands = [self.emit.contiguous(rows), self.emit.contiguous(values), result]
            self.emit.call(search_code(rows.dtype, right, result.dtype), operands, parts, "search")
        return result

    def in_top_k(self, predictions: Array, targets: Array, k: int) -> Array:
        """Whether each row's target is among its k largest: fewer than k are larger, and all are finite."""
        if predictions.rank != 2 or predictions.dtype != np.float32 or targets.shape != predictions.shape[:1] or not predictions.shape[1]:
            self.emit.unsupported("the shapes do not fit")
        result = self.emit.empty(targets.shape, np.bool_)
        if result.size:
            code = Code.of(f"in_top_k {targets.dtype}", lambda: _build_in_top_k(8 * targets.dtype.itemsize))
            parts = [[start, stop, predictions.shape[1], k] for start, stop in self._parts(predictions.shape[0], predictions.size)]
            self.emit.call(code, [self.emit.contiguous(predictions), self.emit.contiguous(targets), result], parts, "in_top_k")
        return result


class _TopK:
    """The kernel: a sorted list of the best so far; most vectors hold nothing that is larger than its last element, and are passed over."""

    def __init__(self, kind: ir.Type, letter: str) -> None:
        self.w = w = Writer(["source", "values", "indices"], ["first", "last", "length", "k"])
        self.b, self.kind, self.letter = w.b, kind, letter
        with w.range(w.last, w.first) as row:
            self.source = w.item(w.source, self.b.mul(row, w.length), kind)
            self.values = w.item(w.values, self.b.mul(row, w.k), kind)
            self.indices = w.item(w.indices, self.b.mul(row, w.k), I32)
            self.filled = w.variable(I64, number(0))
            with w.range(w.k) as index:  # what is compared with must have been written
                w.store(w.splat(kind, 0, 1), w.item(self.values, index, kind), kind)
            w.strips(w.length, self._look, LANES)
        self.text = w.finish()

    def _look(self, index: IR, lanes: int) -> None:
        """One vector of the row."""
        w, b = self.w, self.b
        if lanes == 1:
            self._insert(index)
            return
        some = larger(b, self.letter, w.load(w.item(self.source, index, self.kind), self.kind, lanes), w.broadcast(self._lowest(), lanes))
        some = b.icmp_unsigned("!=", b.bitcast(some, ir.IntType(lanes)), ir.Constant(ir.IntType(lanes), 0))
        with b.if_then(b.or_(some, b.icmp_signed("<", b.load(self.filled, typ=I64), w.k))), w.range(b.add(index, number(lanes)), index) as each:
            self._insert(each)

    def _lowest(self) -> IR:
        return self.w.load(self.w.item(self.values, self.b.sub(self.w.k, number(1)), self.kind), self.kind)

    def _insert(self, index: IR) -> None:
        """One element, if it belongs into the list: those that it is larger than move down by one place."""
        w, b, kind = self.w, self.b, self.kind
        value = w.load(w.item(self.source, index, kind), kind)
        have = b.load(self.filled, typ=I64)
        full = b.icmp_signed("==", have, w.k)
        place = w.variable(I64, b.select(full, b.sub(w.k, number(1)), have))
        with b.if_then(b.or_(b.not_(full), larger(b, self.letter, value, self._lowest()))):
            head, shift, done = (b.append_basic_block(name) for name in ("head", "shift", "placed"))
            b.branch(head)
            b.position_at_end(head)
            at = b.load(place, typ=I64)
            before = w.maximum(b.sub(at, number(1)), number(0))
            other = w.load(w.item(self.values, before, kind), kind)
            b.cbranch(b.and_(b.icmp_signed(">", at, number(0)), larger(b, self.letter, value, other)), shift, done)
            b.position_at_end(shift)
            w.store(other, w.item(self.values, at, kind), kind)
            w.store(w.load(w.item(self.indices, before, I32), I32), w.item(self.indices, at, I32), I32)
            b.store(before, place)
            b.branch(head)
            b.position_at_end(done)
            w.store(value, w.item(self.values, at, kind), kind)
            w.store(b.trunc(index, I32), w.item(self.indices, at, I32), I32)
            b.store(w.minimum(b.add(have, number(1)), w.k), self.filled)


def _build_in_top_k(bits: int) -> str:
    w = Writer(["predictions", "targets", "result"], ["first", "last", "classes", "k"])
    b, lanes_kind = w.b, ir.VectorType(I32, LANES)
    zero = w.splat(I32, 0, LANES)
    with w.range(w.last, w.first) as row:
        target = w.load(w.item(w.targets, row, ir.IntType(bits)), ir.IntType(bits))
        target = target if bits == 64 else b.sext(target, I64)
        valid = b.icmp_unsigned("<", target, w.classes)
        line = w.item(w.predictions, b.mul(row, w.classes), FLOAT)
        chosen = w.load(w.item(line, b.select(valid, target, number(0)), FLOAT), FLOAT)
        more, wrong = (w.variable(lanes_kind, zero) for _ in range(2))

        def look(index: IR, lanes: int) -> None:
            value = w.load(w.item(line, index, FLOAT), FLOAT, lanes)
            above = b.fcmp_ordered(">", value, w.broadcast(chosen, lanes))
            endless = b.not_(b.fcmp_ordered("<", w.intrinsic("fabs", value), w.splat(FLOAT, np.inf, lanes)))
            for lanes_found, kept in ((above, more), (endless, wrong)):
                ones = b.zext(lanes_found, of(I32, lanes))
                ones = ones if lanes > 1 else b.insert_element(zero, ones, ir.Constant(I32, 0))
                b.store(b.add(b.load(kept, typ=lanes_kind), ones), kept)

        w.strips(w.classes, look)
        count, bad = (b.call(w.declare(f"llvm.vector.reduce.add.v{LANES}i32", I32, [lanes_kind]), [b.load(kept, typ=lanes_kind)])
                      for kept in (more, wrong))
        few = b.icmp_signed("<", b.zext(count, I64), w.k)
        inside = b.and_(b.and_(valid, few), b.icmp_signed("==", bad, ir.Constant(I32, 0)))
        w.store(b.zext(inside, ir.IntType(8)), w.item(w.result, row, ir.IntType(8)), ir.IntType(8))
    return w.finish()
