"""Student's t-distribution."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.contrib import prelude as tf
from penstock.contrib.distributions.arguments import checked, shapes_like
from penstock.contrib.distributions.distribution import FULLY_REPARAMETERIZED
from penstock.contrib.distributions.parameters import HasLocationAndScale
from penstock.contrib.distributions.scalar import ScalarDistribution
from penstock.contrib.distributions.seeds import gen_new_seed


class StudentT(HasLocationAndScale, ScalarDistribution):
    """``tf.distributions.StudentT``: like a normal distribution, with heavier tails the smaller ``df`` is. The sign of ``scale`` does not matter."""

    def __init__(self, df: Any, loc: Any, scale: Any, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "StudentT") -> None:
        with tf.name_scope(name, values=[df, loc, scale]) as name:
            with tf.control_dependencies([tf.assert_positive(df)] if validate_args else []):
                self._df = tf.identity(df, name="df")
                self._loc = tf.identity(loc, name="loc")
                self._scale = tf.identity(scale, name="scale")
                tf.assert_same_float_dtype((self._df, self._loc, self._scale))
        super().__init__(dtype=self._scale.dtype, reparameterization_type=FULLY_REPARAMETERIZED, validate_args=validate_args,
                         allow_nan_stats=allow_nan_stats, graph_parents=[self._df, self._loc, self._scale], name=name)

    @staticmethod
    def _param_shapes(sample_shape: Any) -> dict[str, Any]:
        return shapes_like(("df", "loc", "scale"), sample_shape)

    @property
    def df(self) -> tf.Tensor:
        """The degrees of freedom."""
        return self._df

    def _batch_parameters(self) -> tuple[tf.Tensor, ...]:
        return self.df, self.loc, self.scale

    def _sample_n(self, n: Any, seed: int | None = None) -> tf.Tensor:
        normal = tf.random_normal(self._samples_shape(n), dtype=self.dtype, seed=seed)
        df = self.df * self._ones()
        gamma = tf.random_gamma([n], 0.5 * df, beta=0.5, dtype=self.dtype, seed=gen_new_seed(seed, "student_t"))
        t = normal * tf.rsqrt(gamma / df)
        return t * self.scale + self.loc

    def _ones(self) -> tf.Tensor:
        return tf.ones(self.batch_shape_tensor(), dtype=self.dtype)

    def _log_prob(self, x: tf.Tensor) -> tf.Tensor:
        return self._log_unnormalized_prob(x) - self._log_normalization()

    def _log_unnormalized_prob(self, x: tf.Tensor) -> tf.Tensor:
        y = (x - self.loc) / self.scale
        return -0.5 * (self.df + 1.0) * tf.log1p(y ** 2.0 / self.df)

    def _log_normalization(self) -> tf.Tensor:
        return (tf.log(tf.abs(self.scale)) + 0.5 * tf.log(self.df) + 0.5 * np.log(np.pi)
                + tf.lgamma(0.5 * self.df) - tf.lgamma(0.5 * (self.df + 1.0)))

    def _cdf(self, x: tf.Tensor) -> tf.Tensor:
        y = (x - self.loc) / tf.abs(self.scale)
        tail = 0.5 * tf.betainc(0.5 * self.df, 0.5, self.df / (y ** 2.0 + self.df))
        return tf.where_v2(tf.less(y, 0.0), tail, 1.0 - tail)

    def _entropy(self) -> tf.Tensor:
        v = self._ones()[..., None]
        u = v * self.df[..., None]
        half = tf.concat([u, v], -1) / 2.0
        return (tf.log(tf.abs(self.scale)) + 0.5 * tf.log(self.df) + tf.lbeta(half)
                + 0.5 * (self.df + 1.0) * (tf.digamma(0.5 * (self.df + 1.0)) - tf.digamma(0.5 * self.df)))

    def _mean(self) -> tf.Tensor:
        return self._defined_above_one(self.loc * self._ones(), "mean")

    def _variance(self) -> tf.Tensor:
        """Infinite where 1 < df <= 2."""
        denominator = tf.where_v2(tf.greater(self.df, 2.0), self.df - 2.0, tf.ones_like(self.df))
        variance = self._ones() * tf.square(self.scale) * self.df / denominator
        above_two = self.df > tf.fill(self.batch_shape_tensor(), 2.0)
        infinity = tf.fill(self.batch_shape_tensor(), np.array(np.inf, self.dtype.as_numpy_dtype), name="inf")
        return self._defined_above_one(tf.where_v2(above_two, variance, infinity), "variance")

    def _mode(self) -> tf.Tensor:
        return tf.identity(self.loc)

    def _defined_above_one(self, statistic: tf.Tensor, what: str) -> tf.Tensor:
        if self.allow_nan_stats:
            above_one = tf.greater(self.df, self._ones())
            return tf.where_v2(above_one, statistic, tf.fill(self.batch_shape_tensor(), np.array(np.nan, self.dtype.as_numpy_dtype), name="nan"))
        return checked(statistic, tf.assert_less(tf.ones([], dtype=self.dtype), self.df, message=f"{what} not defined for components of df <= 1"))


class StudentTWithAbsDfSoftplusScale(StudentT):
    """``tf.contrib.distributions.StudentTWithAbsDfSoftplusScale``: takes any numbers for ``df`` and ``scale``."""

    def __init__(self, df: Any, loc: Any, scale: Any, validate_args: bool = False, allow_nan_stats: bool = True,
                 name: str = "StudentTWithAbsDfSoftplusScale") -> None:
        with tf.name_scope(name, values=[df, scale]) as name:
            super().__init__(tf.floor(tf.abs(df)), loc, tf.softplus(scale, name="softplus_scale"), validate_args, allow_nan_stats, name)
