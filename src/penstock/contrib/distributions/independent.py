"""``Independent``: axes of a batch become axes of an event."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.contrib import prelude as tf
from penstock.contrib.distributions.distribution import Distribution
from penstock.contrib.distributions.kullback_leibler import RegisterKL, kl_divergence
from penstock.platform.deprecation import renamed_args


class Independent(Distribution):
    """``tf.contrib.distributions.Independent``: the last axes of the batch of ``distribution`` are parts of one event; by default all but one."""

    @renamed_args(reduce_batch_ndims="reinterpreted_batch_ndims")
    def __init__(self, distribution: Distribution, reinterpreted_batch_ndims: Any = None, validate_args: bool = False,
                 name: str | None = None) -> None:
        name = name or "Independent" + distribution.name
        self._distribution = distribution
        with tf.name_scope(name) as name:
            if reinterpreted_batch_ndims is None:
                reinterpreted_batch_ndims = _all_but_one(distribution)
            ndims = tf.convert_to_tensor(reinterpreted_batch_ndims, dtype=tf.int32, name="reinterpreted_batch_ndims")
            self._static_ndims = tf.constant_value(ndims)
            self._reinterpreted_batch_ndims = ndims if self._static_ndims is None else self._static_ndims
            super().__init__(dtype=distribution.dtype, reparameterization_type=distribution.reparameterization_type, validate_args=validate_args,
                             allow_nan_stats=distribution.allow_nan_stats, graph_parents=[ndims, *distribution._graph_parents], name=name)
            self._assertions = self._check(ndims, validate_args)

    @property
    def distribution(self) -> Distribution:
        """The distribution that has the parts in its batch."""
        return self._distribution

    @property
    def reinterpreted_batch_ndims(self) -> Any:
        """How many axes of the batch belong to the event."""
        return self._reinterpreted_batch_ndims

    def _check(self, ndims: tf.Tensor, validate_args: bool) -> list[Any]:
        batch_ndims = self.distribution.batch_shape.ndims
        if batch_ndims is not None and self._static_ndims is not None:
            if self._static_ndims > batch_ndims:
                raise ValueError(f"reinterpreted_batch_ndims({self._static_ndims}) cannot exceed distribution.batch_ndims({batch_ndims})")
            return []
        if not validate_args:
            return []
        message = "reinterpreted_batch_ndims cannot exceed distribution.batch_ndims"
        return [tf.assert_less_equal(ndims, _length(self.distribution.batch_shape_tensor()), message=message)]

    def _batch_shape_tensor(self) -> tf.Tensor:
        with tf.control_dependencies(self._assertions):
            batch_shape = self.distribution.batch_shape_tensor()
            return batch_shape[:_length(batch_shape) - self.reinterpreted_batch_ndims]

    def _event_shape_tensor(self) -> tf.Tensor:
        with tf.control_dependencies(self._assertions):
            batch_shape = self.distribution.batch_shape_tensor()
            own = batch_shape[_length(batch_shape) - self.reinterpreted_batch_ndims:]
            return tf.concat([own, self.distribution.event_shape_tensor()], axis=0)

    def _batch_shape(self) -> tf.TensorShape:
        split = self._split()
        return tf.TensorShape(None) if split is None else self.distribution.batch_shape[:split]

    def _event_shape(self) -> tf.TensorShape:
        split = self._split()
        return tf.TensorShape(None) if split is None else self.distribution.batch_shape[split:].concatenate(self.distribution.event_shape)

    def _split(self) -> int | None:
        """The number of axes that stay in the batch, if it is known."""
        ndims = self.distribution.batch_shape.ndims
        return None if ndims is None or self._static_ndims is None else ndims - int(self._static_ndims)

    def _sample_n(self, n: Any, seed: int | None = None) -> tf.Tensor:
        with tf.control_dependencies(self._assertions):
            return self.distribution.sample(sample_shape=n, seed=seed)

    def _log_prob(self, x: tf.Tensor) -> tf.Tensor:
        with tf.control_dependencies(self._assertions):
            return self._sum(self.distribution.log_prob(x))

    def _entropy(self) -> tf.Tensor:
        with tf.control_dependencies(self._assertions):
            return self._sum(self.distribution.entropy())

    def _mean(self) -> tf.Tensor:
        with tf.control_dependencies(self._assertions):
            return self.distribution.mean()

    def _variance(self) -> tf.Tensor:
        with tf.control_dependencies(self._assertions):
            return self.distribution.variance()

    def _stddev(self) -> tf.Tensor:
        with tf.control_dependencies(self._assertions):
            return self.distribution.stddev()

    def _mode(self) -> tf.Tensor:
        with tf.control_dependencies(self._assertions):
            return self.distribution.mode()

    def _sum(self, statistic: tf.Tensor) -> tf.Tensor:
        """The sum over the axes that belong to the event."""
        static = self._static_ndims
        axes = tf.range(self._reinterpreted_batch_ndims) if static is None else np.arange(static)
        return tf.reduce_sum(statistic, axis=-1 - axes)


def _length(shape: tf.Tensor) -> Any:
    """The number of elements of a shape: a number if it is known."""
    static = tf.dimension_value(shape.shape.with_rank_at_least(1)[0])
    return tf.shape(shape)[0] if static is None else static


def _all_but_one(distribution: Distribution) -> Any:
    ndims = distribution.batch_shape.ndims
    if ndims is None:
        return tf.maximum(0, tf.shape(distribution.batch_shape_tensor())[0] - 1)
    return np.maximum(0, ndims - 1)


@RegisterKL(Independent, Independent)
def _kl_independent(a: Independent, b: Independent, name: str | None = "kl_independent") -> tf.Tensor:
    p, q = a.distribution, b.distribution
    if a.event_shape.is_fully_defined() and b.event_shape.is_fully_defined():
        if a.event_shape != b.event_shape:
            raise ValueError("Event shapes do not match.")
        if p.event_shape != q.event_shape:
            raise NotImplementedError("KL between Independents with different event shapes not supported.")
        axes = [-index - 1 for index in range(a.event_shape.ndims - p.event_shape.ndims)]
        return tf.reduce_sum(kl_divergence(p, q, name=name), axis=axes)
    with tf.control_dependencies([tf.assert_equal(a.event_shape_tensor(), b.event_shape_tensor()),
                                  tf.assert_equal(p.event_shape_tensor(), q.event_shape_tensor())]):
        count = tf.size(a.event_shape_tensor()) - tf.size(p.event_shape_tensor())
        return tf.reduce_sum(kl_divergence(p, q, name=name), axis=tf.range(-count, 0))
