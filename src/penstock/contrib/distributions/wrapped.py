"""Distributions that are made of another one: rounded up to whole numbers, or drawn element after element."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.contrib import prelude as tf
from penstock.contrib.distributions.arguments import assert_integer_form, checked
from penstock.contrib.distributions.distribution import NOT_REPARAMETERIZED, Distribution
from penstock.contrib.distributions.seeds import gen_new_seed


class _ShapedAsOther(Distribution):
    """Samples have the shapes that those of another distribution have."""

    def _other(self) -> Distribution:
        raise NotImplementedError

    def _batch_shape_tensor(self) -> tf.Tensor:
        return self._other().batch_shape_tensor()

    def _batch_shape(self) -> tf.TensorShape:
        return self._other().batch_shape

    def _event_shape_tensor(self) -> tf.Tensor:
        return self._other().event_shape_tensor()

    def _event_shape(self) -> tf.TensorShape:
        return self._other().event_shape


class QuantizedDistribution(_ShapedAsOther):
    """``tf.contrib.distributions.QuantizedDistribution``: samples of ``distribution``, rounded up, and not below ``low`` or above ``high``."""

    def __init__(self, distribution: Distribution, low: Any = None, high: Any = None, validate_args: bool = False,
                 name: str = "QuantizedDistribution") -> None:
        with tf.name_scope(name, values=[*distribution.parameters.values(), low, high]) as name:
            self._distribution, self._validate_args = distribution, validate_args
            low = None if low is None else tf.convert_to_tensor(low, name="low")
            high = None if high is None else tf.convert_to_tensor(high, name="high")
            tf.assert_same_float_dtype(tensors=[distribution, low, high])
            both = validate_args and low is not None and high is not None
            with tf.control_dependencies([tf.assert_less(low, high, message="low must be strictly less than high.")] if both else []):
                self._low = None if low is None else self._whole(low)
                self._high = None if high is None else self._whole(high)
        limits = [limit for limit in (self._low, self._high) if limit is not None]
        super().__init__(dtype=distribution.dtype, reparameterization_type=NOT_REPARAMETERIZED, validate_args=validate_args,
                         allow_nan_stats=distribution.allow_nan_stats, graph_parents=[*distribution._graph_parents, *limits], name=name)

    @property
    def distribution(self) -> Distribution:
        """The distribution that is rounded."""
        return self._distribution

    @property
    def low(self) -> Any:
        """The least value, or None."""
        return self._low

    @property
    def high(self) -> Any:
        """The largest value, or None."""
        return self._high

    def _other(self) -> Distribution:
        return self._distribution

    def _sample_n(self, n: Any, seed: int | None = None) -> tf.Tensor:
        with tf.name_scope("transform"):
            samples = self.distribution.sample(tf.convert_to_tensor(n, name="n"), seed=seed)
            ones, whole = tf.ones_like(samples), tf.ceil(samples)
            if self._low is not None:
                whole = tf.where(whole < self._low, self._low * ones, whole)
            if self._high is not None:
                whole = tf.where(whole > self._high, self._high * ones, whole)
            return whole

    def _log_prob(self, y: tf.Tensor) -> tf.Tensor:
        y = self._whole(y)
        below, above = self.log_cdf(y), self.log_survival_function(y)
        right = above < below  # of the median: there the other tail has more digits
        large = tf.where(right, self.log_survival_function(y - 1), below)
        small = tf.where(right, above, self.log_cdf(y - 1))
        with tf.name_scope("logsum_expbig_minus_expsmall", values=[small, large]):
            return tf.log(1.0 - tf.exp(small - large)) + large

    def _prob(self, y: tf.Tensor) -> tf.Tensor:
        y = self._whole(y)
        below, above = self.cdf(y), self.survival_function(y)
        return tf.where(above < below, self.survival_function(y - 1) - above, below - self.cdf(y - 1))

    def _log_cdf(self, y: tf.Tensor) -> tf.Tensor:
        return self._clamp_outside(self.distribution.log_cdf, tf.floor(y), -np.inf, 0.0)

    def _cdf(self, y: tf.Tensor) -> tf.Tensor:
        return self._clamp_outside(self.distribution.cdf, tf.floor(y), 0.0, 1.0)

    def _log_survival_function(self, y: tf.Tensor) -> tf.Tensor:
        return self._clamp_outside(self.distribution.log_survival_function, tf.ceil(y), 0.0, -np.inf)

    def _survival_function(self, y: tf.Tensor) -> tf.Tensor:
        return self._clamp_outside(self.distribution.survival_function, tf.ceil(y), 1.0, 0.0)

    def _clamp_outside(self, function: Callable[[tf.Tensor], tf.Tensor], whole: tf.Tensor, below: float, above: float) -> tf.Tensor:
        """A function of whole numbers, which is ``below`` under the least value, and ``above`` from the largest on."""
        result = function(whole)
        whole += tf.zeros_like(result)
        if self._low is not None:
            result = tf.where(whole < self._low, below * tf.ones_like(result), result)
        if self._high is not None:
            result = tf.where(whole >= self._high, above * tf.ones_like(result), result)
        return result

    def _whole(self, value: Any) -> tf.Tensor:
        with tf.name_scope("check_integer", values=[value]):
            value = tf.convert_to_tensor(value, name="value")
            return checked(value, assert_integer_form(value, message="value has non-integer components.")) if self._validate_args else value


class Autoregressive(_ShapedAsOther):
    """``tf.contrib.distributions.Autoregressive``: ``distribution_fn(sample)`` gives the distribution of each element, by those before it.

    A sample is drawn ``num_steps`` times over; by then all of its elements have followed from those before them.
    """

    def __init__(self, distribution_fn: Callable[..., Distribution], sample0: Any = None, num_steps: int | None = None, validate_args: bool = False,
                 allow_nan_stats: bool = True, name: str = "Autoregressive") -> None:
        with tf.name_scope(name) as name:
            self._distribution_fn, self._sample0 = distribution_fn, sample0
            self._distribution0 = distribution_fn() if sample0 is None else distribution_fn(sample0)
            if num_steps is None:
                num_steps = self._distribution0.event_shape.num_elements()
                if num_steps is None:
                    raise ValueError("distribution_fn must generate a distribution with fully known `event_shape`.")
            if num_steps < 1:
                raise ValueError(f"num_steps ({num_steps}) must be at least 1.")
            self._num_steps = num_steps
        first = self._distribution0
        super().__init__(dtype=first.dtype, reparameterization_type=first.reparameterization_type, validate_args=validate_args,
                         allow_nan_stats=allow_nan_stats, graph_parents=first._graph_parents, name=name)

    @property
    def distribution_fn(self) -> Callable[..., Distribution]:
        """The function that gives distributions."""
        return self._distribution_fn

    @property
    def sample0(self) -> Any:
        """The value that the first distribution is made of, or None."""
        return self._sample0

    @property
    def num_steps(self) -> int:
        """How often a sample is drawn over."""
        return self._num_steps

    @property
    def distribution0(self) -> Distribution:
        """The first distribution."""
        return self._distribution0

    def _other(self) -> Distribution:
        return self._distribution0

    def _sample_n(self, n: Any, seed: int | None = None) -> tf.Tensor:
        if seed is None:
            seed = gen_new_seed(seed=np.random.randint(2 ** 32 - 1), salt="autoregressive")
        samples = self.distribution0.sample(n, seed=seed)
        for _ in range(self._num_steps):
            samples = self.distribution_fn(samples).sample(seed=seed)
        return samples

    def _log_prob(self, value: tf.Tensor) -> tf.Tensor:
        return self.distribution_fn(value).log_prob(value)

    def _prob(self, value: tf.Tensor) -> tf.Tensor:
        return self.distribution_fn(value).prob(value)
