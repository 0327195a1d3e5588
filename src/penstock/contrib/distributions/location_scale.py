"""Laplace's, Cauchy's, Gumbel's and the logistic distribution."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from penstock.contrib import prelude as tf
from penstock.contrib.distributions import special_math
from penstock.contrib.distributions.scalar import LocationScale


def _smallest(dtype: tf.DType) -> Any:
    """The smallest normal number, where a uniform draw begins whose logarithm is taken."""
    return np.finfo(dtype.as_numpy_dtype).tiny


class Laplace(LocationScale):
    """``tf.distributions.Laplace``: the density falls off as exp(-abs(x - loc) / scale)."""

    def __init__(self, loc: Any, scale: Any, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Laplace") -> None:
        super().__init__(loc, scale, validate_args, allow_nan_stats, name)

    def _sample_n(self, n: Any, seed: int | None = None) -> tf.Tensor:
        number = self.dtype.as_numpy_dtype
        u = tf.random_uniform(shape=self._samples_shape(n), minval=np.nextafter(number(-1.0), number(0.0)), maxval=1.0, dtype=self.dtype, seed=seed)
        return self.loc - self.scale * tf.sign(u) * tf.log1p(-tf.abs(u))

    def _prob(self, x: tf.Tensor) -> tf.Tensor:
        return tf.exp(self._log_prob(x))

    def _log_unnormalized_prob(self, x: tf.Tensor) -> tf.Tensor:
        return -tf.abs(self._z(x))

    def _log_normalization(self) -> tf.Tensor:
        return math.log(2.0) + tf.log(self.scale)

    def _cdf(self, x: tf.Tensor) -> tf.Tensor:
        z = self._z(x)
        return 0.5 + 0.5 * tf.sign(z) * (1.0 - tf.exp(-tf.abs(z)))

    def _log_cdf(self, x: tf.Tensor) -> tf.Tensor:
        return special_math.log_cdf_laplace(self._z(x))

    def _log_survival_function(self, x: tf.Tensor) -> tf.Tensor:
        return special_math.log_cdf_laplace(-self._z(x))

    def _entropy(self) -> tf.Tensor:
        scale = self.scale + tf.zeros_like(self.loc)
        return math.log(2.0) + 1.0 + tf.log(scale)

    def _mean(self) -> tf.Tensor:
        return self.loc + tf.zeros_like(self.scale)

    def _stddev(self) -> tf.Tensor:
        return math.sqrt(2.0) * self.scale + tf.zeros_like(self.loc)

    def _mode(self) -> tf.Tensor:
        return self._mean()

    def _z(self, x: tf.Tensor) -> tf.Tensor:
        return (x - self.loc) / self.scale


class LaplaceWithSoftplusScale(Laplace):
    """``tf.contrib.distributions.LaplaceWithSoftplusScale``: ``scale`` may be any number; its softplus is used."""

    def __init__(self, loc: Any, scale: Any, validate_args: bool = False, allow_nan_stats: bool = True,
                 name: str = "LaplaceWithSoftplusScale") -> None:
        with tf.name_scope(name, values=[loc, scale]) as name:
            super().__init__(loc, tf.softplus(scale, name="softplus_scale"), validate_args, allow_nan_stats, name)


class Cauchy(LocationScale):
    """``tf.contrib.distributions.Cauchy``; it has no mean and no variance."""

    def __init__(self, loc: Any, scale: Any, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Cauchy") -> None:
        super().__init__(loc, scale, validate_args, allow_nan_stats, name)

    def _sample_n(self, n: Any, seed: int | None = None) -> tf.Tensor:
        return self._quantile(tf.random_uniform(shape=self._samples_shape(n), minval=0.0, maxval=1.0, dtype=self.dtype, seed=seed))

    def _log_unnormalized_prob(self, x: tf.Tensor) -> tf.Tensor:
        return -tf.log1p(tf.square(self._z(x)))

    def _log_normalization(self) -> tf.Tensor:
        return np.log(np.pi) + tf.log(self.scale)

    def _cdf(self, x: tf.Tensor) -> tf.Tensor:
        return tf.atan(self._z(x)) / np.pi + 0.5

    def _log_cdf(self, x: tf.Tensor) -> tf.Tensor:
        return tf.log1p(2 / np.pi * tf.atan(self._z(x))) - np.log(2)

    def _quantile(self, p: tf.Tensor) -> tf.Tensor:
        return self.loc + self.scale * tf.tan(np.pi * (p - 0.5))

    def _entropy(self) -> tf.Tensor:
        h = np.log(4 * np.pi) + tf.log(self.scale)
        return h * tf.ones_like(self.loc)

    def _mode(self) -> tf.Tensor:
        return self.loc * tf.ones_like(self.scale)

    def _mean(self) -> tf.Tensor:
        return self._undefined("mean")

    def _stddev(self) -> tf.Tensor:
        return self._undefined("stddev")

    def _undefined(self, statistic: str) -> tf.Tensor:
        if not self.allow_nan_stats:
            raise ValueError(f"`{statistic}` is undefined for Cauchy distribution.")
        return tf.fill(self.batch_shape_tensor(), self.dtype.as_numpy_dtype(np.nan))


class Gumbel(LocationScale):
    """The distribution of the largest of many numbers; TensorFlow keeps it private, as ``_Gumbel``."""

    def __init__(self, loc: Any, scale: Any, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Gumbel") -> None:
        super().__init__(loc, scale, validate_args, allow_nan_stats, name)

    def _sample_n(self, n: Any, seed: int | None = None) -> tf.Tensor:
        u = tf.random_uniform(shape=self._samples_shape(n), minval=_smallest(self.dtype), maxval=1.0, dtype=self.dtype, seed=seed)
        z = -tf.log(-tf.log(u))
        return z * self.scale + self.loc

    def _log_unnormalized_prob(self, x: tf.Tensor) -> tf.Tensor:
        z = self._z(x)
        return -z - tf.exp(-z)

    def _log_normalization(self) -> tf.Tensor:
        return tf.log(self.scale)

    def _cdf(self, x: tf.Tensor) -> tf.Tensor:
        return tf.exp(-tf.exp(-self._z(x)))

    def _log_cdf(self, x: tf.Tensor) -> tf.Tensor:
        return -tf.exp(-self._z(x))

    def _entropy(self) -> tf.Tensor:
        scale = self.scale * tf.ones_like(self.loc)
        return 1 + tf.log(scale) + np.euler_gamma

    def _mean(self) -> tf.Tensor:
        return self.loc + self.scale * np.euler_gamma

    def _stddev(self) -> tf.Tensor:
        return self.scale * tf.ones_like(self.loc) * math.pi / math.sqrt(6)

    def _mode(self) -> tf.Tensor:
        return self.loc * tf.ones_like(self.scale)


class Logistic(LocationScale):
    """``tf.contrib.distributions.Logistic``: its distribution function is the sigmoid."""

    def __init__(self, loc: Any, scale: Any, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Logistic") -> None:
        super().__init__(loc, scale, validate_args, allow_nan_stats, name)

    def _sample_n(self, n: Any, seed: int | None = None) -> tf.Tensor:
        u = tf.random_uniform(shape=self._samples_shape(n), minval=_smallest(self.dtype), maxval=1.0, dtype=self.dtype, seed=seed)
        z = tf.log(u) - tf.log1p(-1.0 * u)
        return z * self.scale + self.loc

    def _log_unnormalized_prob(self, x: tf.Tensor) -> tf.Tensor:
        z = self._z(x)
        return -z - 2.0 * tf.softplus(-z)

    def _log_normalization(self) -> tf.Tensor:
        return tf.log(self.scale)

    def _cdf(self, x: tf.Tensor) -> tf.Tensor:
        return tf.sigmoid(self._z(x))

    def _log_cdf(self, x: tf.Tensor) -> tf.Tensor:
        return -tf.softplus(-self._z(x))

    def _survival_function(self, x: tf.Tensor) -> tf.Tensor:
        return tf.sigmoid(-self._z(x))

    def _log_survival_function(self, x: tf.Tensor) -> tf.Tensor:
        return -tf.softplus(self._z(x))

    def _entropy(self) -> tf.Tensor:
        scale = self.scale * tf.ones_like(self.loc)
        return 2 + tf.log(scale)

    def _mean(self) -> tf.Tensor:
        return self.loc * tf.ones_like(self.scale)

    def _stddev(self) -> tf.Tensor:
        return self.scale * tf.ones_like(self.loc) * math.pi / math.sqrt(3)

    def _mode(self) -> tf.Tensor:
        return self._mean()
