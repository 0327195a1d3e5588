"""The vocabulary of ``lower`` (``penstock.graph.lowering``) as LLVM vectors: what an op says about one element, said of sixteen at once.

Nothing here may be undefined for any input: NaNs, overflows, out-of-range casts and shifts give what the NumPy kernels give. What can fail at run
time (integer division by zero) is checked before, by another step. Narrow floats are computed in float32 and rounded after each step, as NumPy does.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from llvmlite import ir

from penstock.graph import dtypes as dt
from penstock.graph.dtypes import DType
from penstock.native.unsupported import Unsupported
from penstock.native.vector import functions as vector_math
from penstock.native.vector.tracing import trace
from penstock.native.vector.types import NARROW, VectorValue, scalar_type
from penstock.native.vector.vectors import IR, Floats, splat, vector

_MATH = {name: getattr(vector_math, name) for name in ("exp", "expm1", "log", "log1p", "tanh", "sigmoid", "erf", "erfc", "sin", "cos")}
_LIBRARY = ("tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "atan2")
_ABSENT = ("lgamma", "digamma")
_COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def divide_lanes(b: ir.IRBuilder, x: IR, y: IR, signed: bool) -> IR:
    """The quotient of integers rounded towards zero, where it exists. CPUs have no division of integer vectors, but one of doubles, and the
    quotient of two numbers of 32 bits is never so close below a whole number that a double would take it for that."""
    kind, wide = x.type, vector(ir.DoubleType())
    if kind.element.width > 32:
        return b.sdiv(x, y) if signed else b.udiv(x, y)
    quotient = b.fdiv(*((b.sitofp if signed else b.uitofp)(each, wide) for each in (x, y)))
    return (b.fptosi if signed else b.fptoui)(quotient, kind)


class VectorBuilder:
    """Emits code where its IRBuilder stands. Operands are Values or Python numbers.

    ``outlined``: exponentials and their like are functions of the module. That is less code, but each is a call.
    """

    def __init__(self, builder: ir.IRBuilder, outlined: bool = False) -> None:
        self.builder, self.outlined = builder, outlined
        self.floats = {32: Floats(builder, 32), 64: Floats(builder, 64)}

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name in _MATH:
            return lambda x: self._float(self._outlined_function(name) if self.outlined else _MATH[name], name, x)
        if name in _LIBRARY:
            return lambda *operands: self._float(lambda f, *values: f.library(name, *values), name, *operands)
        if name in _COMPARISONS:
            return lambda x, y: self._compare(name, x, y)
        if name in _ABSENT:
            raise Unsupported(f"there is no native code for {name}")
        raise AttributeError(f"'{name}' is not in the vocabulary of `lower`")

    def _outlined_function(self, name: str) -> Callable[[Floats, IR], IR]:
        """One of the functions of floats, as a function of the module."""
        def call(f: Floats, x: IR) -> IR:
            own = f"math.{name}.{f.bits}"
            function = self.builder.module.globals.get(own)
            if function is None:
                function = ir.Function(self.builder.module, ir.FunctionType(x.type, [x.type]), own)
                function.linkage = "internal"
                function.attributes.add("noinline")
                inner = ir.IRBuilder(function.append_basic_block())
                inner.ret(_MATH[name](Floats(inner, f.bits), function.args[0]))
            return self.builder.call(function, [x])
        return call

    # --- values --------------------------------------------------------------------------------------------------------

    def constant(self, value: Any, dtype: DType | None = None) -> Any:
        """A literal; without a type it takes that of the other operand."""
        if np.ndim(value):
            raise Unsupported("a constant that is not a scalar has to be an input")
        return value if dtype is None else self.typed(value, dtype)

    def typed(self, value: Any, dtype: DType) -> VectorValue:
        """A Python number or NumPy scalar as a VectorValue; a VectorValue as it is, if it has the type."""
        if isinstance(value, VectorValue):
            if value.dtype is not dtype:
                raise Unsupported(f"operands of different types, {value.dtype.name} and {dtype.name}")
            return value
        if value is None:
            raise Unsupported("`lower` gives nothing where a value is needed")
        scalar = scalar_type(dtype)  # raises for the types that NumPy could not convert the number to
        number = np.asarray(value).astype(dtype.np)[()]
        return VectorValue(splat(scalar, float(number) if dtype.is_floating else int(number)), dtype)

    def _operands(self, *operands: Any) -> tuple[DType, list[IR]]:
        """Operands of one type."""
        dtype = next((operand.dtype for operand in operands if isinstance(operand, VectorValue)), None)
        if dtype is None:
            raise Unsupported("an operation of constants alone")
        scalar_type(dtype)
        return dtype, [self.typed(operand, dtype).ir for operand in operands]

    def _float(self, function: Callable[..., IR], name: str, *operands: Any) -> VectorValue:
        """A function of floats."""
        dtype, values = self._operands(*operands)
        if not dtype.is_floating:
            raise Unsupported(f"there is no native code for {name} of {dtype.name}")
        return self._round(function(self._floats(dtype), *values), dtype)

    def _floats(self, dtype: DType) -> Floats:
        return self.floats[64 if dtype is dt.float64 else 32]

    def _round(self, value: IR, dtype: DType) -> VectorValue:
        """A computed value of this type: narrow ones lose the digits that they cannot hold."""
        if dtype in NARROW:
            value = self.widen(self.narrow(value, dtype), dtype)
        return VectorValue(value, dtype)

    def widen(self, bits: IR, dtype: DType) -> IR:
        """The float32 of narrow floats, given as 16-bit integers."""
        b, wide = self.builder, vector(ir.FloatType())
        if dtype is dt.bfloat16:
            return b.bitcast(b.shl(b.zext(bits, vector(ir.IntType(32))), splat(ir.IntType(32), 16)), wide)
        return b.fpext(b.bitcast(bits, vector(ir.HalfType())), wide)

    def narrow(self, value: IR, dtype: DType) -> IR:
        """float32 rounded to narrow floats, as 16-bit integers."""
        b, word = self.builder, ir.IntType(32)
        short = vector(ir.IntType(16))
        if dtype is dt.float16:
            return b.bitcast(b.fptrunc(value, vector(ir.HalfType())), short)
        bits = b.bitcast(value, vector(word))
        even = b.and_(b.lshr(bits, splat(word, 16)), splat(word, 1))
        rounded = b.lshr(b.add(bits, b.add(even, splat(word, 0x7FFF))), splat(word, 16))
        quiet = b.or_(b.lshr(bits, splat(word, 16)), splat(word, 0x40))
        return b.trunc(b.select(self.floats[32].is_nan(value), quiet, rounded), short)

    def trace(self, function: Callable[..., None], updated: Sequence[VectorValue], others: dict[str, Any]) -> tuple[VectorValue, ...]:
        """What a function that is written with NumPy makes of its first arguments, which it changes in place."""
        return tuple(trace(self, function, updated, others))

    # --- arithmetic ----------------------------------------------------------------------------------------------------

    def _arithmetic(self, name: str, x: Any, y: Any) -> VectorValue:
        dtype, (x, y) = self._operands(x, y)
        if dtype.is_bool:
            raise Unsupported(f"there is no native code for {name} of bool")
        return self._round(getattr(self.builder, f"f{name}" if dtype.is_floating else name)(x, y), dtype)

    def add(self, x: Any, y: Any) -> VectorValue:
        """x + y; integers wrap."""
        return self._arithmetic("add", x, y)

    def sub(self, x: Any, y: Any) -> VectorValue:
        """x - y; integers wrap."""
        return self._arithmetic("sub", x, y)

    def mul(self, x: Any, y: Any) -> VectorValue:
        """x * y; integers wrap."""
        return self._arithmetic("mul", x, y)

    def div(self, x: Any, y: Any) -> VectorValue:
        """x / y of floats. Of integers it may fail, which only a NumPy kernel can say."""
        return self._float(lambda f, a, b: f.div(a, b), "div", x, y)

    def floordiv(self, x: Any, y: Any) -> VectorValue:
        """The quotient rounded down."""
        quotient = self.div(x, y)
        return self.floor(quotient)

    def truncatediv(self, x: Any, y: Any) -> VectorValue:
        """The quotient rounded towards zero."""
        quotient = self.div(x, y)
        return self._float(lambda f, a: f.call("trunc", a), "truncatediv", quotient)

    def truncatemod(self, x: Any, y: Any) -> VectorValue:
        """What the quotient rounded towards zero leaves."""
        return self._float(lambda f, a, b: f.library("fmod", a, b), "truncatemod", x, y)

    def floormod(self, x: Any, y: Any) -> VectorValue:
        """What the quotient rounded down leaves: it has the sign of y."""
        rest = self.truncatemod(x, y)
        same = self.eq(self.cast(self.lt(x, 0), dt.int8), self.cast(self.lt(y, 0), dt.int8))
        return self.select(same, rest, self.truncatemod(self.add(rest, y), y))

    def divide_integers(self, x: Any, y: Any, how: str) -> VectorValue:
        """Quotient or remainder of integers. Zeros have been refused before; here they must do no harm."""
        dtype, (x, y) = self._operands(x, y)
        if not dtype.is_integer:
            raise Unsupported(f"there is no native code for {how} of {dtype.name}")
        b, kind = self.builder, scalar_type(dtype)
        zero, one, minus = (splat(kind, value) for value in (0, 1, -1))
        unfit = b.icmp_signed("==", y, zero)
        if dtype.is_unsigned:
            quotient = divide_lanes(b, x, b.select(unfit, one, y), False)
        else:  # the smallest number has no opposite: dividing it by -1 wraps, where the CPU would trap
            negated = b.icmp_signed("==", y, minus)
            quotient = b.select(negated, b.sub(zero, x), divide_lanes(b, x, b.select(b.or_(unfit, negated), one, y), True))
        rest = b.sub(x, b.mul(quotient, y))
        if how.startswith("floor") and not dtype.is_unsigned:
            apart = b.and_(b.icmp_signed("!=", rest, zero), b.icmp_signed("<", b.xor(rest, y), zero))
            quotient, rest = b.select(apart, b.sub(quotient, one), quotient), b.select(apart, b.add(rest, y), rest)
        return VectorValue(rest if how.endswith("mod") else quotient, dtype)

    def pow(self, x: Any, y: Any) -> VectorValue:
        """x to the power of y, of floats."""
        return self._float(vector_math.power, "pow", x, y)

    def neg(self, x: Any) -> VectorValue:
        """-x."""
        dtype, (value,) = self._operands(x)
        return VectorValue(self.builder.fneg(value), dtype) if dtype.is_floating else self.sub(0, x)

    def abs(self, x: Any) -> VectorValue:
        """The absolute value; that of the smallest integer is itself."""
        dtype, (value,) = self._operands(x)
        if dtype.is_floating:
            return VectorValue(self._floats(dtype).call("fabs", value), dtype)
        return x if dtype.is_unsigned or dtype.is_bool else self.select(self.lt(x, 0), self.neg(x), x)

    def sign(self, x: Any) -> VectorValue:
        """-1, 0 or 1; a NaN stays one."""
        dtype, _ = self._operands(x)
        if dtype.is_unsigned:
            return self.select(self.eq(x, 0), x, 1)
        return self.select(self.gt(x, 0), 1, self.select(self.lt(x, 0), -1, x))

    def sqrt(self, x: Any) -> VectorValue:
        """The square root."""
        return self._float(lambda f, a: f.call("sqrt", a), "sqrt", x)

    def rsqrt(self, x: Any) -> VectorValue:
        """1 / sqrt(x)."""
        root = self.sqrt(x)
        return self.div(1, root)

    def _extreme(self, how: str, x: Any, y: Any) -> VectorValue:
        """A NaN in either operand is the result."""
        dtype, (a, b) = self._operands(x, y)
        chosen = self.builder.select(self._compare_lanes(how, a, b, dtype), a, b)
        if dtype.is_floating:
            chosen = self.builder.select(self._floats(dtype).is_nan(a), a, chosen)
        return VectorValue(chosen, dtype)

    def maximum(self, x: Any, y: Any) -> VectorValue:
        """The larger one."""
        return self._extreme(">", x, y)

    def minimum(self, x: Any, y: Any) -> VectorValue:
        """The smaller one."""
        return self._extreme("<", x, y)

    def _whole(self, name: str, x: Any) -> VectorValue:
        dtype, (value,) = self._operands(x)
        return VectorValue(self._floats(dtype).call(name, value), dtype) if dtype.is_floating else x

    floor = functools.partialmethod(_whole, "floor")
    ceil = functools.partialmethod(_whole, "ceil")
    rint = functools.partialmethod(_whole, "roundeven")

    # --- truth values and bits -----------------------------------------------------------------------------------------

    def _compare_lanes(self, how: str, a: IR, b: IR, dtype: DType) -> IR:
        if dtype.is_floating:
            return self.builder.fcmp_unordered(how, a, b) if how == "!=" else self.builder.fcmp_ordered(how, a, b)
        unsigned = dtype.is_unsigned or dtype.is_bool
        return (self.builder.icmp_unsigned if unsigned else self.builder.icmp_signed)(how, a, b)

    def _compare(self, name: str, x: Any, y: Any) -> VectorValue:
        dtype, (a, b) = self._operands(x, y)
        return VectorValue(self._compare_lanes(_COMPARISONS[name], a, b, dtype), dt.bool_)

    def _bitwise(self, name: str, x: Any, y: Any) -> VectorValue:
        dtype, (a, b) = self._operands(x, y)
        if dtype.is_floating:
            raise Unsupported(f"there is no native code for the bits of {dtype.name}")
        return VectorValue(getattr(self.builder, name)(a, b), dtype)

    logical_and = bitwise_and = functools.partialmethod(_bitwise, "and_")
    logical_or = bitwise_or = functools.partialmethod(_bitwise, "or_")
    bitwise_xor = functools.partialmethod(_bitwise, "xor")

    def invert(self, x: Any) -> VectorValue:
        """All bits flipped."""
        return self.bitwise_xor(x, True if x.dtype.is_bool else x.dtype.max if x.dtype.is_unsigned else -1)

    def logical_not(self, x: Any) -> VectorValue:
        """not x."""
        return self.bitwise_xor(x, True)

    def left_shift(self, x: Any, y: Any) -> VectorValue:
        """Bits moved up; 0 if there are not so many bits."""
        return self._shift("shl", x, y)

    def right_shift(self, x: Any, y: Any) -> VectorValue:
        """Bits moved down; only copies of the sign if there are not so many bits."""
        return self._shift("lshr" if x.dtype.is_unsigned else "ashr", x, y)

    def _shift(self, name: str, x: Any, y: Any) -> VectorValue:
        dtype, (a, b) = self._operands(x, y)
        if not dtype.is_integer:
            raise Unsupported(f"there is no native code for shifts of {dtype.name}")
        scalar = scalar_type(dtype)
        last = splat(scalar, dtype.size * 8 - 1)
        too_far = self.builder.icmp_unsigned(">", b, last)
        amount = self.builder.select(too_far, last, b)  # LLVM leaves larger shifts undefined
        moved = getattr(self.builder, name)(a, amount)
        return VectorValue(moved if name == "ashr" else self.builder.select(too_far, splat(scalar, 0), moved), dtype)

    def is_nan(self, x: Any) -> VectorValue:
        """True where x is not a number."""
        _, (value,) = self._operands(x)
        return VectorValue(self.builder.fcmp_unordered("uno", value, value), dt.bool_)

    def is_inf(self, x: Any) -> VectorValue:
        """True where x is infinite."""
        return self.eq(self.abs(x), float("inf"))

    def is_finite(self, x: Any) -> VectorValue:
        """True where x is neither infinite nor NaN."""
        return self.lt(self.abs(x), float("inf"))

    def select(self, condition: Any, x: Any, y: Any) -> VectorValue:
        """x where the condition holds, else y."""
        dtype, (a, b) = self._operands(x, y)
        return VectorValue(self.builder.select(condition.ir, a, b), dtype)

    def conj(self, x: Any) -> VectorValue:
        """x: all types here are real."""
        return x

    real = conj

    def imag(self, x: Any) -> VectorValue:
        """0: all types here are real."""
        return self.typed(0, x.dtype)

    # --- casts ---------------------------------------------------------------------------------------------------------

    def cast(self, x: Any, dtype: DType) -> VectorValue:
        """The value as another type, by the rules of ``tf.cast``."""
        if not isinstance(x, VectorValue):
            return self.typed(x, dtype)
        source = x.dtype
        if source is dtype:
            return x
        scalar_type(dtype)
        if dtype.is_bool:
            return self.ne(x, 0)
        if source.is_floating:
            return self._float_to_float(x, dtype) if dtype.is_floating else self._float_to_integer(x, dtype)
        return self._integer_to_float(x, dtype) if dtype.is_floating else self._integer_to_integer(x, dtype)

    def _float_to_float(self, x: VectorValue, dtype: DType) -> VectorValue:
        if dtype is dt.float64:
            return VectorValue(self.builder.fpext(x.ir, vector(ir.DoubleType())), dtype)
        value = x.ir
        if x.dtype is dt.float64:
            if dtype is dt.float16:
                raise Unsupported("a cast of float64 to float16 by way of float32 would round twice")
            value = self.builder.fptrunc(value, vector(ir.FloatType()))
        return self._round(value, dtype)

    def _integer_to_float(self, x: VectorValue, dtype: DType) -> VectorValue:
        if dtype in NARROW and x.dtype.size > 2:
            raise Unsupported(f"a cast of {x.dtype.name} to {dtype.name} by way of float32 would round twice")
        convert = self.builder.uitofp if x.dtype.is_unsigned or x.dtype.is_bool else self.builder.sitofp
        return self._round(convert(x.ir, vector(scalar_type(dtype))), dtype)

    def _integer_to_integer(self, x: VectorValue, dtype: DType) -> VectorValue:
        kind = vector(scalar_type(dtype))
        have, want = scalar_type(x.dtype).width, kind.element.width
        if have == want:
            return VectorValue(x.ir, dtype)
        if have > want:
            return VectorValue(self.builder.trunc(x.ir, kind), dtype)
        extend = self.builder.zext if x.dtype.is_unsigned or x.dtype.is_bool else self.builder.sext
        return VectorValue(extend(x.ir, kind), dtype)

    def _float_to_integer(self, x: VectorValue, dtype: DType) -> VectorValue:
        """Small integers by way of int32; what is out of range is the smallest integer, as the instructions of x86 have it."""
        if dtype in (dt.uint32, dt.uint64):
            raise Unsupported(f"casts of floats to {dtype.name} differ between machines where they are out of range")
        wide = dt.int64 if dtype is dt.int64 else dt.int32
        f = self._floats(x.dtype)
        limit = 2.0 ** (wide.size * 8 - 1)
        # float64 has numbers between -limit - 1 and -limit: they are cut off to -limit.
        above = f.compare(">", x.ir, f.number(-limit - 1)) if f.bits == 64 and wide is dt.int32 else f.compare(">=", x.ir, f.number(-limit))
        inside = self.builder.and_(above, f.compare("<", x.ir, f.number(limit)))
        safe = f.select(inside, x.ir, f.number(0.0))
        whole = self.builder.fptosi(safe, vector(scalar_type(wide)))
        result = self.builder.select(inside, whole, splat(scalar_type(wide), int(wide.min)))
        return self._integer_to_integer(VectorValue(result, wide), dtype)
