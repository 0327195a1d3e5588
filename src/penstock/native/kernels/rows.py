"""Kernels over rows that indices name: check the indices, gather rows, change rows by a rule.

Rows are changed in the order of the indices, so a row that is named twice is changed twice. Several threads share the work by rows, not by indices:
a part takes the indices whose row belongs to it, so no two threads ever write to the same row, and the result does not depend on how many there are.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from llvmlite import ir

from penstock.graph.dtypes import DType
from penstock.native.calls import Code
from penstock.native.vector.builder import VectorBuilder
from penstock.native.vector.elements import Elements, load_uniform
from penstock.native.vector.pieces import number
from penstock.native.vector.types import VectorValue, memory_type
from penstock.native.vector.vectors import I32, I64, IR, LANES
from penstock.native.vector.writer import Writer, of, word

AHEAD = 12  # rows that are asked for before they are needed: they lie anywhere in memory
_MOST_LINES = 8  # of a row that are asked for; behind them the CPU sees the pattern itself
Change = Callable[[VectorBuilder, list[VectorValue], list[VectorValue], list[VectorValue]], list[VectorValue]]


def load_index(w: Writer, pointer: IR, position: IR, bits: int) -> IR:
    """An index as a 64-bit number."""
    value = w.load(w.item(pointer, position, ir.IntType(bits)), ir.IntType(bits))
    return value if bits == 64 else w.b.sext(value, I64)


# --- check -----------------------------------------------------------------------------------------------------------

def check_code(dtype: np.dtype, negatives: bool) -> Code:
    """Operands indices, status; numbers count, limit: fails unless all are below the limit, and not negative unless that is allowed."""
    return Code.of(f"check indices {dtype} {negatives}", lambda: _build_check(8 * dtype.itemsize, negatives))


def _build_check(bits: int, negatives: bool) -> str:
    w = Writer(["indices", "status"], ["count", "limit"])
    b, kind = w.b, ir.IntType(bits)
    limit = w.limit if bits == 64 else b.trunc(w.minimum(w.limit, number(2 ** 31 - negatives)), kind)  # as far as the type goes
    wrong = w.variable(of(kind, LANES), w.splat(kind, 0, LANES))

    def look(index: IR, lanes: int) -> None:
        value = w.load(w.item(w.indices, index, kind), kind, lanes)
        compare = b.icmp_signed if negatives else b.icmp_unsigned
        outside = b.sext(compare(">=", value, w.broadcast(limit, lanes)), of(kind, lanes))
        so_far = b.load(wrong, typ=of(kind, LANES))
        b.store(b.or_(so_far, outside if lanes > 1 else w.broadcast(outside, LANES)), wrong)

    w.strips(w.count, look)
    some = b.icmp_unsigned("!=", b.bitcast(b.load(wrong, typ=of(kind, LANES)), ir.IntType(bits * LANES)), ir.Constant(ir.IntType(bits * LANES), 0))
    with b.if_then(some):
        b.store(number(1), w.status)
    return w.finish()


def refuse_code(needed: int) -> Code:
    """Operands bad, a number, then those that are ``needed``, which it does not look at, and status: fails if the number is not 0."""
    return Code.of(f"refuse {needed}", lambda: _build_refusal(needed))


def _build_refusal(needed: int) -> str:
    w = Writer(["bad", *(f"needed_{index}" for index in range(needed)), "status"], [])
    with w.b.if_then(w.b.icmp_unsigned("!=", w.b.load(w.bad, typ=I64), number(0))):  # else another call may have set it
        w.b.store(number(1), w.status)
    return w.finish()


def flatten_code(dtype: np.dtype) -> Code:
    """Operands positions, result, status; numbers count, depth, then per coordinate its extent and how many rows one step of it is."""
    return Code.of(f"flatten positions {dtype}", lambda: _build_flatten(8 * dtype.itemsize))


def _build_flatten(bits: int) -> str:
    w = Writer(["positions", "result", "status"], ["count", "depth"])
    b = w.b
    row = w.variable(I64, number(0))
    with w.range(w.count) as position:
        b.store(number(0), row)
        with w.range(w.depth) as axis:
            coordinate = load_index(w, w.positions, b.add(b.mul(position, w.depth), axis), bits)
            entry = w.at(w.after, b.mul(axis, number(16)))
            with b.if_then(b.icmp_unsigned(">=", coordinate, b.load(entry, typ=I64)), likely=False):
                b.store(number(1), w.status)
                b.ret_void()
            b.store(b.add(b.load(row, typ=I64), b.mul(coordinate, b.load(w.at(entry, 8), typ=I64))), row)
        w.store(b.load(row, typ=I64), w.item(w.result, position, I64), I64)
    return w.finish()


# --- gather ----------------------------------------------------------------------------------------------------------

_GATHER = ("first", "last", "limit", "length", "row", "outer_first", "outer_last", "outer_source", "outer_indices", "outer_target")


def gather_code(index: np.dtype, itemsize: int, single: bool) -> Code:
    """Operands source, indices, result, status. Numbers: the range of indices, rows that there are, elements of a row, bytes from row to row;
    then the range of times that this is done, and bytes from one time to the next in each operand. ``single``: rows of one element."""
    return Code.of(f"gather {index} {itemsize} {single}", lambda: _build_gather(8 * index.itemsize, itemsize, single))


def _build_gather(bits: int, itemsize: int, single: bool) -> str:
    w = Writer(["source", "indices", "result", "status"], _GATHER)
    b, kind = w.b, word(itemsize)
    last = b.sub(w.last, number(1))
    with w.range(w.outer_last, w.outer_first) as outer:
        source, indices, result = (w.at(pointer, b.mul(outer, step)) for pointer, step in
                                   ((w.source, w.outer_source), (w.indices, w.outer_indices), (w.result, w.outer_target)))
        with w.range(w.last, w.first) as position:
            index = load_index(w, indices, position, bits)
            with b.if_then(b.icmp_unsigned(">=", index, w.limit), likely=False):
                b.store(number(1), w.status)
                b.ret_void()
            origin, place = w.at(source, b.mul(index, w.row)), w.item(result, b.mul(position, w.length), kind)
            if single:
                w.store(w.load(origin, kind), place, kind)
            else:
                soon = load_index(w, indices, w.minimum(b.add(position, number(AHEAD)), last), bits)
                ask_for(w, w.at(source, b.mul(soon, w.row)), b.mul(w.length, number(itemsize)), False)
                _copy_row(w, origin, place, itemsize)
    return w.finish()


def _copy_row(w: Writer, origin: IR, place: IR, itemsize: int) -> None:
    kind = word(itemsize)

    def move(at: IR, lanes: int) -> None:
        w.store(w.load(w.item(origin, at, kind), kind, lanes), w.item(place, at, kind), kind)

    w.strips(w.length, move, max(64 // itemsize, 1))


def ask_for(w: Writer, row: IR, size: IR, write: bool) -> None:
    with w.range(w.minimum(size, number(64 * _MOST_LINES)), 0, 64) as offset:
        w.prefetch(w.at(row, offset), write)


# --- change ----------------------------------------------------------------------------------------------------------

@dataclass(frozen=True)
class RowRule:
    """How rows change: ``change(v, states, updates, scalars)`` gives the new states. The key names it, with all that it depends on."""

    key: str
    change: Change
    states: tuple[DType, ...]
    updates: tuple[DType, ...]
    scalars: tuple[DType, ...] = ()


_CHANGE = ("count", "width", "limit", "mask", "part", "shift")


def change_code(rule: RowRule, index: np.dtype, single: bool = False) -> Code:
    """Operands indices, updates..., scalars..., states...; numbers: indices, elements of a row, rows, and which rows belong to the part. ``single``:
    rows are one element each, and none is named twice, so that a vector holds several of them."""
    return Code.of(f"rows {rule.key} {index} {rule.states} {rule.updates} {rule.scalars} {single}",
                   lambda: _Change(rule, 8 * index.itemsize).build(single))


def row_parts(numbers: Sequence[int], row_bytes: int, parts: int) -> list[list[int]]:
    """The numbers of each part: part k of a power of two takes the rows whose number, without its last bits, ends in k.

    The last bits are left out so that neighbours in a cache line belong to the same part.
    """
    parts = 1 << (parts - 1).bit_length()
    shift = max(0, (max(64 // max(row_bytes, 1), 1) - 1).bit_length())
    return [[*numbers, parts - 1, part, shift] for part in range(parts)]


class _Change:
    """The kernel that changes rows, while it is written."""

    def __init__(self, rule: RowRule, bits: int) -> None:
        self.rule, self.bits = rule, bits
        self.updates, self.scalars, self.states = ([f"{name}{k}" for k in range(len(kinds))] for name, kinds in
                                                   (("update", rule.updates), ("scalar", rule.scalars), ("state", rule.states)))
        w = self.w = Writer(["indices", *self.updates, *self.scalars, *self.states], _CHANGE)
        self.v, self.elements = VectorBuilder(w.b), Elements(w.b)
        self.constants = [load_uniform(self.v, getattr(w, name), dtype) for name, dtype in zip(self.scalars, rule.scalars)]
        self.last = w.b.sub(w.count, number(1))

    def build(self, single: bool) -> str:
        """Its text."""
        w = self.w
        start = w.b.and_(w.count, number(-LANES)) if single else number(0)
        if single:
            with w.range(start, 0, LANES) as position:
                self._change_vector(position)
        with w.range(w.count, start) as position:
            self._change_row(position)
        return w.finish()

    def _index_at(self, position: IR) -> IR:
        return load_index(self.w, self.w.indices, position, self.bits)

    def _belongs(self, index: IR) -> IR:
        w, b = self.w, self.w.b
        inside = b.icmp_unsigned("<", index, w.limit)
        return b.and_(inside, b.icmp_unsigned("==", b.and_(b.lshr(index, w.shift), w.mask), w.part))

    def _places(self, names: Sequence[str], kinds: Sequence[DType], row: IR) -> list[IR]:
        w = self.w
        return [w.item(getattr(w, name), w.b.mul(row, w.width), memory_type(dtype)) for name, dtype in zip(names, kinds)]

    def _ask_for_row(self, position: IR) -> None:
        """Asks for the row that an index names."""
        w, b = self.w, self.w.b
        soon = self._index_at(w.minimum(position, self.last))
        with b.if_then(self._belongs(soon)):
            for pointer, dtype in zip(self._places(self.states, self.rule.states, soon), self.rule.states):
                ask_for(w, pointer, b.mul(w.width, number(dtype.size)), True)

    def _change_row(self, position: IR) -> None:
        w, b, rule = self.w, self.w.b, self.rule
        self._ask_for_row(b.add(position, number(AHEAD)))
        index = self._index_at(position)
        with b.if_then(self._belongs(index)):
            given, kept = self._places(self.updates, rule.updates, position), self._places(self.states, rule.states, index)
            with w.range(w.width, 0, LANES) as column:
                left = b.sub(w.width, column)
                whole = b.icmp_signed(">=", left, number(LANES))
                kinds = [*rule.updates, *rule.states]
                pointers = [w.item(pointer, column, memory_type(dtype)) for pointer, dtype in zip([*given, *kept], kinds)]
                values = self.elements.load(self.v, [(pointer, None, dtype) for pointer, dtype in zip(pointers, kinds)], whole, left)
                new = rule.change(self.v, values[len(given):], values[:len(given)], self.constants)
                self.elements.store(self.v, list(zip(pointers[len(given):], new)), whole, left)

    def _change_vector(self, position: IR) -> None:
        """Rows of one element each, a lane per row. Lanes of rows that do not belong to the part compute with row 0, and store nothing."""
        w, b, rule = self.w, self.w.b, self.rule
        indices = [self._index_at(b.add(position, number(lane))) for lane in range(LANES)]
        for lane in range(LANES):
            self._ask_for_row(b.add(position, number(LANES + lane)))
        mine = [self._belongs(index) for index in indices]
        rows = [b.select(own, index, number(0)) for own, index in zip(mine, indices)]
        places = [[w.item(getattr(w, name), row, memory_type(dtype)) for row in rows] for name, dtype in zip(self.states, rule.states)]
        states = [self._collect_lanes(pointers, dtype) for pointers, dtype in zip(places, rule.states)]
        updates = [VectorValue(w.load(w.item(getattr(w, name), position, memory_type(dtype)), memory_type(dtype), LANES), dtype)
                   for name, dtype in zip(self.updates, rule.updates)]
        new = rule.change(self.v, states, updates, self.constants)
        for lane, own in enumerate(mine):
            with b.if_then(own):
                for pointers, value, dtype in zip(places, new, rule.states):
                    w.store(b.extract_element(value.ir, ir.Constant(I32, lane)), pointers[lane], memory_type(dtype))

    def _collect_lanes(self, pointers: Sequence[IR], dtype: DType) -> VectorValue:
        kind = memory_type(dtype)
        value: IR = ir.Constant(of(kind, LANES), ir.Undefined)
        for lane, pointer in enumerate(pointers):
            value = self.w.b.insert_element(value, self.w.load(pointer, kind), ir.Constant(I32, lane))
        return VectorValue(value, dtype)
