"""Poisson's and the half-normal distribution, and Kumaraswamy's, of numbers between 0 and 1."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.contrib import prelude as tf
from penstock.contrib.distributions import special_math
from penstock.contrib.distributions.arguments import checked, defined, nonnegative_integers, shapes_like
from penstock.contrib.distributions.bijectors.distribution_functions import Kumaraswamy as KumaraswamyBijector
from penstock.contrib.distributions.distribution import FULLY_REPARAMETERIZED, NOT_REPARAMETERIZED
from penstock.contrib.distributions.scalar import ScalarDistribution
from penstock.contrib.distributions.shapes import broadcast_shape_of
from penstock.contrib.distributions.transformed import TransformedDistribution
from penstock.contrib.distributions.uniform import Uniform


class Poisson(ScalarDistribution):
    """``tf.contrib.distributions.Poisson``: how many events happen, of which ``rate`` are expected."""

    def __init__(self, rate: Any = None, log_rate: Any = None, validate_args: bool = False, allow_nan_stats: bool = True,
                 name: str = "Poisson") -> None:
        with tf.name_scope(name, values=[rate]) as name:
            if (rate is None) == (log_rate is None):
                raise ValueError("Must specify exactly one of `rate` and `log_rate`.")
            if log_rate is None:
                rate = _floating(rate, "rate")
                with tf.control_dependencies([tf.assert_positive(rate)] if validate_args else []):
                    self._rate = tf.identity(rate, name="rate")
                    self._log_rate = tf.log(rate, name="log_rate")
            else:
                self._log_rate = _floating(log_rate, "log_rate")
                self._rate = tf.exp(self._log_rate, name="rate")
        super().__init__(dtype=self._rate.dtype, reparameterization_type=NOT_REPARAMETERIZED, validate_args=validate_args,
                         allow_nan_stats=allow_nan_stats, graph_parents=[self._rate], name=name)

    @property
    def rate(self) -> tf.Tensor:
        """The mean."""
        return self._rate

    @property
    def log_rate(self) -> tf.Tensor:
        """The logarithm of the mean."""
        return self._log_rate

    def _batch_parameters(self) -> tuple[tf.Tensor, ...]:
        return (self.rate,)

    def _sample_n(self, n: Any, seed: int | None = None) -> tf.Tensor:
        return tf.random_poisson(self.rate, [n], dtype=self.dtype, seed=seed)

    def _log_prob(self, x: tf.Tensor) -> tf.Tensor:
        return self._log_unnormalized_prob(x) - self.rate

    def _log_unnormalized_prob(self, x: tf.Tensor) -> tf.Tensor:
        x = self._valid(x)
        return x * self.log_rate - tf.lgamma(1.0 + x)

    def _log_cdf(self, x: tf.Tensor) -> tf.Tensor:
        return tf.log(self.cdf(x))

    def _cdf(self, x: tf.Tensor) -> tf.Tensor:
        return tf.igammac(1.0 + self._valid(x), self.rate)

    def _valid(self, x: tf.Tensor) -> tf.Tensor:
        return nonnegative_integers(x) if self.validate_args else x

    def _mean(self) -> tf.Tensor:
        return tf.identity(self.rate)

    def _variance(self) -> tf.Tensor:
        return tf.identity(self.rate)

    def _mode(self) -> tf.Tensor:
        return tf.floor(self.rate)


def _floating(value: Any, name: str) -> tf.Tensor:
    value = tf.convert_to_tensor(value, name=name)
    if not value.dtype.is_floating:
        raise TypeError(f"{name}.dtype ({value.dtype.name}) is a not a float-type.")
    return value


class HalfNormal(ScalarDistribution):
    """``tf.contrib.distributions.HalfNormal``: the absolute value of a normal number."""

    def __init__(self, scale: Any, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "HalfNormal") -> None:
        with tf.name_scope(name, values=[scale]) as name:
            with tf.control_dependencies([tf.assert_positive(scale)] if validate_args else []):
                self._scale = tf.identity(scale, name="scale")
        super().__init__(dtype=self._scale.dtype, reparameterization_type=FULLY_REPARAMETERIZED, validate_args=validate_args,
                         allow_nan_stats=allow_nan_stats, graph_parents=[self._scale], name=name)

    @staticmethod
    def _param_shapes(sample_shape: Any) -> dict[str, Any]:
        return shapes_like(("scale",), sample_shape)

    @property
    def scale(self) -> tf.Tensor:
        """The deviation of the normal number."""
        return self._scale

    def _batch_parameters(self) -> tuple[tf.Tensor, ...]:
        return (self.scale,)

    def _sample_n(self, n: Any, seed: int | None = None) -> tf.Tensor:
        z = tf.random_normal(shape=self._samples_shape(n), mean=0.0, stddev=1.0, dtype=self.dtype, seed=seed)
        return tf.abs(z * self.scale)

    def _prob(self, x: tf.Tensor) -> tf.Tensor:
        peak = np.sqrt(2) / self.scale / np.sqrt(np.pi)
        density = peak * tf.exp(-0.5 * (x / self.scale) ** 2)
        return density * tf.cast(x >= 0, self.dtype)

    def _cdf(self, x: tf.Tensor) -> tf.Tensor:
        return tf.erf(tf.relu(x) / self.scale / np.sqrt(2.0))

    def _quantile(self, p: tf.Tensor) -> tf.Tensor:
        return np.sqrt(2.0) * self.scale * special_math.erfinv(p)

    def _entropy(self) -> tf.Tensor:
        return 0.5 * tf.log(np.pi * self.scale ** 2.0 / 2.0) + 0.5

    def _mean(self) -> tf.Tensor:
        return self.scale * np.sqrt(2.0) / np.sqrt(np.pi)

    def _mode(self) -> tf.Tensor:
        return tf.zeros(self.batch_shape_tensor())

    def _variance(self) -> tf.Tensor:
        return self.scale ** 2.0 * (1.0 - 2.0 / np.pi)


class Kumaraswamy(TransformedDistribution):
    """``tf.contrib.distributions.Kumaraswamy``: like the beta distribution, with simpler formulas."""

    def __init__(self, concentration1: Any = None, concentration0: Any = None, validate_args: bool = False, allow_nan_stats: bool = True,
                 name: str = "Kumaraswamy") -> None:
        with tf.name_scope(name, values=[concentration1, concentration0]) as name:
            a = tf.convert_to_tensor(concentration1, name="concentration1")
            b = tf.convert_to_tensor(concentration0, name="concentration0")
        uniform = Uniform(low=tf.zeros([], dtype=a.dtype), high=tf.ones([], dtype=a.dtype), allow_nan_stats=allow_nan_stats)
        bijector = KumaraswamyBijector(concentration1=a, concentration0=b, validate_args=validate_args)
        super().__init__(uniform, bijector, batch_shape=broadcast_shape_of(a, b), name=name)
        self._reparameterization_type = FULLY_REPARAMETERIZED

    @property
    def concentration1(self) -> tf.Tensor:
        """The concentration at 1."""
        return self.bijector.concentration1

    @property
    def concentration0(self) -> tf.Tensor:
        """The concentration at 0."""
        return self.bijector.concentration0

    def _entropy(self) -> tf.Tensor:
        a, b = self.concentration1, self.concentration0
        return 1 - 1.0 / a + (1 - 1.0 / b) * _harmonic_number(b) + tf.log(a) + tf.log(b)

    def _moment(self, n: int) -> tf.Tensor:
        total = self.concentration1 + self.concentration0
        a = tf.ones_like(total, dtype=self.dtype) * self.concentration1
        b = tf.ones_like(total, dtype=self.dtype) * self.concentration0
        pair = tf.stack([1 + n / a, b], -1)
        return tf.exp(tf.log(b) + tf.lbeta(pair))

    def _mean(self) -> tf.Tensor:
        return self._moment(1)

    def _variance(self) -> tf.Tensor:
        return self._moment(2) - tf.square(self._moment(1))

    def _mode(self) -> tf.Tensor:
        a, b = self.concentration1, self.concentration0
        mode = ((a - 1) / (a * b - 1)) ** (1.0 / a)
        if self.allow_nan_stats:
            shape = self.batch_shape_tensor()
            return defined(mode, (a > 1.0) & (b > 1.0), shape, self.dtype)
        return checked(mode, tf.assert_less(tf.ones([], dtype=a.dtype), a, message="Mode undefined for concentration1 <= 1."),
                       tf.assert_less(tf.ones([], dtype=b.dtype), b, message="Mode undefined for concentration0 <= 1."))


def _harmonic_number(x: tf.Tensor) -> tf.Tensor:
    one = tf.ones([], dtype=x.dtype)
    return tf.digamma(x + one) - tf.digamma(one)
