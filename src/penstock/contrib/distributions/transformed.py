"""``TransformedDistribution``: a bijector of another distribution's samples."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.contrib import prelude as tf
from penstock.contrib.distributions.bijectors.elementwise import Identity
from penstock.contrib.distributions.distribution import Distribution
from penstock.contrib.distributions.shapes import pick_vector


def _static(x: Any) -> Any:
    return tf.constant_value(tf.convert_to_tensor(x))


def _both(*conditions: Any) -> tf.Tensor:
    known = [_static(condition) for condition in conditions]
    if any(value is not None and not bool(value) for value in known):
        return tf.constant(False)
    if all(value is not None and bool(value) for value in known):
        return tf.constant(True)
    return tf.logical_and(*conditions) if len(conditions) == 2 else tf.reduce_all(conditions)


def _equal(x: Any, y: Any) -> tf.Tensor:
    known_x, known_y = _static(x), _static(y)
    return tf.equal(x, y) if known_x is None or known_y is None else tf.constant(np.array_equal(known_x, known_y))


def _not(x: Any) -> tf.Tensor:
    known = _static(x)
    return tf.logical_not(x) if known is None else tf.constant(np.logical_not(known))


def _concatenate(*vectors: Any) -> tf.Tensor:
    known = [_static(vector) for vector in vectors]
    if any(vector is None for vector in known):
        return tf.concat(vectors, 0)
    return tf.constant([element for vector in known for element in vector])


def _ones_like(x: tf.Tensor) -> tf.Tensor:
    return tf.ones(x.shape.as_list(), dtype=x.dtype) if x.shape.is_fully_defined() else tf.ones_like(x)


def _length(shape: tf.Tensor) -> tf.Tensor:
    """The number of axes that a shape has."""
    if shape.shape.ndims not in (None, 1):
        raise ValueError("input is not a valid shape: not 1D")
    if not shape.dtype.is_integer:
        raise TypeError("input is not a valid shape: wrong dtype")
    return tf.constant(shape.shape.as_list()[0]) if shape.shape.is_fully_defined() else tf.shape(shape)[0]


class TransformedDistribution(Distribution):
    """``tf.contrib.distributions.TransformedDistribution``: Y = bijector(X).

    With ``batch_shape`` or ``event_shape`` the distribution of X, which must be scalar in that respect, is repeated: that many independent ones.
    Where its batch stays and events are added, their axes must move behind the batch: samples are rotated.
    """

    def __init__(self, distribution: Distribution, bijector: Any = None, batch_shape: Any = None, event_shape: Any = None,
                 validate_args: bool = False, name: str | None = None) -> None:
        name = name or ("" if bijector is None else bijector.name) + distribution.name
        with tf.name_scope(name, values=[event_shape, batch_shape]) as name:
            self._zero = tf.constant(0, dtype=tf.int32, name="zero")
            self._empty = tf.constant([], dtype=tf.int32, name="empty")
            if bijector is None:
                bijector = Identity(validate_args=validate_args)
            self._override_batch_shape = self._override(batch_shape, distribution.is_scalar_batch(), validate_args, "batch_shape")
            self._is_batch_override = _not(_equal(_length(self._override_batch_shape), self._zero))
            self._is_maybe_batch_override = _maybe_not_empty(self._override_batch_shape)
            self._override_event_shape = self._override(event_shape, distribution.is_scalar_event(), validate_args, "event_shape")
            self._is_event_override = _not(_equal(_length(self._override_event_shape), self._zero))
            self._is_maybe_event_override = _maybe_not_empty(self._override_event_shape)
            self._needs_rotation = _both(self._is_event_override, _not(self._is_batch_override), _not(distribution.is_scalar_batch()))
            event_ndims = _length(self._override_event_shape)
            self._rotate_ndims = self._if_rotated(event_ndims)
            self._reduce_event_indices = tf.range(self._rotate_ndims - event_ndims, self._rotate_ndims)
        self._distribution = distribution
        self._bijector = bijector
        super().__init__(dtype=distribution.dtype, reparameterization_type=distribution.reparameterization_type, validate_args=validate_args,
                         allow_nan_stats=distribution.allow_nan_stats, graph_parents=distribution._graph_parents + bijector.graph_parents, name=name)

    def _if_rotated(self, ndims: tf.Tensor) -> Any:
        known = _static(self._needs_rotation)
        if known is None:
            return tf.where_v2(self._needs_rotation, ndims, 0)
        return ndims if known else 0

    @property
    def distribution(self) -> Distribution:
        """The distribution of X."""
        return self._distribution

    @property
    def bijector(self) -> Any:
        """The function from X to Y."""
        return self._bijector

    def _override(self, shape: Any, base_is_scalar: tf.Tensor, validate_args: bool, name: str) -> tf.Tensor:
        """A shape that replaces the distribution's own, checked; empty if there is none."""
        shape = tf.convert_to_tensor([] if shape is None else shape, dtype=tf.int32, name=name)
        is_empty = _equal(_length(shape), 0)
        if tf.constant_value(is_empty):
            return self._empty
        assertions, static = [], tf.constant_value(shape)
        if shape.shape.ndims is None and validate_args:
            assertions.append(tf.assert_rank(shape, 1, message="shape override must be a vector"))
        if static is not None and (static <= 0).any():
            raise ValueError("shape override must have positive elements")
        if static is None and validate_args:
            assertions.append(tf.assert_positive(shape, message="shape override must have positive elements"))
        both = _both(_not(base_is_scalar), _not(is_empty))
        if tf.constant_value(both):
            raise ValueError("base distribution not scalar")
        if tf.constant_value(both) is None and validate_args:
            assertions.append(tf.assert_equal(both, False, message="base distribution not scalar"))
        return tf.with_dependencies(assertions, shape) if assertions else shape

    def _event_shape_tensor(self) -> tf.Tensor:
        return self.bijector.forward_event_shape_tensor(
            pick_vector(self._is_event_override, self._override_event_shape, self.distribution.event_shape_tensor()))

    def _event_shape(self) -> tf.TensorShape:
        static = tf.constant_value_as_shape(self._override_event_shape)
        return self.bijector.forward_event_shape(static if self._is_maybe_event_override else self.distribution.event_shape)

    def _batch_shape_tensor(self) -> tf.Tensor:
        return pick_vector(self._is_batch_override, self._override_batch_shape, self.distribution.batch_shape_tensor())

    def _batch_shape(self) -> tf.TensorShape:
        static = tf.constant_value_as_shape(self._override_batch_shape)
        return static if self._is_maybe_batch_override else self.distribution.batch_shape

    def _sample_n(self, n: Any, seed: int | None = None, **distribution_kwargs: Any) -> tf.Tensor:
        before = pick_vector(self._needs_rotation, self._empty, [n])
        behind = pick_vector(self._needs_rotation, [n], self._empty)
        shape = _concatenate(before, self._override_batch_shape, self._override_event_shape, behind)
        return self._rotate(self.distribution.sample(sample_shape=shape, seed=seed, **distribution_kwargs))

    def _call_sample_n(self, sample_shape: Any, seed: int | None, name: str, bijector_kwargs: dict[str, Any] | None = None,
                       distribution_kwargs: dict[str, Any] | None = None) -> tf.Tensor:
        """The bijector comes last, and its result is not touched: so its inverse of the samples is known."""
        with self._name_scope(name, [sample_shape]):
            sample_shape = tf.convert_to_tensor(sample_shape, dtype=tf.int32, name="sample_shape")
            sample_shape, count = self._expand_sample_shape_to_vector(sample_shape, "sample_shape")
            x = self._in_sample_shape(self._sample_n(count, seed, **(distribution_kwargs or {})), sample_shape)
            y = self.bijector.forward(x, **(bijector_kwargs or {}))
            return self._set_sample_static_shape(y, sample_shape)

    def _branches(self, y: tf.Tensor, bijector_kwargs: dict[str, Any] | None) -> tuple[list[tuple[Any, Any]], Any]:
        """[(x, log-determinant)] of the x with the function ``y``, and the number of axes of an event."""
        given = bijector_kwargs or {}
        x = self.bijector.inverse(y, **given)
        event_ndims = self._event_ndims()
        ildj = self.bijector.inverse_log_det_jacobian(y, event_ndims=event_ndims, **given)
        return [(x, ildj)] if self.bijector._is_injective else list(zip(x, ildj)), event_ndims

    def _log_prob(self, y: tf.Tensor, bijector_kwargs: dict[str, Any] | None = None, distribution_kwargs: dict[str, Any] | None = None) -> tf.Tensor:
        branches, event_ndims = self._branches(y, bijector_kwargs)
        results = []
        for x, ildj in branches:
            result = self.distribution.log_prob(self._rotate(x, right=True), **(distribution_kwargs or {}))
            if self._is_maybe_event_override:
                result = tf.reduce_sum(result, self._reduce_event_indices)
            results.append(self._with_batch_shape(result + tf.cast(ildj, result.dtype), y, event_ndims))
        return results[0] if self.bijector._is_injective else tf.reduce_logsumexp(tf.stack(results), axis=0)

    def _prob(self, y: tf.Tensor, bijector_kwargs: dict[str, Any] | None = None, distribution_kwargs: dict[str, Any] | None = None) -> tf.Tensor:
        branches, event_ndims = self._branches(y, bijector_kwargs)
        results = []
        for x, ildj in branches:
            result = self.distribution.prob(self._rotate(x, right=True), **(distribution_kwargs or {}))
            if self._is_maybe_event_override:
                result = tf.reduce_prod(result, self._reduce_event_indices)
            results.append(self._with_batch_shape(result * tf.exp(tf.cast(ildj, result.dtype)), y, event_ndims))
        return results[0] if self.bijector._is_injective else sum(results)

    def _with_batch_shape(self, result: tf.Tensor, y: tf.Tensor, event_ndims: Any) -> tf.Tensor:
        if self._is_maybe_event_override and isinstance(event_ndims, int):
            result.set_shape(tf.broadcast_static_shape(y.shape.with_rank_at_least(1)[:-event_ndims], self.batch_shape))
        return result

    def _of_inverse(self, what: str, y: tf.Tensor, bijector_kwargs: dict[str, Any] | None, distribution_kwargs: dict[str, Any] | None) -> tf.Tensor:
        """A function of the distribution of X, at the inverse of ``y``."""
        self._demand_plain(what)
        x = self.bijector.inverse(y, **(bijector_kwargs or {}))
        return getattr(self.distribution, what)(x, **(distribution_kwargs or {}))

    def _demand_plain(self, what: str) -> None:
        if self._is_maybe_event_override:
            raise NotImplementedError(f"{what} is not implemented when overriding event_shape")
        if not self.bijector._is_injective:
            raise NotImplementedError(f"{what} is not implemented when bijector is not injective.")

    def _log_cdf(self, y: tf.Tensor, bijector_kwargs: Any = None, distribution_kwargs: Any = None) -> tf.Tensor:
        return self._of_inverse("log_cdf", y, bijector_kwargs, distribution_kwargs)

    def _cdf(self, y: tf.Tensor, bijector_kwargs: Any = None, distribution_kwargs: Any = None) -> tf.Tensor:
        return self._of_inverse("cdf", y, bijector_kwargs, distribution_kwargs)

    def _log_survival_function(self, y: tf.Tensor, bijector_kwargs: Any = None, distribution_kwargs: Any = None) -> tf.Tensor:
        return self._of_inverse("log_survival_function", y, bijector_kwargs, distribution_kwargs)

    def _survival_function(self, y: tf.Tensor, bijector_kwargs: Any = None, distribution_kwargs: Any = None) -> tf.Tensor:
        return self._of_inverse("survival_function", y, bijector_kwargs, distribution_kwargs)

    def _quantile(self, value: tf.Tensor, bijector_kwargs: Any = None, distribution_kwargs: Any = None) -> tf.Tensor:
        self._demand_plain("quantile")
        return self.bijector.forward(self.distribution.quantile(value, **(distribution_kwargs or {})), **(bijector_kwargs or {}))

    def _entropy(self) -> tf.Tensor:
        """That of X and the log-determinant, if this is a constant."""
        if not self.bijector.is_constant_jacobian:
            raise NotImplementedError("entropy is not implemented")
        if not self.bijector._is_injective:
            raise NotImplementedError("entropy is not implemented when bijector is not injective.")
        entropy = self.distribution.entropy()
        if self._is_maybe_event_override:
            entropy *= tf.cast(tf.reduce_prod(self._override_event_shape), dtype=entropy.dtype.base_dtype)
        if self._is_maybe_batch_override:
            ones = _ones_like(self._override_batch_shape)
            entropy = tf.reshape(entropy, tf.concat([ones, self.distribution.batch_shape_tensor()], 0))
            entropy = tf.tile(entropy, tf.concat([self._override_batch_shape, _ones_like(self.distribution.batch_shape_tensor())], 0))
        anywhere = tf.zeros(shape=tf.concat([self.batch_shape_tensor(), self.event_shape_tensor()], 0), dtype=self.dtype)
        event_ndims = self.event_shape.ndims if self.event_shape.ndims is not None else tf.size(self.event_shape_tensor())
        ildj = self.bijector.inverse_log_det_jacobian(anywhere, event_ndims=event_ndims)
        entropy -= tf.cast(ildj, entropy.dtype)
        entropy.set_shape(self.batch_shape)
        return entropy

    def _rotate(self, x: tf.Tensor, right: bool = False) -> tf.Tensor:
        """``x`` with the axes of samples before those of the batch, or, to the ``right``, with those of events before all others."""
        known = tf.constant_value(self._needs_rotation)
        if known is not None and not known:
            return x
        ndims = tf.rank(x)
        n = ndims - self._rotate_ndims if right else self._rotate_ndims
        return tf.transpose(x, _concatenate(tf.range(n, ndims), tf.range(0, n)))

    def _event_ndims(self) -> Any:
        if self.event_shape.ndims is not None:
            return self.event_shape.ndims
        event_ndims = tf.size(self.event_shape_tensor())
        static = tf.constant_value(event_ndims)
        return event_ndims if static is None else static


def _maybe_not_empty(shape: tf.Tensor) -> bool:
    static = tf.constant_value(shape)
    return static is None or static.size != 0


class ConditionalDistribution(Distribution):
    """``tf.contrib.distributions.ConditionalDistribution``: a distribution whose hooks take further arguments."""

    def sample(self, sample_shape: Any = (), seed: int | None = None, name: str = "sample", **condition_kwargs: Any) -> tf.Tensor:
        """Samples, under conditions."""
        return self._call_sample_n(sample_shape, seed, name, **condition_kwargs)

    def log_prob(self, value: Any, name: str = "log_prob", **condition_kwargs: Any) -> tf.Tensor:
        """The logarithm of the density, under conditions."""
        return self._call_log_prob(value, name, **condition_kwargs)

    def prob(self, value: Any, name: str = "prob", **condition_kwargs: Any) -> tf.Tensor:
        """The density, under conditions."""
        return self._call_prob(value, name, **condition_kwargs)

    def log_cdf(self, value: Any, name: str = "log_cdf", **condition_kwargs: Any) -> tf.Tensor:
        """The logarithm of P[X <= value], under conditions."""
        return self._call_log_cdf(value, name, **condition_kwargs)

    def cdf(self, value: Any, name: str = "cdf", **condition_kwargs: Any) -> tf.Tensor:
        """P[X <= value], under conditions."""
        return self._call_cdf(value, name, **condition_kwargs)

    def log_survival_function(self, value: Any, name: str = "log_survival_function", **condition_kwargs: Any) -> tf.Tensor:
        """The logarithm of P[X > value], under conditions."""
        return self._call_log_survival_function(value, name, **condition_kwargs)

    def survival_function(self, value: Any, name: str = "survival_function", **condition_kwargs: Any) -> tf.Tensor:
        """P[X > value], under conditions."""
        return self._call_survival_function(value, name, **condition_kwargs)


class ConditionalTransformedDistribution(ConditionalDistribution, TransformedDistribution):
    """``tf.contrib.distributions.ConditionalTransformedDistribution``: ``bijector_kwargs`` and ``distribution_kwargs`` go to its parts."""
