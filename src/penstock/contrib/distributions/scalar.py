"""What distributions of single numbers share: their events have no axes, their batch is the shape of their parameters together."""
from __future__ import annotations

from typing import Any

from penstock.contrib import prelude as tf
from penstock.contrib.distributions.arguments import shapes_like
from penstock.contrib.distributions.distribution import FULLY_REPARAMETERIZED, Distribution
from penstock.contrib.distributions.parameters import HasLocationAndScale


class ScalarDistribution(Distribution):
    """A distribution of numbers. ``_batch_parameters`` are the tensors that make up the batch."""

    def _batch_parameters(self) -> tuple[tf.Tensor, ...]:
        raise NotImplementedError(f"{type(self).__name__} has no parameters")

    def _batch_shape_tensor(self) -> tf.Tensor:
        shapes = [tf.shape(parameter) for parameter in self._batch_parameters()]
        result = shapes.pop()
        while shapes:
            result = tf.broadcast_dynamic_shape(shapes.pop(), result)
        return result

    def _batch_shape(self) -> tf.TensorShape:
        first, *rest = self._batch_parameters()
        static = first.shape
        for parameter in rest:
            static = tf.broadcast_static_shape(static, parameter.shape)
        return static

    def _event_shape_tensor(self) -> tf.Tensor:
        return tf.constant([], dtype=tf.int32)

    def _event_shape(self) -> tf.TensorShape:
        return tf.TensorShape([])

    def _samples_shape(self, n: Any) -> tf.Tensor:
        """The shape of ``n`` samples of the batch."""
        return tf.concat([[n], self.batch_shape_tensor()], 0)


class LocationScale(HasLocationAndScale, ScalarDistribution):
    """A distribution of ``loc + scale * z``, where z has a fixed one."""

    def __init__(self, loc: Any, scale: Any, validate_args: bool, allow_nan_stats: bool, name: str) -> None:
        with tf.name_scope(name, values=[loc, scale]) as name:
            with tf.control_dependencies([tf.assert_positive(scale)] if validate_args else []):
                self._loc = tf.identity(loc, name="loc")
                self._scale = tf.identity(scale, name="scale")
                tf.assert_same_float_dtype([self._loc, self._scale])
        super().__init__(dtype=self._scale.dtype, reparameterization_type=FULLY_REPARAMETERIZED, validate_args=validate_args,
                         allow_nan_stats=allow_nan_stats, graph_parents=[self._loc, self._scale], name=name)

    @staticmethod
    def _param_shapes(sample_shape: Any) -> dict[str, Any]:
        return shapes_like(("loc", "scale"), sample_shape)

    def _batch_parameters(self) -> tuple[tf.Tensor, ...]:
        return self.loc, self.scale

    def _log_prob(self, x: tf.Tensor) -> tf.Tensor:
        return self._log_unnormalized_prob(x) - self._log_normalization()

    def _z(self, x: tf.Tensor) -> tf.Tensor:
        """The value of z that gives ``x``."""
        with tf.name_scope("standardize", values=[x]):
            return (x - self.loc) / self.scale
