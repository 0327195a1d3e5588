"""Lookups of embeddings over padded ids (``ops/sparse/lookup.py``): rows combined, gradients handed back, rows with equal ids added up.

What ``emit.lookup`` is. An id below 0 is padding and is left out. How many distinct ids there are is known when the step runs, so arrays have room
for as many as there are ids, and what is left of it is padding again.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir

from penstock.native.calls import Array, Code
from penstock.native.kernels.axes import split_work
from penstock.native.kernels.rows import AHEAD, ask_for, load_index
from penstock.native.vector.pieces import number
from penstock.native.vector.vectors import I32, I64, IR
from penstock.native.vector.writer import DOUBLE, Writer, element, size

_LARGE = 1 << 17  # bytes moved, from which on several threads pay
_SPREAD = -7046029254386353131  # an odd number (2 ** 64 / golden ratio): multiplying by it spreads ids over the upper bits


class Lookups:
    """Rows are what lies behind the first axis."""

    def __init__(self, emit: Any) -> None:
        self.emit = emit

    def rows(self, params: Array, ids: Array, segments: Array, counts: Array, power: float) -> Array:
        """For each of the counts the sum of the params of its ids, divided by the count to the power: 0, 1/2 or 1."""
        if ids.shape != segments.shape or ids.rank != 1 or counts.rank != 1 or not params.rank or not params.contiguous:
            self.emit.unsupported("there is not one segment per id, or the params are no plain table")
        result = self.emit.empty([counts.shape[0], *params.shape[1:]], params.dtype)
        if not result.size:
            self.emit.index.check(ids, params.shape[0], negatives=True)
            return result
        operands = [self.emit.contiguous(each) for each in (params, ids, segments, counts)]
        width = math.prod(params.shape[1:])
        parts = split_work(counts.shape[0], self.emit.threads, ids.size * width * params.dtype.itemsize, _LARGE)
        self.emit.call(rows_code(params.dtype, ids.dtype, power), [*operands, result, self.emit.status],
                       [[ids.size, width, params.shape[0], *part] for part in parts], "lookup", writes=2, flops=ids.size * width)
        return result

    def gradient(self, grad: Array, segments: Array, counts: Array, power: float) -> Array:
        """The row of the gradient for each id, divided by the count to the power; 0 for padding."""
        if not grad.rank or segments.rank != 1 or grad.shape[:1] != counts.shape:
            self.emit.unsupported("the gradient does not have one row per count")
        result = self.emit.empty([segments.shape[0], *grad.shape[1:]], grad.dtype)
        if result.size:
            operands = [self.emit.contiguous(each) for each in (grad, segments, counts)]
            parts = split_work(segments.shape[0], self.emit.threads, result.nbytes, _LARGE)
            self.emit.call(gradient_code(grad.dtype, power), [*operands, result, self.emit.status],
                           [[*part, math.prod(grad.shape[1:]), grad.shape[0]] for part in parts], "lookup gradient", writes=2)
        return result

    def sums(self, values: Array, indices: Array, padded: bool) -> tuple[Array, Array]:
        """Rows with equal indices added up, and those indices; both padded."""
        if indices.rank != 1 or values.shape[:1] != indices.shape:
            self.emit.unsupported("there is not one row per index")
        count, width = indices.shape[0], math.prod(values.shape[1:])
        sums, distinct = self.emit.empty(values.shape, values.dtype), self.emit.empty(indices.shape, indices.dtype)
        if count:
            places = 1 << max(1, (2 * count - 1).bit_length())
            table = self.emit.empty([places], np.int32)
            operands = [self.emit.contiguous(values), self.emit.contiguous(indices), table, sums, distinct, self.emit.status]
            self.emit.call(sums_code(values.dtype, indices.dtype, padded), operands, [[count, width, places]], "sum duplicates", writes=4,
                           flops=values.size)
        return sums, distinct


def _weight(w: Writer, count: IR, kind: ir.Type, power: float) -> IR:
    """1 / count ** power."""
    wide = w.b.sitofp(count, DOUBLE)
    weight = w.b.fdiv(ir.Constant(DOUBLE, 1.0), w.intrinsic("sqrt", wide) if power == 0.5 else wide)
    return weight if kind == DOUBLE else w.b.fptrunc(weight, kind)


def _each(w: Writer, width: IR, kind: ir.Type, target: IR, change: Callable[[IR, int], IR]) -> None:
    """Elements of a row, written to the target."""
    w.strips(width, lambda index, lanes: w.store(change(index, lanes), w.item(target, index, kind), kind), max(32 // size(kind), 1))


# --- rows ------------------------------------------------------------------------------------------------------------

def rows_code(dtype: np.dtype, ids: np.dtype, power: float) -> Code:
    """Operands params, ids, segments (in order), counts, result, status. Numbers: ids, elements of a row, rows of params; and the rows of the result
    that belong to the part."""
    kind = element(dtype)
    return Code.of(f"lookup rows {dtype} {ids} {power}", lambda: _build_rows(kind, 8 * ids.itemsize, power))


def _build_rows(kind: ir.Type, bits: int, power: float) -> str:
    w = Writer(["params", "ids", "segments", "counts", "result", "status"], ["count", "width", "limit", "first", "last"])
    b = w.b
    row_bytes = b.mul(w.width, number(size(kind)))
    w.clear_bytes(w.at(w.result, b.mul(w.first, row_bytes)), b.mul(b.sub(w.last, w.first), row_bytes))
    final = b.sub(w.count, number(1))
    with w.range(w.count) as position:
        soon = load_index(w, w.ids, w.minimum(b.add(position, number(AHEAD)), final), bits)
        ask_for(w, w.at(w.params, b.mul(w.maximum(soon, number(0)), row_bytes)), row_bytes, False)
        segment = load_index(w, w.segments, position, 32)
        mine = b.and_(b.icmp_signed(">=", segment, w.first), b.icmp_signed("<", segment, w.last))
        with b.if_then(mine):
            row = load_index(w, w.ids, position, bits)
            with b.if_then(b.icmp_unsigned(">=", row, w.limit), likely=False):
                b.store(number(1), w.status)
                b.ret_void()
            origin, target = w.at(w.params, b.mul(row, row_bytes)), w.at(w.result, b.mul(segment, row_bytes))
            _each(w, w.width, kind, target, lambda index, lanes: b.fadd(w.load(w.item(target, index, kind), kind, lanes),
                                                                       w.load(w.item(origin, index, kind), kind, lanes)))
    if power:
        with w.range(w.last, w.first) as row:
            many = w.load(w.item(w.counts, row, I32), I32)
            with b.if_then(b.icmp_signed(">", many, ir.Constant(I32, 1))):
                weight, target = _weight(w, many, kind, power), w.at(w.result, b.mul(row, row_bytes))
                _each(w, w.width, kind, target, lambda index, lanes: b.fmul(w.load(w.item(target, index, kind), kind, lanes),
                                                                           w.broadcast(weight, lanes)))
    return w.finish()


# --- gradient --------------------------------------------------------------------------------------------------------

def gradient_code(dtype: np.dtype, power: float) -> Code:
    """Operands grad, segments, counts, result, status. Numbers: the ids of the part, elements of a row, rows of the gradient."""
    kind = element(dtype)
    return Code.of(f"lookup gradient {dtype} {power}", lambda: _build_gradient(kind, power))


def _build_gradient(kind: ir.Type, power: float) -> str:
    w = Writer(["grad", "segments", "counts", "result", "status"], ["first", "last", "width", "limit"])
    b = w.b
    row_bytes = b.mul(w.width, number(size(kind)))
    with w.range(w.last, w.first) as position:
        segment, target = load_index(w, w.segments, position, 32), w.at(w.result, b.mul(position, row_bytes))
        with b.if_else(b.icmp_signed("<", segment, number(0)), likely=False) as (nothing, something):
            with nothing:
                w.clear_bytes(target, row_bytes)
            with something:
                with b.if_then(b.icmp_signed(">=", segment, w.limit), likely=False):
                    b.store(number(1), w.status)
                    b.ret_void()
                origin = w.at(w.grad, b.mul(segment, row_bytes))
                weight = _weight(w, w.load(w.item(w.counts, segment, I32), I32), kind, power) if power else None
                _each(w, w.width, kind, target, lambda index, lanes: _times(w, w.load(w.item(origin, index, kind), kind, lanes), weight, lanes))
    return w.finish()


def _times(w: Writer, value: IR, weight: IR | None, lanes: int) -> IR:
    return value if weight is None else w.b.fmul(value, w.broadcast(weight, lanes))


# --- duplicates ------------------------------------------------------------------------------------------------------

def sums_code(dtype: np.dtype, indices: np.dtype, padded: bool) -> Code:
    """Operands values, indices, table, sums, distinct, status. Numbers: indices, elements of a row, places of the table, a power of two that is
    larger than the number of indices: a place holds 0, or the number of a distinct index, counted from 1."""
    kind = element(dtype)
    if dtype.kind != "f":
        raise AssertionError("sums of floats only")
    return Code.of(f"sum duplicates {dtype} {indices} {padded}", lambda: _build_sums(kind, 8 * indices.itemsize, padded))


def _build_sums(kind: ir.Type, bits: int, padded: bool) -> str:
    w = Writer(["values", "indices", "table", "sums", "distinct", "status"], ["count", "width", "places"])
    b, index_kind = w.b, ir.IntType(bits)
    row_bytes, mask = b.mul(w.width, number(size(kind))), b.sub(w.places, number(1))
    w.clear_bytes(w.table, b.mul(w.places, number(4)))
    many, place = w.variable(I64, number(0)), w.variable(I64, number(0))
    with w.range(w.count) as position:
        index = load_index(w, w.indices, position, bits)
        negative = b.icmp_signed("<", index, number(0))
        if not padded:
            with b.if_then(negative, likely=False):
                b.store(number(1), w.status)
                b.ret_void()
        with b.if_then(b.not_(negative)):
            spread = b.lshr(b.mul(index, number(_SPREAD)), number(32))
            b.store(b.and_(spread, mask), place)
            row, is_new = _find(w, index, place, mask, many, bits)
            origin, target = w.at(w.values, b.mul(position, row_bytes)), w.at(w.sums, b.mul(row, row_bytes))
            with b.if_else(is_new) as (first, again):
                with first:
                    _each(w, w.width, kind, target, lambda at, lanes: w.load(w.item(origin, at, kind), kind, lanes))
                with again:
                    _each(w, w.width, kind, target, lambda at, lanes: b.fadd(w.load(w.item(target, at, kind), kind, lanes),
                                                                            w.load(w.item(origin, at, kind), kind, lanes)))
    used = b.load(many, typ=I64)
    w.clear_bytes(w.at(w.sums, b.mul(used, row_bytes)), b.mul(b.sub(w.count, used), row_bytes))
    with w.range(w.count, used) as position:
        w.store(ir.Constant(index_kind, -1), w.item(w.distinct, position, index_kind), index_kind)
    return w.finish()


def _find(w: Writer, index: IR, place: IR, mask: IR, many: IR, bits: int) -> tuple[IR, IR]:
    """(the row of the sums that belongs to an index, is it new?). Looks from ``place`` on, which moves, for the index or a free place."""
    b = w.b
    look, other, step, found = (b.append_basic_block(name) for name in ("look", "other", "step", "found"))
    index_kind = ir.IntType(bits)
    b.branch(look)
    b.position_at_end(look)
    slot = w.item(w.table, b.load(place, typ=I64), I32)
    entry = w.load(slot, I32)
    free = b.icmp_signed("==", entry, ir.Constant(I32, 0))
    b.cbranch(free, found, other)
    b.position_at_end(other)
    held = load_index(w, w.distinct, b.sub(b.sext(entry, I64), number(1)), bits)
    b.cbranch(b.icmp_signed("==", held, index), found, step)
    b.position_at_end(step)
    b.store(b.and_(b.add(b.load(place, typ=I64), number(1)), mask), place)
    b.branch(look)
    b.position_at_end(found)
    is_new = b.phi(ir.IntType(1))
    is_new.add_incoming(ir.Constant(ir.IntType(1), 1), look)
    is_new.add_incoming(ir.Constant(ir.IntType(1), 0), other)
    so_far = b.load(many, typ=I64)
    with b.if_then(is_new):
        b.store(b.add(so_far, number(1)), many)
        w.store(b.trunc(b.add(so_far, number(1)), I32), slot, I32)
        w.store(index if bits == 64 else b.trunc(index, index_kind), w.item(w.distinct, so_far, index_kind), index_kind)
    return b.select(is_new, so_far, b.sub(b.sext(entry, I64), number(1))), is_new
