"""Dirichlet's distribution of probabilities, and counts drawn with fixed or with such probabilities."""
from __future__ import annotations

from typing import Any

from penstock.contrib import prelude as tf
from penstock.contrib.distributions.arguments import categorical_parameter, checked, defined, logits_and_probs, nonnegative_integers
from penstock.contrib.distributions.distribution import FULLY_REPARAMETERIZED, NOT_REPARAMETERIZED, Distribution
from penstock.contrib.distributions.kullback_leibler import RegisterKL
from penstock.contrib.distributions.numerics import log_combinations
from penstock.contrib.distributions.parameters import HasLogits
from penstock.contrib.distributions.seeds import gen_new_seed


class _Concentrations(Distribution):
    """A distribution of vectors with one concentration per element."""

    _concentration: tf.Tensor
    _total_concentration: tf.Tensor

    @property
    def concentration(self) -> tf.Tensor:
        """The concentrations."""
        return self._concentration

    @property
    def total_concentration(self) -> tf.Tensor:
        """Their sum over the last axis."""
        return self._total_concentration

    def _batch_shape_tensor(self) -> tf.Tensor:
        return tf.shape(self.total_concentration)

    def _batch_shape(self) -> tf.TensorShape:
        return self.total_concentration.shape

    def _event_shape_tensor(self) -> tf.Tensor:
        return tf.shape(self.concentration)[-1:]

    def _event_shape(self) -> tf.TensorShape:
        return self.concentration.shape.with_rank_at_least(1)[-1:]

    def _prob(self, x: tf.Tensor) -> tf.Tensor:
        return tf.exp(self._log_prob(x))

    def _covariance(self) -> tf.Tensor:
        x = self._variance_scale_term() * self._mean()
        return tf.matrix_set_diag(-tf.matmul(x[..., None], x[..., None, :]), self._variance())


class Dirichlet(_Concentrations):
    """``tf.distributions.Dirichlet``: vectors of positive numbers with the sum 1."""

    def __init__(self, concentration: Any, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Dirichlet") -> None:
        with tf.name_scope(name, values=[concentration]) as name:
            self._concentration = tf.convert_to_tensor(concentration, name="concentration")
            if validate_args:
                self._concentration = checked(
                    self._concentration,
                    tf.assert_positive(self._concentration, message="Concentration parameter must be positive."),
                    tf.assert_rank_at_least(self._concentration, 1, message="Concentration parameter must have >=1 dimensions."),
                    tf.assert_less(1, tf.shape(self._concentration)[-1], message="Concentration parameter must have event_size >= 2."))
            self._total_concentration = tf.reduce_sum(self._concentration, -1)
        super().__init__(dtype=self._concentration.dtype, reparameterization_type=FULLY_REPARAMETERIZED, validate_args=validate_args,
                         allow_nan_stats=allow_nan_stats, graph_parents=[self._concentration, self._total_concentration], name=name)

    def _sample_n(self, n: Any, seed: int | None = None) -> tf.Tensor:
        gamma = tf.random_gamma(shape=[n], alpha=self.concentration, dtype=self.dtype, seed=seed)
        return gamma / tf.reduce_sum(gamma, -1, keepdims=True)

    def _log_prob(self, x: tf.Tensor) -> tf.Tensor:
        return self._log_unnormalized_prob(x) - self._log_normalization()

    def _log_unnormalized_prob(self, x: tf.Tensor) -> tf.Tensor:
        if self.validate_args:
            x = checked(x, tf.assert_positive(x, message="samples must be positive"),
                        tf.assert_near(tf.ones([], dtype=self.dtype), tf.reduce_sum(x, -1), message="sample last-dimension must sum to `1`"))
        return tf.reduce_sum(tf.xlogy(self.concentration - 1.0, x), -1)

    def _log_normalization(self) -> tf.Tensor:
        return tf.lbeta(self.concentration)

    def _entropy(self) -> tf.Tensor:
        k = tf.cast(self.event_shape_tensor()[0], self.dtype)
        a, total = self.concentration, self.total_concentration
        return self._log_normalization() + (total - k) * tf.digamma(total) - tf.reduce_sum((a - 1.0) * tf.digamma(a), axis=-1)

    def _mean(self) -> tf.Tensor:
        return self.concentration / self.total_concentration[..., None]

    def _variance(self) -> tf.Tensor:
        scale = self._variance_scale_term()
        x = scale * self._mean()
        return x * (scale - x)

    def _variance_scale_term(self) -> tf.Tensor:
        return tf.rsqrt(1.0 + self.total_concentration[..., None])

    def _mode(self) -> tf.Tensor:
        k = tf.cast(self.event_shape_tensor()[0], self.dtype)
        mode = (self.concentration - 1.0) / (self.total_concentration[..., None] - k)
        if self.allow_nan_stats:
            shape = tf.shape(mode)
            return defined(mode, tf.reduce_all(self.concentration > 1.0, axis=-1), shape, self.dtype)
        return checked(mode, tf.assert_less(tf.ones([], self.dtype), self.concentration, message="Mode undefined when any concentration <= 1"))


@RegisterKL(Dirichlet, Dirichlet)
def _kl_dirichlet_dirichlet(p: Dirichlet, q: Dirichlet, name: str | None = None) -> tf.Tensor:
    a, b = p.concentration, q.concentration
    with tf.name_scope(name, "kl_dirichlet_dirichlet", values=[a, b]):
        digamma_total = tf.digamma(tf.reduce_sum(a, axis=-1, keepdims=True))
        expected_log = tf.digamma(a) - digamma_total
        difference = a - b
        return tf.reduce_sum(difference * expected_log, axis=-1) - tf.lbeta(a) + tf.lbeta(b)


def _valid_counts(counts: tf.Tensor, total_count: tf.Tensor, message: str) -> tf.Tensor:
    counts = nonnegative_integers(counts)
    return checked(counts, tf.assert_equal(total_count, tf.reduce_sum(counts, -1), message=message))


class DirichletMultinomial(_Concentrations):
    """``tf.distributions.DirichletMultinomial``: counts of classes in ``total_count`` draws, with probabilities from a Dirichlet distribution."""

    def __init__(self, total_count: Any, concentration: Any, validate_args: bool = False, allow_nan_stats: bool = True,
                 name: str = "DirichletMultinomial") -> None:
        with tf.name_scope(name, values=[total_count, concentration]) as name:
            self._total_count = tf.convert_to_tensor(total_count, name="total_count")
            if validate_args:
                self._total_count = nonnegative_integers(self._total_count)
            self._concentration = tf.convert_to_tensor(concentration, name="concentration")
            if validate_args:
                self._concentration = categorical_parameter(self._concentration)
                positive = tf.assert_positive(self._concentration, message="Concentration parameter must be positive.")
                self._concentration = checked(self._concentration, positive)
            self._total_concentration = tf.reduce_sum(self._concentration, -1)
        super().__init__(dtype=self._concentration.dtype, reparameterization_type=NOT_REPARAMETERIZED, validate_args=validate_args,
                         allow_nan_stats=allow_nan_stats, graph_parents=[self._total_count, self._concentration], name=name)

    @property
    def total_count(self) -> tf.Tensor:
        """The number of draws."""
        return self._total_count

    def _sample_n(self, n: Any, seed: int | None = None) -> tf.Tensor:
        draws = tf.cast(self.total_count, dtype=tf.int32)
        k = self.event_shape_tensor()[0]
        gamma = tf.random_gamma(shape=[n], alpha=self.concentration, dtype=self.dtype, seed=seed)
        logits = tf.reshape(tf.log(gamma), shape=[-1, k])
        classes = tf.multinomial(logits, num_samples=draws, seed=gen_new_seed(seed, "dirichlet_multinomial"))
        counts = tf.reduce_sum(tf.one_hot(classes, depth=k), -2)
        counts = tf.reshape(counts, tf.concat([[n], self.batch_shape_tensor(), [k]], 0))
        return tf.cast(counts, self.dtype)

    def _log_prob(self, counts: tf.Tensor) -> tf.Tensor:
        if self.validate_args:
            counts = _valid_counts(counts, self.total_count, "counts last-dimension must sum to `self.total_count`")
        in_this_order = tf.lbeta(self.concentration + counts) - tf.lbeta(self.concentration)
        return in_this_order + log_combinations(self.total_count, counts)

    def _mean(self) -> tf.Tensor:
        return self.total_count * (self.concentration / self.total_concentration[..., None])

    def _variance(self) -> tf.Tensor:
        scale = self._variance_scale_term()
        x = scale * self._mean()
        return x * (self.total_count * scale - x)

    def _variance_scale_term(self) -> tf.Tensor:
        total = self.total_concentration[..., None]
        return tf.sqrt((1.0 + total / self.total_count) / (1.0 + total))


class Multinomial(HasLogits, Distribution):
    """``tf.distributions.Multinomial``: counts of classes in ``total_count`` draws."""

    def __init__(self, total_count: Any, logits: Any = None, probs: Any = None, validate_args: bool = False, allow_nan_stats: bool = True,
                 name: str = "Multinomial") -> None:
        with tf.name_scope(name, values=[total_count, logits, probs]) as name:
            self._total_count = tf.convert_to_tensor(total_count, name="total_count")
            if validate_args:
                self._total_count = nonnegative_integers(self._total_count)
            self._logits, self._probs = logits_and_probs(logits, probs, multidimensional=True, validate_args=validate_args, name=name)
            self._mean_val = self._total_count[..., None] * self._probs
        super().__init__(dtype=self._probs.dtype, reparameterization_type=NOT_REPARAMETERIZED, validate_args=validate_args,
                         allow_nan_stats=allow_nan_stats, graph_parents=[self._total_count, self._logits, self._probs], name=name)

    @property
    def total_count(self) -> tf.Tensor:
        """The number of draws."""
        return self._total_count

    def _batch_shape_tensor(self) -> tf.Tensor:
        return tf.shape(self._mean_val)[:-1]

    def _batch_shape(self) -> tf.TensorShape:
        return self._mean_val.shape.with_rank_at_least(1)[:-1]

    def _event_shape_tensor(self) -> tf.Tensor:
        return tf.shape(self._mean_val)[-1:]

    def _event_shape(self) -> tf.TensorShape:
        return self._mean_val.shape.with_rank_at_least(1)[-1:]

    def _sample_n(self, n: Any, seed: int | None = None) -> tf.Tensor:
        draws = tf.cast(self.total_count, dtype=tf.int32)
        k = self.event_shape_tensor()[0]
        draws = tf.ones_like(self.logits[..., 0], dtype=draws.dtype) * draws
        logits = tf.ones_like(draws[..., None], dtype=self.logits.dtype) * self.logits
        rows = tf.reshape(logits, [-1, k])
        counts = n * tf.reshape(draws, [-1])

        def sample_row(row: list[tf.Tensor]) -> tf.Tensor:
            classes = tf.multinomial(row[0][None, ...], row[1], seed)
            classes = tf.reshape(classes, shape=[n, -1])
            return tf.reduce_sum(tf.one_hot(classes, depth=k), axis=-2)

        samples = tf.transpose(tf.map_fn(sample_row, [rows, counts], dtype=self.dtype), perm=[1, 0, 2])
        return tf.reshape(samples, tf.concat([[n], self.batch_shape_tensor(), [k]], 0))

    def _log_prob(self, counts: tf.Tensor) -> tf.Tensor:
        return self._log_unnormalized_prob(counts) - self._log_normalization(counts)

    def _log_unnormalized_prob(self, counts: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(self._valid(counts) * tf.log_softmax(self.logits), -1)

    def _log_normalization(self, counts: tf.Tensor) -> tf.Tensor:
        return -log_combinations(self.total_count, self._valid(counts))

    def _valid(self, counts: tf.Tensor) -> tf.Tensor:
        return _valid_counts(counts, self.total_count, "counts must sum to `self.total_count`") if self.validate_args else counts

    def _mean(self) -> tf.Tensor:
        return tf.identity(self._mean_val)

    def _probs_per_count(self) -> tf.Tensor:
        return self.probs * tf.ones_like(self.total_count)[..., None]

    def _covariance(self) -> tf.Tensor:
        p = self._probs_per_count()
        return tf.matrix_set_diag(-tf.matmul(self._mean_val[..., None], p[..., None, :]), self._variance())

    def _variance(self) -> tf.Tensor:
        p = self._probs_per_count()
        return self._mean_val - self._mean_val * p
