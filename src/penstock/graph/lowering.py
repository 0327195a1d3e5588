"""The vocabulary of ``lower``: what an elementwise op may say to the compiler.

``lower(b, x, y, attr...)`` computes ONE element: its inputs are scalar values of the element types, ``b`` builds scalar code for them. The
compiler fuses such bodies into loops; the tests run them with NumPy behind the same names and compare with the kernel. Python numbers may stand
wherever a value may; they take the type of the other operand.
"""
from __future__ import annotations

from typing import Any, Protocol

from penstock.graph.dtypes import DType

Value = Any

UNARY = ("neg", "abs", "sign", "sqrt", "rsqrt", "exp", "expm1", "log", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh",
         "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "lgamma", "digamma", "floor", "ceil", "rint", "sigmoid", "logical_not", "invert", "is_nan",
         "is_inf", "is_finite", "real", "imag", "conj")
BINARY = ("add", "sub", "mul", "div", "floordiv", "floormod", "truncatediv", "truncatemod", "pow", "atan2", "maximum", "minimum", "eq", "ne", "lt",
          "le", "gt", "ge", "logical_and", "logical_or", "bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift")


class Builder(Protocol):
    """One method per name in UNARY and BINARY, and these."""

    def constant(self, value: Any, dtype: DType | None = None) -> Value:
        """A literal."""

    def cast(self, x: Value, dtype: DType) -> Value:
        """The value as another type, by the rules of ``tf.cast``."""

    def select(self, condition: Value, x: Value, y: Value) -> Value:
        """x where the condition holds, else y."""

    def divide_integers(self, x: Value, y: Value, how: str) -> Value:
        """The result of floordiv, floormod, truncatediv or truncatemod, of integers; y has no zeros."""

    def __getattr__(self, name: str) -> Any: ...
