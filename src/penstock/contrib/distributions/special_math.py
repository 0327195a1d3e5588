"""The normal distribution function, its logarithm and its inverse; the logarithm of Laplace's."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from penstock.contrib import prelude as tf

# Up to the first bound the asymptotic series is used, above the second one log(1 - y) is -y.
LOGNDTR_FLOAT64_LOWER, LOGNDTR_FLOAT64_UPPER = np.array(-20, np.float64), np.array(8, np.float64)
LOGNDTR_FLOAT32_LOWER, LOGNDTR_FLOAT32_UPPER = np.array(-10, np.float32), np.array(5, np.float32)
_BOUNDS = {np.float32: (LOGNDTR_FLOAT32_LOWER, LOGNDTR_FLOAT32_UPPER), np.float64: (LOGNDTR_FLOAT64_LOWER, LOGNDTR_FLOAT64_UPPER)}

# Rational approximations of the inverse, from Cephes: constant term first, numerator and denominator.
_NEAR_MIDDLE = (
    [-1.23916583867381258016e0, 1.39312609387279679503e1, -5.66762857469070293439e1, 9.80010754185999661536e1, -5.99633501014107895267e1],
    [-1.18331621121330003142e0, 1.59056225126211695515e1, -8.20372256168333339912e1, 2.00260212380060660359e2, -2.25462687854119370527e2,
     8.63602421390890590575e1, 4.67627912898881538453e0, 1.95448858338141759834e0, 1.0])
_IN_TAIL = (
    [-8.57456785154685413611e-4, -3.50424626827848203418e-2, -1.40256079171354495875e-1, 2.18663306850790267539e0, 1.46849561928858024014e1,
     4.40805073893200834700e1, 5.71628192246421288162e1, 3.15251094599893866154e1, 4.05544892305962419923e0],
    [-9.33259480895457427372e-4, -3.80806407691578277194e-2, -1.42182922854787788574e-1, 2.50464946208309415979e0, 1.50425385692907503408e1,
     4.13172038254672030440e1, 4.53907635128879210584e1, 1.57799883256466749731e1, 1.0])
_FAR_IN_TAIL = (
    [6.23974539184983293730e-9, 2.65806974686737550832e-6, 3.01581553508235416007e-4, 1.23716634817820021358e-2, 2.01485389549179081538e-1,
     1.33303460815807542389e0, 3.93881025292474443415e0, 6.91522889068984211695e0, 3.23774891776946035970e0],
    [6.79019408009981274425e-9, 2.89247864745380683936e-6, 3.28014464682127739104e-4, 1.34204006088543189037e-2, 2.16236993594496635890e-1,
     1.37702099489081330271e0, 3.67983563856160859403e0, 6.02427039364742014255e0, 1.0])


def _as_float(x: Any, name: str) -> tf.Tensor:
    x = tf.convert_to_tensor(x, name=name)
    if x.dtype.as_numpy_dtype not in _BOUNDS:
        raise TypeError(f"{name}.dtype={x.dtype} is not handled, see docstring for supported types.")
    return x


def ndtr(x: Any, name: str = "ndtr") -> tf.Tensor:
    """The normal distribution function, of float32 or float64."""
    with tf.name_scope(name, values=[x]):
        return _ndtr(_as_float(x, "x"))


def _ndtr(x: tf.Tensor) -> tf.Tensor:
    half_sqrt_2 = tf.constant(0.5 * np.sqrt(2.0), dtype=x.dtype, name="half_sqrt_2")
    w = x * half_sqrt_2
    z = tf.abs(w)
    middle = 1.0 + tf.erf(w)
    tails = tf.where_v2(tf.greater(w, 0.0), 2.0 - tf.erfc(z), tf.erfc(z))
    return 0.5 * tf.where_v2(tf.less(z, half_sqrt_2), middle, tails)


def ndtri(p: Any, name: str = "ndtri") -> tf.Tensor:
    """The inverse of ``ndtr``."""
    with tf.name_scope(name, values=[p]):
        return _ndtri(_as_float(p, "p"))


def _polynomial(x: tf.Tensor, coefficients: list[float]) -> tf.Tensor:
    """Horner's rule; it begins with zeros, as TensorFlow's graph does."""
    result = tf.zeros_like(x)
    for coefficient in reversed(np.array(coefficients, x.dtype.as_numpy_dtype)):
        result = coefficient + result * x
    return result


def _ratio(x: tf.Tensor, pair: tuple[list[float], list[float]]) -> tf.Tensor:
    return _polynomial(x, pair[0]) / _polynomial(x, pair[1])


def _ndtri(p: tf.Tensor) -> tf.Tensor:
    upper = -np.expm1(-2.0)
    mirrored = tf.where_v2(p > upper, 1.0 - p, p)
    safe = tf.where_v2(mirrored <= 0.0, tf.fill(tf.shape(p), np.array(0.5, p.dtype.as_numpy_dtype)), mirrored)
    w = safe - 0.5
    ww = w ** 2
    near_middle = w + w * ww * _ratio(ww, _NEAR_MIDDLE)
    near_middle *= -np.sqrt(2.0 * np.pi)
    z = tf.sqrt(-2.0 * tf.log(safe))
    first = z - tf.log(z) / z
    second_far = _polynomial(1.0 / z, _FAR_IN_TAIL[0]) / _polynomial(1.0 / z, _FAR_IN_TAIL[1]) / z
    second = _polynomial(1.0 / z, _IN_TAIL[0]) / _polynomial(1.0 / z, _IN_TAIL[1]) / z
    far, tail = first - second_far, first - second
    x = tf.where_v2(safe > np.exp(-2.0), near_middle, tf.where_v2(z >= 8.0, far, tail))
    x = tf.where_v2(p > 1.0 - np.exp(-2.0), x, -x)
    infinity = tf.fill(tf.shape(p), tf.constant(np.inf, dtype=p.dtype))
    return tf.where_v2(p <= 0.0, -infinity, tf.where_v2(p >= 1.0, infinity, x))


def erfinv(x: Any, name: str = "erfinv") -> tf.Tensor:
    """The inverse of erf."""
    with tf.name_scope(name, values=[x]):
        return ndtri((_as_float(x, "x") + 1.0) / 2.0) / np.sqrt(2)


def log_ndtr(x: Any, series_order: int = 3, name: str = "log_ndtr") -> tf.Tensor:
    """The logarithm of ``ndtr``, accurate in both tails; ``series_order`` terms of the asymptotic series are used far down."""
    if not isinstance(series_order, int):
        raise TypeError("series_order must be a Python integer.")
    if not 0 <= series_order <= 30:
        raise ValueError("series_order must be non-negative." if series_order < 0 else "series_order must be <= 30.")
    with tf.name_scope(name, values=[x]):
        x = tf.convert_to_tensor(x, name="x")
        if x.dtype.as_numpy_dtype not in _BOUNDS:
            raise TypeError(f"x.dtype={x.dtype} is not supported.")
        lower, upper = _BOUNDS[x.dtype.as_numpy_dtype]
        above = tf.greater(x, upper)
        high = -_ndtr(-x)
        inside = tf.greater(x, lower)
        middle = tf.log(_ndtr(tf.maximum(x, lower)))
        return tf.where_v2(above, high, tf.where_v2(inside, middle, _log_ndtr_lower(tf.minimum(x, lower), series_order)))


def _log_ndtr_lower(x: tf.Tensor, series_order: int) -> tf.Tensor:
    scale = -0.5 * tf.square(x) - tf.log(-x) - 0.5 * np.log(2.0 * np.pi)
    return scale + tf.log(_asymptotic_series(x, series_order))


def _asymptotic_series(x: tf.Tensor, order: int) -> Any:
    """1 - 1/x^2 + 3/x^4 - 15/x^6 + ..."""
    dtype = x.dtype.as_numpy_dtype
    if order <= 0:
        return np.array(1, dtype)
    square = tf.square(x)
    even, odd = tf.zeros_like(x), tf.zeros_like(x)
    power = square
    for n in range(1, order + 1):
        term = np.array(math.prod(range(2 * n - 1, 1, -2)), dtype) / power
        if n % 2:
            odd += term
        else:
            even += term
        power *= square
    return 1.0 + even - odd


def log_cdf_laplace(x: Any, name: str = "log_cdf_laplace") -> tf.Tensor:
    """The logarithm of Laplace's distribution function."""
    with tf.name_scope(name, values=[x]):
        x = tf.convert_to_tensor(x, name="x")
        lower = -np.log(2.0) + x
        upper = tf.log1p(-0.5 * tf.exp(-tf.abs(x)))
        return tf.where_v2(x < 0.0, lower, upper)
