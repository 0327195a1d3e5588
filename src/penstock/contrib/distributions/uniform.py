"""The uniform distribution."""
from __future__ import annotations

import math
from typing import Any

from penstock.contrib import prelude as tf
from penstock.contrib.distributions.arguments import shapes_like
from penstock.contrib.distributions.distribution import FULLY_REPARAMETERIZED
from penstock.contrib.distributions.scalar import ScalarDistribution


class Uniform(ScalarDistribution):
    """``tf.distributions.Uniform``: numbers x with low <= x < high."""

    def __init__(self, low: Any = 0.0, high: Any = 1.0, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Uniform") -> None:
        with tf.name_scope(name, values=[low, high]) as name:
            checks = [tf.assert_less(low, high, message="uniform not defined when low >= high.")] if validate_args else []
            with tf.control_dependencies(checks):
                self._low = tf.identity(low, name="low")
                self._high = tf.identity(high, name="high")
                tf.assert_same_float_dtype([self._low, self._high])
        super().__init__(dtype=self._low.dtype, reparameterization_type=FULLY_REPARAMETERIZED, validate_args=validate_args,
                         allow_nan_stats=allow_nan_stats, graph_parents=[self._low, self._high], name=name)

    @staticmethod
    def _param_shapes(sample_shape: Any) -> dict[str, Any]:
        return shapes_like(("low", "high"), sample_shape)

    @property
    def low(self) -> tf.Tensor:
        """The lower bound."""
        return self._low

    @property
    def high(self) -> tf.Tensor:
        """The upper bound."""
        return self._high

    def range(self, name: str = "range") -> tf.Tensor:
        """high - low."""
        with self._name_scope(name):
            return self.high - self.low

    def _batch_parameters(self) -> tuple[tf.Tensor, ...]:
        return self.low, self.high

    def _sample_n(self, n: Any, seed: int | None = None) -> tf.Tensor:
        samples = tf.random_uniform(shape=self._samples_shape(n), dtype=self.dtype, seed=seed)
        return self.low + self.range() * samples

    def _prob(self, x: tf.Tensor) -> tf.Tensor:
        x = x * tf.ones(self.batch_shape_tensor(), dtype=x.dtype)
        is_nan = tf.is_nan(x)
        outside = tf.logical_or(x < self.low, x >= self.high)
        density = tf.where_v2(outside, tf.zeros_like(x), tf.ones_like(x) / self.range())
        return tf.where_v2(is_nan, x, density)

    def _cdf(self, x: tf.Tensor) -> tf.Tensor:
        shape = tf.broadcast_dynamic_shape(tf.shape(x), self.batch_shape_tensor())
        zeros, ones = tf.zeros(shape, dtype=self.dtype), tf.ones(shape, dtype=self.dtype)
        everywhere = x * ones
        below_high = tf.where_v2(x < self.low, zeros, (everywhere - self.low) / self.range())
        return tf.where_v2(x >= self.high, ones, below_high)

    def _entropy(self) -> tf.Tensor:
        return tf.log(self.range())

    def _mean(self) -> tf.Tensor:
        return (self.low + self.high) / 2.0

    def _variance(self) -> tf.Tensor:
        return tf.square(self.range()) / 12.0

    def _stddev(self) -> tf.Tensor:
        return self.range() / math.sqrt(12.0)
