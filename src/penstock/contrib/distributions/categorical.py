"""One of several classes: as a number (``Categorical``) or as a vector with one 1 (``OneHotCategorical``)."""
from __future__ import annotations

from typing import Any

from penstock.contrib import prelude as tf
from penstock.contrib.distributions.arguments import castable, categorical_parameter, checked, logits_and_probs
from penstock.contrib.distributions.distribution import NOT_REPARAMETERIZED, Distribution
from penstock.contrib.distributions.kullback_leibler import RegisterKL
from penstock.contrib.distributions.parameters import HasLogits


def batch_rank(logits: tf.Tensor) -> tf.Tensor:
    """The number of axes before the classes."""
    static = logits.shape.with_rank_at_least(1)
    if static.ndims is not None:
        return tf.convert_to_tensor(static.ndims - 1, dtype=tf.int32, name="batch_rank")
    with tf.name_scope("batch_rank"):
        return tf.rank(logits) - 1


class OverClasses(HasLogits, Distribution):
    """A distribution with logits and probabilities whose last axis numbers the classes."""

    _event_size: tf.Tensor
    _batch_rank: tf.Tensor

    @property
    def event_size(self) -> tf.Tensor:
        """The number of classes."""
        return self._event_size

    def _batch_shape(self) -> tf.TensorShape:
        return self.logits.shape[:-1]

    def _entropy(self) -> tf.Tensor:
        return -tf.reduce_sum(tf.log_softmax(self.logits) * self.probs, axis=-1)

    def _rows_of_logits(self) -> tf.Tensor:
        """The logits as a matrix with one row per distribution."""
        return self.logits if self.logits.shape.ndims == 2 else tf.reshape(self.logits, [-1, self.event_size])


class VectorOverClasses(OverClasses):
    """A distribution whose samples are vectors with one element per class."""

    def _set_sizes(self) -> None:
        self._batch_rank = batch_rank(self._logits)
        with tf.name_scope("event_size"):
            self._event_size = tf.shape(self._logits)[-1]

    def _batch_shape_tensor(self) -> tf.Tensor:
        return tf.shape(self.logits)[:-1]

    def _event_shape_tensor(self) -> tf.Tensor:
        return tf.shape(self.logits)[-1:]

    def _event_shape(self) -> tf.TensorShape:
        return self.logits.shape.with_rank_at_least(1)[-1:]

    def _valid(self, x: tf.Tensor) -> tf.Tensor:
        """A sample of logarithms, checked to sum up to 1."""
        if not self.validate_args:
            return x
        not_positive = tf.assert_non_positive(x)
        return checked(x, not_positive, tf.assert_near(tf.zeros([], dtype=self.dtype), tf.reduce_logsumexp(x, axis=[-1])))

    def _broadcast_with_logits(self, x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """``x`` and the logits in one shape."""
        logits = self.logits
        if not x.shape.is_fully_defined() or not logits.shape.is_fully_defined() or x.shape != logits.shape:
            logits = tf.ones_like(x, dtype=logits.dtype) * logits
            x = tf.ones_like(logits, dtype=x.dtype) * x
        return x, logits


class Categorical(OverClasses):
    """``tf.distributions.Categorical``: the number of a class, from 0."""

    def __init__(self, logits: Any = None, probs: Any = None, dtype: Any = tf.int32, validate_args: bool = False, allow_nan_stats: bool = True,
                 name: str = "Categorical") -> None:
        with tf.name_scope(name, values=[logits, probs]) as name:
            self._logits, self._probs = logits_and_probs(logits, probs, multidimensional=True, validate_args=validate_args, name=name)
            if validate_args:
                self._logits = categorical_parameter(self._logits)
            self._batch_rank = batch_rank(self._logits)
            self._set_sizes(self._logits.shape.with_rank_at_least(1), tf.shape(self._logits, name="logits_shape"))
        super().__init__(dtype=dtype, reparameterization_type=NOT_REPARAMETERIZED, validate_args=validate_args, allow_nan_stats=allow_nan_stats,
                         graph_parents=[self._logits, self._probs], name=name)

    def _set_sizes(self, static: tf.TensorShape, dynamic: tf.Tensor) -> None:
        if tf.dimension_value(static[-1]) is not None:
            self._event_size = tf.convert_to_tensor(static.as_list()[-1], dtype=tf.int32, name="event_size")
        else:
            with tf.name_scope("event_size"):
                self._event_size = dynamic[self._batch_rank]
        if static[:-1].is_fully_defined():
            self._batch_shape_val = tf.constant(static[:-1].as_list(), dtype=tf.int32, name="batch_shape")
        else:
            with tf.name_scope("batch_shape"):
                self._batch_shape_val = dynamic[:-1]

    def _batch_shape_tensor(self) -> tf.Tensor:
        return tf.identity(self._batch_shape_val)

    def _event_shape_tensor(self) -> tf.Tensor:
        return tf.constant([], dtype=tf.int32)

    def _event_shape(self) -> tf.TensorShape:
        return tf.TensorShape([])

    def _sample_n(self, n: Any, seed: int | None = None) -> tf.Tensor:
        numbers = tf.int64 if tf.as_dtype(self.dtype).size > 4 else tf.int32
        draws = tf.multinomial(self._rows_of_logits(), n, seed=seed, output_dtype=numbers)
        draws = tf.reshape(tf.transpose(draws), tf.concat([[n], self.batch_shape_tensor()], 0))
        return tf.cast(draws, self.dtype)

    def _valid(self, k: tf.Tensor) -> tf.Tensor:
        k = tf.convert_to_tensor(k, name="k")
        return castable(k, target_dtype=tf.int32) if self.validate_args else k

    def _cdf(self, k: tf.Tensor) -> tf.Tensor:
        """The probability of the classes before ``k``."""
        k, probs = self._broadcast(self._valid(k), self.probs)
        rows = tf.reshape(probs, (-1, self._event_size))
        before = tf.sequence_mask(tf.reshape(k, [-1]), self._event_size)
        return tf.reshape(tf.reduce_sum(tf.where(before, rows, tf.zeros_like(rows)), axis=-1), tf.shape(k))

    def _log_prob(self, k: tf.Tensor) -> tf.Tensor:
        k, logits = self._broadcast(self._valid(k), self.logits)
        return -tf.sparse_softmax_cross_entropy_with_logits(labels=k, logits=logits)

    def _broadcast(self, event: tf.Tensor, params: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Events and their parameters in one shape, but for the classes."""
        if event.dtype.is_floating:
            event = tf.cast(event, dtype=tf.int32)
        elif not event.dtype.is_integer:
            raise TypeError(f"`value` should have integer `dtype` or `self.dtype` ({self.dtype.base_dtype})")
        known = params.shape.ndims is not None and params.shape[:-1].is_fully_defined() and event.shape.is_fully_defined()
        if not known or params.shape[:-1] != event.shape:
            params *= tf.ones_like(event[..., None], dtype=params.dtype)
            event *= tf.ones(tf.shape(params)[:-1], dtype=event.dtype)
            if params.shape.ndims is not None:
                event.set_shape(params.shape[:-1])
        return event, params

    def _mode(self) -> tf.Tensor:
        mode = tf.cast(tf.argmax(self.logits, axis=self._batch_rank), self.dtype)
        mode.set_shape(self.batch_shape)
        return mode


@RegisterKL(Categorical, Categorical)
def _kl_categorical_categorical(a: Categorical, b: Categorical, name: str | None = None) -> tf.Tensor:
    with tf.name_scope(name, "kl_categorical_categorical", values=[a.logits, b.logits]):
        difference = tf.log_softmax(a.logits) - tf.log_softmax(b.logits)
        return tf.reduce_sum(tf.softmax(a.logits) * difference, axis=-1)


class OneHotCategorical(VectorOverClasses):
    """``tf.contrib.distributions.OneHotCategorical``: a vector of zeros with a 1 at the class."""

    def __init__(self, logits: Any = None, probs: Any = None, dtype: Any = tf.int32, validate_args: bool = False, allow_nan_stats: bool = True,
                 name: str = "OneHotCategorical") -> None:
        with tf.name_scope(name, values=[logits, probs]) as name:
            self._logits, self._probs = logits_and_probs(logits, probs, multidimensional=True, validate_args=validate_args, name=name)
            self._set_sizes()
        super().__init__(dtype=dtype, reparameterization_type=NOT_REPARAMETERIZED, validate_args=validate_args, allow_nan_stats=allow_nan_stats,
                         graph_parents=[self._logits, self._probs], name=name)

    def _sample_n(self, n: Any, seed: int | None = None) -> tf.Tensor:
        shape = tf.concat([[n], tf.shape(self.logits)], 0)
        draws = tf.transpose(tf.multinomial(self._rows_of_logits(), n, seed=seed))
        return tf.reshape(tf.one_hot(draws, self.event_size, dtype=self.dtype), shape)

    def _log_prob(self, x: tf.Tensor) -> tf.Tensor:
        x, logits = self._broadcast_with_logits(self._valid(x))
        shape = tf.shape(tf.reduce_sum(logits, -1))
        logits = tf.reshape(logits, [-1, self.event_size])
        x = tf.reshape(x, [-1, self.event_size])
        return tf.reshape(-tf.softmax_cross_entropy_with_logits(labels=x, logits=logits), shape)

    def _mode(self) -> tf.Tensor:
        mode = tf.one_hot(tf.argmax(self.logits, axis=self._batch_rank), self.event_size, dtype=self.dtype)
        mode.set_shape(self.logits.shape)
        return mode

    def _covariance(self) -> tf.Tensor:
        p = self.probs
        return tf.matrix_set_diag(-tf.matmul(p[..., None], p[..., None, :]), self._variance())

    def _variance(self) -> tf.Tensor:
        return self.probs * (1.0 - self.probs)


RegisterKL(OneHotCategorical, OneHotCategorical)(_kl_categorical_categorical)
