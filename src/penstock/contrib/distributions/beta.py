"""The beta distribution, of numbers between 0 and 1."""
from __future__ import annotations

from typing import Any

from penstock.contrib import prelude as tf
from penstock.contrib.distributions.arguments import checked, defined, shapes_like
from penstock.contrib.distributions.distribution import FULLY_REPARAMETERIZED
from penstock.contrib.distributions.kullback_leibler import RegisterKL
from penstock.contrib.distributions.scalar import ScalarDistribution
from penstock.contrib.distributions.seeds import gen_new_seed


class Beta(ScalarDistribution):
    """``tf.distributions.Beta``: the density is proportional to x^(concentration1 - 1) (1 - x)^(concentration0 - 1)."""

    def __init__(self, concentration1: Any = None, concentration0: Any = None, validate_args: bool = False, allow_nan_stats: bool = True,
                 name: str = "Beta") -> None:
        with tf.name_scope(name, values=[concentration1, concentration0]) as name:
            self._concentration1 = _positive(tf.convert_to_tensor(concentration1, name="concentration1"), validate_args)
            self._concentration0 = _positive(tf.convert_to_tensor(concentration0, name="concentration0"), validate_args)
            tf.assert_same_float_dtype([self._concentration1, self._concentration0])
            self._total_concentration = self._concentration1 + self._concentration0
        parents = [self._concentration1, self._concentration0, self._total_concentration]
        super().__init__(dtype=self._total_concentration.dtype, reparameterization_type=FULLY_REPARAMETERIZED, validate_args=validate_args,
                         allow_nan_stats=allow_nan_stats, graph_parents=parents, name=name)

    @staticmethod
    def _param_shapes(sample_shape: Any) -> dict[str, Any]:
        return shapes_like(("concentration1", "concentration0"), sample_shape)

    @property
    def concentration1(self) -> tf.Tensor:
        """The concentration at 1."""
        return self._concentration1

    @property
    def concentration0(self) -> tf.Tensor:
        """The concentration at 0."""
        return self._concentration0

    @property
    def total_concentration(self) -> tf.Tensor:
        """The sum of both."""
        return self._total_concentration

    def _batch_parameters(self) -> tuple[tf.Tensor, ...]:
        return (self.total_concentration,)

    def _sample_n(self, n: Any, seed: int | None = None) -> tf.Tensor:
        alpha1 = tf.ones_like(self.total_concentration, dtype=self.dtype) * self.concentration1
        alpha0 = tf.ones_like(self.total_concentration, dtype=self.dtype) * self.concentration0
        one = tf.random_gamma(shape=[n], alpha=alpha1, dtype=self.dtype, seed=seed)
        zero = tf.random_gamma(shape=[n], alpha=alpha0, dtype=self.dtype, seed=gen_new_seed(seed, "beta"))
        return one / (one + zero)

    def _log_prob(self, x: tf.Tensor) -> tf.Tensor:
        return self._log_unnormalized_prob(x) - self._log_normalization()

    def _prob(self, x: tf.Tensor) -> tf.Tensor:
        return tf.exp(self._log_prob(x))

    def _log_cdf(self, x: tf.Tensor) -> tf.Tensor:
        return tf.log(self._cdf(x))

    def _cdf(self, x: tf.Tensor) -> tf.Tensor:
        return tf.betainc(self.concentration1, self.concentration0, x)

    def _log_unnormalized_prob(self, x: tf.Tensor) -> tf.Tensor:
        if self.validate_args:
            x = checked(x, tf.assert_positive(x, message="sample must be positive"),
                        tf.assert_less(x, tf.ones([], self.dtype), message="sample must be less than `1`."))
        return tf.xlogy(self.concentration1 - 1.0, x) + (self.concentration0 - 1.0) * tf.log1p(-x)

    def _log_normalization(self) -> tf.Tensor:
        return tf.lgamma(self.concentration1) + tf.lgamma(self.concentration0) - tf.lgamma(self.total_concentration)

    def _entropy(self) -> tf.Tensor:
        a, b, total = self.concentration1, self.concentration0, self.total_concentration
        return (self._log_normalization() - (a - 1.0) * tf.digamma(a) - (b - 1.0) * tf.digamma(b)
                + (total - 2.0) * tf.digamma(total))

    def _mean(self) -> tf.Tensor:
        return self._concentration1 / self._total_concentration

    def _variance(self) -> tf.Tensor:
        return self._mean() * (1.0 - self._mean()) / (1.0 + self.total_concentration)

    def _mode(self) -> tf.Tensor:
        mode = (self.concentration1 - 1.0) / (self.total_concentration - 2.0)
        if self.allow_nan_stats:
            shape = self.batch_shape_tensor()
            return defined(mode, tf.logical_and(self.concentration1 > 1.0, self.concentration0 > 1.0), shape, self.dtype)
        return checked(
            mode,
            tf.assert_less(tf.ones([], dtype=self.dtype), self.concentration1, message="Mode undefined for concentration1 <= 1."),
            tf.assert_less(tf.ones([], dtype=self.dtype), self.concentration0, message="Mode undefined for concentration0 <= 1."))


def _positive(concentration: tf.Tensor, validate_args: bool) -> tf.Tensor:
    if not validate_args:
        return concentration
    return checked(concentration, tf.assert_positive(concentration, message="Concentration parameter must be positive."))


class BetaWithSoftplusConcentration(Beta):
    """``tf.contrib.distributions.BetaWithSoftplusConcentration``: the softplus of both parameters is used."""

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool = False, allow_nan_stats: bool = True,
                 name: str = "BetaWithSoftplusConcentration") -> None:
        with tf.name_scope(name, values=[concentration1, concentration0]) as name:
            super().__init__(tf.softplus(concentration1, name="softplus_concentration1"),
                             tf.softplus(concentration0, name="softplus_concentration0"), validate_args, allow_nan_stats, name)


@RegisterKL(Beta, Beta)
def _kl_beta_beta(p: Beta, q: Beta, name: str | None = None) -> tf.Tensor:
    with tf.name_scope(name, "kl_beta_beta", values=p._graph_parents + q._graph_parents):
        normalization = q._log_normalization()
        return (normalization - p._log_normalization()
                - tf.digamma(p.concentration1) * (q.concentration1 - p.concentration1)
                - tf.digamma(p.concentration0) * (q.concentration0 - p.concentration0)
                + tf.digamma(p.total_concentration) * (q.total_concentration - p.total_concentration))
