"""The gamma distribution, differentiable in its parameters."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph import dtypes as dt
from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.scopes import name_scope
from penstock.graph.seeds import get_seed
from penstock.ops.array.broadcast_gradient import reduce_to
from penstock.ops.array.fill import zeros_like
from penstock.ops.array.shape_ops import known_shape
from penstock.ops.common import INDEX, broadcasting
from penstock.ops.math.elementwise import Maximum
from penstock.ops.random import distributions
from penstock.ops.random.random import NO_BFLOAT16, checked_shape, generator, shape_tensor

_DIRECT = 200.0  # up to this alpha the series converges in a few hundred terms


@op("RandomGamma", "shape: S, alpha: T -> output: T", seed=0, seed2=0, S=INDEX, T=NO_BFLOAT16)
class RandomGamma:
    """``shape`` samples of the gamma distribution with rate 1 for each ``alpha``."""

    stateful = True

    def shape(shape, alpha):
        return known_shape(shape).concatenate(alpha.shape)

    def kernel(shape, alpha, ctx, seed, seed2):
        if np.ndim(shape) > 1:
            raise invalid_argument(f"shape must be a vector of {{int32,int64}}, got shape {list(np.shape(shape))}")
        return distributions.gamma(generator(ctx, seed, seed2), checked_shape(np.atleast_1d(shape)), np.asarray(alpha))

    def gradient(op, dy):
        """Implicit reparameterisation: a sample moves with alpha so that its place in the distribution stays the same."""
        # Samples of one alpha lie along the leading axes: broadcasting aligns alpha with them, and its transpose sums over them.
        alpha = op.inputs[1]
        return [None, reduce_to(dy * RandomGammaGrad(alpha, op.outputs[0]), alpha)]


@op("RandomGammaGrad", "alpha: T, sample: T -> output: T", T=frozenset([dt.float32, dt.float64]))
class RandomGammaGrad:
    """The derivative of a gamma sample in alpha, at a fixed place in the distribution."""

    elementwise = True
    shape = broadcasting("alpha", "sample")

    def kernel(alpha, sample, T):
        return np.asarray(sample_derivative(np.asarray(alpha, np.float64), np.asarray(sample, np.float64)), T.np)

    def gradient(op, dy):
        raise LookupError(f"No gradient defined for operation '{op.name}' (op type: {op.type})")  # TensorFlow has none either


def sample_derivative(alpha: np.ndarray, sample: np.ndarray) -> np.ndarray:
    """dx / dalpha where P(alpha, x), the regularised incomplete gamma function, is held constant."""
    extents = np.broadcast_shapes(alpha.shape, sample.shape)
    alpha, sample = np.broadcast_to(alpha, extents).reshape(-1), np.broadcast_to(sample, extents).reshape(-1)
    out = np.empty(alpha.shape)
    small = alpha <= _DIRECT
    with np.errstate(all="ignore"):  # samples of 0 and bad alphas give nan, as in TensorFlow
        out[small] = _by_series(alpha[small], sample[small])
        out[~small] = _by_difference(alpha[~small], sample[~small])
    return out.reshape(extents)


def _by_series(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """-(dP/da) / (dP/dx), from P = x**a exp(-x) * sum over k of x**k / gamma(a + k + 1)."""
    from scipy.special import digamma  # here, because SciPy is slow to import and few programs need it

    log_x, term, total = np.log(x), x / a, np.zeros_like(x)
    for k in range(20 * int(_DIRECT)):
        step = term * (log_x - digamma(a + k + 1))
        total -= step
        if not (np.abs(step) > 1e-17 * np.abs(total)).any() and k > 3:
            break
        term = term * x / (a + k + 1)
    return total


def _by_difference(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The slope of the quantile function, which is almost straight for a large alpha; each tail by the function that is exact there."""
    from scipy import special  # here, because SciPy is slow to import and few programs need it

    step = 0.05 * np.sqrt(a)
    lower, upper = special.gammainc(a, x), special.gammaincc(a, x)
    low = (special.gammaincinv(a + step, lower) - special.gammaincinv(a - step, lower)) / (2 * step)
    high = (special.gammainccinv(a + step, upper) - special.gammainccinv(a - step, upper)) / (2 * step)
    return np.where(lower < 0.5, low, high)


def random_gamma(shape: Any, alpha: Any, beta: Any = None, dtype: Any = dt.float32, seed: int | None = None, name: str | None = None) -> Tensor:
    """``tf.random_gamma``: ``shape`` samples for each pair of ``alpha`` (the form) and ``beta`` (the rate, 1 if not given)."""
    with name_scope(name, "random_gamma", [shape, alpha, beta]):
        shape = shape_tensor(shape)
        alpha = to_tensor(alpha, dt.as_dtype(dtype), "alpha")
        beta = to_tensor(1 if beta is None else beta, dt.as_dtype(dtype), "beta")
        alpha_for_each = alpha + zeros_like(beta)
        seed1, seed2 = get_seed(seed)
        samples = RandomGamma(shape, alpha_for_each, seed=seed1, seed2=seed2) / beta
        smallest = np.finfo(alpha.dtype.base_dtype.np).tiny  # a sample of 0 has no logarithm
        return Maximum(smallest, samples)
