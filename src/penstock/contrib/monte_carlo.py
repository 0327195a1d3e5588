"""``tf.contrib.bayesflow.monte_carlo``: expectations as means over samples."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.contrib import prelude as tf


def expectation(f: Callable[[Any], Any], samples: Any, log_prob: Callable[[Any], Any] | None = None, use_reparametrization: bool = True,
                axis: Any = 0, keep_dims: bool = False, name: str | None = None) -> Any:
    """The mean of ``f`` over samples; without reparametrization its gradient is that of the score function."""
    with tf.name_scope(name, "expectation", [samples]):
        if not callable(f):
            raise ValueError("`f` must be a callable function.")
        if use_reparametrization:
            return tf.reduce_mean(f(samples), axis=axis, keepdims=keep_dims)
        if not callable(log_prob):
            raise ValueError("`log_prob` must be a callable function.")
        fixed = tf.stop_gradient(samples)
        likelihood = log_prob(fixed)
        value = f(fixed)
        # Adds nothing to the value, and f times the gradient of the likelihood to the gradient.
        value += tf.stop_gradient(value) * (likelihood - tf.stop_gradient(likelihood))
        return tf.reduce_mean(value, axis=axis, keepdims=keep_dims)


def expectation_importance_sampler(f: Callable[[Any], Any], log_p: Callable[[Any], Any], sampling_dist_q: Any, z: Any = None, n: int | None = None,
                                   seed: int | None = None, name: str = "expectation_importance_sampler") -> Any:
    """The expectation of ``f`` under p, by samples of q with their weights, which are scaled against overflow."""
    with tf.name_scope(name):
        z = _samples(sampling_dist_q, z, n, seed)
        weights = log_p(z) - sampling_dist_q.log_prob(z)
        shift = tf.stop_gradient(tf.reduce_max(weights, [0]))
        return tf.reduce_mean(f(z) * tf.exp(weights - shift), [0]) * tf.exp(shift)


def expectation_importance_sampler_logspace(log_f: Callable[[Any], Any], log_p: Callable[[Any], Any], sampling_dist_q: Any, z: Any = None,
                                            n: int | None = None, seed: int | None = None,
                                            name: str = "expectation_importance_sampler_logspace") -> Any:
    """The logarithm of the expectation of exp(``log_f``)."""
    with tf.name_scope(name):
        z = _samples(sampling_dist_q, z, n, seed)
        values = log_f(z) + log_p(z) - sampling_dist_q.log_prob(z)
        shift = tf.stop_gradient(tf.reduce_max(values, [0]))
        return tf.log(tf.reduce_mean(tf.exp(values - shift), [0])) + shift


def _samples(distribution: Any, z: Any, n: int | None, seed: int | None) -> Any:
    if (n is None) == (z is None):
        raise ValueError("Must specify exactly one of arguments `n` and `z`.  Found: " f"n = {n}, z = {z}")
    return distribution.sample(n, seed=seed) if z is None else tf.convert_to_tensor(z, name="z")
