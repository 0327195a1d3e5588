"""The vocabulary of ``lower`` (``penstock.graph.lowering``) in NumPy: the tests' stand-in for the compiler."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from penstock.graph.dtypes import DType
from penstock.graph.lowering import BINARY, UNARY


def _rsqrt(x: Any) -> Any:
    return 1 / np.sqrt(x)


def _div(x: Any, y: Any) -> Any:
    return np.true_divide(x, y).astype(x.dtype)


def _truncate_div(x: Any, y: Any) -> Any:
    return np.trunc(x / y) if x.dtype.kind in "fV" else ((np.abs(x) // np.abs(y)) * np.sign(x) * np.sign(y)).astype(x.dtype)


def _power(x: Any, y: Any) -> Any:
    return np.power(x, y)


_TABLE: dict[str, Callable[..., Any]] = {
    "neg": np.negative, "abs": np.abs, "sign": np.sign, "rsqrt": _rsqrt, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "erf": special.erf, "erfc": special.erfc, "lgamma": special.gammaln,
    "digamma": special.psi, "sigmoid": special.expit, "is_nan": np.isnan, "is_inf": np.isinf, "is_finite": np.isfinite, "sub": np.subtract,
    "add": np.add, "mul": np.multiply, "div": _div, "floordiv": np.floor_divide, "floormod": np.mod, "truncatediv": _truncate_div,
    "truncatemod": np.fmod, "pow": _power, "atan2": np.arctan2, "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal,
    "gt": np.greater, "ge": np.greater_equal}

_WIDE = {"float16": np.float32, "bfloat16": np.float32}  # what the compiler computes narrow floats in


class NumpyBuilder:
    """Evaluates at once, on whole arrays instead of single elements."""

    def constant(self, value: Any, dtype: DType | None = None) -> Any:
        """A literal; without a type it takes that of the other operand."""
        return value if dtype is None else np.asarray(value, dtype.np)

    def cast(self, x: Any, dtype: DType) -> Any:
        """``tf.cast``: complex to real drops the imaginary part."""
        x = np.asarray(x)
        x = x.real if x.dtype.kind == "c" and not dtype.is_complex and not dtype.is_bool else x
        return x.astype(dtype.np)

    def select(self, condition: Any, x: Any, y: Any) -> Any:
        """x where the condition holds, else y."""
        return np.where(condition, *_same_type([x, y]))

    def divide_integers(self, x: Any, y: Any, how: str) -> Any:
        """Of numbers that Python holds whole, rounded, and cut to their type again."""
        quotient = x.astype(object) // y.astype(object)
        rest = x.astype(object) - quotient * y.astype(object)
        if how.startswith("truncate"):
            towards_zero = (rest != 0) & (np.less(x, 0) != np.less(y, 0))
            quotient, rest = quotient + towards_zero, rest - towards_zero * y.astype(object)
        exact = np.asarray(rest if how.endswith("mod") else quotient, object)
        return (exact & ((1 << 8 * x.dtype.itemsize) - 1)).astype(np.uint64).astype(x.dtype)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in UNARY and name not in BINARY:
            raise AttributeError(f"'{name}' is not in the vocabulary of `lower`")
        function = _TABLE.get(name) or getattr(np, name)

        def call(*operands: Any) -> Any:
            if len(operands) != (1 if name in UNARY else 2):
                raise TypeError(f"b.{name} takes {1 if name in UNARY else 2} operands")
            arrays = _same_type(list(operands))
            wide = _WIDE.get(arrays[0].dtype.name)
            if wide is None:
                return function(*arrays)
            result = np.asarray(function(*[array.astype(wide) for array in arrays]))
            return result.astype(arrays[0].dtype) if result.dtype.kind == "f" else result
        return call


def _same_type(operands: list[Any]) -> list[Any]:
    """Python numbers become arrays of the type of the operand that is one."""
    typed = next((np.asarray(o).dtype for o in operands if isinstance(o, (np.ndarray, np.generic))), None)
    arrays = [np.asarray(o) if isinstance(o, (np.ndarray, np.generic)) or typed is None else np.asarray(o, typed) for o in operands]
    kinds = {array.dtype for array in arrays}
    if len(kinds) > 1:
        raise TypeError(f"operands of different types: {sorted(map(str, kinds))}; cast them first")
    return arrays
