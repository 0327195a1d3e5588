"""Mixtures: of distributions of any kind (``Mixture``), or of the members of one batch (``MixtureSameFamily``)."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.contrib import prelude as tf
from penstock.contrib.distributions.categorical import Categorical
from penstock.contrib.distributions.distribution import NOT_REPARAMETERIZED, Distribution
from penstock.contrib.distributions.mixture_shapes import mixture_stddev, pad_mixture_dimensions
from penstock.contrib.distributions.seeds import gen_new_seed


class Mixture(Distribution):
    """``tf.contrib.distributions.Mixture``: ``cat`` draws which of ``components`` is drawn from."""

    def __init__(self, cat: Categorical, components: Sequence[Distribution], validate_args: bool = False, allow_nan_stats: bool = True,
                 use_static_graph: bool = False, name: str = "Mixture") -> None:
        _check_components(cat, components)
        event_shape, batch_shape = components[0].event_shape, cat.batch_shape
        for component in components:
            event_shape = event_shape.merge_with(component.event_shape)
            batch_shape = batch_shape.merge_with(component.batch_shape)
        if event_shape.ndims is None:
            raise ValueError("Expected to know rank(event_shape) from components, but none of the components provide a static number of ndims")
        with tf.name_scope(name, values=[cat.logits]) as name:
            count = tf.constant_value(cat.event_size)
            if count is None:
                raise ValueError("Could not infer number of classes from cat and unable to compare this value to the number of components passed in.")
            if count != len(components):
                raise ValueError(f"cat.num_classes != len(components): {count} vs. {len(components)}")
            cat_batch_shape = cat.batch_shape_tensor()
            cat_batch_rank = tf.size(cat_batch_shape)
            self._assertions = _same_batches(cat_batch_shape, cat_batch_rank, components) if validate_args else []
        self._cat, self._components, self._num_components = cat, list(components), int(count)
        self._static_event_shape, self._static_batch_shape = event_shape, batch_shape
        self._use_static_graph = use_static_graph
        parents = [parent for part in (cat, *components) for parent in part._graph_parents]
        super().__init__(dtype=components[0].dtype, reparameterization_type=NOT_REPARAMETERIZED, validate_args=validate_args,
                         allow_nan_stats=allow_nan_stats, graph_parents=parents, name=name)

    @property
    def cat(self) -> Categorical:
        """The distribution of components."""
        return self._cat

    @property
    def components(self) -> list[Distribution]:
        """The distributions that are mixed."""
        return self._components

    @property
    def num_components(self) -> int:
        """How many there are."""
        return self._num_components

    def _batch_shape_tensor(self) -> tf.Tensor:
        return self._cat.batch_shape_tensor()

    def _batch_shape(self) -> tf.TensorShape:
        return self._static_batch_shape

    def _event_shape_tensor(self) -> tf.Tensor:
        return self._components[0].event_shape_tensor()

    def _event_shape(self) -> tf.TensorShape:
        return self._static_event_shape

    def _mean(self) -> tf.Tensor:
        with tf.control_dependencies(self._assertions):
            means = [component.mean() for component in self.components]
            return tf.add_n([weight * mean for weight, mean in zip(self._event_weights(), means)])

    def _stddev(self) -> tf.Tensor:
        with tf.control_dependencies(self._assertions):
            means = [component.mean() for component in self.components]
            deviations = [component.stddev() for component in self.components]
            weights = self._weights(tf.softmax)
            means, deviations = tf.stack(means, axis=-1), tf.stack(deviations, axis=-1)
            weights = tf.stack(self._expand(weights), axis=-1) * tf.ones_like(means)
            rows = [tf.reshape(each, [-1, len(self.components)]) for each in (weights, means, deviations)]
            return tf.reshape(mixture_stddev(*rows), tf.shape(weights)[:-1])

    def _log_prob(self, x: tf.Tensor) -> tf.Tensor:
        return self._log_sum(x, "log_prob")

    def _log_cdf(self, x: tf.Tensor) -> tf.Tensor:
        return self._log_sum(x, "log_cdf")

    def _log_sum(self, x: tf.Tensor, what: str) -> tf.Tensor:
        """The weighted sum of a function of the components, in logarithms."""
        with tf.control_dependencies(self._assertions):
            x = tf.convert_to_tensor(x, name="x")
            parts = [getattr(component, what)(x) for component in self.components]
            weights = self._weights(tf.log_softmax)
            return tf.reduce_logsumexp(tf.stack([weight + part for weight, part in zip(weights, parts)], 0), [0])

    def entropy_lower_bound(self, name: str = "entropy_lower_bound") -> tf.Tensor:
        """The weighted entropies of the components; that of the mixture is not less."""
        with self._name_scope(name, [self.cat.logits]):
            with tf.control_dependencies(self._assertions):
                entropies = [component.entropy() for component in self.components]
                return tf.add_n([weight * entropy for weight, entropy in zip(self._weights(tf.softmax), entropies)])

    def _weights(self, softmax: Any) -> list[tf.Tensor]:
        """The weight of each component, as a probability or as a logarithm."""
        return tf.unstack(softmax(self.cat.logits), num=self.num_components, axis=-1)

    def _expand(self, weights: list[tf.Tensor]) -> list[tf.Tensor]:
        """Weights that can be multiplied with events."""
        for _ in range(self.event_shape.ndims):
            weights = [tf.expand_dims(weight, -1) for weight in weights]
        return weights

    def _event_weights(self) -> list[tf.Tensor]:
        return self._expand(self._weights(tf.softmax))

    def _sample_n(self, n: Any, seed: int | None = None) -> tf.Tensor:
        return self._sample_all(n, seed) if self._use_static_graph else self._sample_needed(n, seed)

    def _sample_all(self, n: Any, seed: int | None) -> tf.Tensor:
        """Draws from all components, and picks."""
        chosen, samples = self.cat.sample(n, seed=seed), []
        for component in self.components:
            seed = gen_new_seed(seed, "mixture")
            samples.append(component.sample(n, seed=seed))
        event_ndims = self._static_event_shape.ndims
        x = tf.stack(samples, -event_ndims - 1)
        mask = component_mask(chosen, self._num_components, x.dtype)
        return tf.reduce_sum(x * pad_mixture_dimensions(mask, self, self._cat, event_ndims), axis=-1 - event_ndims)

    def _sample_needed(self, n: Any, seed: int | None) -> tf.Tensor:
        """Draws from each component as many as it is to give, for whole batches, and takes from each the members of the batch that chose it."""
        with tf.control_dependencies(self._assertions):
            n = tf.convert_to_tensor(n, name="n")
            static_n = tf.constant_value(n)
            n = n if static_n is None else int(static_n)
            chosen = self.cat.sample(n, seed=seed)
            shape, count = _static_or_dynamic(chosen)
            batch_size = self.batch_shape.num_elements() if self.batch_shape.is_fully_defined() else tf.reduce_prod(self.batch_shape_tensor())
            static_event = self.event_shape.is_fully_defined()
            event_shape = np.array(self.event_shape.as_list(), np.int32) if static_event else self.event_shape_tensor()
            numbers = tf.reshape(tf.range(0, count), shape)
            numbers = tf.dynamic_partition(data=numbers, partitions=chosen, num_partitions=self.num_components)
            members = tf.reshape(tf.tile(tf.range(0, batch_size), [n]), shape)
            members = tf.dynamic_partition(data=members, partitions=chosen, num_partitions=self.num_components)
            parts = []
            for component, own_numbers, own_members in zip(self.components, numbers, members):
                own = tf.size(own_numbers)
                seed = gen_new_seed(seed, "mixture")
                samples = component.sample(own, seed=seed)
                places = batch_size * tf.range(own) + own_members
                samples = tf.reshape(samples, tf.concat([[own * batch_size], event_shape], 0))
                parts.append(tf.gather(samples, places, name="samples_class_c_gather"))
            stitched = tf.dynamic_stitch(indices=numbers, data=parts)
            result = tf.reshape(stitched, tf.concat([shape, self.event_shape_tensor()], 0))
            result.set_shape(chosen.shape.concatenate(self.event_shape))
            return result


def component_mask(chosen: tf.Tensor, count: Any, dtype: tf.DType) -> tf.Tensor:
    """One-hot vectors of a type."""
    number = dtype.as_numpy_dtype
    return tf.one_hot(indices=chosen, depth=count, on_value=np.ones([], number), off_value=np.zeros([], number))


def _static_or_dynamic(x: tf.Tensor) -> tuple[Any, Any]:
    """Shape and number of elements."""
    if x.shape.is_fully_defined():
        return x.shape.as_list(), x.shape.num_elements()
    return tf.shape(x), tf.size(x)


def _check_components(cat: Any, components: Any) -> None:
    if not isinstance(cat, Categorical):
        raise TypeError(f"cat must be a Categorical distribution, but saw: {cat}")
    if not components:
        raise ValueError("components must be a non-empty list or tuple")
    if not isinstance(components, (list, tuple)):
        raise TypeError(f"components must be a list or tuple, but saw: {components}")
    if not all(isinstance(component, Distribution) for component in components):
        raise TypeError(f"all entries in components must be Distribution instances but saw: {components}")
    if any(component.dtype != components[0].dtype for component in components):
        raise TypeError(f"All components must have the same dtype, but saw dtypes: {[(each.name, each.dtype) for each in components]}")


def _same_batches(shape: tf.Tensor, rank: tf.Tensor, components: Sequence[Distribution]) -> list[Any]:
    """Assertions that all batches have one shape."""
    shapes = [component.batch_shape_tensor() for component in components]
    ranks = [tf.size(each) for each in shapes]
    messages = [f"components[{index}] batch shape must match cat batch shape" for index in range(len(components))]
    return ([tf.assert_equal(rank, each, message=message) for each, message in zip(ranks, messages)]
            + [tf.assert_equal(shape, each, message=message) for each, message in zip(shapes, messages)])
