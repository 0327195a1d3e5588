"""How results are folded into one: the arithmetic of sum, mean, product, maximum and minimum, as LLVM IR.

Float sums and products are carried in float64, whatever the type: a block is summed in a tree of its own type, blocks are added up with the rounding
error of each addition kept in a second number. So the result is nearer to the true one than NumPy's, and hardly depends on how many threads
share the work.
"""
from __future__ import annotations

import math
from typing import Any

from llvmlite import ir

from penstock.compiler.fusion_body import Unsupported
from penstock.compiler.vector_builder import NARROW, scalar_type
from penstock.compiler.vectors import I64, IR, LANES, POINTER, allocate, splat, vector
from penstock.graph.dtypes import DType

WIDE = ("sum", "mean", "prod")  # of floats: accumulated in float64
_UNROLL = 4  # independent sums in flight


class Fold:
    """One reduced output. An accumulator is an element of type ``wide``, followed by the lost digits if it is a sum of rows."""

    def __init__(self, kind: str, dtype: DType) -> None:
        if dtype in NARROW or dtype.is_bool or (kind == "mean" and not dtype.is_floating):
            raise Unsupported(f"there is no native code for the {kind} of {dtype.name}")
        self.kind, self.dtype, self.is_float = kind, dtype, dtype.is_floating
        self.is_sum = kind in ("sum", "mean")
        self.scalar = scalar_type(dtype)
        self.wide = ir.DoubleType() if self.is_float and kind in WIDE else self.scalar
        self.inside = self.wide if kind == "prod" else self.scalar  # in a block: sums lose less than products do
        self.identity = self._identity()

    def _identity(self) -> Any:
        if self.kind in ("sum", "mean", "prod"):
            value = 1 if self.kind == "prod" else 0
            return float(value) if self.is_float else value
        if self.is_float:
            return -math.inf if self.kind == "max" else math.inf
        return int(self.dtype.min if self.kind == "max" else self.dtype.max)

    def combine(self, b: ir.IRBuilder, x: IR, y: IR) -> IR:
        """Two values, or two vectors of values, in one."""
        if self.is_sum:
            return b.fadd(x, y) if self.is_float else b.add(x, y)
        if self.kind == "prod":
            return b.fmul(x, y) if self.is_float else b.mul(x, y)
        how = ">" if self.kind == "max" else "<"
        if not self.is_float:
            return b.select((b.icmp_unsigned if self.dtype.is_unsigned else b.icmp_signed)(how, x, y), x, y)
        return b.select(b.fcmp_unordered("uno", x, x), x, b.select(b.fcmp_ordered(how, x, y), x, y))  # NaN wins

    def allocate(self, b: ir.IRBuilder, length: int) -> IR:
        """Memory for accumulators."""
        return allocate(b, self.wide, length + 1)

    @property
    def compensated(self) -> bool:
        """True if digits that additions lose are kept."""
        return self.is_sum and self.is_float

    def start(self, b: ir.IRBuilder, accumulator: IR, row: bool) -> None:
        """Nothing is folded yet."""
        b.store(ir.Constant(self.wide, self.identity), accumulator)
        if row and self.compensated:
            b.store(ir.Constant(self.wide, 0.0), self._lost(b, accumulator))

    def _lost(self, b: ir.IRBuilder, accumulator: IR) -> IR:
        return b.gep(accumulator, [ir.Constant(I64, 1)], source_etype=self.wide)

    # --- rows ------------------------------------------------------------------------------------------------------------

    def add_block(self, b: ir.IRBuilder, accumulator: IR, buffer: IR, count: IR) -> None:
        """Folds ``count`` elements of a buffer, which has room for some vectors more."""
        value = self._widened(b, b.call(self._block_function(b.module), [buffer, count]), self.wide)
        old = b.load(accumulator, typ=self.wide)
        if not self.compensated:
            b.store(self.combine(b, old, value), accumulator)
            return
        total = b.fadd(old, value)
        back = b.fsub(total, old)
        error = b.fadd(b.fsub(old, b.fsub(total, back)), b.fsub(value, back))
        b.store(total, accumulator)
        lost = self._lost(b, accumulator)
        b.store(b.fadd(b.load(lost, typ=self.wide), error), lost)

    def _widened(self, b: ir.IRBuilder, value: IR, kind: ir.Type) -> IR:
        return value if value.type == kind else b.fpext(value, kind)

    def _block_function(self, module: ir.Module) -> ir.Function:
        name = f"fold.{self.kind}.{self.dtype.name}"
        if name in module.globals:
            return module.globals[name]
        function = ir.Function(module, ir.FunctionType(self.inside, [POINTER, I64]), name)
        function.linkage = "internal"
        self._emit_block(ir.IRBuilder(function.append_basic_block("entry")), *function.args)
        return function

    def _emit_block(self, b: ir.IRBuilder, buffer: IR, count: IR) -> None:
        """Pads the buffer, folds whole vectors, then the lanes of the last one."""
        kind, stride = vector(self.inside), _UNROLL * LANES
        empty = splat(self.inside, self.identity)
        for part in range(_UNROLL):
            place = b.gep(buffer, [b.add(count, ir.Constant(I64, part * LANES))], source_etype=self.scalar)
            b.store(splat(self.scalar, self.identity), place, align=1)
        entry, body, done = b.block, b.append_basic_block("body"), b.append_basic_block("done")
        b.cbranch(b.icmp_signed(">", count, ir.Constant(I64, 0)), body, done)
        b.position_at_end(body)
        index = b.phi(I64)
        index.add_incoming(ir.Constant(I64, 0), entry)
        sums = [b.phi(kind) for _ in range(_UNROLL)]
        following = []
        for part, total in enumerate(sums):
            total.add_incoming(empty, entry)
            place = b.gep(buffer, [b.add(index, ir.Constant(I64, part * LANES))], source_etype=self.scalar)
            following.append(self.combine(b, total, self._widened(b, b.load(place, align=1, typ=vector(self.scalar)), kind)))
        next_index = b.add(index, ir.Constant(I64, stride))
        b.cbranch(b.icmp_signed("<", next_index, count), body, done)
        index.add_incoming(next_index, body)
        b.position_at_end(done)
        finals = []
        for total, new in zip(sums, following):
            total.add_incoming(new, body)
            final = b.phi(kind)
            final.add_incoming(empty, entry)
            final.add_incoming(new, body)
            finals.append(final)
        while len(finals) > 1:
            finals = [self.combine(b, finals[i], finals[i + 1]) for i in range(0, len(finals), 2)]
        b.ret(self._lanes(b, finals[0]))

    def _lanes(self, b: ir.IRBuilder, value: IR) -> IR:
        half = LANES // 2
        while half:
            mask = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [(lane + half) % LANES for lane in range(LANES)])
            value = self.combine(b, value, b.shuffle_vector(value, value, mask))
            half //= 2
        return b.extract_element(value, ir.Constant(ir.IntType(32), 0))

    def add_element(self, b: ir.IRBuilder, accumulator: IR, buffer: IR, index: IR) -> None:
        """Folds one element of a short row."""
        value = b.load(b.gep(buffer, [index], source_etype=self.scalar), align=1, typ=self.scalar)
        b.store(self.combine(b, b.load(accumulator, typ=self.wide), self._widened(b, value, self.wide)), accumulator)

    # --- columns ---------------------------------------------------------------------------------------------------------

    def add_vector(self, b: ir.IRBuilder, accumulators: IR, buffer: IR, index: IR) -> None:
        """Folds one vector into as many accumulators."""
        value = b.load(b.gep(buffer, [index], source_etype=self.scalar), align=1, typ=vector(self.scalar))
        value = self._widened(b, value, vector(self.wide))
        place = b.gep(accumulators, [index], source_etype=self.wide)
        b.store(self.combine(b, b.load(place, align=1, typ=vector(self.wide)), value), place, align=1)

    # --- results ---------------------------------------------------------------------------------------------------------

    def finish(self, b: ir.IRBuilder, accumulator: IR, results: IR, index: IR, count: IR, partial: IR, row: bool) -> None:
        """Writes the result, or, if it is a part of one, what has been accumulated."""
        value = b.load(accumulator, typ=self.wide)
        if row and self.compensated:
            error = b.load(self._lost(b, accumulator), typ=self.wide)
            value = b.select(b.fcmp_ordered("ord", error, error), b.fadd(value, error), value)  # a sum that is infinite loses NaN
        with b.if_else(b.icmp_signed("!=", partial, ir.Constant(I64, 0))) as (part, whole):
            with part:
                b.store(value, b.gep(results, [index], source_etype=self.wide), align=1)
            with whole:
                if self.kind == "mean":
                    value = b.fdiv(value, b.sitofp(count, self.wide))
                if self.scalar != self.wide:
                    value = b.fptrunc(value, self.scalar)
                b.store(value, b.gep(results, [index], source_etype=self.scalar), align=1)
