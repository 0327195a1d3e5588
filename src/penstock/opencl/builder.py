"""The vocabulary of ``lower`` (``graph/lowering.py``) as OpenCL C: what an op says about one element becomes statements about one element.

Nothing here may be undefined for any input: integers wrap, casts out of range give what NumPy gives, shifts by too much are 0. What several words of
the vocabulary are made of others, the vector builder says; here stands only what differs.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.graph import dtypes as dt
from penstock.graph.dtypes import DType
from penstock.native.unsupported import Unsupported
from penstock.native.vector.builder import VectorBuilder
from penstock.native.vector.types import NARROW, VectorValue
from penstock.opencl.functions import FUNCTIONS
from penstock.opencl.source import name_of, narrowed

_COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_SIGNS = {"add": "+", "sub": "-", "mul": "*"}
_BITS = {"and_": "&", "or_": "|", "xor": "^"}
_MATH = ("exp", "expm1", "log", "log1p", "tanh", "sigmoid", "erf", "erfc", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh",
         "acosh", "atanh", "atan2", "lgamma")
_CALLS = {"fabs": "fabs", "sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "roundeven": "rint", "trunc": "trunc"}  # also instructions of CPUs


class _Floats:
    """What the vector builder asks of floats, as text."""

    def __init__(self, b: SourceBuilder, bits: int) -> None:
        self.b, self.bits = b, bits

    def call(self, name: str, *values: str) -> str:
        return self.b.instruction(_CALLS[name], self.bits, *values)

    def library(self, name: str, *values: str) -> str:
        return f"{name}({', '.join(values)})"

    def div(self, x: str, y: str) -> str:
        return f"{x} / {y}"

    def is_nan(self, x: str) -> str:
        return f"({x} != {x})"


class SourceBuilder(VectorBuilder):
    """Collects statements in ``lines``; a value is the name of a variable, or a literal. ``quick``: functions are polynomials that the driver's
    compiler can turn into vectors, not calls."""

    def __init__(self, quick: bool = False, prefix: str = "t") -> None:
        self.quick, self._prefix = quick, prefix
        self.lines: list[str] = []
        self.used: set[str] = set()  # functions of ``functions.py``
        self.count = 0
        self.floats = {32: _Floats(self, 32), 64: _Floats(self, 64)}  # type: ignore[dict-item]

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name in _MATH:
            return lambda *operands: self._float(lambda f, *values: self._function(name, f.bits, values), name, *operands)
        if name in _COMPARISONS:
            return lambda x, y: self._compare(name, x, y)
        if name == "digamma":
            raise Unsupported("there is no OpenCL code for digamma")
        raise AttributeError(f"'{name}' is not in the vocabulary of `lower`")

    def _function(self, name: str, bits: int, values: tuple[str, ...]) -> str:
        own = f"p_{name}{bits}"
        if own in FUNCTIONS and (self.quick or FUNCTIONS[own].always):
            self.used.add(own)
            return f"{own}({', '.join(values)})"
        return f"{name}({', '.join(values)})"

    def instruction(self, name: str, bits: int, *values: str) -> str:
        """What CPUs have an instruction for: drivers that are made with Clang take the built-in function for it, and do not call their library."""
        arguments = ", ".join(values)
        return f"{name.upper()}{bits}({arguments})" if self.quick else f"{name}({arguments})"

    # --- values --------------------------------------------------------------------------------------------------------------------------

    def variable(self, text: str, dtype: DType) -> VectorValue:
        """A statement that gives a value a name."""
        name = f"{self._prefix}{self.count}"
        self.count += 1
        self.lines.append(f"{name_of(dtype)} {name} = {text};")
        return VectorValue(name, dtype)

    def typed(self, value: Any, dtype: DType) -> VectorValue:
        """A number as a literal; a value as it is, if it has the type."""
        if isinstance(value, VectorValue):
            if value.dtype is not dtype:
                raise Unsupported(f"operands of different types, {value.dtype.name} and {dtype.name}")
            return value
        if value is None:
            raise Unsupported("`lower` gives nothing where a value is needed")
        name_of(dtype)
        return VectorValue(literal(np.asarray(value).astype(dtype.np)[()], dtype), dtype)

    def _operands(self, *operands: Any) -> tuple[DType, list[Any]]:
        dtype = next((each.dtype for each in operands if isinstance(each, VectorValue)), None)
        if dtype is None:
            raise Unsupported("an operation of constants alone")
        name_of(dtype)
        return dtype, [self.typed(each, dtype).ir for each in operands]

    def _round(self, value: Any, dtype: DType) -> VectorValue:
        return self.variable(narrowed(dtype, value), dtype)

    # --- arithmetic ----------------------------------------------------------------------------------------------------------------------

    def _arithmetic(self, name: str, x: Any, y: Any) -> VectorValue:
        dtype, (x, y) = self._operands(x, y)
        if dtype.is_bool:
            raise Unsupported(f"there is no OpenCL code for {name} of bool")
        if dtype.is_floating:
            return self._round(f"{x} {_SIGNS[name]} {y}", dtype)
        wide = "ulong" if dtype.size == 8 else "uint"  # signed integers must not overflow; unsigned ones wrap
        return self.variable(f"({name_of(dtype)})(({wide}){x} {_SIGNS[name]} ({wide}){y})", dtype)

    def divide_integers(self, x: Any, y: Any, how: str) -> VectorValue:
        """Quotient or remainder of integers. Zeros have been refused before; here they must do no harm."""
        dtype, (x, y) = self._operands(x, y)
        if not dtype.is_integer:
            raise Unsupported(f"there is no OpenCL code for {how} of {dtype.name}")
        kind = name_of(dtype)
        if dtype.is_unsigned:
            quotient = self.variable(f"{x} / ({y} == 0 ? ({kind})1 : {y})", dtype)
        else:
            unsigned = "ulong" if dtype.size == 8 else "uint"
            safe = f"({y} == 0 || {y} == -1 ? ({kind})1 : {y})"
            quotient = self.variable(f"{y} == -1 ? ({kind})(({unsigned})0 - ({unsigned}){x}) : ({kind})({x} / {safe})", dtype)
        rest = self.sub(VectorValue(x, dtype), self.mul(quotient, VectorValue(y, dtype)))
        if how.startswith("floor") and not dtype.is_unsigned:
            apart = self.variable(f"{rest.ir} != 0 && (({rest.ir} < 0) != ({y} < 0))", dt.bool_)
            return self.select(apart, self.add(rest, VectorValue(y, dtype)), rest) if how.endswith("mod") else \
                self.select(apart, self.sub(quotient, 1), quotient)
        return rest if how.endswith("mod") else quotient

    def pow(self, x: Any, y: Any) -> VectorValue:
        """x to the power of y, of floats."""
        return self._float(lambda f, a, b: self._function("pow", f.bits, (a, b)), "pow", x, y)

    def neg(self, x: Any) -> VectorValue:
        """-x."""
        dtype, (value,) = self._operands(x)
        return self.variable(f"-({value})", dtype) if dtype.is_floating else self.sub(0, x)

    def abs(self, x: Any) -> VectorValue:
        """The absolute value; that of the smallest integer is itself."""
        dtype, (value,) = self._operands(x)
        if dtype.is_floating:
            return self.variable(self.instruction("fabs", 64 if dtype is dt.float64 else 32, value), dtype)
        return x if dtype.is_unsigned or dtype.is_bool else self.select(self.lt(x, 0), self.neg(x), x)

    def _extreme(self, how: str, x: Any, y: Any) -> VectorValue:
        dtype, (a, b) = self._operands(x, y)
        nan = f"{a} != {a} || " if dtype.is_floating else ""
        return self.variable(f"({nan}{a} {how} {b}) ? {a} : {b}", dtype)

    def _whole(self, name: str, x: Any) -> VectorValue:
        dtype, (value,) = self._operands(x)
        return self.variable(self._floats(dtype).call(name, value), dtype) if dtype.is_floating else x

    def floor(self, x: Any) -> VectorValue:
        """Rounded down."""
        return self._whole("floor", x)

    def ceil(self, x: Any) -> VectorValue:
        """Rounded up."""
        return self._whole("ceil", x)

    def rint(self, x: Any) -> VectorValue:
        """Rounded to the nearest whole number, or the nearest even one."""
        return self._whole("roundeven", x)

    # --- truth values and bits -------------------------------------------------------------------------------------------------------------

    def _compare(self, name: str, x: Any, y: Any) -> VectorValue:
        _, (a, b) = self._operands(x, y)
        return self.variable(f"{a} {_COMPARISONS[name]} {b}", dt.bool_)

    def _bitwise(self, name: str, x: Any, y: Any) -> VectorValue:
        dtype, (a, b) = self._operands(x, y)
        if dtype.is_floating:
            raise Unsupported(f"there is no OpenCL code for the bits of {dtype.name}")
        return self.variable(f"({name_of(dtype)})({a} {_BITS[name]} {b})", dtype)

    def logical_and(self, x: Any, y: Any) -> VectorValue:
        """x and y, bit by bit."""
        return self._bitwise("and_", x, y)

    def logical_or(self, x: Any, y: Any) -> VectorValue:
        """x or y, bit by bit."""
        return self._bitwise("or_", x, y)

    def bitwise_xor(self, x: Any, y: Any) -> VectorValue:
        """x or y but not both, bit by bit."""
        return self._bitwise("xor", x, y)

    bitwise_and, bitwise_or = logical_and, logical_or

    def _shift(self, name: str, x: Any, y: Any) -> VectorValue:
        dtype, (a, b) = self._operands(x, y)
        if not dtype.is_integer:
            raise Unsupported(f"there is no OpenCL code for shifts of {dtype.name}")
        kind, bits = name_of(dtype), dtype.size * 8
        unsigned = kind if kind.startswith("u") else "u" + kind
        amount = self.variable(f"({unsigned}){b}", dt.uint64)
        far = f"{amount.ir} > {bits - 1}"
        if name == "ashr":
            return self.variable(f"({kind})({a} >> (int)({far} ? {bits - 1} : {amount.ir}))", dtype)
        sign = "<<" if name == "shl" else ">>"
        return self.variable(f"{far} ? ({kind})0 : ({kind})(({unsigned}){a} {sign} (int){amount.ir})", dtype)

    def is_nan(self, x: Any) -> VectorValue:
        """True where x is not a number."""
        _, (value,) = self._operands(x)
        return self.variable(f"{value} != {value}", dt.bool_)

    def select(self, condition: Any, x: Any, y: Any) -> VectorValue:
        """x where the condition holds, else y."""
        dtype, (a, b) = self._operands(x, y)
        return self.variable(f"{condition.ir} ? {a} : {b}", dtype)

    # --- casts -----------------------------------------------------------------------------------------------------------------------------

    def cast(self, x: Any, dtype: DType) -> VectorValue:
        """The value as another type, by the rules of ``tf.cast``."""
        if not isinstance(x, VectorValue):
            return self.typed(x, dtype)
        name_of(dtype)
        if x.dtype is dtype:
            return x
        if dtype.is_bool:
            return self.ne(x, 0)
        if x.dtype.is_floating and not dtype.is_floating:
            return self._float_to_integer(x, dtype)
        if (dtype is dt.float16 and x.dtype is dt.float64) or (dtype in NARROW and not x.dtype.is_floating and x.dtype.size > 2):
            raise Unsupported(f"a cast of {x.dtype.name} to {dtype.name} by way of float32 would round twice")
        return self._round(f"({name_of(dtype)}){x.ir}", dtype)

    def _float_to_integer(self, x: VectorValue, dtype: DType) -> VectorValue:
        if dtype in (dt.uint32, dt.uint64):
            raise Unsupported(f"casts of floats to {dtype.name} differ between machines where they are out of range")
        wide = dt.int64 if dtype is dt.int64 else dt.int32
        limit, double = 2.0 ** (wide.size * 8 - 1), x.dtype is dt.float64
        low = literal(-limit - 1 if double and wide is dt.int32 else -limit, x.dtype)
        above = f"{x.ir} > {low}" if double and wide is dt.int32 else f"{x.ir} >= {low}"
        inside = self.variable(f"{above} && {x.ir} < {literal(limit, x.dtype)}", dt.bool_)
        whole = self.variable(f"{inside.ir} ? ({name_of(wide)}){x.ir} : {literal(wide.min, wide)}", wide)
        return whole if wide is dtype else self.variable(f"({name_of(dtype)}){whole.ir}", dtype)


def literal(number: Any, dtype: DType) -> str:
    """A number of this type."""
    if dtype.is_bool:
        return "true" if number else "false"
    if not dtype.is_floating:
        value, kind = int(number), name_of(dtype)
        if dtype is dt.int64 and value == dtype.min:
            return "(-0x7fffffffffffffffL - 1L)"
        return f"(({kind}){value}{'UL' if dtype is dt.uint64 else 'L'})"
    double = dtype is dt.float64
    if number != number:
        return "(as_double(0x7ff8000000000000L))" if double else "(as_float(0x7fc00000))"
    if number in (float("inf"), float("-inf")):
        return f"({'-' if number < 0 else ''}{'(double)INFINITY' if double else 'INFINITY'})"
    return f"({float(number).hex()}{'' if double else 'f'})"
