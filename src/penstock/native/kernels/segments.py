"""Kernels over segments: check that their ids are sorted, weigh them by their number of rows."""
from __future__ import annotations

import numpy as np
from llvmlite import ir

from penstock.native.calls import Code
from penstock.native.vector.pieces import number
from penstock.native.vector.vectors import I64, IR
from penstock.native.vector.writer import DOUBLE, FLOAT, Writer, element, of


def check_sorted_code(dtype: np.dtype, strict: bool = False) -> Code:
    """Operands ids, status; numbers count, limit: fails unless no id is less than the one before (``strict``: all are larger), and all are in
    [0, limit)."""
    return Code.of(f"check segments {dtype} {strict}", lambda: _build_check(8 * dtype.itemsize, strict))


def _wide(w: Writer, value: IR) -> IR:
    return value if value.type == I64 else w.b.sext(value, I64)


def _build_check(bits: int, strict: bool) -> str:
    w = Writer(["ids", "status"], ["count", "limit"])
    b, kind = w.b, ir.IntType(bits)
    before = w.variable(I64, number(-int(strict)))
    with w.range(w.count) as position:
        now = _wide(w, w.load(w.item(w.ids, position, kind), kind))
        wrong = b.or_(b.icmp_signed("<=" if strict else "<", now, b.load(before, typ=I64)), b.icmp_signed(">=", now, w.limit))
        with b.if_then(wrong, likely=False):
            b.store(number(1), w.status)
            b.ret_void()
        b.store(now, before)
    return w.finish()


def weights_code(ids: np.dtype, dtype: np.dtype, root: bool) -> Code:
    """Operands ids (checked), weights; numbers count, segments. A weight is 1 / rows of the segment, or 1 / the root of that."""
    kind = element(dtype)
    return Code.of(f"segment weights {ids} {dtype} {root}", lambda: _build_weights(8 * ids.itemsize, kind, root))


def _build_weights(bits: int, kind: ir.Type, root: bool) -> str:
    w = Writer(["ids", "weights"], ["count", "segments"])
    b, index, one = w.b, ir.IntType(bits), ir.Constant(kind, 1.0)
    with w.range(w.segments) as segment:
        w.store(ir.Constant(kind, 0.0), w.item(w.weights, segment, kind), kind)
    with w.range(w.count) as position:
        rows = w.item(w.weights, _wide(w, w.load(w.item(w.ids, position, index), index)), kind)
        w.store(b.fadd(w.load(rows, kind), one), rows, kind)
    with w.range(w.segments) as segment:
        place = w.item(w.weights, segment, kind)
        rows = w.load(place, kind)
        size = b.select(b.fcmp_ordered(">", rows, one), rows, one)
        wide = size if kind == DOUBLE else b.fpext(size, DOUBLE)
        weight = b.fdiv(ir.Constant(DOUBLE, 1.0), w.intrinsic("sqrt", wide) if root else wide)
        w.store(weight if kind == DOUBLE else b.fptrunc(weight, kind), place, kind)
    return w.finish()


def weigh_code(dtype: np.dtype) -> Code:
    """Operands source, weights, result (it may be the source); numbers: the range of rows, elements of a row."""
    kind = element(dtype)
    return Code.of(f"weigh rows {dtype}", lambda: _build_weigh(kind))


def _build_weigh(kind: ir.Type) -> str:
    w = Writer(["source", "weights", "result"], ["first", "last", "width"])
    b = w.b
    with w.range(w.last, w.first) as row:
        weight, start = w.load(w.item(w.weights, row, kind), kind), b.mul(row, w.width)

        def scale(index: IR, lanes: int) -> None:
            at = b.add(start, index)
            w.store(b.fmul(w.load(w.item(w.source, at, kind), kind, lanes), w.broadcast(weight, lanes)), w.item(w.result, at, kind), kind)

        w.strips(w.width, scale)
    return w.finish()


def narrow_code() -> Code:
    """Operands source (float64), result (float32); numbers: the range of elements."""
    return Code.of("narrow sums", _build_narrow)


def _build_narrow() -> str:
    w = Writer(["source", "result"], ["first", "last"])

    def narrow(index: IR, lanes: int) -> None:
        at = w.b.add(w.first, index)
        w.store(w.b.fptrunc(w.load(w.item(w.source, at, DOUBLE), DOUBLE, lanes), of(FLOAT, lanes)), w.item(w.result, at, FLOAT), FLOAT)

    w.strips(w.b.sub(w.last, w.first), narrow)
    return w.finish()
