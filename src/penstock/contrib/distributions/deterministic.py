"""Distributions with one value only."""
from __future__ import annotations

from typing import Any

from penstock.contrib import prelude as tf
from penstock.contrib.distributions.arguments import checked
from penstock.contrib.distributions.distribution import NOT_REPARAMETERIZED, Distribution


class _OneValue(Distribution):
    """``loc``, and what is within ``atol + rtol abs(loc)`` of it."""

    def __init__(self, loc: Any, atol: Any, rtol: Any, is_vector: bool, validate_args: bool, allow_nan_stats: bool, name: str) -> None:
        with tf.name_scope(name, values=[loc, atol, rtol]) as name:
            loc = tf.convert_to_tensor(loc, name="loc")
            if is_vector and validate_args:
                loc = _with_axis(loc)
            self._loc = loc
            super().__init__(dtype=loc.dtype, reparameterization_type=NOT_REPARAMETERIZED, validate_args=validate_args,
                             allow_nan_stats=allow_nan_stats, graph_parents=[loc], name=name)
            self._atol, self._rtol = self._tolerance(atol), self._tolerance(rtol)
            self._slack = self.atol if rtol is None else self.atol + self.rtol * tf.abs(self.loc)

    def _tolerance(self, given: Any) -> tf.Tensor:
        tolerance = tf.convert_to_tensor(0 if given is None else given, dtype=self.loc.dtype)
        if given is None or not self.validate_args:
            return tolerance
        return checked(tolerance, tf.assert_non_negative(tolerance, message="Argument 'tol' must be non-negative"))

    @property
    def loc(self) -> tf.Tensor:
        """The value."""
        return self._loc

    @property
    def atol(self) -> tf.Tensor:
        """The absolute tolerance."""
        return self._atol

    @property
    def rtol(self) -> tf.Tensor:
        """The relative tolerance."""
        return self._rtol

    def _entropy(self) -> tf.Tensor:
        return tf.zeros(self.batch_shape_tensor(), dtype=self.dtype)

    def _mean(self) -> tf.Tensor:
        return tf.identity(self.loc)

    def _variance(self) -> tf.Tensor:
        return tf.zeros_like(self.loc)

    def _mode(self) -> tf.Tensor:
        return self.mean()

    def _sample_n(self, n: Any, seed: int | None = None) -> tf.Tensor:
        static = tf.constant_value(tf.convert_to_tensor(n))
        if static is not None and self.loc.shape.ndims is not None:
            multiples: Any = [static] + [1] * self.loc.shape.ndims
        else:
            ones = tf.ones_like(tf.shape(self.loc))
            multiples = tf.concat(([n], ones), axis=0)
        return tf.tile(self.loc[None, ...], multiples=multiples)


def _with_axis(loc: tf.Tensor) -> tf.Tensor:
    message = "Argument loc must be at least rank 1."
    if loc.shape.ndims is None:
        return checked(loc, tf.assert_rank_at_least(loc, 1, message=message))
    if loc.shape.ndims < 1:
        raise ValueError(message)
    return loc


class Deterministic(_OneValue):
    """``tf.contrib.distributions.Deterministic``: always the number ``loc``."""

    def __init__(self, loc: Any, atol: Any = None, rtol: Any = None, validate_args: bool = False, allow_nan_stats: bool = True,
                 name: str = "Deterministic") -> None:
        super().__init__(loc, atol, rtol, False, validate_args, allow_nan_stats, name)

    def _batch_shape_tensor(self) -> tf.Tensor:
        return tf.shape(self.loc)

    def _batch_shape(self) -> tf.TensorShape:
        return self.loc.shape

    def _event_shape_tensor(self) -> tf.Tensor:
        return tf.constant([], dtype=tf.int32)

    def _event_shape(self) -> tf.TensorShape:
        return tf.TensorShape([])

    def _prob(self, x: tf.Tensor) -> tf.Tensor:
        return tf.cast(tf.abs(x - self.loc) <= self._slack, dtype=self.dtype)

    def _cdf(self, x: tf.Tensor) -> tf.Tensor:
        return tf.cast(x >= self.loc - self._slack, dtype=self.dtype)


class VectorDeterministic(_OneValue):
    """``tf.contrib.distributions.VectorDeterministic``: always the vector ``loc``."""

    def __init__(self, loc: Any, atol: Any = None, rtol: Any = None, validate_args: bool = False, allow_nan_stats: bool = True,
                 name: str = "VectorDeterministic") -> None:
        super().__init__(loc, atol, rtol, True, validate_args, allow_nan_stats, name)

    def _batch_shape_tensor(self) -> tf.Tensor:
        return tf.shape(self.loc)[:-1]

    def _batch_shape(self) -> tf.TensorShape:
        return self.loc.shape[:-1]

    def _event_shape_tensor(self) -> tf.Tensor:
        return tf.shape(self.loc)[-1:]

    def _event_shape(self) -> tf.TensorShape:
        return self.loc.shape[-1:]

    def _prob(self, x: tf.Tensor) -> tf.Tensor:
        if self.validate_args:
            message = "Argument 'x' not defined in the same space R^k as this distribution"
            is_vector = tf.assert_rank_at_least(x, 1)
            same_space = tf.assert_equal(self.event_shape_tensor(), tf.gather(tf.shape(x), tf.rank(x) - 1), message=message)
            with tf.control_dependencies([is_vector, same_space]):
                x = tf.identity(x)
        return tf.cast(tf.reduce_all(tf.abs(x - self.loc) <= self._slack, axis=-1), dtype=self.dtype)
