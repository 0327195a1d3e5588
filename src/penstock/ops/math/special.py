"""Special functions, elementwise: error functions, gamma and beta functions, zeta, Bessel.

SciPy computes them. It is imported inside the kernels: it takes longer to import than all of Penstock.
"""
from __future__ import annotations

import itertools
import math

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph.convert import to_tensor
from penstock.graph.dtypes import float32, float64
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.shape import TensorShape, brackets
from penstock.ops.array.broadcast_gradient import reduce_both, reduce_to
from penstock.ops.array.select import where
from penstock.ops.common import FLOATS, broadcasting, like, merge
from penstock.ops.math.compare import Equal
from penstock.ops.math.elementwise import AddV2, Mul, Neg, Sign, Square, Sub
from penstock.ops.math.powers import Exp, Log, Log1p, Reciprocal
from penstock.ops.precision import in_float32
from penstock.ops.public import function

WIDE = frozenset([float32, float64])


def _number(value: float, tensor: Tensor) -> Tensor:
    return to_tensor(value, tensor.dtype.base_dtype)


def _bell(op, dy, scale):
    """The gradient of an error function: scale * exp(-x * x)."""
    x = op.inputs[0]
    return Mul(Mul(dy, _number(scale, dy)), Exp(Neg(Square(x))))


@op("Erf", "x: T -> y: T", T=FLOATS)
class Erf:
    """The error function."""

    elementwise = True
    shape = like("x")

    @in_float32
    def kernel(x):
        from scipy import special  # slow to import
        return special.erf(x)

    def lower(b, x):
        return b.erf(x)

    def gradient(op, dy):
        return _bell(op, dy, 2 / math.sqrt(math.pi))


@op("Erfc", "x: T -> y: T", T=FLOATS)
class Erfc:
    """1 - erf(x), exact for large x."""

    elementwise = True
    shape = like("x")

    @in_float32
    def kernel(x):
        from scipy import special  # slow to import
        return special.erfc(x)

    def lower(b, x):
        return b.erfc(x)

    def gradient(op, dy):
        return _bell(op, dy, -2 / math.sqrt(math.pi))


@op("Lgamma", "x: T -> y: T", T=FLOATS)
class Lgamma:
    """The logarithm of the absolute value of the gamma function."""

    elementwise = True
    shape = like("x")

    @in_float32
    def kernel(x):
        from scipy import special  # slow to import
        return special.gammaln(x)

    def lower(b, x):
        return b.lgamma(x)

    def gradient(op, dy):
        return Mul(dy, Digamma(op.inputs[0]))


@op("Digamma", "x: T -> y: T", T=FLOATS)
class Digamma:
    """The derivative of lgamma."""

    elementwise = True
    shape = like("x")

    @in_float32
    def kernel(x):
        from scipy import special  # slow to import
        return special.digamma(x)

    def lower(b, x):
        return b.digamma(x)

    def gradient(op, dy):
        x = op.inputs[0]
        return Mul(dy, Polygamma(_number(1, x), x))


@op("Polygamma", "a: T, x: T -> z: T", T=WIDE)
class Polygamma:
    """The a-th derivative of the digamma function; NaN where a is not a natural number."""

    elementwise = True
    shape = broadcasting("a", "x")

    def kernel(a, x):
        from scipy import special  # slow to import
        sign = np.where(np.remainder(a, 2) == 1, 1, -1)
        value = sign * special.gamma(np.add(a, 1)) * special.zeta(np.add(a, 1), x)
        value = np.where(np.equal(a, 0), special.digamma(x), value)
        return np.where(np.equal(a, np.floor(a)) & np.greater_equal(a, 0), value, np.nan).astype(np.result_type(x))

    def gradient(op, dy):
        a, x = op.inputs
        return reduce_both(op, None, Mul(dy, Polygamma(AddV2(a, _number(1, a)), x)))


@op("Zeta", "x: T, q: T -> z: T", T=WIDE)
class Zeta:
    """The Hurwitz zeta function: the sum of (q + n) ** -x over n = 0, 1, ..."""

    elementwise = True
    shape = broadcasting("x", "q")

    def kernel(x, q):
        from scipy import special  # slow to import
        return special.zeta(x, q).astype(np.result_type(x), copy=False)

    def gradient(op, dy):
        x, q = op.inputs
        return reduce_both(op, None, Mul(dy, Neg(Mul(x, Zeta(AddV2(x, _number(1, x)), q)))))


def _gamma_density(a: Tensor, x: Tensor) -> Tensor:
    """The derivative of igamma(a, x) by x."""
    return Exp(AddV2(Neg(x), Sub(Mul(Sub(a, _number(1, a)), Log(x)), Lgamma(a))))


def _if_positive(a, values):
    return np.where(np.greater(a, 0), values, values.dtype.type(np.nan))


@op("Igamma", "a: T, x: T -> z: T", T=WIDE)
class Igamma:
    """The lower regularized incomplete gamma function P(a, x)."""

    elementwise = True
    shape = broadcasting("a", "x")

    def kernel(a, x):
        from scipy import special  # slow to import
        return np.where(np.equal(x, 0), np.result_type(x).type(0), _if_positive(a, special.gammainc(a, x)))

    def gradient(op, dy):
        a, x = op.inputs
        return reduce_both(op, Mul(dy, IgammaGradA(a, x)), Mul(dy, _gamma_density(a, x)))


@op("Igammac", "a: T, x: T -> z: T", T=WIDE)
class Igammac:
    """The upper regularized incomplete gamma function Q(a, x) = 1 - P(a, x)."""

    elementwise = True
    shape = broadcasting("a", "x")

    def kernel(a, x):
        from scipy import special  # slow to import
        return _if_positive(a, special.gammaincc(a, x))

    def gradient(op, dy):
        a, x = op.inputs
        return reduce_both(op, Neg(Mul(dy, IgammaGradA(a, x))), Neg(Mul(dy, _gamma_density(a, x))))


def _gamma_series_slope(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """dP/da from P(a, x) = x**a exp(-x) / gamma(a+1) * sum x**n / ((a+1) ... (a+n)), term by term; good for x below a + 1."""
    from scipy import special  # slow to import
    term, harmonic = np.ones_like(x), np.zeros_like(x)
    total, slope = term.copy(), np.zeros_like(x)
    for n in range(1, 2000):
        term = term * x / (a + n)
        harmonic = harmonic + 1 / (a + n)
        total, slope = total + term, slope - term * harmonic
        if not (term * harmonic > 1e-17 * np.abs(slope)).any():
            break
    scale = np.exp(a * np.log(x) - x - special.gammaln(a + 1))
    return scale * (total * (np.log(x) - special.digamma(a + 1)) + slope)


def _gamma_fraction_slope(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """dP/da = -dQ/da from the continued fraction of Q(a, x) and its derivative by a; good for x above a + 1."""
    from scipy import special  # slow to import
    p0, q0, p1, q1 = np.zeros_like(x), np.ones_like(x), np.ones_like(x), x + 1 - a
    dp0, dq0, dp1, dq1 = np.zeros_like(x), np.zeros_like(x), np.zeros_like(x), -np.ones_like(x)
    value = slope = np.zeros_like(x)
    for n in range(1, 2000):
        factor, step = n * (a - n), x + 2 * n + 1 - a
        p0, p1, dp0, dp1 = p1, step * p1 + factor * p0, dp1, step * dp1 - p1 + factor * dp0 + n * p0
        q0, q1, dq0, dq1 = q1, step * q1 + factor * q0, dq1, step * dq1 - q1 + factor * dq0 + n * q0
        size = np.maximum(np.abs(q1), 1e-300)
        p0, q0, p1, q1, dp0, dq0, dp1, dq1 = (part / size for part in (p0, q0, p1, q1, dp0, dq0, dp1, dq1))
        before, value, slope = slope, p1 / q1, (dp1 - dq1 * p1 / q1) / q1
        if n > 4 and not (np.abs(slope - before) > 1e-15 * np.abs(slope)).any():
            break
    scale = np.exp(a * np.log(x) - x - special.gammaln(a))
    return -scale * (value * (np.log(x) - special.digamma(a)) + slope)


@op("IgammaGradA", "a: T, x: T -> z: T", T=WIDE)
class IgammaGradA:
    """The derivative of igamma(a, x) by a."""

    elementwise = True
    shape = broadcasting("a", "x")

    def kernel(a, x):
        dtype = np.result_type(a)
        a, x = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(x, np.float64))
        valid = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
        result = np.where((x == 0) | ((a > 0) & np.isposinf(x)), 0.0, np.nan)
        small = valid & (x <= a + 1)
        for chosen, slope in ((small, _gamma_series_slope), (valid & ~small, _gamma_fraction_slope)):
            if chosen.any():
                result[chosen] = slope(a[chosen], x[chosen])
        return result.astype(dtype)

    gradient = None


def _scalars_or_alike(a, b, x):
    """Scalars, or shapes that are equal; nothing else broadcasts."""
    merged = TensorShape([])
    for tensor in (a, b, x):
        if tensor.shape.ndims != 0:
            merged = tensor.shape if merged.ndims == 0 else merge(merged, tensor.shape)
    return merged


_scalars_or_alike.broadcasts = True


@op("Betainc", "a: T, b: T, x: T -> z: T", T=WIDE)
class Betainc:
    """The regularized incomplete beta function I_x(a, b)."""

    elementwise = True
    shape = _scalars_or_alike

    def kernel(a, b, x):
        from scipy import special  # slow to import
        full = [(name, array.shape) for name, array in (("a", a), ("b", b), ("x", x)) if array.ndim]
        for (name, extents), (other, others) in itertools.pairwise(full):
            if extents != others:
                raise invalid_argument(f"Shapes of {name} and {other} are inconsistent: {brackets(extents)} vs. {brackets(others)}")
        return special.betainc(a, b, x)

    def gradient(op, dy):
        a, b, x = op.inputs
        one = _number(1, x)
        log_beta = Sub(AddV2(Lgamma(a), Lgamma(b)), Lgamma(AddV2(a, b)))
        powers = AddV2(Mul(Sub(b, one), Log1p(Neg(x))), Mul(Sub(a, one), Log(x)))
        return [None, None, reduce_to(Mul(dy, Exp(Sub(powers, log_beta))), x)]


@op("BesselI0e", "x: T -> y: T", T=FLOATS)
class BesselI0e:
    """exp(-abs(x)) times the modified Bessel function of order 0."""

    elementwise = True
    shape = like("x")

    @in_float32
    def kernel(x):
        from scipy import special  # slow to import
        return special.i0e(x)

    def gradient(op, dy):
        x, y = op.inputs[0], op.outputs[0]
        return Mul(dy, Sub(BesselI1e(x), Mul(Sign(x), y)))


@op("BesselI1e", "x: T -> y: T", T=FLOATS)
class BesselI1e:
    """exp(-abs(x)) times the modified Bessel function of order 1."""

    elementwise = True
    shape = like("x")

    @in_float32
    def kernel(x):
        from scipy import special  # slow to import
        return special.i1e(x)

    def gradient(op, dy):
        x, y = op.inputs[0], op.outputs[0]
        is_zero = Equal(x, _number(0, x))
        safe = where(is_zero, AddV2(x, _number(1, x)), x)
        slope = Sub(BesselI0e(safe), Mul(y, AddV2(Sign(safe), Reciprocal(safe))))
        half = AddV2(Mul(x, _number(0, x)), _number(0.5, x))
        return Mul(dy, where(is_zero, half, slope))


erf = function(Erf, "erf", sparse=True)
erfc = function(Erfc, "erfc")
lgamma = function(Lgamma, "lgamma")
digamma = function(Digamma, "digamma")
polygamma = function(Polygamma, "polygamma")
zeta = function(Zeta, "zeta")
igamma = function(Igamma, "igamma")
igammac = function(Igammac, "igammac")
betainc = function(Betainc, "betainc")
bessel_i0e = function(BesselI0e, "bessel_i0e", sparse=True)
bessel_i1e = function(BesselI1e, "bessel_i1e", sparse=True)
