"""Arithmetic, elementwise and with broadcasting: sums, products, quotients, extremes, signs.

Gradients of complex numbers follow TensorFlow's convention: the gradient of a holomorphic f is dy * conj(f').
"""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.graph.attrs import SHAPE, count
from penstock.graph.composite import IndexedSlices, SparseTensor
from penstock.graph.convert import to_tensor
from penstock.graph.dtypes import bfloat16, string, uint16, uint32, uint64, variant
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.scopes import name_scope
from penstock.graph.shape import unknown_shape
from penstock.ops.broadcast_gradient import reduce_both
from penstock.ops.cast import ComplexAbs, conj
from penstock.ops.common import FLOATS, INDEX, INEXACT, INTS_SIGNED, NUMERIC, broadcasting, like
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

    elementwise = True
    shape = broadcasting("x", "y")
    kernel = _sum

    def lower(b, x, y):
        return b.add(x, y)

    def gradient(op, dy):
        return reduce_both(op, dy, dy)


@op("AddV2", "x: T, y: T -> z: T", T=ARITHMETIC - {uint16})
class AddV2:
    """x + y."""

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
        return np.where(np.equal(y, 0), np.zeros((), np.result_type(x)), np.multiply(x, y))

    def lower(b, x, y):
        return b.select(b.eq(y, 0), b.mul(x, 0) if False else b.sub(y, y), b.mul(x, y))

    def gradient(op, dy):
        x, y = op.inputs
        return reduce_both(op, MulNoNan(dy, y), MulNoNan(x, dy))


@op("RealDiv", "x: T, y: T -> z: T", T=ARITHMETIC)
class RealDiv:
    """x / y."""

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

    elementwise = True
    shape = broadcasting("x", "y")

    def kernel(x, y):
        zero = np.equal(y, 0)
        return np.where(zero, np.zeros((), np.result_type(x)), np.divide(x, np.where(zero, np.ones((), np.result_type(y)), y)))

    def lower(b, x, y):
        return b.select(b.eq(y, 0), b.sub(y, y), b.div(x, y))

    def gradient(op, dy):
        x, y = op.inputs
        return quotient_gradient(op, DivNoNan, dy, x, y)


def _pick(op, dy, chosen):
    """The gradient goes to x where ``chosen`` holds, else to y."""
    # Select broadcasts nothing and compares nothing: it lives above this file.
    from penstock.ops.select import Select
    zeros = Mul(dy, to_tensor(0, dy.dtype.base_dtype)) if False else _zeros_like(dy)
    return reduce_both(op, Select(chosen, dy, zeros), Select(chosen, zeros, dy))
