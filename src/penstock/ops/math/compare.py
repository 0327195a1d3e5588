"""Comparisons and logic, elementwise and with broadcasting."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.graph.dtypes import bool_, string, uint16, uint32, uint64
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.shape import TensorShape, broadcast, scalar, unknown_shape
from penstock.ops.common import FLOATS, NUMERIC, REAL, broadcasting, like
from penstock.ops.public import function

_EQUATABLE = (NUMERIC - {uint16, uint32, uint64}) | {string, bool_}


def _equality_shape(x, y, incompatible_shape_error):
    if incompatible_shape_error or x.shape.ndims is None or y.shape.ndims is None:
        return broadcast(x.shape, y.shape)
    try:
        result = broadcast(x.shape, y.shape)
    except ValueError:
        return scalar()  # tensors that do not go together are unequal as a whole
    return result if _surely_broadcast(x.shape, y.shape) else unknown_shape()


_equality_shape.broadcasts = True  # type: ignore[attr-defined]


def _surely_broadcast(x: TensorShape, y: TensorShape) -> bool:
    return x.is_fully_defined() and y.is_fully_defined()


def _equal(x, y, T, incompatible_shape_error):
    if not incompatible_shape_error and not _fit(np.shape(x), np.shape(y)):
        return np.False_
    if T is string:
        return np.asarray(np.equal(np.asarray(x, object), np.asarray(y, object)), bool)
    return np.equal(x, y)


def _fit(x: tuple[int, ...], y: tuple[int, ...]) -> bool:
    return all(p == q or 1 in (p, q) for p, q in zip(reversed(x), reversed(y)))


def _not_equal(x, y, T, incompatible_shape_error):
    return np.logical_not(_equal(x, y, T, incompatible_shape_error))


@op("Equal", "x: T, y: T -> z: bool", T=_EQUATABLE, incompatible_shape_error=True)
class Equal:
    """x == y."""

    elementwise = commutative = True
    shape = _equality_shape
    kernel = _equal

    def lower(b, x, y):
        return b.eq(x, y)

    gradient = None


@op("NotEqual", "x: T, y: T -> z: bool", T=_EQUATABLE, incompatible_shape_error=True)
class NotEqual:
    """x != y."""

    elementwise = commutative = True
    shape = _equality_shape
    kernel = _not_equal

    def lower(b, x, y):
        return b.ne(x, y)

    gradient = None


@op("Less", "x: T, y: T -> z: bool", T=REAL)
class Less:
    """x < y."""

    elementwise = True
    shape = broadcasting("x", "y")

    def kernel(x, y):
        return np.less(x, y)

    def lower(b, x, y):
        return b.lt(x, y)

    gradient = None


@op("LessEqual", "x: T, y: T -> z: bool", T=REAL)
class LessEqual:
    """x <= y."""

    elementwise = True
    shape = broadcasting("x", "y")

    def kernel(x, y):
        return np.less_equal(x, y)

    def lower(b, x, y):
        return b.le(x, y)

    gradient = None


@op("Greater", "x: T, y: T -> z: bool", T=REAL)
class Greater:
    """x > y."""

    elementwise = True
    shape = broadcasting("x", "y")

    def kernel(x, y):
        return np.greater(x, y)

    def lower(b, x, y):
        return b.gt(x, y)

    gradient = None


@op("GreaterEqual", "x: T, y: T -> z: bool", T=REAL)
class GreaterEqual:
    """x >= y."""

    elementwise = True
    shape = broadcasting("x", "y")

    def kernel(x, y):
        return np.greater_equal(x, y)

    def lower(b, x, y):
        return b.ge(x, y)

    gradient = None


@op("LogicalAnd", "x: bool, y: bool -> z: bool")
class LogicalAnd:
    """x and y."""

    elementwise = commutative = True
    shape = broadcasting("x", "y")

    def kernel(x, y):
        return np.logical_and(x, y)

    def lower(b, x, y):
        return b.logical_and(x, y)

    gradient = None


@op("LogicalOr", "x: bool, y: bool -> z: bool")
class LogicalOr:
    """x or y."""

    elementwise = commutative = True
    shape = broadcasting("x", "y")

    def kernel(x, y):
        return np.logical_or(x, y)

    def lower(b, x, y):
        return b.logical_or(x, y)

    gradient = None


@op("LogicalNot", "x: bool -> y: bool")
class LogicalNot:
    """not x."""

    elementwise = involution = True
    shape = like("x")

    def kernel(x):
        return np.logical_not(x)

    def lower(b, x):
        return b.logical_not(x)

    gradient = None


@op("IsNan", "x: T -> y: bool", T=FLOATS)
class IsNan:
    """True where x is not a number."""

    elementwise = True
    shape = like("x")

    def kernel(x):
        return np.isnan(x)

    def lower(b, x):
        return b.is_nan(x)

    gradient = None


@op("IsInf", "x: T -> y: bool", T=FLOATS)
class IsInf:
    """True where x is infinite."""

    elementwise = True
    shape = like("x")

    def kernel(x):
        return np.isinf(x)

    def lower(b, x):
        return b.is_inf(x)

    gradient = None


@op("IsFinite", "x: T -> y: bool", T=FLOATS)
class IsFinite:
    """True where x is neither infinite nor not a number."""

    elementwise = True
    shape = like("x")

    def kernel(x):
        return np.isfinite(x)

    def lower(b, x):
        return b.is_finite(x)

    gradient = None


@op("ApproximateEqual", "x: T, y: T -> z: bool", T=NUMERIC, tolerance=9.999999747378752e-06)
class ApproximateEqual:
    """True where abs(x - y) is below the tolerance."""

    elementwise = commutative = True

    def shape(x, y):
        return x.shape.merge_with(y.shape)

    def kernel(x, y, tolerance):
        if np.asarray(x).dtype.kind == "u":  # the difference must not wrap around
            x, y = np.maximum(x, y), np.minimum(x, y)
        return np.less(np.abs(np.subtract(x, y)).astype(np.float64), tolerance)

    gradient = None


def equal(x: Any, y: Any, name: str | None = None) -> Any:
    """``tf.equal``: x == y, elementwise."""
    return Equal(x, y, name=name)


def not_equal(x: Any, y: Any, name: str | None = None) -> Any:
    """``tf.not_equal``: x != y, elementwise."""
    return NotEqual(x, y, name=name)


less = function(Less, "less")
less_equal = function(LessEqual, "less_equal")
greater = function(Greater, "greater")
greater_equal = function(GreaterEqual, "greater_equal")
logical_and = function(LogicalAnd, "logical_and")
logical_or = function(LogicalOr, "logical_or")
logical_not = function(LogicalNot, "logical_not")
is_nan = function(IsNan, "is_nan")
is_inf = function(IsInf, "is_inf")
is_finite = function(IsFinite, "is_finite")
approximate_equal = function(ApproximateEqual, "approximate_equal")


def logical_xor(x: Any, y: Any, name: str = "LogicalXor") -> Tensor:
    """``tf.logical_xor``: x or y, but not both."""
    return LogicalAnd(LogicalOr(x, y), LogicalNot(LogicalAnd(x, y)), name=name)
