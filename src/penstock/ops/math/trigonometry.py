"""Trigonometric and hyperbolic functions, their inverses, and the sigmoid, elementwise."""
from __future__ import annotations

import numpy as np

from penstock.graph.convert import to_tensor
from penstock.graph.dtypes import float64
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.ops.array.broadcast_gradient import reduce_both
from penstock.ops.common import FLOATS, INEXACT, broadcasting, like
from penstock.ops.demands import check_same_shape, same_shape
from penstock.ops.math.complex import conj
from penstock.ops.math.elementwise import SIGNED, AddV2, Mul, Neg, RealDiv, Square, Sub
from penstock.ops.math.powers import Reciprocal, Sqrt
from penstock.ops.precision import in_float32
from penstock.ops.public import function


def _one(tensor: Tensor) -> Tensor:
    return to_tensor(1, tensor.dtype.base_dtype)


def _of_floats(ufunc, x):
    """A function of floats that takes integers too; its results are cut off to integers again."""
    return np.asarray(ufunc(x)).astype(np.asarray(x).dtype, copy=False)


def _lower_of_floats(b, function, x, dtype):
    return b.cast(function(b.cast(x, float64)), dtype) if dtype.is_integer else function(x)


@op("Sin", "x: T -> y: T", T=INEXACT)
class Sin:
    """The sine."""

    elementwise = True
    shape = like("x")

    def kernel(x):
        return np.sin(x)

    def lower(b, x):
        return b.sin(x)

    def gradient(op, dy):
        return Mul(dy, Cos(conj(op.inputs[0])))


@op("Cos", "x: T -> y: T", T=INEXACT)
class Cos:
    """The cosine."""

    elementwise = True
    shape = like("x")

    def kernel(x):
        return np.cos(x)

    def lower(b, x):
        return b.cos(x)

    def gradient(op, dy):
        return Neg(Mul(dy, Sin(conj(op.inputs[0]))))


@op("Tan", "x: T -> y: T", T=SIGNED)
class Tan:
    """The tangent."""

    elementwise = True
    shape = like("x")

    def kernel(x):
        return _of_floats(np.tan, x)

    def lower(b, x, T):
        return _lower_of_floats(b, b.tan, x, T)

    def gradient(op, dy):
        return Mul(dy, Square(Reciprocal(Cos(conj(op.inputs[0])))))


@op("Asin", "x: T -> y: T", T=SIGNED)
class Asin:
    """The inverse of the sine, in [-pi/2, pi/2]."""

    elementwise = True
    shape = like("x")

    def kernel(x):
        return _of_floats(np.arcsin, x)

    def lower(b, x, T):
        return _lower_of_floats(b, b.asin, x, T)

    def gradient(op, dy):
        x = conj(op.inputs[0])
        return Mul(dy, Reciprocal(Sqrt(Sub(_one(x), Square(x)))))


@op("Acos", "x: T -> y: T", T=SIGNED)
class Acos:
    """The inverse of the cosine, in [0, pi]."""

    elementwise = True
    shape = like("x")

    def kernel(x):
        return _of_floats(np.arccos, x)

    def lower(b, x, T):
        return _lower_of_floats(b, b.acos, x, T)

    def gradient(op, dy):
        x = conj(op.inputs[0])
        return Neg(Mul(dy, Reciprocal(Sqrt(Sub(_one(x), Square(x))))))


@op("Atan", "x: T -> y: T", T=SIGNED)
class Atan:
    """The inverse of the tangent, in [-pi/2, pi/2]."""

    elementwise = True
    shape = like("x")

    def kernel(x):
        return _of_floats(np.arctan, x)

    def lower(b, x, T):
        return _lower_of_floats(b, b.atan, x, T)

    def gradient(op, dy):
        x = conj(op.inputs[0])
        return Mul(dy, Reciprocal(AddV2(_one(x), Square(x))))


@op("Atan2", "y: T, x: T -> z: T", T=FLOATS)
class Atan2:
    """The angle of the point (x, y), in [-pi, pi]."""

    elementwise = True
    shape = broadcasting("y", "x")

    def kernel(y, x):
        return np.arctan2(y, x)

    def lower(b, y, x):
        return b.atan2(y, x)

    def gradient(op, dz):
        y, x = op.inputs
        scaled = RealDiv(dz, AddV2(Square(x), Square(y)))
        return reduce_both(op, Mul(x, scaled), Mul(Neg(y), scaled))


@op("Sinh", "x: T -> y: T", T=INEXACT)
class Sinh:
    """The hyperbolic sine."""

    elementwise = True
    shape = like("x")

    def kernel(x):
        return np.sinh(x)

    def lower(b, x):
        return b.sinh(x)

    def gradient(op, dy):
        return Mul(dy, Cosh(conj(op.inputs[0])))


@op("Cosh", "x: T -> y: T", T=INEXACT)
class Cosh:
    """The hyperbolic cosine."""

    elementwise = True
    shape = like("x")

    def kernel(x):
        return np.cosh(x)

    def lower(b, x):
        return b.cosh(x)

    def gradient(op, dy):
        return Mul(dy, Sinh(conj(op.inputs[0])))


@op("Asinh", "x: T -> y: T", T=INEXACT)
class Asinh:
    """The inverse of the hyperbolic sine."""

    elementwise = True
    shape = like("x")

    def kernel(x):
        return np.arcsinh(x)

    def lower(b, x):
        return b.asinh(x)

    def gradient(op, dy):
        return RealDiv(dy, Cosh(conj(op.outputs[0])))


@op("Acosh", "x: T -> y: T", T=INEXACT)
class Acosh:
    """The inverse of the hyperbolic cosine."""

    elementwise = True
    shape = like("x")

    def kernel(x):
        return np.arccosh(x)

    def lower(b, x):
        return b.acosh(x)

    def gradient(op, dy):
        return RealDiv(dy, Sinh(conj(op.outputs[0])))


@op("Atanh", "x: T -> y: T", T=INEXACT)
class Atanh:
    """The inverse of the hyperbolic tangent."""

    elementwise = True
    shape = like("x")

    def kernel(x):
        return np.arctanh(x)

    def lower(b, x):
        return b.atanh(x)

    def gradient(op, dy):
        x = conj(op.inputs[0])
        return Mul(dy, Reciprocal(Sub(_one(x), Square(x))))


# --- S-shaped functions ----------------------------------------------------------------------------------------------

@op("Tanh", "x: T -> y: T", T=INEXACT)
class Tanh:
    """The hyperbolic tangent."""

    ufunc = np.tanh
    elementwise = True
    shape = like("x")

    def kernel(x):
        return np.tanh(x)

    def lower(b, x):
        return b.tanh(x)

    def gradient(op, dy):
        return TanhGrad(conj(op.outputs[0]), dy)


@op("TanhGrad", "y: T, dy: T -> z: T", T=INEXACT)
class TanhGrad:
    """The gradient of y = tanh(x): dy * (1 - y * y)."""

    elementwise = True
    shape = same_shape("y", "dy")

    @in_float32
    def kernel(y, dy):
        check_same_shape(y, dy)
        return dy * (1 - y * y)

    def lower(b, y, dy):
        return b.mul(dy, b.sub(1, b.mul(y, y)))

    def gradient(op, g):
        y, dy = conj(op.inputs[0]), conj(op.inputs[1])
        return [Mul(Mul(Mul(g, to_tensor(-2, g.dtype.base_dtype)), dy), y), TanhGrad(y, g)]


@op("Sigmoid", "x: T -> y: T", T=INEXACT)
class Sigmoid:
    """1 / (1 + exp(-x))."""

    elementwise = True
    shape = like("x")

    @in_float32
    def kernel(x):
        return 1 / (1 + np.exp(-x))

    def lower(b, x, T):
        return b.div(1, b.add(1, b.exp(b.neg(x)))) if T.is_complex else b.sigmoid(x)

    def gradient(op, dy):
        return SigmoidGrad(conj(op.outputs[0]), dy)


@op("SigmoidGrad", "y: T, dy: T -> z: T", T=INEXACT)
class SigmoidGrad:
    """The gradient of y = sigmoid(x): dy * y * (1 - y)."""

    elementwise = True
    shape = same_shape("y", "dy")

    @in_float32
    def kernel(y, dy):
        check_same_shape(y, dy)
        return dy * y * (1 - y)

    def lower(b, y, dy):
        return b.mul(b.mul(dy, y), b.sub(1, y))

    def gradient(op, g):
        y, dy = conj(op.inputs[0]), conj(op.inputs[1])
        scaled = Mul(g, dy)
        return [Sub(scaled, Mul(Mul(to_tensor(2, g.dtype.base_dtype), scaled), y)), SigmoidGrad(y, g)]


sin = function(Sin, "sin")
cos = function(Cos, "cos")
tan = function(Tan, "tan")
asin = function(Asin, "asin")
acos = function(Acos, "acos")
atan = function(Atan, "atan")
atan2 = function(Atan2, "atan2")
sinh = function(Sinh, "sinh")
cosh = function(Cosh, "cosh")
tanh = function(Tanh, "tanh", sparse=True)
asinh = function(Asinh, "asinh")
acosh = function(Acosh, "acosh")
atanh = function(Atanh, "atanh")
sigmoid = function(Sigmoid, "sigmoid")
