"""A row times a matrix, for models that are compiled ahead (``emitter.ahead``). As LLVM IR.

    c[j] = max(added[j] + alpha * sum over k of a[k] * B[k, j], lower_bound)

The tiles of ``gemm`` have an even number of rows, so half of each would be wasted, and the sums of the others too few to keep the multipliers busy.
Here as many columns are summed at a time as there are registers for, and B is read where it is, each row once.
"""
from __future__ import annotations

import numpy as np
from llvmlite import ir

from penstock.native.calls import Code
from penstock.native.contract.tile import tile_for
from penstock.native.vector.vectors import I32, IR
from penstock.native.vector.writer import Writer, element

OPERANDS = {"row": "a_at", "matrix": "b_at", "added": "added_at", "result": "c_at"}  # with the word that says where each begins
WORDS = ("k", "n", "b_step", "a_at", "b_at", "added_at", "c_at", "has_added", "alpha", "lower_bound")
_SUMS = 8  # vectors of columns: half of the registers that most CPUs have


class _Gemv:
    """The module of the kernel."""

    def __init__(self, dtype: np.dtype) -> None:
        self.kind, self.size, self.lanes = element(dtype), dtype.itemsize, tile_for(dtype.itemsize).lanes
        w = self.w = Writer(list(OPERANDS), WORDS)
        b = w.b
        self.places = {name: w.at(getattr(w, name), getattr(w, at)) for name, at in OPERANDS.items()}
        self.alpha, self.bound = (b.bitcast(each if self.size == 8 else b.trunc(each, I32), self.kind) for each in (w.alpha, w.lower_bound))
        start: IR = ir.Constant(w.n.type, 0)
        for vectors, lanes in ((_SUMS, self.lanes), (1, self.lanes), (1, 1)):
            step = vectors * lanes
            stop = b.add(start, b.and_(b.sub(w.n, start), ir.Constant(w.n.type, -step)))
            with w.range(stop, start, step) as column:
                self._columns(column, vectors, lanes)
            start = stop
        self.text = w.finish()

    def _columns(self, column: IR, vectors: int, lanes: int) -> None:
        """Some columns: all of their sums stay in registers."""
        w, b = self.w, self.w.b
        sums = [w.variable(w.splat(self.kind, 0.0, lanes).type, w.splat(self.kind, 0.0, lanes)) for _ in range(vectors)]
        first = w.item(self.places["matrix"], column, self.kind)
        with w.range(w.k) as k:
            factor = w.broadcast(w.load(w.item(self.places["row"], k, self.kind), self.kind), lanes)
            row = w.at(first, b.mul(k, w.b_step))
            for index, place in enumerate(sums):
                right = w.load(w.item(row, index * lanes, self.kind), self.kind, lanes)
                b.store(w.intrinsic("fmuladd", factor, right, b.load(place, typ=right.type)), place)
        alpha, bound = w.broadcast(self.alpha, lanes), w.broadcast(self.bound, lanes)
        with_added = b.icmp_signed("!=", w.has_added, ir.Constant(w.n.type, 0))
        nothing = w.splat(self.kind, 0.0, lanes)
        for index, place in enumerate(sums):
            at = b.add(column, ir.Constant(w.n.type, index * lanes))
            base = w.variable(nothing.type, nothing)
            with b.if_then(with_added):
                b.store(w.load(w.item(self.places["added"], at, self.kind), self.kind, lanes), base)
            value = w.intrinsic("fmuladd", b.load(place, typ=nothing.type), alpha, b.load(base, typ=nothing.type))
            low = b.fcmp_ordered("<", value, bound)
            w.store(b.select(low, bound, value), w.item(self.places["result"], at, self.kind), self.kind)


def code(dtype: np.dtype) -> Code:
    """The kernel for elements of this type."""
    return Code.of(f"gemv {dtype} {tile_for(dtype.itemsize).lanes}", lambda: _Gemv(dtype).text)
