"""Rows in order: a radix sort that leaves equal elements as they stand, and searching in sorted rows.

Elements become unsigned keys whose order is the reverse of theirs: the largest first. NaNs, all alike, are larger than any number, and both zeros are
one. The keys are then dealt out into 256 heaps by their last byte, put together, dealt out by the byte before, and so on; a byte that is the same
in all keys of a row is passed over. The work is proportional to the length of a row, with no comparison that a CPU could guess wrong.
"""
from __future__ import annotations

import numpy as np
from llvmlite import ir

from penstock.graph.dtypes import as_dtype
from penstock.native.calls import Code
from penstock.native.unsupported import Unsupported
from penstock.native.vector.pieces import number
from penstock.native.vector.vectors import I32, I64, IR, allocate
from penstock.native.vector.writer import Writer, element

_HEAPS = 256
_INFINITY = {"float16": 0x7C00, "bfloat16": 0x7F80, "float32": 0x7F800000, "float64": 0x7FF0000000000000}


def scratch_bytes(itemsize: int, length: int) -> int:
    """Memory that sorting rows of this length takes: two lists of keys, and two of indices."""
    return -(-(2 * itemsize * length) // 4) * 4 + 8 * length + 64  # those of the next part begin in another cache line


def sort_code(dtype: np.dtype) -> Code:
    """Operands source, values, indices, scratch; numbers: the range of rows, their length, how many of the largest are wanted, where the part's
    scratch begins."""
    kind = as_dtype(dtype)
    if not (kind.is_floating or kind.is_integer):
        raise Unsupported(f"no order for {dtype}")
    return Code.of(f"sort {kind.name}", lambda: _Sort(kind.name, 8 * dtype.itemsize, "f" if kind.is_floating else dtype.kind).text)


class _Sort:
    """The kernel. Lists are pairs of variables, keys and indices, that are exchanged after each deal."""

    def __init__(self, name: str, bits: int, letter: str) -> None:
        self.w = w = Writer(["source", "values", "indices", "scratch"], ["first", "last", "length", "k", "scratch_at"])
        self.name, self.bits, self.letter, self.kind = name, bits, letter, ir.IntType(bits)
        self.b = b = w.b
        self.digits = bits // 8
        self.counts = allocate(b, I64, self.digits * _HEAPS)
        keys = b.mul(w.length, number(bits // 8))
        start = w.at(w.scratch, w.scratch_at)
        self.keys = [start, w.at(start, keys)]
        behind = w.at(start, b.and_(b.add(b.mul(keys, number(2)), number(3)), number(-4)))
        self.places = [behind, w.item(behind, w.length, I32)]
        with w.range(w.last, w.first) as row:
            self._row(row)
        self.text = w.finish()

    def _row(self, row: IR) -> None:
        w, b = self.w, self.b
        w.clear_bytes(self.counts, number(8 * self.digits * _HEAPS))
        source = w.item(w.source, b.mul(row, w.length), self.kind)
        with w.range(w.length) as index:
            key = self._key(w.load(w.item(source, index, self.kind), self.kind))
            w.store(key, w.item(self.keys[0], index, self.kind), self.kind)
            w.store(b.trunc(index, I32), w.item(self.places[0], index, I32), I32)
            for digit in range(self.digits):
                heap = self._heap(key, digit)
                b.store(b.add(b.load(heap, typ=I64), number(1)), heap)
        current = w.variable(I64, number(0))  # which of the two lists is the current one
        for digit in range(self.digits):
            now = self._list(b.load(current, typ=I64))
            sample = b.load(self._heap(w.load(now[0], self.kind), digit), typ=I64)
            with b.if_then(b.icmp_signed("!=", sample, w.length)):
                self._deal(digit, now, self._list(b.sub(number(1), b.load(current, typ=I64))))
                b.store(b.sub(number(1), b.load(current, typ=I64)), current)
        _, places = self._list(b.load(current, typ=I64))
        at = b.mul(row, w.k)
        with w.range(w.k) as rank:
            index = w.load(w.item(places, rank, I32), I32)
            w.store(index, w.item(w.indices, b.add(at, rank), I32), I32)
            w.store(w.load(w.item(source, b.zext(index, I64), self.kind), self.kind), w.item(w.values, b.add(at, rank), self.kind), self.kind)

    def _list(self, which: IR) -> tuple[IR, IR]:
        second = self.b.icmp_signed("!=", which, number(0))
        return self.b.select(second, self.keys[1], self.keys[0]), self.b.select(second, self.places[1], self.places[0])

    def _heap(self, key: IR, digit: int) -> IR:
        """Where the keys with this byte are counted."""
        byte = self.b.and_(self.b.lshr(key, ir.Constant(self.kind, 8 * digit)), ir.Constant(self.kind, 255))
        wide = byte if self.bits == 64 else self.b.zext(byte, I64)
        return self.w.item(self.counts, self.b.add(wide, number(digit * _HEAPS)), I64)

    def _deal(self, digit: int, source: tuple[IR, IR], target: tuple[IR, IR]) -> None:
        """Counts become the places where heaps begin; then all keys go to theirs, in order."""
        w, b = self.w, self.b
        total = w.variable(I64, number(0))
        with w.range(number(_HEAPS)) as heap:
            cell = w.item(self.counts, b.add(heap, number(digit * _HEAPS)), I64)
            count, before = b.load(cell, typ=I64), b.load(total, typ=I64)
            b.store(before, cell)
            b.store(b.add(before, count), total)
        with w.range(w.length) as index:
            key = w.load(w.item(source[0], index, self.kind), self.kind)
            cell = self._heap(key, digit)
            place = b.load(cell, typ=I64)
            b.store(b.add(place, number(1)), cell)
            w.store(key, w.item(target[0], place, self.kind), self.kind)
            w.store(w.load(w.item(source[1], index, I32), I32), w.item(target[1], place, I32), I32)

    def _key(self, value: IR) -> IR:
        b, top = self.b, 1 << (self.bits - 1)

        def constant(plain: int) -> ir.Constant:
            return ir.Constant(self.kind, plain)

        if self.letter == "u":
            return b.not_(value)
        if self.letter == "i":
            return b.not_(b.xor(value, constant(top)))
        size = b.and_(value, constant(top - 1))
        value = b.select(b.icmp_unsigned("==", size, constant(0)), constant(0), value)
        rising = b.xor(value, b.or_(b.ashr(value, constant(self.bits - 1)), constant(top)))
        return b.select(b.icmp_unsigned(">", size, constant(_INFINITY[self.name])), constant(0), b.not_(rising))


def larger(b: ir.IRBuilder, letter: str, x: IR, y: IR) -> IR:
    """x > y in the order that rows are sorted by: NaN is larger than any number. ``letter`` is NumPy's kind of the elements."""
    if letter != "f":
        return (b.icmp_signed if letter == "i" else b.icmp_unsigned)(">", x, y)
    return b.or_(b.fcmp_ordered(">", x, y), b.and_(b.fcmp_unordered("uno", x, x), b.fcmp_ordered("ord", y, y)))


# --- searching -------------------------------------------------------------------------------------------------------

def search_code(dtype: np.dtype, right: bool, out: np.dtype) -> Code:
    """Operands rows, values, result; numbers: a range of all values, the length of rows, values per row. The place of a value, or the one behind its
    equals."""
    kind = element(dtype)
    return Code.of(f"search {dtype} {right} {out}", lambda: _build_search(kind, dtype.kind, right, 8 * out.itemsize))


def _build_search(kind: ir.Type, letter: str, right: bool, bits: int) -> str:
    w = Writer(["rows", "values", "result"], ["first", "last", "length", "count"])
    b, out = w.b, ir.IntType(bits)
    with w.range(w.last, w.first) as at:
        line = w.item(w.rows, b.mul(b.udiv(at, w.count), w.length), kind)
        value = w.load(w.item(w.values, at, kind), kind)
        low, left = w.variable(I64, number(0)), w.variable(I64, w.length)  # the place is among the ``left`` elements from ``low`` on, or behind them
        head, body, done = (b.append_basic_block(name) for name in ("head", "body", "done"))
        b.branch(head)
        b.position_at_end(head)
        b.cbranch(b.icmp_signed(">", b.load(left, typ=I64), number(0)), body, done)
        b.position_at_end(body)
        start, size = b.load(low, typ=I64), b.load(left, typ=I64)
        half = b.lshr(size, number(1))
        middle = w.load(w.item(line, b.add(start, half), kind), kind)
        behind = b.not_(larger(b, letter, middle, value)) if right else larger(b, letter, value, middle)
        b.store(b.select(behind, b.add(b.add(start, half), number(1)), start), low)
        b.store(b.select(behind, b.sub(b.sub(size, half), number(1)), half), left)
        b.branch(head)
        b.position_at_end(done)
        place = b.load(low, typ=I64)
        w.store(place if bits == 64 else b.trunc(place, out), w.item(w.result, at, out), out)
    return w.finish()
