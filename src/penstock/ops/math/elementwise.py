"""Arithmetic, elementwise and with broadcasting: sums, products, quotients, extremes, signs.

Gradients of complex numbers follow TensorFlow's convention: the gradient of a holomorphic f is dy * conj(f').
"""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.graph.composite import SparseTensor
from penstock.graph.convert import to_tensor
from penstock.graph.dtypes import bfloat16, float32, int32, string, uint16, uint32, uint64
from penstock.graph.opdef import op
from penstock.graph.properties import Extents
from penstock.graph.scopes import name_scope
from penstock.ops.array.broadcast_gradient import broadcast_nodes, broadcast_reads, known_broadcast_nodes, known_broadcast_reads, reduce_both
from penstock.ops.array.fill import zeros_like
from penstock.ops.array.select import where
from penstock.ops.common import FLOATS, INDEX, INEXACT, INTS_SIGNED, NUMERIC, broadcasting, like
from penstock.ops.math.compare import GreaterEqual, LessEqual
from penstock.ops.math.complex import ComplexAbs, conj
from penstock.ops.public import function

ARITHMETIC = NUMERIC - {uint32, uint64}
SIGNED = INEXACT | INDEX
NO_BFLOAT16 = INEXACT - {bfloat16}


def _sum(x, y, T):
    if T is string:
        return np.add(np.asarray(x, object), np.asarray(y, object))
    return np.add(x, y)


@op("Add", "x: T, y: T -> z: T", T=(ARITHMETIC - {uint16}) | {string})
class Add:
    """x + y; strings are joined."""

    gradient_nodes = known_broadcast_nodes(0)
    gradient_reads = known_broadcast_reads()
    neutral = {0: -0.0, 1: -0.0}  # not 0.0: -0.0 + 0.0 is 0.0
    associative = "sum"
    elementwise = True
    epilogue = "add"
    shape = broadcasting("x", "y")
    kernel = _sum

    def lower(b, x, y):
        return b.add(x, y)

    def gradient(op, dy):
        return reduce_both(op, dy, dy)


@op("AddV2", "x: T, y: T -> z: T", T=ARITHMETIC - {uint16})
class AddV2:
    """x + y."""

    gradient_nodes = known_broadcast_nodes(0)
    gradient_reads = known_broadcast_reads()
    ufunc = np.add
    neutral = {0: -0.0, 1: -0.0}
    associative = "sum"
    epilogue = "add"
    elementwise = commutative = True
    shape = broadcasting("x", "y")

    def kernel(x, y):
        return np.add(x, y)

    def lower(b, x, y):
        return b.add(x, y)

    def gradient(op, dy):
        return reduce_both(op, dy, dy)


@op("Sub", "x: T, y: T -> z: T", T=ARITHMETIC)
class Sub:
    """x - y."""

    gradient_nodes = known_broadcast_nodes(1)
    gradient_reads = known_broadcast_reads()
    ufunc = np.subtract
    neutral = {1: 0.0}
    elementwise = True
    shape = broadcasting("x", "y")

    def kernel(x, y):
        return np.subtract(x, y)

    def lower(b, x, y):
        return b.sub(x, y)

    def gradient(op, dy):
        return reduce_both(op, dy, Neg(dy))


@op("Mul", "x: T, y: T -> z: T", T=ARITHMETIC)
class Mul:
    """x * y."""

    gradient_nodes = known_broadcast_nodes(2, lambda op: op.outputs[0].dtype.base_dtype in (float32, int32))
    gradient_reads = known_broadcast_reads(0, 1)
    ufunc = np.multiply
    neutral = {0: 1.0, 1: 1.0}
    associative = "product"
    elementwise = commutative = True
    shape = broadcasting("x", "y")

    def kernel(x, y):
        return np.multiply(x, y)

    def lower(b, x, y):
        return b.mul(x, y)

    def gradient(op, dy):
        x, y = op.inputs
        return reduce_both(op, Mul(dy, conj(y)), Mul(dy, conj(x)))


@op("MulNoNan", "x: T, y: T -> z: T", T=NO_BFLOAT16)
class MulNoNan:
    """x * y, and 0 where y is 0 even if x is infinite or not a number."""

    elementwise = True
    shape = broadcasting("x", "y")

    def kernel(x, y):
        return np.where(np.equal(y, 0), np.result_type(x).type(0), np.multiply(x, y))

    def lower(b, x, y):
        return b.select(b.eq(y, 0), b.constant(0), b.mul(x, y))

    def gradient(op, dy):
        x, y = op.inputs
        return reduce_both(op, MulNoNan(dy, y), MulNoNan(x, dy))


@op("RealDiv", "x: T, y: T -> z: T", T=ARITHMETIC)
class RealDiv:
    """x / y."""

    gradient_nodes = broadcast_nodes(5)
    gradient_reads = broadcast_reads
    neutral = {1: 1.0}
    elementwise = True
    shape = broadcasting("x", "y")

    def kernel(x, y):
        return np.divide(x, y).astype(np.result_type(x), copy=False)

    def lower(b, x, y):
        return b.div(x, y)

    def gradient(op, dy):
        x, y = op.inputs
        return quotient_gradient(op, RealDiv, dy, x, y)


def quotient_gradient(op, divide, dy, x, y):
    """The gradients of ``divide(x, y)``."""
    x, y = conj(x), conj(y)
    return reduce_both(op, divide(dy, y), Mul(dy, divide(divide(Neg(x), y), y)))


@op("DivNoNan", "x: T, y: T -> z: T", T=NO_BFLOAT16)
class DivNoNan:
    """x / y, and 0 where y is 0."""

    gradient_nodes = broadcast_nodes(5)
    gradient_reads = broadcast_reads
    elementwise = True
    shape = broadcasting("x", "y")

    def kernel(x, y):
        zero = np.equal(y, 0)
        dtype = np.result_type(x).type
        return np.where(zero, dtype(0), np.divide(x, np.where(zero, dtype(1), y)))

    def lower(b, x, y):
        return b.select(b.eq(y, 0), b.constant(0), b.div(x, y))

    def gradient(op, dy):
        x, y = op.inputs
        return quotient_gradient(op, DivNoNan, dy, x, y)


def _choose(op, dy, chosen):
    """The gradient goes to x where ``chosen`` holds, else to y."""
    zeros = zeros_like(dy)
    return reduce_both(op, where(chosen, dy, zeros), where(chosen, zeros, dy))


@op("Maximum", "x: T, y: T -> z: T", T=FLOATS | INDEX)
class Maximum:
    """The larger of x and y."""

    gradient_nodes = broadcast_nodes(6)
    gradient_reads = broadcast_reads
    ufunc = np.maximum
    elementwise = commutative = True
    shape = broadcasting("x", "y")

    def kernel(x, y):
        return np.maximum(x, y)

    def lower(b, x, y):
        return b.maximum(x, y)

    def gradient(op, dy):
        return _choose(op, dy, GreaterEqual(*op.inputs))


@op("Minimum", "x: T, y: T -> z: T", T=FLOATS | INDEX)
class Minimum:
    """The smaller of x and y."""

    gradient_nodes = broadcast_nodes(6)
    gradient_reads = broadcast_reads
    ufunc = np.minimum
    elementwise = commutative = True
    shape = broadcasting("x", "y")

    def kernel(x, y):
        return np.minimum(x, y)

    def lower(b, x, y):
        return b.minimum(x, y)

    def gradient(op, dy):
        return _choose(op, dy, LessEqual(*op.inputs))


@op("SquaredDifference", "x: T, y: T -> z: T", T=SIGNED)
class SquaredDifference:
    """(x - y) * conj(x - y)."""

    gradient_nodes = known_broadcast_nodes(5)
    gradient_reads = known_broadcast_reads(0, 1)
    elementwise = commutative = True
    shape = broadcasting("x", "y")

    def kernel(x, y):
        difference = np.subtract(x, y)
        return np.multiply(difference, np.conj(difference) if difference.dtype.kind == "c" else difference)

    def lower(b, x, y):
        difference = b.sub(x, y)
        return b.mul(difference, b.conj(difference))

    def gradient(op, dy):
        x, y = op.inputs
        grad = Mul(Mul(to_tensor(2, dy.dtype.base_dtype), dy), Sub(x, y))
        return reduce_both(op, grad, Neg(grad))


@op("Neg", "x: T -> y: T", T=SIGNED)
class Neg:
    """-x."""

    ufunc = np.negative
    elementwise = involution = True
    shape = like("x")

    def kernel(x):
        return np.negative(x)

    def lower(b, x):
        return b.neg(x)

    def gradient(op, dy):
        return -dy  # of IndexedSlices too


@op("Abs", "x: T -> y: T", T=FLOATS | INTS_SIGNED)
class Abs:
    """The absolute value."""

    ufunc = np.abs
    elementwise = idempotent = True
    shape = like("x")

    def kernel(x):
        return np.abs(x)

    def lower(b, x):
        return b.abs(x)

    def gradient(op, dy):
        return Mul(dy, Sign(op.inputs[0]))


@op("Sign", "x: T -> y: T", T=SIGNED)
class Sign:
    """-1, 0 or 1; x / abs(x) for complex numbers."""

    gradient_nodes = 3
    gradient_reads = lambda op: [Extents(op.inputs[0])]
    elementwise = True
    shape = like("x")

    def kernel(x):
        return np.sign(x)

    def lower(b, x):
        return b.sign(x)

    def gradient(op, dy):
        return zeros_like(op.inputs[0])


@op("Square", "x: T -> y: T", T=SIGNED)
class Square:
    """x * x."""

    elementwise = True
    shape = like("x")

    def kernel(x):
        return np.multiply(x, x)

    def lower(b, x):
        return b.mul(x, x)

    def gradient(op, dy):
        x = conj(op.inputs[0])
        return Mul(dy, Mul(x, to_tensor(2, x.dtype.base_dtype)))


add = function(Add, "add")
subtract = function(Sub, "subtract")
multiply = function(Mul, "multiply")
multiply_no_nan = function(MulNoNan, "multiply_no_nan", "multiply_no_nan")
div_no_nan = function(DivNoNan, "div_no_nan", "div_no_nan")
realdiv = function(RealDiv, "realdiv")
maximum = function(Maximum, "maximum")
minimum = function(Minimum, "minimum")
squared_difference = function(SquaredDifference, "squared_difference")
negative = function(Neg, "negative", sparse=True)
sign = function(Sign, "sign", sparse=True)
square = function(Square, "square", sparse=True)


def abs(x: Any, name: str | None = None) -> Any:
    """``tf.abs``: the absolute value; of complex numbers too."""
    if isinstance(x, SparseTensor):
        return SparseTensor(x.indices, abs(x.values, name), x.dense_shape)
    with name_scope(name, "Abs", [x]) as scope:
        x = to_tensor(x, None, "x")
        if x.dtype.is_complex:
            return ComplexAbs(x, Tout=x.dtype.base_dtype.real_dtype, name=scope)
        return Abs(x, name=scope)
