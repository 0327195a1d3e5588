"""A row times a matrix of weights, for models that are compiled ahead (``emitter.ahead``). As LLVM IR.

    c[j] = min(max(added[j] + alpha * sum over k of a[k] * B[k, j], lower_bound), upper_bound)

The tiles of ``gemm`` have an even number of rows, so half of each would be wasted, and the sums of the others too few to keep the multipliers busy.
Here as many columns are summed at a time as there are registers for. All there is to wait for is B, which is read once: it lies in *strips* of so
many columns, row after row, so that memory is read from its beginning to its end (``wide``). Columns that are left over are an array of their own
(``narrow``).
"""
from __future__ import annotations

import numpy as np
from llvmlite import ir

from penstock.native.calls import Code
from penstock.native.contract.tile import tile_for
from penstock.native.vector.vectors import I32, IR
from penstock.native.vector.writer import Writer, element

OPERANDS = {"row": "a_at", "wide": "", "narrow": "", "added": "added_at", "result": "c_at"}  # with the word that says where each begins
WORDS = ("k", "n", "n_start", "n_stop", "a_at", "added_at", "c_at", "has_added", "alpha", "lower_bound", "upper_bound")
_SUMS = 8  # vectors of columns: half of the registers that most CPUs have


def strip_columns(dtype: np.dtype) -> int:
    """How many columns a strip has."""
    return _SUMS * tile_for(dtype.itemsize).lanes


class _Gemv:
    """The module of the kernel, for the columns from ``n_start``, which begins a strip, to ``n_stop``."""

    def __init__(self, dtype: np.dtype) -> None:
        self.kind, self.size, self.lanes = element(dtype), dtype.itemsize, tile_for(dtype.itemsize).lanes
        w = self.w = Writer(list(OPERANDS), WORDS)
        b = w.b
        self.places = {name: w.at(getattr(w, name), getattr(w, at)) for name, at in OPERANDS.items() if at}
        self.alpha, *self.bounds = (b.bitcast(each if self.size == 8 else b.trunc(each, I32), self.kind)
                                    for each in (w.alpha, w.lower_bound, w.upper_bound))
        whole = b.and_(w.n, ir.Constant(w.n.type, -_SUMS * self.lanes))  # columns in strips of the full width
        start: IR = w.n_start
        for vectors, lanes in ((_SUMS, self.lanes), (_SUMS // 2, self.lanes), (1, self.lanes), (1, 1)):
            step = vectors * lanes
            stop = b.add(start, b.and_(b.sub(w.n_stop, start), ir.Constant(w.n.type, -step)))
            with w.range(stop, start, step) as column:
                if vectors == _SUMS:
                    self._columns(column, w.item(w.wide, b.mul(column, w.k), self.kind), ir.Constant(w.n.type, step), vectors, lanes)
                else:
                    self._columns(column, w.item(w.narrow, b.sub(column, whole), self.kind), b.sub(w.n, whole), vectors, lanes)
            start = stop
        self.text = w.finish()

    def _columns(self, column: IR, first: IR, width: IR, vectors: int, lanes: int) -> None:
        """Some columns, of which B's first element and the width of its rows are given: all of their sums stay in registers."""
        w, b = self.w, self.w.b
        zeros = w.splat(self.kind, 0.0, lanes)
        sums = [w.variable(zeros.type, zeros) for _ in range(vectors)]
        step = b.mul(width, ir.Constant(w.n.type, self.size))
        with w.range(w.k) as k:
            factor = w.broadcast(w.load(w.item(self.places["row"], k, self.kind), self.kind), lanes)
            row = w.at(first, b.mul(k, step))
            for index, total in enumerate(sums):
                right = w.load(w.item(row, index * lanes, self.kind), self.kind, lanes)
                b.store(w.intrinsic("fmuladd", factor, right, b.load(total, typ=right.type)), total)
        alpha, lower, upper = (w.broadcast(each, lanes) for each in (self.alpha, *self.bounds))
        with_added = b.icmp_signed("!=", w.has_added, ir.Constant(w.n.type, 0))
        for index, total in enumerate(sums):
            at = b.add(column, ir.Constant(w.n.type, index * lanes))
            base = w.variable(zeros.type, zeros)
            with b.if_then(with_added):
                b.store(w.load(w.item(self.places["added"], at, self.kind), self.kind, lanes), base)
            value = w.intrinsic("fmuladd", b.load(total, typ=zeros.type), alpha, b.load(base, typ=zeros.type))
            value = b.select(b.fcmp_ordered("<", value, lower), lower, value)
            value = b.select(b.fcmp_ordered(">", value, upper), upper, value)
            w.store(value, w.item(self.places["result"], at, self.kind), self.kind)


def code(dtype: np.dtype) -> Code:
    """The kernel for elements of this type."""
    return Code.of(f"gemv {dtype} {tile_for(dtype.itemsize).lanes}", lambda: _Gemv(dtype).text)
