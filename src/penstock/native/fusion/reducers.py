"""How values are folded into one: the arithmetic of sum, product, extremes and logic over vectors, as LLVM IR.

Float sums and products are carried in float64, whatever the type; sums of float64 keep the rounding error of each addition in a second number. So
the result is nearer to the true one than NumPy's, and hardly depends on how many threads share the work.
"""
from __future__ import annotations

import math
from typing import Any

from llvmlite import ir

from penstock.graph import dtypes as dt
from penstock.graph.dtypes import DType
from penstock.native.unsupported import Unsupported
from penstock.native.vector.builder import VectorBuilder
from penstock.native.vector.types import NARROW, VectorValue, scalar_type
from penstock.native.vector.vectors import I1, I8, IR, LANES, allocate, broadcast, splat, vector


def wide_dtype(kind: str, dtype: DType) -> DType:
    """The type that accumulators have in memory, where several threads share a fold."""
    return dt.float64 if dtype.is_floating and kind in ("sum", "prod") else dt.float32 if dtype in NARROW else dtype


class Folding:
    """The arithmetic of one fold of elements of type ``dtype`` to a result of type ``result``."""

    def __init__(self, kind: str, dtype: DType, result: DType) -> None:
        if dtype.is_bool != (kind in ("and", "or")) or dtype.is_floating != result.is_floating:
            raise Unsupported(f"there is no native code for the {kind} of {dtype.name}")
        self.kind, self.dtype, self.result = kind, dtype, result
        self.is_float = dtype.is_floating
        self.wide = I8 if dtype.is_bool else scalar_type(wide_dtype(kind, dtype))
        self.compensated = kind == "sum" and dtype is dt.float64
        self.extreme = self.is_float and kind in ("max", "min")
        self.identity = self._identity()

    def _identity(self) -> Any:
        if self.kind in ("and", "or"):
            return int(self.kind == "and")
        if self.kind in ("sum", "prod"):
            value = int(self.kind == "prod")
            return float(value) if self.is_float else value
        if self.is_float:
            return -math.inf if self.kind == "max" else math.inf
        return int(self.dtype.min if self.kind == "max" else self.dtype.max)

    def combine(self, b: ir.IRBuilder, x: IR, y: IR) -> IR:
        """Two vectors of values in one."""
        if self.kind in ("and", "or"):
            return b.and_(x, y) if self.kind == "and" else b.or_(x, y)
        if self.kind in ("sum", "prod"):
            name = "add" if self.kind == "sum" else "mul"
            return getattr(b, f"f{name}" if self.is_float else name)(x, y)
        how = ">" if self.kind == "max" else "<"
        if not self.is_float:
            return b.select((b.icmp_unsigned if self.dtype.is_unsigned else b.icmp_signed)(how, x, y), x, y)
        return b.select(b.fcmp_unordered("uno", x, x), x, b.select(b.fcmp_ordered(how, x, y), x, y))  # NaN wins

    def nearer(self, b: ir.IRBuilder, old: IR, value: IR) -> IR:
        """``combine`` of float extremes, in one instruction: NaN among the values is passed over."""
        return b.select(b.fcmp_ordered(">" if self.kind == "max" else "<", value, old), value, old)

    def widen(self, b: ir.IRBuilder, value: IR) -> IR:
        """An operand in the type of the accumulator."""
        kind = vector(self.wide)
        if value.type == kind:
            return value
        return b.zext(value, kind) if self.dtype.is_bool else b.fpext(value, kind)

    def empty(self) -> IR:
        """Lanes into which nothing is folded yet."""
        return splat(self.wide, self.identity)

    def to_result(self, v: VectorBuilder, value: IR) -> VectorValue:
        """Accumulated lanes as values of the result's type."""
        b = v.builder
        if self.dtype.is_bool:
            return VectorValue(b.icmp_unsigned("!=", value, splat(I8, 0)), dt.bool_)
        wanted = vector(scalar_type(self.result))
        if value.type != wanted:
            narrower = isinstance(wanted.element, ir.FloatType)
            value = b.fptrunc(value, wanted) if narrower else b.fpext(value, wanted)
        return v._round(value, self.result)


class RowAccumulator:
    """Lanes of a fold along a row: registers, once LLVM has promoted them.

    Each vector waits for the one before it. So what finds NaN among values whose extreme is looked for stands beside that chain, not in it.
    """

    def __init__(self, entry: ir.IRBuilder, folding: Folding) -> None:
        self.folding = folding
        self._total = allocate(entry, vector(folding.wide), 1)
        self._lost = allocate(entry, vector(folding.wide), 1) if folding.compensated else None
        self._seen = allocate(entry, vector(I1), 1) if folding.extreme else None  # NaN, per lane

    def start(self, b: ir.IRBuilder) -> None:
        """Nothing is folded yet."""
        b.store(self.folding.empty(), self._total)
        if self._lost is not None:
            b.store(splat(self.folding.wide, 0.0), self._lost)
        if self._seen is not None:
            b.store(splat(I1, 0), self._seen)

    def add(self, b: ir.IRBuilder, value: IR, mask: IR) -> None:
        """Folds the lanes of a vector for which the mask is true."""
        kind = vector(self.folding.wide)
        value = b.select(mask, self.folding.widen(b, value), self.folding.empty())
        old = b.load(self._total, typ=kind)
        total = self.folding.combine(b, old, value) if self._seen is None else self.folding.nearer(b, old, value)
        b.store(total, self._total)
        if self._seen is not None:
            b.store(b.or_(b.load(self._seen, typ=vector(I1)), b.fcmp_unordered("uno", value, value)), self._seen)
        if self._lost is not None:
            back = b.fsub(total, old)
            error = b.fadd(b.fsub(old, b.fsub(total, back)), b.fsub(value, back))
            b.store(b.fadd(b.load(self._lost, typ=kind), error), self._lost)

    def finish(self, v: VectorBuilder) -> VectorValue:
        """The result, in all lanes."""
        b, kind = v.builder, vector(self.folding.wide)
        total = b.load(self._total, typ=kind)
        if self._lost is not None:
            lost = b.load(self._lost, typ=kind)
            total = b.select(b.fcmp_ordered("ord", lost, lost), b.fadd(total, lost), total)  # a sum that is infinite loses NaN
        if self._seen is not None:
            total = b.select(b.load(self._seen, typ=vector(I1)), splat(self.folding.wide, math.nan), total)
        width = LANES
        while width > 1:
            width //= 2
            low, high = (ir.Constant(ir.VectorType(ir.IntType(32), width), list(range(start, start + width))) for start in (0, width))
            total = self.folding.combine(b, b.shuffle_vector(total, total, low), b.shuffle_vector(total, total, high))
        lane = b.extract_element(total, ir.Constant(ir.IntType(32), 0))
        return self.folding.to_result(v, broadcast(b, lane))
