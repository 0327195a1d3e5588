"""``BatchReshape``: a batch of distributions in another shape."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.contrib import prelude as tf
from penstock.contrib.distributions.distribution import Distribution


class BatchReshape(Distribution):
    """``tf.contrib.distributions.BatchReshape``: ``distribution``, whose batch has the shape ``batch_shape``; one extent of it may be -1."""

    def __init__(self, distribution: Distribution, batch_shape: Any, validate_args: bool = False, allow_nan_stats: bool = True,
                 name: str | None = None) -> None:
        name = name or "BatchReshape" + distribution.name
        with tf.name_scope(name, values=[batch_shape]) as name:
            given = tf.convert_to_tensor(batch_shape, dtype=tf.int32, name="batch_shape")
            _check_known(distribution, given)
            self._distribution, self._given = distribution, given
            self._static = tf.constant_value_as_shape(given)
            self._complete, self._assertions = _complete_shape(distribution.batch_shape_tensor(), given, self._static, validate_args)
            super().__init__(dtype=distribution.dtype, reparameterization_type=distribution.reparameterization_type, validate_args=validate_args,
                             allow_nan_stats=allow_nan_stats, graph_parents=[given, *distribution._graph_parents], name=name)

    @property
    def distribution(self) -> Distribution:
        """The distribution with the batch as it was."""
        return self._distribution

    def _batch_shape_tensor(self) -> tf.Tensor:
        with tf.control_dependencies(self._assertions):
            return tf.identity(self._complete)

    def _batch_shape(self) -> tf.TensorShape:
        return self._static

    def _event_shape_tensor(self) -> tf.Tensor:
        with tf.control_dependencies(self._assertions):
            return tf.identity(self.distribution.event_shape_tensor())

    def _event_shape(self) -> tf.TensorShape:
        return self.distribution.event_shape

    def _sample_n(self, n: Any, seed: int | None = None) -> tf.Tensor:
        with tf.control_dependencies(self._assertions):
            samples = self.distribution.sample(sample_shape=n, seed=seed)
            return tf.reshape(samples, tf.concat([[n], self._given, self.event_shape_tensor()], axis=0))

    def _log_prob(self, x: tf.Tensor) -> tf.Tensor:
        return self._of_reshaped(self.distribution.log_prob, x)

    def _prob(self, x: tf.Tensor) -> tf.Tensor:
        return self._of_reshaped(self.distribution.prob, x)

    def _log_cdf(self, x: tf.Tensor) -> tf.Tensor:
        return self._of_reshaped(self.distribution.log_cdf, x)

    def _cdf(self, x: tf.Tensor) -> tf.Tensor:
        return self._of_reshaped(self.distribution.cdf, x)

    def _log_survival_function(self, x: tf.Tensor) -> tf.Tensor:
        return self._of_reshaped(self.distribution.log_survival_function, x)

    def _survival_function(self, x: tf.Tensor) -> tf.Tensor:
        return self._of_reshaped(self.distribution.survival_function, x)

    def _entropy(self) -> tf.Tensor:
        return self._reshape(self.distribution.entropy, 0)

    def _mean(self) -> tf.Tensor:
        return self._reshape(self.distribution.mean, 1)

    def _mode(self) -> tf.Tensor:
        return self._reshape(self.distribution.mode, 1)

    def _stddev(self) -> tf.Tensor:
        return self._reshape(self.distribution.stddev, 1)

    def _variance(self) -> tf.Tensor:
        return self._reshape(self.distribution.variance, 1)

    def _covariance(self) -> tf.Tensor:
        return self._reshape(self.distribution.covariance, 2)

    def _of_reshaped(self, function: Callable[[tf.Tensor], tf.Tensor], x: tf.Tensor) -> tf.Tensor:
        """A function of the distribution, of values whose batch has the new shape."""
        with tf.control_dependencies([*self._assertions, *self._check_value(x)]):
            static, shape = self._sample_shape(x)
            old = tf.reshape(x, tf.concat([shape, self.distribution.batch_shape_tensor(), self.event_shape_tensor()], axis=0))
            result = tf.reshape(function(old), tf.concat([shape, self._given], axis=0))
            if static.ndims is not None and self.batch_shape.ndims is not None:
                result.set_shape(static.concatenate(self.batch_shape))
            return result

    def _reshape(self, statistic: Callable[[], tf.Tensor], events: int) -> tf.Tensor:
        """A statistic with the shape of so many events in each element of the batch."""
        with tf.control_dependencies(self._assertions):
            shapes = {0: list, 1: lambda: [self._event_shape_tensor()], 2: lambda: [self.event_shape_tensor()] * 2}[events]()
            result = tf.reshape(statistic(), tf.concat([self._given, *shapes], axis=0))
            if self.batch_shape.ndims is not None and self.event_shape.ndims is not None:
                static = self.batch_shape
                for _ in range(events):
                    static = static.concatenate(self.event_shape)
                result.set_shape(static)
            return result

    def _ndims(self, x: tf.Tensor) -> tuple[Any, Any]:
        """The ranks of a value, and of one sample: numbers if they are known."""
        rank = tf.rank(x) if x.shape.ndims is None else x.shape.ndims
        event = tf.size(self.event_shape_tensor()) if self.event_shape.ndims is None else self.event_shape.ndims
        batch = tf.size(self._given) if self.batch_shape.ndims is None else self.batch_shape.ndims
        return rank, batch + event

    def _sample_shape(self, x: tf.Tensor) -> tuple[tf.TensorShape, Any]:
        rank, own = self._ndims(x)
        static = x.shape[:rank - own] if isinstance(rank - own, int) else tf.TensorShape(None)
        return static, np.int32(static.as_list()) if static.is_fully_defined() else tf.shape(x)[:rank - own]

    def _check_value(self, x: tf.Tensor) -> list[Any]:
        """Assertions that a value has batch and event: it is not broadcast. NotImplementedError if it is known not to."""
        rank, own = self._ndims(x)
        known = isinstance(rank, int) and isinstance(own, int)
        if known and rank < own:
            raise NotImplementedError(f"Broadcasting is not supported; too few batch and event dims (expected at least {own}, saw {rank}).")
        enough = [] if known or not self.validate_args else [
            tf.assert_greater_equal(rank, own, message="Broadcasting is not supported; too few batch and event dims.")]
        whole = self.batch_shape.concatenate(self.event_shape)
        expected = (np.int32(whole.as_list()) if whole.is_fully_defined() else
                    tf.concat([self.batch_shape_tensor(), self.event_shape_tensor()], axis=0))
        if known and isinstance(expected, np.ndarray) and x.shape[rank - own:].is_fully_defined():
            actual = np.int32(x.shape[rank - own:].as_list())
            if (expected != actual).any():
                raise NotImplementedError(f"Broadcasting is not supported; unexpected batch and event shape (expected {expected}, saw {actual}).")
            return []
        if not self.validate_args:
            return []
        with tf.control_dependencies(enough):
            return [tf.assert_equal(expected, tf.shape(x)[tf.maximum(rank - own, 0):],
                                    message="Broadcasting is not supported; unexpected batch and event shape.")]


def _check_known(distribution: Distribution, batch_shape: tf.Tensor) -> None:
    """ValueError if the shapes are known not to fit."""
    if batch_shape.shape.ndims not in (None, 1):
        raise ValueError(f"`batch_shape` must be a vector (saw rank: {batch_shape.shape.ndims}).")
    static = tf.constant_value_as_shape(batch_shape)
    size, own = static.num_elements(), distribution.batch_shape.num_elements()
    if None not in (size, own) and size != own:
        raise ValueError(f"`batch_shape` size ({size}) must match `distribution.batch_shape` size ({own}).")
    if static.ndims is not None and any(extent is not None and extent < 1 for extent in static.as_list()):
        raise ValueError("`batch_shape` elements must be >=-1.")


def _complete_shape(original: tf.Tensor, given: tf.Tensor, static: tf.TensorShape, validate: bool) -> tuple[Any, list[Any]]:
    """The new shape without -1, and assertions that it fits."""
    if static.is_fully_defined():
        return np.int32(static.as_list()), []
    with tf.name_scope("calculate_reshape", values=[original, given]):
        size, implicit = tf.reduce_prod(original), tf.equal(given, -1)
        rest = size // tf.maximum(1, -tf.reduce_prod(given))
        complete = tf.where_v2(implicit, tf.fill(tf.shape(given), rest), given)
        if not validate:
            return complete, []
        return complete, [tf.assert_rank(original, 1, message="Original shape must be a vector."),
                          tf.assert_rank(given, 1, message="New shape must be a vector."),
                          tf.assert_less_equal(tf.count_nonzero(implicit, dtype=tf.int32), 1, message="At most one dimension can be unknown."),
                          tf.assert_positive(complete, message="Shape elements must be >=-1."),
                          tf.assert_equal(tf.reduce_prod(complete), size, message="Shape sizes do not match.")]
