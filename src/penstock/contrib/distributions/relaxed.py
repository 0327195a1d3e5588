"""Continuous relaxations of discrete distributions (Gumbel-softmax), through whose samples gradients flow."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.contrib import prelude as tf
from penstock.contrib.distributions.arguments import logits_and_probs, shapes_like
from penstock.contrib.distributions.bijectors.elementwise import Exp, Sigmoid
from penstock.contrib.distributions.categorical import VectorOverClasses
from penstock.contrib.distributions.distribution import FULLY_REPARAMETERIZED
from penstock.contrib.distributions.location_scale import Logistic
from penstock.contrib.distributions.parameters import HasLogits
from penstock.contrib.distributions.transformed import TransformedDistribution


class ExpRelaxedOneHotCategorical(VectorOverClasses):
    """``tf.contrib.distributions.ExpRelaxedOneHotCategorical``: the logarithms of ``RelaxedOneHotCategorical``."""

    def __init__(self, temperature: Any, logits: Any = None, probs: Any = None, dtype: Any = None, validate_args: bool = False,
                 allow_nan_stats: bool = True, name: str = "ExpRelaxedOneHotCategorical") -> None:
        with tf.name_scope(name, values=[logits, probs, temperature]) as name:
            self._logits, self._probs = logits_and_probs(logits, probs, multidimensional=True, validate_args=validate_args, name=name)
            if dtype is None:
                dtype = self._logits.dtype
                if not validate_args:
                    temperature = tf.cast(temperature, dtype)
            with tf.control_dependencies([tf.assert_positive(temperature)] if validate_args else []):
                self._temperature = tf.identity(temperature, name="temperature")
                self._temperature_2d = tf.reshape(temperature, [-1, 1], name="temperature_2d")
            self._set_sizes()
        super().__init__(dtype=dtype, reparameterization_type=FULLY_REPARAMETERIZED, validate_args=validate_args, allow_nan_stats=allow_nan_stats,
                         graph_parents=[self._logits, self._probs, self._temperature], name=name)

    @property
    def temperature(self) -> tf.Tensor:
        """The smaller, the nearer to one-hot vectors."""
        return self._temperature

    def _sample_n(self, n: Any, seed: int | None = None) -> tf.Tensor:
        shape = tf.concat([[n], tf.shape(self.logits)], 0)
        logits = tf.reshape(self.logits * tf.ones(shape, dtype=self.dtype), [-1, self.event_size])
        smallest = np.finfo(self.dtype.as_numpy_dtype).tiny
        uniform = tf.random_uniform(shape=tf.shape(logits), minval=smallest, maxval=1.0, dtype=self.dtype, seed=seed)
        gumbel = -tf.log(-tf.log(uniform))
        return tf.reshape(tf.log_softmax(tf.div(gumbel + logits, self._temperature_2d)), shape)

    def _log_prob(self, x: tf.Tensor) -> tf.Tensor:
        x, logits = self._broadcast_with_logits(self._valid(x))
        shape = tf.shape(tf.reduce_sum(logits, axis=[-1]))
        logits = tf.reshape(logits, [-1, self.event_size])
        rows = tf.reshape(x, [-1, self.event_size])
        k = tf.cast(self.event_size, x.dtype)
        normalization = tf.lgamma(k) + (k - 1.0) * tf.log(self.temperature)
        softmax = tf.log_softmax(logits - rows * self._temperature_2d)
        return tf.reshape(normalization + tf.reduce_sum(softmax, [-1], keepdims=False), shape)


class RelaxedOneHotCategorical(TransformedDistribution):
    """``tf.contrib.distributions.RelaxedOneHotCategorical``: vectors of positive numbers with the sum 1, near to one-hot vectors."""

    def __init__(self, temperature: Any, logits: Any = None, probs: Any = None, dtype: Any = None, validate_args: bool = False,
                 allow_nan_stats: bool = True, name: str = "RelaxedOneHotCategorical") -> None:
        logarithms = ExpRelaxedOneHotCategorical(temperature, logits=logits, probs=probs, dtype=dtype, validate_args=validate_args,
                                                 allow_nan_stats=allow_nan_stats)
        super().__init__(logarithms, Exp(), name=name)


class RelaxedBernoulli(HasLogits, TransformedDistribution):
    """``tf.contrib.distributions.RelaxedBernoulli``: numbers between 0 and 1, near to one of them."""

    def __init__(self, temperature: Any, logits: Any = None, probs: Any = None, validate_args: bool = False, allow_nan_stats: bool = True,
                 name: str = "RelaxedBernoulli") -> None:
        with tf.name_scope(name, values=[logits, probs, temperature]) as name:
            with tf.control_dependencies([tf.assert_positive(temperature)] if validate_args else []):
                self._temperature = tf.identity(temperature, name="temperature")
            self._logits, self._probs = logits_and_probs(logits=logits, probs=probs, validate_args=validate_args)
            logistic = Logistic(self._logits / self._temperature, 1.0 / self._temperature, validate_args=validate_args,
                                allow_nan_stats=allow_nan_stats, name=name + "/Logistic")
            super().__init__(logistic, Sigmoid(validate_args=validate_args), validate_args=validate_args, name=name)

    @staticmethod
    def _param_shapes(sample_shape: Any) -> dict[str, Any]:
        return shapes_like(("logits",), sample_shape)

    @property
    def temperature(self) -> tf.Tensor:
        """The smaller, the nearer to 0 and 1."""
        return self._temperature
