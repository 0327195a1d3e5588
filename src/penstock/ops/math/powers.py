"""Powers and roots, exponentials and logarithms, elementwise."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.properties import Extents
from penstock.graph.scopes import name_scope
from penstock.ops.array.broadcast_gradient import known_broadcast_nodes, known_broadcast_reads, reduce_both
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import ones_like, zeros_like
from penstock.ops.array.select import where
from penstock.ops.common import INEXACT, broadcasting, like
from penstock.ops.demands import check_same_shape, same_shape
from penstock.ops.math.compare import Greater, NotEqual
from penstock.ops.math.complex import conj
from penstock.ops.math.elementwise import NO_BFLOAT16, SIGNED, AddV2, Mul, Neg, RealDiv, Square, Sub
from penstock.ops.public import function


def _or_zero(dy: Any, gradient: Any) -> Any:
    """``gradient``, and 0 where nothing comes in: a pole that a ``where`` has masked stays masked."""
    return np.where(np.equal(dy, 0), dy, gradient)


def _number(value: float, tensor: Tensor) -> Tensor:
    """A constant of the tensor's type."""
    return to_tensor(value, tensor.dtype.base_dtype)


@op("Pow", "x: T, y: T -> z: T", T=SIGNED)
class Pow:
    """x to the power of y."""

    gradient_nodes = known_broadcast_nodes(16, lambda op: False)
    gradient_reads = lambda op: [*known_broadcast_reads(0, 1)(op), Extents(op.inputs[0]), op.outputs[0]]
    elementwise = True
    shape = broadcasting("x", "y")

    def kernel(x, y):
        if np.asarray(x).dtype.kind == "i" and np.any(np.less(y, 0)):
            raise invalid_argument("Integers to negative integer powers are not allowed")
        power, roots = np.power(x, y), np.equal(y, 0.5)
        if power.dtype.kind == "f" and np.any(roots):  # NumPy takes square roots there, which differ for -inf and -0
            power = np.where(roots & np.isneginf(x), np.inf, np.where(roots & np.equal(x, 0), 0, power)).astype(power.dtype)
        return power

    def lower(b, x, y):
        return b.pow(x, y)

    def gradient(op, dy):
        x, y, z = conj(op.inputs[0]), conj(op.inputs[1]), conj(op.outputs[0])
        zero = zeros_like(x)
        defined = NotEqual(x, zero) if x.dtype.is_complex else Greater(x, zero)
        log_x = where(defined, Log(where(defined, x, ones_like(x))), zero)
        return reduce_both(op, Mul(Mul(dy, y), Pow(x, Sub(y, _number(1, y)))), Mul(Mul(dy, z), log_x))


@op("Sqrt", "x: T -> y: T", T=INEXACT)
class Sqrt:
    """The square root."""

    ufunc = np.sqrt
    elementwise = True
    shape = like("x")

    def kernel(x):
        return np.sqrt(x)

    def lower(b, x):
        return b.sqrt(x)

    def gradient(op, dy):
        return SqrtGrad(op.outputs[0], dy)


@op("SqrtGrad", "y: T, dy: T -> z: T", T=INEXACT)
class SqrtGrad:
    """The gradient of y = sqrt(x): dy / 2 / conj(y), and 0 where dy is 0."""

    elementwise = True
    shape = same_shape("y", "dy")

    def kernel(y, dy):
        check_same_shape(y, dy)
        return _or_zero(dy, np.divide(np.multiply(dy, _scalar_like(0.5, dy)), _conj(y)))

    def lower(b, y, dy):
        return b.select(b.eq(dy, 0), dy, b.div(b.mul(dy, 0.5), b.conj(y)))

    def gradient(op, g):
        ratio = RealDiv(g, op.inputs[0])
        return [Neg(Mul(conj(ratio), op.outputs[0])), Mul(_number(0.5, ratio), ratio)]


@op("Rsqrt", "x: T -> y: T", T=INEXACT)
class Rsqrt:
    """1 / sqrt(x)."""

    elementwise = True
    shape = like("x")

    def kernel(x):
        return np.divide(_scalar_like(1, x), np.sqrt(x))

    def lower(b, x):
        return b.rsqrt(x)

    def gradient(op, dy):
        return RsqrtGrad(op.outputs[0], dy)


@op("RsqrtGrad", "y: T, dy: T -> z: T", T=INEXACT)
class RsqrtGrad:
    """The gradient of y = 1 / sqrt(x): -dy / 2 * conj(y) ** 3, and 0 where dy is 0."""

    elementwise = True
    shape = same_shape("y", "dy")

    def kernel(y, dy):
        check_same_shape(y, dy)
        y = _conj(y)
        return _or_zero(dy, np.multiply(np.multiply(dy, _scalar_like(-0.5, dy)), np.multiply(np.multiply(y, y), y)))

    def lower(b, y, dy):
        y = b.conj(y)
        return b.select(b.eq(dy, 0), dy, b.mul(b.mul(dy, -0.5), b.mul(b.mul(y, y), y)))

    def gradient(op, g):
        y, dy = conj(op.inputs[0]), op.inputs[1]
        return [Mul(Mul(Mul(_number(-1.5, y), conj(g)), dy), Square(y)), RsqrtGrad(y, g)]


class _Reciprocal:
    elementwise = True
    shape = like("x")

    def kernel(x):
        if np.asarray(x).dtype.kind != "i":
            return np.divide(_scalar_like(1, x), x)
        if np.any(np.equal(x, 0)):
            raise invalid_argument("Integer division by zero")
        return np.where(np.abs(x) == 1, x, np.zeros_like(x))

    def lower(b, x):
        return b.div(1, x)


class _ReciprocalGrad:
    elementwise = True
    shape = same_shape("y", "dy")

    def kernel(y, dy):
        check_same_shape(y, dy)
        y = _conj(y)
        return _or_zero(dy, np.multiply(np.negative(dy), np.multiply(y, y)))

    def lower(b, y, dy):
        y = b.conj(y)
        return b.select(b.eq(dy, 0), dy, b.mul(b.neg(dy), b.mul(y, y)))

    def gradient(op, g):
        y, dy = conj(op.inputs[0]), op.inputs[1]
        return [Mul(Mul(Mul(_number(-2, y), conj(g)), dy), y), ReciprocalGrad(y, g)]


@op("Reciprocal", "x: T -> y: T", T=SIGNED)
class Reciprocal(_Reciprocal):
    """1 / x."""

    def gradient(op, dy):
        return ReciprocalGrad(op.outputs[0], dy)


@op("ReciprocalGrad", "y: T, dy: T -> z: T", T=INEXACT)
class ReciprocalGrad(_ReciprocalGrad):
    """The gradient of y = 1 / x: -dy * conj(y) ** 2, and 0 where dy is 0."""


@op("Inv", "x: T -> y: T", T=SIGNED)
class Inv(_Reciprocal):
    """1 / x, under the name of the first versions."""

    def gradient(op, dy):
        return InvGrad(op.outputs[0], dy)


@op("InvGrad", "y: T, dy: T -> z: T", T=INEXACT)
class InvGrad(_ReciprocalGrad):
    """The gradient of y = 1 / x: -dy * conj(y) ** 2, and 0 where dy is 0."""


@op("Exp", "x: T -> y: T", T=INEXACT)
class Exp:
    """e to the power of x."""

    ufunc = np.exp
    elementwise = True
    shape = like("x")

    def kernel(x):
        return np.exp(x)

    def lower(b, x):
        return b.exp(x)

    def gradient(op, dy):
        return Mul(dy, conj(op.outputs[0]))


@op("Expm1", "x: T -> y: T", T=INEXACT)
class Expm1:
    """exp(x) - 1, exact for small x."""

    elementwise = True
    shape = like("x")

    def kernel(x):
        return np.expm1(x)

    def lower(b, x):
        return b.expm1(x)

    def gradient(op, dy):
        return Mul(dy, Exp(conj(op.inputs[0])))


@op("Log", "x: T -> y: T", T=INEXACT)
class Log:
    """The natural logarithm."""

    elementwise = True
    shape = like("x")

    def kernel(x):
        return np.log(x)

    def lower(b, x):
        return b.log(x)

    def gradient(op, dy):
        return Mul(dy, Reciprocal(conj(op.inputs[0])))


@op("Log1p", "x: T -> y: T", T=INEXACT)
class Log1p:
    """log(1 + x), exact for small x."""

    elementwise = True
    shape = like("x")

    def kernel(x):
        return np.log1p(x)

    def lower(b, x):
        return b.log1p(x)

    def gradient(op, dy):
        x = conj(op.inputs[0])
        return Mul(dy, Reciprocal(AddV2(_number(1, x), x)))


@op("Xlogy", "x: T, y: T -> z: T", T=NO_BFLOAT16)
class Xlogy:
    """x * log(y), and 0 where x is 0."""

    elementwise = True
    shape = broadcasting("x", "y")

    def kernel(x, y):
        zero = np.equal(x, 0)
        return np.where(zero, _scalar_like(0, x), np.multiply(x, np.log(np.where(zero, _scalar_like(1, y), y))))

    def lower(b, x, y):
        return b.select(b.eq(x, 0), b.constant(0), b.mul(x, b.log(y)))

    def gradient(op, dy):
        x, y = conj(op.inputs[0]), conj(op.inputs[1])
        return reduce_both(op, Mul(Xlogy(_is_nonzero(x), y), dy), Mul(Xdivy(x, y), dy))


@op("Xdivy", "x: T, y: T -> z: T", T=NO_BFLOAT16)
class Xdivy:
    """x / y, and 0 where x is 0."""

    elementwise = True
    shape = broadcasting("x", "y")

    def kernel(x, y):
        zero = np.equal(x, 0)
        return np.where(zero, _scalar_like(0, x), np.divide(x, np.where(zero, _scalar_like(1, y), y)))

    def lower(b, x, y):
        return b.select(b.eq(x, 0), b.constant(0), b.div(x, y))

    def gradient(op, dy):
        x, y = conj(op.inputs[0]), conj(op.inputs[1])
        return reduce_both(op, Mul(Xdivy(_is_nonzero(x), y), dy), Mul(Xdivy(Neg(x), Square(y)), dy))


def _is_nonzero(x: Tensor) -> Tensor:
    return cast(NotEqual(x, _number(0, x)), x.dtype)


def _scalar_like(value: float, like_array: Any) -> Any:
    """A scalar of the array's type: Python numbers would widen bfloat16."""
    return np.asarray(like_array).dtype.type(value)


def _conj(x: Any) -> Any:
    return np.conj(x) if np.asarray(x).dtype.kind == "c" else x


sqrt = function(Sqrt, "sqrt", sparse=True)
rsqrt = function(Rsqrt, "rsqrt")
reciprocal = function(Reciprocal, "reciprocal")
inv = function(Inv, "inv")
exp = function(Exp, "exp")
expm1 = function(Expm1, "expm1")
log = function(Log, "log")
log1p = function(Log1p, "log1p")
xlogy = function(Xlogy, "xlogy")
xdivy = function(Xdivy, "xdivy")


def pow(x: Any, y: Any, name: str | None = None) -> Tensor:
    """``tf.pow``: x to the power of y."""
    with name_scope(name, "Pow", [x, y]) as scope:
        return Pow(x, y, name=scope)
