"""Normal distributions of numbers, and what is known of their mean after observations."""
from __future__ import annotations

import math
from typing import Any

from penstock.contrib import prelude as tf
from penstock.contrib.distributions import special_math
from penstock.contrib.distributions.kullback_leibler import RegisterKL
from penstock.contrib.distributions.scalar import LocationScale


class Normal(LocationScale):
    """``tf.distributions.Normal``: mean ``loc``, standard deviation ``scale``."""

    def __init__(self, loc: Any, scale: Any, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Normal") -> None:
        super().__init__(loc, scale, validate_args, allow_nan_stats, name)

    def _sample_n(self, n: Any, seed: int | None = None) -> tf.Tensor:
        z = tf.random_normal(shape=self._samples_shape(n), mean=0.0, stddev=1.0, dtype=self.loc.dtype, seed=seed)
        return z * self.scale + self.loc

    def _log_unnormalized_prob(self, x: tf.Tensor) -> tf.Tensor:
        return -0.5 * tf.square(self._z(x))

    def _log_normalization(self) -> tf.Tensor:
        return 0.5 * math.log(2.0 * math.pi) + tf.log(self.scale)

    def _cdf(self, x: tf.Tensor) -> tf.Tensor:
        return special_math.ndtr(self._z(x))

    def _log_cdf(self, x: tf.Tensor) -> tf.Tensor:
        return special_math.log_ndtr(self._z(x))

    def _survival_function(self, x: tf.Tensor) -> tf.Tensor:
        return special_math.ndtr(-self._z(x))

    def _log_survival_function(self, x: tf.Tensor) -> tf.Tensor:
        return special_math.log_ndtr(-self._z(x))

    def _quantile(self, p: tf.Tensor) -> tf.Tensor:
        z = special_math.ndtri(p)
        with tf.name_scope("reconstruct", values=[z]):
            return z * self.scale + self.loc

    def _entropy(self) -> tf.Tensor:
        scale = self.scale * tf.ones_like(self.loc)
        return 0.5 * math.log(2.0 * math.pi * math.e) + tf.log(scale)

    def _mean(self) -> tf.Tensor:
        return self.loc * tf.ones_like(self.scale)

    def _stddev(self) -> tf.Tensor:
        return self.scale * tf.ones_like(self.loc)

    def _mode(self) -> tf.Tensor:
        return self._mean()


class NormalWithSoftplusScale(Normal):
    """``tf.contrib.distributions.NormalWithSoftplusScale``: ``scale`` may be any number; its softplus is used."""

    def __init__(self, loc: Any, scale: Any, validate_args: bool = False, allow_nan_stats: bool = True,
                 name: str = "NormalWithSoftplusScale") -> None:
        with tf.name_scope(name, values=[scale]) as name:
            super().__init__(loc, tf.softplus(scale, name="softplus_scale"), validate_args, allow_nan_stats, name)


@RegisterKL(Normal, Normal)
def _kl_normal_normal(a: Normal, b: Normal, name: str | None = None) -> tf.Tensor:
    with tf.name_scope(name, "kl_normal_normal", [a.loc, b.loc]):
        one, two, half = (tf.constant(number, dtype=a.dtype) for number in (1, 2, 0.5))
        variance_a, variance_b = tf.square(a.scale), tf.square(b.scale)
        ratio = variance_a / variance_b
        return tf.squared_difference(a.loc, b.loc) / (two * variance_b) + half * (ratio - one - tf.log(ratio))


def normal_conjugates_known_scale_posterior(prior: Normal, scale: Any, s: tf.Tensor, n: Any) -> Normal:
    """The distribution of the mean, after ``n`` observations with the sum ``s`` and the known deviation ``scale``."""
    loc, variance, _ = _posterior(prior, scale, s, n)
    return Normal(loc=loc, scale=tf.sqrt(variance))


def normal_conjugates_known_scale_predictive(prior: Normal, scale: Any, s: tf.Tensor, n: Any) -> Normal:
    """The distribution of the next observation, after ``n`` observations with the sum ``s`` and the known deviation ``scale``."""
    loc, variance, noise = _posterior(prior, scale, s, n)
    return Normal(loc=loc, scale=tf.sqrt(variance + noise))


def _posterior(prior: Normal, scale: Any, s: tf.Tensor, n: Any) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Mean and variance of the mean, and the variance of an observation."""
    if not isinstance(prior, Normal):
        raise TypeError("Expected prior to be an instance of type Normal")
    if s.dtype != prior.dtype:
        raise TypeError(f"Observation sum s.dtype does not match prior dtype: {s.dtype} vs. {prior.dtype}")
    n = tf.cast(n, prior.dtype)
    prior_variance, noise = tf.square(prior.scale), tf.square(scale)
    variance = 1.0 / (1 / prior_variance + n / noise)
    return (prior.loc / prior_variance + s / noise) * variance, variance, noise
