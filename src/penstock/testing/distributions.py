"""Checks of distributions, for tests: that samples agree with densities and moments. Mixins for a test case, by TensorFlow's names."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.contrib import prelude as tf
from penstock.variables.initialization import global_variables_initializer

Run = Callable[[Any], Any]


def _run_of(sess: Any) -> Run:
    """The function that evaluates: ``sess`` is a session, as before TensorFlow 1.9, or such a function."""
    return getattr(sess, "run", sess)  # type: ignore[no-any-return]


class _Helpers:
    assertAllClose: Callable[..., None]

    def _compare(self, sess: Any, pairs: list[tuple[Any, Any]], tolerances: list[tuple[float, float]]) -> None:
        for (wanted, actual), (rtol, atol) in zip(_run_of(sess)(pairs), tolerances):
            self.assertAllClose(wanted, actual, rtol=rtol, atol=atol)


class DiscreteScalarDistributionTestHelpers(_Helpers):
    """For distributions of whole numbers."""

    def run_test_sample_consistent_log_prob(self, sess: Any, dist: Any, num_samples: int = 100000, num_threshold: int = 1000, seed: int = 42,
                                            batch_size: int | None = None, rtol: float = 1e-2, atol: float = 0.0) -> None:
        """Values that are drawn more than ``num_threshold`` times have the frequency that the distribution says."""
        if num_threshold < 1:
            raise ValueError(f"num_threshold({num_threshold}) must be at least 1.")
        samples = np.reshape(_run_of(sess)(dist.sample(num_samples, seed=seed)), [num_samples, -1])
        ndims = len(_run_of(sess)(dist.batch_shape_tensor()))
        for number in range(samples.shape[1] if batch_size is None else batch_size):
            values, counts = np.unique(samples[:, number], return_counts=True)
            values, counts = values[counts > num_threshold], counts[counts > num_threshold]
            probabilities = _run_of(sess)(tf.exp(dist.log_prob(values.reshape([-1] + [1] * ndims))))
            self.assertAllClose(np.reshape(probabilities, [len(values), -1])[:, number], counts / num_samples, rtol=rtol, atol=atol)

    def run_test_sample_consistent_mean_variance(self, sess: Any, dist: Any, num_samples: int = 100000, seed: int = 24, rtol: float = 1e-2,
                                                 atol: float = 0.0) -> None:
        """Samples have the moments that the distribution says."""
        x = tf.cast(dist.sample(num_samples, seed=seed), tf.float32)
        variance = tf.reduce_mean(tf.square(x - tf.reduce_mean(x, axis=0)), axis=0)
        self._compare(sess, [(dist.mean(), tf.reduce_mean(x, axis=0)), (dist.variance(), variance), (dist.stddev(), tf.sqrt(variance))],
                      [(rtol, atol)] * 3)


class VectorDistributionTestHelpers(_Helpers):
    """For distributions of vectors."""

    def run_test_sample_consistent_log_prob(self, sess: Any, dist: Any, num_samples: int = 100000, radius: Any = 1.0, center: Any = 0.0,
                                            seed: int = 42, rtol: float = 1e-2, atol: float = 0.0) -> None:
        """The volume of a ball, as the samples and the density tell it, is that of the ball."""
        x = tf.identity(dist.sample(num_samples, seed=seed))  # without what the bijector remembers
        inside = tf.cast(tf.norm(x - center, axis=-1) <= radius, x.dtype)
        sampled = tf.reduce_mean(tf.exp(-dist.log_prob(x)) * inside, axis=0)
        radii = np.asarray(radius)
        half = tf.cast(dist.event_shape_tensor()[0], radii.dtype) / 2.0
        actual = tf.exp(half * np.log(np.pi) - tf.lgamma(1.0 + half) + 2.0 * half * np.log(radii))
        _run_of(sess)(global_variables_initializer())
        batch_shape, actual, sampled = _run_of(sess)([dist.batch_shape_tensor(), actual, sampled])
        self.assertAllClose(np.tile(actual, reps=batch_shape), sampled, rtol=rtol, atol=atol)

    def run_test_sample_consistent_mean_covariance(self, sess: Any, dist: Any, num_samples: int = 100000, seed: int = 24, rtol: float = 1e-2,
                                                   atol: float = 0.1, cov_rtol: float | None = None, cov_atol: float | None = None) -> None:
        """Samples have the moments that the distribution says."""
        x = dist.sample(num_samples, seed=seed)
        mean = tf.reduce_mean(x, axis=0)
        centered = x - mean
        covariance = tf.reduce_mean(centered[..., :, None] * centered[..., None, :], axis=0)
        variance = tf.matrix_diag_part(covariance)
        self._compare(sess, [(dist.mean(), mean), (dist.covariance(), covariance), (dist.variance(), variance),
                                    (dist.stddev(), tf.sqrt(variance))],
                      [(rtol, atol), (cov_rtol or rtol, cov_atol or atol), (rtol, atol), (rtol, atol)])
