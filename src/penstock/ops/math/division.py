"""Division in its many kinds: of integers and of floats, rounded down and towards zero, and what remains."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.errors import invalid_argument, unimplemented
from penstock.graph import dtypes
from penstock.graph.attrs import Attr, types
from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.scopes import name_scope
from penstock.ops.array.broadcast_gradient import broadcast_nodes, broadcast_reads, reduce_both
from penstock.ops.array.cast import cast
from penstock.ops.common import FLOATS, INDEX, broadcasting
from penstock.ops.math.elementwise import ARITHMETIC, Mul, Neg, RealDiv, quotient_gradient
from penstock.ops.public import function

_WIDER = {dtypes.uint8: dtypes.float32, dtypes.int8: dtypes.float32, dtypes.uint16: dtypes.float32,
          dtypes.int16: dtypes.float32, dtypes.int32: dtypes.float64, dtypes.int64: dtypes.float64}


def _is_integer(x: Any) -> bool:
    return np.asarray(x).dtype.kind in "iu"


def _check_divisor(x: Any, y: Any) -> None:
    """Refuses zeros, unless nothing is divided by them."""
    if np.size(x) and not np.all(y):
        raise invalid_argument("Integer division by zero")


def truncated_quotient(x, y):
    """The quotient of integers, rounded towards zero as C does."""
    _check_divisor(x, y)
    quotient = np.floor_divide(x, y)
    too_small = (np.remainder(x, y) != 0) & (np.less(x, 0) != np.less(y, 0))
    return quotient + too_small.astype(quotient.dtype)


def _quotient(x, y):
    return truncated_quotient(x, y) if _is_integer(x) else np.divide(x, y)


def _truncated_remainder(x, y):
    if _is_integer(x):
        _check_divisor(x, y)
    return np.fmod(x, y)


# Native code divides integers in two steps: it refuses zeros, then it divides. The second step is an op of its own, which must not stand alone.

_QUOTIENTS = {"truncatediv": _quotient, "truncatemod": _truncated_remainder, "floordiv": np.floor_divide, "floormod": np.remainder}


@op("_DivideIntegers", "x: T, y: T -> z: T", T=types(*(each for each in ARITHMETIC if each.is_integer)), how=Attr("string"))
class DivideIntegers:
    """The quotient of integers, or what remains, where y has been found to have no zeros."""

    elementwise = True
    shape = broadcasting("x", "y")
    gradient = None

    def kernel(x, y, how):
        return _QUOTIENTS[how](x, y)

    def lower(b, x, y, how):
        return b.divide_integers(x, y, how)


def _composition(how: str) -> Any:
    """How a division is made of a check and ``_DivideIntegers``. Of floats it is not."""
    def compose(b, x, y, T):
        if not T.is_integer:
            b.unsupported("a division of floats is one instruction")
        divisors = y.value.known
        if 0 not in x.shape and (divisors is None or not divisors.all()):
            b.refuse(b.equal(y, 0))
        return b.op("_DivideIntegers", np.broadcast_shapes(x.shape, y.shape), T, x, y, T=T, how=how)

    return compose


class _Quotient:
    elementwise = True
    shape = broadcasting("x", "y")
    kernel = _quotient
    compose = _composition("truncatediv")

    def lower(b, x, y, T):
        return b.truncatediv(x, y) if T.is_integer else b.div(x, y)


@op("Div", "x: T, y: T -> z: T", T=ARITHMETIC)
class Div(_Quotient):
    """x / y; the quotient of integers is rounded towards zero."""

    gradient_nodes = broadcast_nodes(5)
    gradient_reads = broadcast_reads
    neutral = {1: 1.0}

    def gradient(op, dy):
        return quotient_gradient(op, RealDiv, dy, *op.inputs)


@op("TruncateDiv", "x: T, y: T -> z: T", T=ARITHMETIC)
class TruncateDiv(_Quotient):
    """x / y; the quotient of integers is rounded towards zero."""

    gradient = None


@op("FloorDiv", "x: T, y: T -> z: T", T=ARITHMETIC)
class FloorDiv:
    """x / y, rounded down."""

    elementwise = True
    shape = broadcasting("x", "y")

    def kernel(x, y):
        if _is_integer(x):
            _check_divisor(x, y)
            return np.floor_divide(x, y)
        quotient = np.divide(x, y)
        if quotient.dtype.kind == "c":
            raise unimplemented("FloorDiv is not defined for complex numbers")
        return np.floor(quotient)

    def lower(b, x, y):
        return b.floordiv(x, y)

    compose = _composition("floordiv")
    gradient = None


@op("FloorMod", "x: T, y: T -> z: T", T=FLOATS | INDEX)
class FloorMod:
    """What remains of x / y rounded down: it has the sign of y."""

    gradient_nodes = broadcast_nodes(3)
    gradient_reads = broadcast_reads
    elementwise = True
    shape = broadcasting("x", "y")

    def kernel(x, y):
        if _is_integer(x):
            _check_divisor(x, y)
            return np.remainder(x, y)
        rest = np.fmod(x, y)
        return np.where(np.less(x, 0) == np.less(y, 0), rest, np.fmod(rest + y, y))

    def lower(b, x, y):
        return b.floormod(x, y)

    compose = _composition("floormod")

    def gradient(op, dy):
        x, y = op.inputs
        return reduce_both(op, dy, Mul(dy, Neg(FloorDiv(x, y))))


class _TruncatedRemainder:
    elementwise = True
    shape = broadcasting("x", "y")
    kernel = _truncated_remainder
    compose = _composition("truncatemod")

    def lower(b, x, y):
        return b.truncatemod(x, y)

    def gradient(op, dy):
        x, y = op.inputs
        whole = cast(cast(RealDiv(x, y), dtypes.int64), dy.dtype)
        return reduce_both(op, dy, Neg(Mul(dy, whole)))


@op("Mod", "x: T, y: T -> z: T", T=FLOATS | INDEX)
class Mod(_TruncatedRemainder):
    """What remains of x / y rounded towards zero: it has the sign of x."""


@op("TruncateMod", "x: T, y: T -> z: T", T=FLOATS | INDEX)
class TruncateMod(_TruncatedRemainder):
    """What remains of x / y rounded towards zero: it has the sign of x."""


truncatediv = function(TruncateDiv, "truncatediv")
truncatemod = function(TruncateMod, "truncatemod")
floor_div = function(FloorDiv, "floor_div")
floormod = function(FloorMod, "floormod")
mod = function(FloorMod, "mod")


def operands_of_true_division(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Two tensors that are to be divided; integers as floats that hold them."""
    dtype, other = x.dtype.base_dtype, y.dtype.base_dtype
    if dtype is not other:
        raise TypeError(f"x and y must have the same dtype, got {dtype!r} != {other!r}")
    if dtype.is_integer:
        if dtype not in _WIDER:
            raise TypeError(f"Invalid dtype {dtype!r} in __truediv__")
        x, y = cast(x, _WIDER[dtype]), cast(y, _WIDER[dtype])
    return x, y


def true_divide(x: Tensor, y: Tensor, name: str) -> Tensor:
    """x / y of two tensors."""
    return RealDiv(*operands_of_true_division(x, y), name=name)


def _operands(x: Any, y: Any) -> tuple[Tensor, Tensor]:
    x = to_tensor(x, None, "x")
    return x, to_tensor(y, x.dtype.base_dtype, "y")


def truediv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """``tf.truediv``: x / y as Python 3 divides: integers give floats."""
    with name_scope(name, "truediv", [x, y]) as scope:
        return true_divide(*_operands(x, y), name=scope)


def div(x: Any, y: Any, name: str | None = None) -> Tensor:
    """``tf.div``: x / y as Python 2 divides: the quotient of integers is rounded down."""
    with name_scope(name, "div", [x, y]) as scope:
        x, y = _operands(x, y)
        return (RealDiv if x.dtype.is_floating or x.dtype.is_complex else FloorDiv)(x, y, name=scope)


def floordiv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """``tf.floordiv``: x / y rounded down."""
    with name_scope(name, "floordiv", [x, y]) as scope:
        return FloorDiv(x, y, name=scope)


def divide(x: Any, y: Any, name: str | None = None) -> Any:
    """``tf.divide``: Python's ``x / y``; of two Python numbers too."""
    return x / y if name is None else truediv(x, y, name)
