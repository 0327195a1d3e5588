"""Distributions about one event that happens or not: Bernoulli, binomial, geometric, negative binomial."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.contrib import prelude as tf
from penstock.contrib.distributions.arguments import (
    assert_integer_form,
    castable,
    checked,
    logits_and_probs,
    nonnegative_integers,
    shapes_like,
)
from penstock.contrib.distributions.distribution import NOT_REPARAMETERIZED
from penstock.contrib.distributions.kullback_leibler import RegisterKL
from penstock.contrib.distributions.parameters import HasLogits
from penstock.contrib.distributions.scalar import ScalarDistribution
from penstock.contrib.distributions.seeds import gen_new_seed


class _OneEvent(HasLogits, ScalarDistribution):
    """A distribution with the probability of one event."""


    def _batch_parameters(self) -> tuple[tf.Tensor, ...]:
        return (self._probs,)


class Bernoulli(_OneEvent):
    """``tf.distributions.Bernoulli``: 1 with probability ``probs``, else 0."""

    def __init__(self, logits: Any = None, probs: Any = None, dtype: Any = tf.int32, validate_args: bool = False, allow_nan_stats: bool = True,
                 name: str = "Bernoulli") -> None:
        with tf.name_scope(name) as name:
            self._logits, self._probs = logits_and_probs(logits=logits, probs=probs, validate_args=validate_args, name=name)
        super().__init__(dtype=dtype, reparameterization_type=NOT_REPARAMETERIZED, validate_args=validate_args, allow_nan_stats=allow_nan_stats,
                         graph_parents=[self._logits, self._probs], name=name)

    @staticmethod
    def _param_shapes(sample_shape: Any) -> dict[str, Any]:
        return shapes_like(("logits",), sample_shape)

    def _batch_parameters(self) -> tuple[tf.Tensor, ...]:
        return (self._logits,)

    def _sample_n(self, n: Any, seed: int | None = None) -> tf.Tensor:
        uniform = tf.random_uniform(self._samples_shape(n), seed=seed, dtype=self.probs.dtype)
        return tf.cast(tf.less(uniform, self.probs), self.dtype)

    def _log_prob(self, event: tf.Tensor) -> tf.Tensor:
        if self.validate_args:
            event = castable(event, target_dtype=tf.bool_)
        event, logits = tf.cast(event, self.logits.dtype), self.logits
        if not (event.shape.is_fully_defined() and logits.shape.is_fully_defined() and event.shape == logits.shape):
            logits, event = tf.ones_like(event) * logits, tf.ones_like(logits) * event
        return -tf.sigmoid_cross_entropy_with_logits(labels=event, logits=logits)

    def _entropy(self) -> tf.Tensor:
        return -self.logits * (tf.sigmoid(self.logits) - 1) + tf.softplus(-self.logits)

    def _mean(self) -> tf.Tensor:
        return tf.identity(self.probs)

    def _variance(self) -> tf.Tensor:
        return self._mean() * (1.0 - self.probs)

    def _mode(self) -> tf.Tensor:
        return tf.cast(self.probs > 0.5, self.dtype)


class BernoulliWithSigmoidProbs(Bernoulli):
    """``BernoulliWithSigmoidProbs``: ``logits`` give the probabilities, by a sigmoid."""

    def __init__(self, logits: Any = None, dtype: Any = tf.int32, validate_args: bool = False, allow_nan_stats: bool = True,
                 name: str = "BernoulliWithSigmoidProbs") -> None:
        super().__init__(probs=tf.sigmoid(logits), dtype=dtype, validate_args=validate_args, allow_nan_stats=allow_nan_stats, name=name)


@RegisterKL(Bernoulli, Bernoulli)
def _kl_bernoulli_bernoulli(a: Bernoulli, b: Bernoulli, name: str | None = None) -> tf.Tensor:
    with tf.name_scope(name, "kl_bernoulli_bernoulli", values=[a.logits, b.logits]):
        if_one = tf.softplus(-b.logits) - tf.softplus(-a.logits)
        if_zero = tf.softplus(b.logits) - tf.softplus(a.logits)
        return tf.sigmoid(a.logits) * if_one + tf.sigmoid(-a.logits) * if_zero


class Binomial(_OneEvent):
    """``tf.contrib.distributions.Binomial``: how often the event happens in ``total_count`` trials. It cannot be sampled, as in TensorFlow."""

    def __init__(self, total_count: Any, logits: Any = None, probs: Any = None, validate_args: bool = False, allow_nan_stats: bool = True,
                 name: str = "Binomial") -> None:
        with tf.name_scope(name, values=[total_count, logits, probs]) as name:
            self._total_count = tf.convert_to_tensor(total_count, name="total_count")
            if validate_args:
                self._total_count = checked(
                    self._total_count,
                    tf.assert_non_negative(self._total_count, message="total_count must be non-negative."),
                    assert_integer_form(self._total_count, message="total_count cannot contain fractional components."))
            self._logits, self._probs = logits_and_probs(logits=logits, probs=probs, validate_args=validate_args, name=name)
        super().__init__(dtype=self._probs.dtype, reparameterization_type=NOT_REPARAMETERIZED, validate_args=validate_args,
                         allow_nan_stats=allow_nan_stats, graph_parents=[self._total_count, self._logits, self._probs], name=name)

    @property
    def total_count(self) -> tf.Tensor:
        """The number of trials."""
        return self._total_count

    def _batch_parameters(self) -> tuple[tf.Tensor, ...]:
        return self.total_count, self.probs

    def _log_prob(self, counts: tf.Tensor) -> tf.Tensor:
        return self._log_unnormalized_prob(counts) - self._log_normalization(counts)

    def _prob(self, counts: tf.Tensor) -> tf.Tensor:
        return tf.exp(self._log_prob(counts))

    def _cdf(self, counts: tf.Tensor) -> tf.Tensor:
        counts, probs = self._valid(counts), self.probs
        if not (counts.shape.is_fully_defined() and probs.shape.is_fully_defined() and counts.shape.is_compatible_with(probs.shape)):
            probs += tf.zeros_like(counts)
            counts += tf.zeros_like(self.probs)
        ones = tf.ones_like(self.total_count - counts)
        all_of_them = tf.equal(counts, self.total_count)
        rest = tf.where_v2(all_of_them, ones, self.total_count - counts)
        return tf.where_v2(all_of_them, ones, tf.betainc(a=rest, b=counts + 1, x=1 - probs))

    def _log_unnormalized_prob(self, counts: tf.Tensor) -> tf.Tensor:
        counts = self._valid(counts)
        return counts * tf.log(self.probs) + (self.total_count - counts) * tf.log1p(-self.probs)

    def _log_normalization(self, counts: tf.Tensor) -> tf.Tensor:
        counts = self._valid(counts)
        return tf.lgamma(1.0 + self.total_count - counts) + tf.lgamma(1.0 + counts) - tf.lgamma(1.0 + self.total_count)

    def _mean(self) -> tf.Tensor:
        return self.total_count * self.probs

    def _variance(self) -> tf.Tensor:
        return self._mean() * (1.0 - self.probs)

    def _mode(self) -> tf.Tensor:
        return tf.floor((1.0 + self.total_count) * self.probs)

    def _valid(self, counts: tf.Tensor) -> tf.Tensor:
        if not self.validate_args:
            return counts
        counts = nonnegative_integers(counts)
        return checked(counts, tf.assert_less_equal(counts, self.total_count, message="counts are not less than or equal to n."))


class Geometric(_OneEvent):
    """``tf.contrib.distributions.Geometric``: how often the event does not happen before it happens first."""

    def __init__(self, logits: Any = None, probs: Any = None, validate_args: bool = False, allow_nan_stats: bool = True,
                 name: str = "Geometric") -> None:
        with tf.name_scope(name, values=[logits, probs]) as name:
            self._logits, self._probs = logits_and_probs(logits, probs, validate_args=validate_args, name=name)
            with tf.control_dependencies([tf.assert_positive(self._probs)] if validate_args else []):
                self._probs = tf.identity(self._probs, name="probs")
        super().__init__(dtype=self._probs.dtype, reparameterization_type=NOT_REPARAMETERIZED, validate_args=validate_args,
                         allow_nan_stats=allow_nan_stats, graph_parents=[self._probs, self._logits], name=name)

    def _sample_n(self, n: Any, seed: int | None = None) -> tf.Tensor:
        shape = tf.concat([[n], tf.shape(self._probs)], 0)
        uniform = tf.random_uniform(shape, minval=np.finfo(self.dtype.as_numpy_dtype).tiny, maxval=1.0, seed=seed, dtype=self.dtype)
        return tf.floor(tf.log(uniform) / tf.log1p(-self.probs))

    def _whole(self, x: tf.Tensor) -> tf.Tensor:
        return nonnegative_integers(x) if self.validate_args else tf.floor(x)

    def _cdf(self, x: tf.Tensor) -> tf.Tensor:
        x = self._whole(x)
        x *= tf.ones_like(self.probs)
        return tf.where(x < 0.0, tf.zeros_like(x), -tf.expm1((1.0 + x) * tf.log1p(-self.probs)))

    def _log_prob(self, x: tf.Tensor) -> tf.Tensor:
        x = self._whole(x)
        x *= tf.ones_like(self.probs)
        probs = self.probs * tf.ones_like(x)
        safe = tf.where(tf.equal(x, 0.0), tf.zeros_like(probs), probs)  # 0 times log(0) has to be 0
        return x * tf.log1p(-safe) + tf.log(probs)

    def _entropy(self) -> tf.Tensor:
        probs = self._probs
        if self.validate_args:
            message = "Entropy is undefined when logits = inf or probs = 1."
            probs = checked(probs, tf.assert_less(probs, tf.constant(1.0, probs.dtype), message=message))
        return tf.softplus(self.logits) / probs - self.logits

    def _mean(self) -> tf.Tensor:
        return tf.exp(-self.logits)

    def _variance(self) -> tf.Tensor:
        return self._mean() / self.probs

    def _mode(self) -> tf.Tensor:
        return tf.zeros(self.batch_shape_tensor(), dtype=self.dtype)


class NegativeBinomial(_OneEvent):
    """``tf.contrib.distributions.NegativeBinomial``: how often the event happens before it has failed ``total_count`` times."""

    def __init__(self, total_count: Any, logits: Any = None, probs: Any = None, validate_args: bool = False, allow_nan_stats: bool = True,
                 name: str = "NegativeBinomial") -> None:
        with tf.name_scope(name, values=[total_count, logits, probs]) as name:
            self._logits, self._probs = logits_and_probs(logits, probs, validate_args=validate_args, name=name)
            with tf.control_dependencies([tf.assert_positive(total_count)] if validate_args else []):
                self._total_count = tf.identity(total_count)
        super().__init__(dtype=self._probs.dtype, reparameterization_type=NOT_REPARAMETERIZED, validate_args=validate_args,
                         allow_nan_stats=allow_nan_stats, graph_parents=[self._total_count, self._probs, self._logits], name=name)

    @property
    def total_count(self) -> tf.Tensor:
        """The number of failures; it need not be whole."""
        return self._total_count

    def _batch_parameters(self) -> tuple[tf.Tensor, ...]:
        return self.total_count, self.probs

    def _sample_n(self, n: Any, seed: int | None = None) -> tf.Tensor:
        rate = tf.random_gamma(shape=[n], alpha=self.total_count, beta=tf.exp(-self.logits), dtype=self.dtype, seed=seed)
        return tf.random_poisson(rate, shape=[], dtype=self.dtype, seed=gen_new_seed(seed, "negative_binom"))

    def _valid(self, x: tf.Tensor) -> tf.Tensor:
        return nonnegative_integers(x) if self.validate_args else x

    def _cdf(self, x: tf.Tensor) -> tf.Tensor:
        return tf.betainc(self.total_count, 1.0 + self._valid(x), tf.sigmoid(-self.logits))

    def _log_prob(self, x: tf.Tensor) -> tf.Tensor:
        return self._log_unnormalized_prob(x) - self._log_normalization(x)

    def _log_unnormalized_prob(self, x: tf.Tensor) -> tf.Tensor:
        x = self._valid(x)
        return self.total_count * tf.log_sigmoid(-self.logits) + x * tf.log_sigmoid(self.logits)

    def _log_normalization(self, x: tf.Tensor) -> tf.Tensor:
        x = self._valid(x)
        return -tf.lgamma(self.total_count + x) + tf.lgamma(1.0 + x) + tf.lgamma(self.total_count)

    def _mean(self) -> tf.Tensor:
        return self.total_count * tf.exp(self.logits)

    def _mode(self) -> tf.Tensor:
        count = tf.where_v2(self.total_count > 1.0, self.total_count - 1.0, tf.zeros_like(self.total_count))
        return tf.floor(count * tf.exp(self.logits))

    def _variance(self) -> tf.Tensor:
        return self._mean() / tf.sigmoid(-self.logits)
