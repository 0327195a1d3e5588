"""Poisson's distribution whose rate is log-normal: the integral over rates as a sum over few of them."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.contrib import prelude as tf
from penstock.contrib.distributions.bijectors.elementwise import Exp
from penstock.contrib.distributions.categorical import Categorical
from penstock.contrib.distributions.distribution import NOT_REPARAMETERIZED, Distribution
from penstock.contrib.distributions.normal import Normal
from penstock.contrib.distributions.parameters import HasLocationAndScale
from penstock.contrib.distributions.positive import Poisson
from penstock.contrib.distributions.quadrature import hermite_places, quantile_places
from penstock.contrib.distributions.seeds import gen_new_seed
from penstock.contrib.distributions.shapes import pick_vector
from penstock.contrib.distributions.transformed import TransformedDistribution


def quadrature_scheme_lognormal_gauss_hermite(loc: tf.Tensor, scale: tf.Tensor, quadrature_size: int, validate_args: bool = False,
                                              name: str | None = None) -> tuple[tf.Tensor, tf.Tensor]:
    """``tf.contrib.distributions.quadrature_scheme_lognormal_gauss_hermite``: (logarithms of rates, their weights), by Gauss and Hermite."""
    with tf.name_scope(name, "vector_diffeomixture_quadrature_gauss_hermite", [loc, scale]):
        return hermite_places(loc, scale, quadrature_size)


def quadrature_scheme_lognormal_quantiles(loc: tf.Tensor, scale: tf.Tensor, quadrature_size: int, validate_args: bool = False,
                                          name: str | None = None) -> tuple[tf.Tensor, tf.Tensor]:
    """``tf.contrib.distributions.quadrature_scheme_lognormal_quantiles``: (means of neighbouring quantiles, equal weights)."""
    with tf.name_scope(name, "quadrature_scheme_lognormal_quantiles", [loc, scale]):
        rates = TransformedDistribution(Normal(loc=loc, scale=scale), Exp(), validate_args=validate_args)
        grid, probs = quantile_places(rates, quadrature_size)
        grid.set_shape(rates.batch_shape.concatenate([quadrature_size]))
        return grid, probs


class PoissonLogNormalQuadratureCompound(HasLocationAndScale, Distribution):
    """``tf.contrib.distributions.PoissonLogNormalQuadratureCompound``: a mixture of Poisson's distributions, whose rates ``quadrature_fn`` gives.

    ``loc`` and ``scale`` are those of the logarithm of the rate.
    """

    def __init__(self, loc: Any, scale: Any, quadrature_size: int = 8,
                 quadrature_fn: Callable[..., tuple[tf.Tensor, tf.Tensor]] = quadrature_scheme_lognormal_quantiles, validate_args: bool = False,
                 allow_nan_stats: bool = True, name: str = "PoissonLogNormalQuadratureCompound") -> None:
        with tf.name_scope(name, values=[loc, scale]) as name:
            self._loc = loc = None if loc is None else tf.convert_to_tensor(loc, name="loc")
            self._scale = scale = None if scale is None else tf.convert_to_tensor(scale, dtype=None if loc is None else loc.dtype, name="scale")
            grid, probs = quadrature_fn(loc, scale, quadrature_size, validate_args)
            if grid.dtype.base_dtype != probs.dtype.base_dtype:
                raise TypeError(f"Quadrature grid dtype ({grid.dtype.name}) does not match quadrature probs dtype ({probs.dtype.name}).")
            self._quadrature_size = quadrature_size
            self._distribution = Poisson(log_rate=grid, validate_args=validate_args, allow_nan_stats=allow_nan_stats)
            self._mixture_distribution = Categorical(logits=tf.log(probs), validate_args=validate_args, allow_nan_stats=allow_nan_stats)
            super().__init__(dtype=grid.dtype, reparameterization_type=NOT_REPARAMETERIZED, validate_args=validate_args,
                             allow_nan_stats=allow_nan_stats, graph_parents=[loc, scale], name=name)

    @property
    def mixture_distribution(self) -> Categorical:
        """Which of the rates it is."""
        return self._mixture_distribution

    @property
    def distribution(self) -> Poisson:
        """Poisson's distributions, one per rate."""
        return self._distribution

    @property
    def quadrature_size(self) -> int:
        """The number of rates."""
        return self._quadrature_size

    def _batch_shape_tensor(self) -> tf.Tensor:
        return tf.broadcast_dynamic_shape(self.distribution.batch_shape_tensor(), tf.shape(self.mixture_distribution.logits))[:-1]

    def _batch_shape(self) -> tf.TensorShape:
        return tf.broadcast_static_shape(self.distribution.batch_shape, self.mixture_distribution.logits.shape)[:-1]

    def _event_shape(self) -> tf.TensorShape:
        return tf.TensorShape([])

    def _sample_n(self, n: Any, seed: int | None = None) -> tf.Tensor:
        size = self.batch_shape.num_elements()
        size = tf.reduce_prod(self.batch_shape_tensor()) if size is None else size
        mixture = self.mixture_distribution
        ids = mixture.sample(tf.concat([[n], pick_vector(mixture.is_scalar_batch(), [size], np.int32([]))], axis=0),
                             seed=gen_new_seed(seed, "poisson_lognormal_quadrature_compound"))
        ids = tf.reshape(ids, tf.concat([[n], pick_vector(self.is_scalar_batch(), np.int32([]), np.int32([-1]))], axis=0))
        ids += tf.range(0, size * self._quadrature_size, self._quadrature_size, dtype=ids.dtype)
        rate = tf.gather(tf.reshape(self.distribution.rate, [-1]), ids)
        rate = tf.reshape(rate, tf.concat([[n], self.batch_shape_tensor()], axis=0))
        return tf.random_poisson(rate, [], dtype=self.dtype, seed=seed)

    def _log_prob(self, x: tf.Tensor) -> tf.Tensor:
        return tf.reduce_logsumexp(self.mixture_distribution.logits + self.distribution.log_prob(x[..., None]), axis=-1)

    def _mean(self) -> tf.Tensor:
        return tf.exp(tf.reduce_logsumexp(self.mixture_distribution.logits + self.distribution.log_rate, axis=-1))

    def _variance(self) -> tf.Tensor:
        return tf.exp(self._log_variance())

    def _stddev(self) -> tf.Tensor:
        return tf.exp(0.5 * self._log_variance())

    def _log_variance(self) -> tf.Tensor:
        """Of the mean of the variances, and the variance of the means."""
        distance = tf.abs(self.distribution.mean() - self._mean()[..., None])
        parts = tf.stack([self.distribution.log_rate, 2.0 * tf.log(distance)], axis=-1)
        return tf.reduce_logsumexp(self.mixture_distribution.logits[..., None] + parts, axis=[-2, -1])
