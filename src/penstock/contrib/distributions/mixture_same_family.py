"""``MixtureSameFamily``: a mixture of the members of one batch."""
from __future__ import annotations

from typing import Any

from penstock.contrib import prelude as tf
from penstock.contrib.distributions.distribution import NOT_REPARAMETERIZED, Distribution
from penstock.contrib.distributions.mixture import component_mask
from penstock.contrib.distributions.mixture_shapes import pad_mixture_dimensions
from penstock.contrib.distributions.shapes import pick_vector


class MixtureSameFamily(Distribution):
    """``tf.contrib.distributions.MixtureSameFamily``: the last axis of the components' batch numbers the components.

    As in TensorFlow 1.15, ``sample`` does not use its seed: the graph's decides.
    """

    def __init__(self, mixture_distribution: Any, components_distribution: Distribution, validate_args: bool = False, allow_nan_stats: bool = True,
                 name: str = "MixtureSameFamily") -> None:
        with tf.name_scope(name) as name:
            self._mixture_distribution = mixture_distribution
            self._components_distribution = components_distribution
            event_shape = components_distribution.event_shape_tensor()
            static = tf.dimension_value(event_shape.shape[0])
            self._event_ndims = tf.shape(event_shape)[0] if static is None else static
            self._assertions: list[Any] = []
            self._check_mixture(validate_args)
            self._num_components = self._check_count(validate_args)
            super().__init__(dtype=components_distribution.dtype, reparameterization_type=NOT_REPARAMETERIZED, validate_args=validate_args,
                             allow_nan_stats=allow_nan_stats, name=name,
                             graph_parents=mixture_distribution._graph_parents + components_distribution._graph_parents)

    def _check_mixture(self, validate_args: bool) -> None:
        mixture, components = self._mixture_distribution, self._components_distribution
        if not mixture.dtype.is_integer:
            raise ValueError(f"`mixture_distribution.dtype` ({mixture.dtype.name}) is not over integers")
        if mixture.event_shape.ndims not in (None, 0):
            raise ValueError("`mixture_distribution` must have scalar `event_dim`s")
        batch, expected = mixture.batch_shape, components.batch_shape.with_rank_at_least(1)[:-1]
        if batch.is_fully_defined() and expected.is_fully_defined():
            if batch.ndims != 0 and batch != expected:
                raise ValueError(f"`mixture_distribution.batch_shape` (`{batch.as_list()}`) is not compatible with "
                                 f"`components_distribution.batch_shape` (`{expected.as_list()}`)")
        elif validate_args:
            dynamic, wanted = mixture.batch_shape_tensor(), components.batch_shape_tensor()[:-1]
            message = "`mixture_distribution.batch_shape` is not compatible with `components_distribution.batch_shape`"
            self._assertions.append(tf.assert_equal(pick_vector(mixture.is_scalar_batch(), wanted, dynamic), wanted, message=message))

    def _check_count(self, validate_args: bool) -> Any:
        """The number of components, the same for both distributions."""
        logits, batch = self._mixture_distribution.logits, self._components_distribution.batch_shape
        wanted, count = tf.dimension_value(logits.shape.with_rank_at_least(1)[-1]), tf.dimension_value(batch.with_rank_at_least(1)[-1])
        if wanted is not None and count is not None and wanted != count:
            raise ValueError(f"`mixture_distribution components` ({wanted}) does not equal `components_distribution.batch_shape[-1]` ({count})")
        if validate_args and (wanted is None or count is None):
            wanted = tf.shape(logits)[-1]
            message = "`mixture_distribution components` does not equal `components_distribution.batch_shape[-1:]`"
            self._assertions.append(tf.assert_equal(wanted, self._components_distribution.batch_shape_tensor()[-1], message=message))
        return tf.shape(logits)[-1] if wanted is None else wanted

    @property
    def mixture_distribution(self) -> Any:
        """The distribution of components."""
        return self._mixture_distribution

    @property
    def components_distribution(self) -> Distribution:
        """The components."""
        return self._components_distribution

    def _batch_shape_tensor(self) -> tf.Tensor:
        with tf.control_dependencies(self._assertions):
            return self.components_distribution.batch_shape_tensor()[:-1]

    def _batch_shape(self) -> tf.TensorShape:
        return self.components_distribution.batch_shape.with_rank_at_least(1)[:-1]

    def _event_shape_tensor(self) -> tf.Tensor:
        with tf.control_dependencies(self._assertions):
            return self.components_distribution.event_shape_tensor()

    def _event_shape(self) -> tf.TensorShape:
        return self.components_distribution.event_shape

    def _sample_n(self, n: Any, seed: int | None = None) -> tf.Tensor:
        with tf.control_dependencies(self._assertions):
            x = self.components_distribution.sample(n)
            mask = component_mask(self.mixture_distribution.sample(n), self._num_components, x.dtype)
            return tf.reduce_sum(x * self._pad(mask), axis=-1 - self._event_ndims)

    def _log_prob(self, x: tf.Tensor) -> tf.Tensor:
        with tf.control_dependencies(self._assertions):
            return self._log_sum(self.components_distribution.log_prob(self._with_component_axis(x)))

    def _log_cdf(self, x: tf.Tensor) -> tf.Tensor:
        return self._log_sum(self.components_distribution.log_cdf(self._with_component_axis(x)))

    def _log_sum(self, parts: tf.Tensor) -> tf.Tensor:
        return tf.reduce_logsumexp(parts + tf.log_softmax(self.mixture_distribution.logits, axis=-1), axis=-1)

    def _mean(self) -> tf.Tensor:
        with tf.control_dependencies(self._assertions):
            return tf.reduce_sum(self._pad(self.mixture_distribution.probs) * self.components_distribution.mean(), axis=-1 - self._event_ndims)

    def _variance(self) -> tf.Tensor:
        with tf.control_dependencies(self._assertions):
            probs, axis = self._pad(self.mixture_distribution.probs), -1 - self._event_ndims
            within = tf.reduce_sum(probs * self.components_distribution.variance(), axis=axis)
            distance = tf.squared_difference(self.components_distribution.mean(), self._with_component_axis(self._mean()))
            return within + tf.reduce_sum(probs * distance, axis=axis)

    def _covariance(self) -> tf.Tensor:
        if self.event_shape.ndims != 1:
            raise NotImplementedError("covariance is not implemented")
        with tf.control_dependencies(self._assertions):
            probs = self._pad(self._pad(self.mixture_distribution.probs))
            within = tf.reduce_sum(probs * self.components_distribution.covariance(), axis=-3)
            distance = self.components_distribution.mean() - self._with_component_axis(self._mean())
            return within + tf.reduce_sum(probs * (distance[..., None, :] * distance[..., None]), axis=-3)

    def _pad(self, x: tf.Tensor) -> tf.Tensor:
        return pad_mixture_dimensions(x, self, self.mixture_distribution, self._event_shape().ndims)

    def _with_component_axis(self, x: tf.Tensor) -> tf.Tensor:
        """``x`` with an axis of extent 1 before its event."""
        with tf.name_scope("pad_sample_dims", values=[x]):
            ndims = tf.rank(x) if x.shape.ndims is None else x.shape.ndims
            shape = tf.shape(x)
            before = ndims - self._event_ndims
            return tf.reshape(x, shape=tf.concat([shape[:before], [1], shape[before:]], axis=0))
