"""Composed mathematics: public functions that are made of other ops."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.graph import raw_ops
from penstock.graph.composite import IndexedSlices
from penstock.graph.convert import to_tensor
from penstock.graph.dtypes import float32, int64
from penstock.graph.graph import default_graph
from penstock.graph.node import Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.array.cast import cast
from penstock.ops.array.shape_ops import size
from penstock.ops.constant import identity
from penstock.ops.math.elementwise import DivNoNan, Mul, Neg, Sub, abs
from penstock.ops.math.powers import Exp
from penstock.ops.math.reduce import reduce_sum
from penstock.ops.math.special import BesselI0e, BesselI1e, Lgamma
from penstock.ops.math.statistics import count_nonzero


def scalar_mul(scalar: Any, x: Any, name: str | None = None) -> Any:
    """``tf.scalar_mul``: a scalar times a tensor or IndexedSlices."""
    dtype = x.dtype.base_dtype if isinstance(x, IndexedSlices) or hasattr(x, "_as_graph_element") else to_tensor(x).dtype.base_dtype
    scalar = to_tensor(scalar, dtype, "scalar")
    if scalar.shape.ndims not in (None, 0):
        raise ValueError(f"Only scalar multiply works, got shape {scalar.shape}")
    if isinstance(x, IndexedSlices):
        return IndexedSlices(Mul(scalar, x.values, name=name), x.indices, x.dense_shape)
    return Mul(scalar, x, name=name)


def reciprocal_no_nan(x: Any, name: str | None = None) -> Tensor:
    """``tf.math.reciprocal_no_nan``: 1 / x, and 0 where x is 0."""
    with name_scope(name, "reciprocal_no_nan", [x]) as scope:
        x = to_tensor(x, None, "x")
        return DivNoNan(to_tensor(1, x.dtype.base_dtype, "one"), x, name=scope)


def polyval(coeffs: Any, x: Any, name: str | None = None) -> Tensor:
    """``tf.math.polyval``: the polynomial with these coefficients, the highest power first, at x."""
    with name_scope(name, "polyval", [*coeffs, x]):
        x = to_tensor(x, None, "x")
        if len(coeffs) < 1:
            return cast(np.zeros(()), x.dtype)
        coeffs = [to_tensor(c, None, f"{index}_coeff") for index, c in enumerate(coeffs)]
        result = coeffs[0]
        for coefficient in coeffs[1:]:
            result = coefficient + result * x
        return result


def log_sigmoid(x: Any, name: str | None = None) -> Tensor:
    """``tf.log_sigmoid``: log(1 / (1 + exp(-x))), without overflow."""
    with name_scope(name, "LogSigmoid", [x]) as scope:
        return Neg(raw_ops.Softplus(Neg(to_tensor(x, None, "x"))), name=scope)


def lbeta(x: Any, name: str | None = None) -> Tensor:
    """``tf.lbeta``: the logarithm of the absolute value of the beta function over the last axis."""
    with name_scope(name, "lbeta", [x]):
        x = to_tensor(x, None, "x")
        return Sub(reduce_sum(Lgamma(x), [-1]), Lgamma(reduce_sum(x, [-1])), name="sub")


def bessel_i0(x: Any, name: str | None = None) -> Tensor:
    """``tf.math.bessel_i0``: the modified Bessel function of order 0."""
    with name_scope(name, "bessel_i0", [x]):
        x = to_tensor(x, None, "x")
        return Exp(abs(x)) * BesselI0e(x)


def bessel_i1(x: Any, name: str | None = None) -> Tensor:
    """``tf.math.bessel_i1``: the modified Bessel function of order 1."""
    with name_scope(name, "bessel_i1", [x]):
        x = to_tensor(x, None, "x")
        return Exp(abs(x)) * BesselI1e(x)


def zero_fraction(value: Any, name: str | None = None) -> Tensor:
    """``tf.math.zero_fraction``: the part of the elements that is 0."""
    with name_scope(name, "zero_fraction", [value]):
        value = to_tensor(value, None, "value")
        number = size(value, out_type=int64)
        default_graph().imply(15 if value.shape.ndims is not None else 18)  # TensorFlow has a conditional with a count for each size of integers
        zeros = number - count_nonzero(value)
        return identity(cast(zeros, float32) / cast(number, float32), "fraction")


