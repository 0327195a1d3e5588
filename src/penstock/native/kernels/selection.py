"""What is chosen in the step: boxes that do not overlap, positions of elements that are not zero. What ``emit.select`` is.

Results have as many rows as there may be, the first of which count; the others are zeros. Their number is a result of its own.
"""
from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir

from penstock.graph.dtypes import as_dtype
from penstock.native.calls import Array, Code
from penstock.native.vector.pieces import number
from penstock.native.vector.types import NARROW
from penstock.native.vector.vectors import I32, I64, IR
from penstock.native.vector.writer import FLOAT, Writer, element, word


class Selection:
    """Each call is one part: what is chosen depends on what was chosen before."""

    def __init__(self, emit: Any) -> None:
        self.emit = emit

    def boxes(self, boxes: Array, scores: Array, most: int, overlap: Array, least: Array) -> tuple[Array, Array]:
        """At most so many boxes by falling score, above ``least``, none of which overlaps a better one by more than ``overlap``."""
        emit = self.emit
        if boxes.rank != 2 or boxes.shape[1] != 4 or scores.shape != boxes.shape[:1] or most < 0 or overlap.rank or least.rank:
            emit.unsupported("the shapes do not fit")
        if not {boxes.dtype, scores.dtype, overlap.dtype, least.dtype} <= {np.dtype(np.float32)}:
            emit.unsupported("boxes that are not of float32")
        chosen, count = emit.empty([most], np.int32), emit.empty([], np.int32)
        length = boxes.shape[0]
        ranks = emit.order.sort(scores, length)[1] if length else emit.empty([0], np.int32)
        code = Code.of("suppress boxes", lambda: _Suppress().text)
        operands = [emit.contiguous(boxes), emit.contiguous(scores), ranks, overlap, least, chosen, count, emit.status]
        emit.call(code, operands, [[length, most]], "suppress", writes=3)
        return chosen, count

    def positions(self, array: Array) -> tuple[Array, Array]:
        """The positions of the elements that are not zero, a row for each."""
        emit = self.emit
        if not array.rank or as_dtype(array.dtype) in NARROW:
            emit.unsupported("a scalar, or elements of 16 bits")
        rows, count = emit.empty([array.size, array.rank], np.int64), emit.empty([], np.int32)
        code = Code.of(f"positions {array.dtype} {array.rank}", lambda: _build_positions(array.dtype, array.rank))
        emit.call(code, [emit.contiguous(array), rows, count], [[array.size, *array.shape]], "positions", writes=2)
        return rows, count

    def counted_shape(self, array: Array, count: Array, dtype: np.dtype) -> Array:
        """The shape of an array of which only so many rows count."""
        return self._counted(count, [1, *array.shape[1:]], [1] + [0] * (array.rank - 1), dtype, [array.rank])

    def counted_size(self, array: Array, count: Array, dtype: np.dtype) -> Array:
        """The number of elements of an array of which only so many rows count."""
        return self._counted(count, [int(np.prod(array.shape[1:]))], [1], dtype, [])

    def _counted(self, count: Array, numbers: list[int], times: list[int], dtype: np.dtype, shape: list[int]) -> Array:
        """Numbers, some of which are to be multiplied by the count."""
        result = self.emit.empty(shape, dtype)
        code = Code.of(f"counted {times} {np.dtype(dtype)}", lambda: _build_counted(times, 8 * np.dtype(dtype).itemsize))
        self.emit.call(code, [count, result], [numbers], "counted")
        return result


class _Suppress:
    """The kernel. Operands as in ``Selection.boxes``, ``ranks`` being the boxes by falling score; numbers: how many there are, and are wanted."""

    def __init__(self) -> None:
        self.w = w = Writer(["boxes", "scores", "ranks", "overlap", "least", "chosen", "count", "status"], ["length", "most"])
        self.b = b = w.b
        most, least = w.load(w.overlap, FLOAT), w.load(w.least, FLOAT)
        fits = b.and_(b.fcmp_ordered(">=", most, ir.Constant(FLOAT, 0.0)), b.fcmp_ordered("<=", most, ir.Constant(FLOAT, 1.0)))
        with b.if_then(b.not_(fits), likely=False):
            b.store(number(1), w.status)
            b.ret_void()
        w.clear_bytes(w.chosen, b.mul(w.most, number(4)))
        have = w.variable(I64, number(0))
        with w.range(w.length) as rank:
            index = w.load(w.item(w.ranks, rank, I32), I32)
            score = w.load(w.item(w.scores, b.zext(index, I64), FLOAT), FLOAT)
            now = b.load(have, typ=I64)
            with b.if_then(b.and_(b.fcmp_ordered(">", score, least), b.icmp_signed("<", now, w.most))):
                free = w.variable(I64, number(1))
                box = self._corners(index)
                with w.range(now) as other:
                    better = self._corners(w.load(w.item(w.chosen, other, I32), I32))
                    b.store(b.select(b.fcmp_ordered("<=", self._overlap(box, better), most), b.load(free, typ=I64), number(0)), free)
                with b.if_then(b.icmp_signed("!=", b.load(free, typ=I64), number(0))):
                    w.store(index, w.item(w.chosen, now, I32), I32)
                    b.store(b.add(now, number(1)), have)
        w.store(b.trunc(b.load(have, typ=I64), I32), w.count, I32)
        self.text = w.finish()

    def _corners(self, index: IR) -> list[IR]:
        """Of a box: least y and x, largest y and x."""
        w, b = self.w, self.b
        start = b.mul(b.zext(index, I64), number(4))
        sides = [w.load(w.item(w.boxes, b.add(start, number(k)), FLOAT), FLOAT) for k in range(4)]
        return [self._less(sides[0], sides[2]), self._less(sides[1], sides[3]), self._more(sides[0], sides[2]), self._more(sides[1], sides[3])]

    def _less(self, x: IR, y: IR) -> IR:
        return self.b.select(self.b.fcmp_ordered("<", x, y), x, y)

    def _more(self, x: IR, y: IR) -> IR:
        return self.b.select(self.b.fcmp_ordered(">", x, y), x, y)

    def _overlap(self, box: list[IR], other: list[IR]) -> IR:
        """Intersection over union; 0 where one of the two is empty."""
        b, zero = self.b, ir.Constant(FLOAT, 0.0)
        areas = [b.fmul(b.fsub(each[2], each[0]), b.fsub(each[3], each[1])) for each in (box, other)]
        sides = [self._more(b.fsub(self._less(box[k + 2], other[k + 2]), self._more(box[k], other[k])), zero) for k in range(2)]
        common = b.fmul(*sides)
        there = b.and_(*[b.fcmp_ordered(">", area, zero) for area in areas])
        return b.select(there, b.fdiv(common, b.fsub(b.fadd(*areas), common)), zero)


def _build_positions(dtype: np.dtype, rank: int) -> str:
    """Operands source, rows, count; numbers: how many elements there are, the extents."""
    extents = [f"extent{axis}" for axis in range(rank)]
    w = Writer(["source", "rows", "count"], ["size", *extents])
    b, kind = w.b, word(1) if dtype == np.bool_ else element(dtype)
    w.clear_bytes(w.rows, b.mul(w.size, number(8 * rank)))
    have = w.variable(I64, number(0))
    with w.range(w.size) as index:
        value = w.load(w.item(w.source, index, kind), kind)
        there = b.fcmp_unordered("!=", value, ir.Constant(kind, 0.0)) if dtype.kind == "f" else b.icmp_signed("!=", value, ir.Constant(kind, 0))
        with b.if_then(there):
            now, left = b.load(have, typ=I64), index
            for axis in reversed(range(rank)):
                extent = getattr(w, extents[axis])
                w.store(b.urem(left, extent), w.item(w.rows, b.add(b.mul(now, number(rank)), number(axis)), I64), I64)
                left = b.udiv(left, extent)
            b.store(b.add(now, number(1)), have)
    w.store(b.trunc(b.load(have, typ=I64), I32), w.count, I32)
    return w.finish()


def _build_counted(times: list[int], bits: int) -> str:
    """Operands count, result; numbers: those that are stored, times the count where ``times`` says so."""
    names = [f"number{place}" for place in range(len(times))]
    w = Writer(["count", "result"], names)
    b, kind = w.b, ir.IntType(bits)
    count = b.sext(w.load(w.count, I32), I64)
    for place, (name, multiplied) in enumerate(zip(names, times)):
        value = getattr(w, name)
        value = b.mul(value, count) if multiplied else value
        w.store(value if bits == 64 else b.trunc(value, kind), w.item(w.result, place, kind), kind)
    return w.finish()
