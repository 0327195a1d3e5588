"""The gamma distribution and its relatives: exponential, chi-squared, inverse gamma."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.contrib import prelude as tf
from penstock.contrib.distributions.arguments import checked, defined, shapes_like
from penstock.contrib.distributions.distribution import FULLY_REPARAMETERIZED, NOT_REPARAMETERIZED, ReparameterizationType
from penstock.contrib.distributions.kullback_leibler import RegisterKL
from penstock.contrib.distributions.scalar import ScalarDistribution


class _ConcentrationRate(ScalarDistribution):
    """A distribution of positive numbers with a concentration and a rate."""

    def __init__(self, concentration: Any, rate: Any, validate_args: bool, allow_nan_stats: bool, name: str,
                 reparameterization_type: ReparameterizationType) -> None:
        with tf.name_scope(name, values=[concentration, rate]) as name:
            with tf.control_dependencies([tf.assert_positive(concentration), tf.assert_positive(rate)] if validate_args else []):
                self._concentration = tf.identity(concentration, name="concentration")
                self._rate = tf.identity(rate, name="rate")
                tf.assert_same_float_dtype([self._concentration, self._rate])
        super().__init__(dtype=self._concentration.dtype, reparameterization_type=reparameterization_type, validate_args=validate_args,
                         allow_nan_stats=allow_nan_stats, graph_parents=[self._concentration, self._rate], name=name)

    @staticmethod
    def _param_shapes(sample_shape: Any) -> dict[str, Any]:
        return shapes_like(("concentration", "rate"), sample_shape)

    @property
    def concentration(self) -> tf.Tensor:
        """The concentration, often called alpha."""
        return self._concentration

    @property
    def rate(self) -> tf.Tensor:
        """The rate, often called beta."""
        return self._rate

    def _batch_parameters(self) -> tuple[tf.Tensor, ...]:
        return self.concentration, self.rate

    def _draw(self, n: Any, seed: int | None) -> tf.Tensor:
        """Samples of the gamma distribution."""
        return tf.random_gamma(shape=[n], alpha=self.concentration, beta=self.rate, dtype=self.dtype, seed=seed)

    def _log_prob(self, x: tf.Tensor) -> tf.Tensor:
        return self._log_unnormalized_prob(x) - self._log_normalization()

    def _log_normalization(self) -> tf.Tensor:
        return tf.lgamma(self.concentration) - self.concentration * tf.log(self.rate)

    def _valid(self, x: tf.Tensor) -> tf.Tensor:
        """A sample, checked to be positive."""
        tf.assert_same_float_dtype(tensors=[x], dtype=self.dtype)
        return checked(x, tf.assert_positive(x)) if self.validate_args else x


class Gamma(_ConcentrationRate):
    """``tf.distributions.Gamma``."""

    def __init__(self, concentration: Any, rate: Any, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Gamma") -> None:
        super().__init__(concentration, rate, validate_args, allow_nan_stats, name, FULLY_REPARAMETERIZED)

    def _sample_n(self, n: Any, seed: int | None = None) -> tf.Tensor:
        return self._draw(n, seed)

    def _cdf(self, x: tf.Tensor) -> tf.Tensor:
        x = self._valid(x)
        return tf.igamma(self.concentration, self.rate * x)

    def _log_unnormalized_prob(self, x: tf.Tensor) -> tf.Tensor:
        x = self._valid(x)
        return tf.xlogy(self.concentration - 1.0, x) - self.rate * x

    def _entropy(self) -> tf.Tensor:
        a = self.concentration
        return a - tf.log(self.rate) + tf.lgamma(a) + (1.0 - a) * tf.digamma(a)

    def _mean(self) -> tf.Tensor:
        return self.concentration / self.rate

    def _variance(self) -> tf.Tensor:
        return self.concentration / tf.square(self.rate)

    def _stddev(self) -> tf.Tensor:
        return tf.sqrt(self.concentration) / self.rate

    def _mode(self) -> tf.Tensor:
        mode = (self.concentration - 1.0) / self.rate
        if self.allow_nan_stats:
            shape = self.batch_shape_tensor()
            return defined(mode, self.concentration > 1.0, shape, self.dtype)
        return checked(mode, tf.assert_less(tf.ones([], self.dtype), self.concentration, message="mode not defined when any concentration <= 1"))


class GammaWithSoftplusConcentrationRate(Gamma):
    """``tf.contrib.distributions.GammaWithSoftplusConcentrationRate``: the softplus of both parameters is used."""

    def __init__(self, concentration: Any, rate: Any, validate_args: bool = False, allow_nan_stats: bool = True,
                 name: str = "GammaWithSoftplusConcentrationRate") -> None:
        with tf.name_scope(name, values=[concentration, rate]) as name:
            super().__init__(tf.softplus(concentration, name="softplus_concentration"), tf.softplus(rate, name="softplus_rate"),
                             validate_args, allow_nan_stats, name)


@RegisterKL(Gamma, Gamma)
def _kl_gamma_gamma(p: Gamma, q: Gamma, name: str | None = None) -> tf.Tensor:
    a, b = p.concentration, q.concentration
    with tf.name_scope(name, "kl_gamma_gamma", values=[a, p.rate, b, q.rate]):
        return ((a - b) * tf.digamma(a) + tf.lgamma(b) - tf.lgamma(a)
                + b * tf.log(p.rate) - b * tf.log(q.rate) + a * (q.rate / p.rate - 1.0))


class Exponential(Gamma):
    """``tf.distributions.Exponential``: the gamma distribution with concentration 1."""

    def __init__(self, rate: Any, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Exponential") -> None:
        with tf.name_scope(name, values=[rate]) as name:
            given = tf.convert_to_tensor(rate, name="rate")
        super().__init__(tf.ones([], dtype=given.dtype), given, validate_args, allow_nan_stats, name)
        self._rate = given
        self._graph_parents.append(given)

    @staticmethod
    def _param_shapes(sample_shape: Any) -> dict[str, Any]:
        return shapes_like(("rate",), sample_shape)

    def _sample_n(self, n: Any, seed: int | None = None) -> tf.Tensor:
        shape = tf.concat([[n], tf.shape(self._rate)], 0)
        u = tf.random_uniform(shape, minval=np.finfo(self.dtype.as_numpy_dtype).tiny, maxval=1.0, seed=seed, dtype=self.dtype)
        return -tf.log(u) / self._rate

    def _log_survival_function(self, value: tf.Tensor) -> tf.Tensor:
        return self._log_prob(value) - tf.log(self._rate)


class ExponentialWithSoftplusRate(Exponential):
    """``tf.contrib.distributions.ExponentialWithSoftplusRate``: the softplus of ``rate`` is used."""

    def __init__(self, rate: Any, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "ExponentialWithSoftplusRate") -> None:
        with tf.name_scope(name, values=[rate]) as name:
            super().__init__(tf.softplus(rate, name="softplus_rate"), validate_args, allow_nan_stats, name)


class Chi2(Gamma):
    """``tf.contrib.distributions.Chi2``: the sum of the squares of ``df`` normal numbers."""

    def __init__(self, df: Any, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Chi2") -> None:
        with tf.name_scope(name, values=[df]) as name:
            with tf.control_dependencies([tf.assert_positive(df)] if validate_args else []):
                self._df = tf.identity(df, name="df")
            super().__init__(0.5 * self._df, tf.constant(0.5, dtype=self._df.dtype), validate_args, allow_nan_stats, name)

    @staticmethod
    def _param_shapes(sample_shape: Any) -> dict[str, Any]:
        return shapes_like(("df",), sample_shape)

    @property
    def df(self) -> tf.Tensor:
        """The degrees of freedom."""
        return self._df


class Chi2WithAbsDf(Chi2):
    """``tf.contrib.distributions.Chi2WithAbsDf``: ``df`` is rounded towards 0, and its sign is dropped."""

    def __init__(self, df: Any, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Chi2WithAbsDf") -> None:
        with tf.name_scope(name, values=[df]) as name:
            super().__init__(tf.floor(tf.abs(df, name="abs_df"), name="floor_abs_df"), validate_args, allow_nan_stats, name)


class InverseGamma(_ConcentrationRate):
    """``tf.contrib.distributions.InverseGamma``: 1 / x, where x has a gamma distribution."""

    def __init__(self, concentration: Any, rate: Any, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "InverseGamma") -> None:
        super().__init__(concentration, rate, validate_args, allow_nan_stats, name, NOT_REPARAMETERIZED)

    def _sample_n(self, n: Any, seed: int | None = None) -> tf.Tensor:
        return 1.0 / self._draw(n, seed)

    def _cdf(self, x: tf.Tensor) -> tf.Tensor:
        x = self._valid(x)
        return tf.igammac(self.concentration, self.rate / x)

    def _log_unnormalized_prob(self, x: tf.Tensor) -> tf.Tensor:
        x = self._valid(x)
        return -(1.0 + self.concentration) * tf.log(x) - self.rate / x

    def _entropy(self) -> tf.Tensor:
        a = self.concentration
        return a + tf.log(self.rate) + tf.lgamma(a) - (1.0 + a) * tf.digamma(a)

    def _mean(self) -> tf.Tensor:
        mean = self.rate / (self.concentration - 1.0)
        return self._defined_above(1.0, "mean", mean)

    def _variance(self) -> tf.Tensor:
        variance = tf.square(self.rate) / tf.squared_difference(self.concentration, 1.0) / (self.concentration - 2.0)
        return self._defined_above(2.0, "variance", variance)

    def _mode(self) -> tf.Tensor:
        return self.rate / (1.0 + self.concentration)

    def _defined_above(self, bound: float, what: str, statistic: tf.Tensor) -> tf.Tensor:
        if self.allow_nan_stats:
            shape = self.batch_shape_tensor()
            return defined(statistic, self.concentration > bound, shape, self.dtype)
        message = f"{what} undefined when any concentration <= {bound:.0f}"
        return checked(statistic, tf.assert_less(tf.constant(bound, dtype=self.dtype), self.concentration, message=message))


class InverseGammaWithSoftplusConcentrationRate(InverseGamma):
    """``tf.contrib.distributions.InverseGammaWithSoftplusConcentrationRate``: the softplus of both parameters is used."""

    def __init__(self, concentration: Any, rate: Any, validate_args: bool = False, allow_nan_stats: bool = True,
                 name: str = "InverseGammaWithSoftplusConcentrationRate") -> None:
        with tf.name_scope(name, values=[concentration, rate]) as name:
            super().__init__(tf.softplus(concentration, name="softplus_concentration"), tf.softplus(rate, name="softplus_rate"),
                             validate_args, allow_nan_stats, name)
