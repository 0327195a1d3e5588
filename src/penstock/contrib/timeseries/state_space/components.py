"""The parts of a structural model: a level with a slope, cycles, and moving averages."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from penstock.contrib import prelude as tf
from penstock.contrib.timeseries import matrices
from penstock.contrib.timeseries.state_space.configuration import StateSpaceModelConfiguration
from penstock.contrib.timeseries.state_space.state_space_model import MINIMUM_INITIAL_VARIANCE, StateSpaceModel
from penstock.variables.initializers import Constant


class AdderStateSpaceModel(StateSpaceModel):
    """A level, which is observed, and a slope, which is added to it in each step."""

    def __init__(self, use_level_noise: bool = True, configuration: StateSpaceModelConfiguration = StateSpaceModelConfiguration()) -> None:
        self._use_level_noise = use_level_noise
        super().__init__(configuration=configuration)

    def get_prior_mean(self) -> Any:
        """The level at the start of the series, if that is known."""
        if self._input_statistics is None:
            return super().get_prior_mean()
        with tf.variable_scope(self._variable_scope):
            level = tf.reduce_mean(self._scale_data(self._input_statistics.series_start_moments.mean))
            change = tf.get_variable("prior_state_mean", [2], self.dtype, tf.zeros_initializer(), trainable=self._configuration.trainable_start_state)
            return tf.stack([level, tf.zeros([], self.dtype)]) + change

    def transition_to_powers(self, powers: Any) -> Any:
        """[[1, n], [0, 1]]."""
        powers = tf.cast(powers, self.dtype)
        one, zero = tf.ones_like(powers), tf.zeros_like(powers)
        return tf.stack([tf.stack([one, powers], -1), tf.stack([zero, one], -1)], -2)

    def get_state_transition(self) -> Any:
        """A step."""
        return [[1.0, 1.0], [0.0, 1.0]]

    def get_noise_transform(self) -> Any:
        """Noise of the level, if there is some, and of the slope."""
        return [[1.0, 0.0], [0.0, 1.0]] if self._use_level_noise else [[0.0], [1.0]]

    def get_observation_model(self, times: Any) -> Any:
        """The level."""
        return [1.0, 0.0]


class _Cycle(StateSpaceModel):
    """Values that take turns; the last is minus the sum of the others, which are the state. Noise affects the one that is observed."""

    _values: int

    def get_noise_transform(self) -> Any:
        """The first value has noise."""
        return np.eye(self._values - 1, 1)

    def get_observation_model(self, times: Any) -> Any:
        """The first value."""
        return np.eye(1, self._values - 1)[0]

    def get_state_transition(self) -> Any:
        """A step."""
        return self.transition_to_powers(tf.ones([], self.dtype))

    def _moved(self, shares: Any) -> Any:
        """A transition, of how much each value gives to each: the part of the last one is that of all others, negative."""
        return shares[..., :-1, :-1] - shares[..., :-1, -1:]


class CycleStateSpaceModel(_Cycle):
    """A cycle of as many values as it has steps."""

    def __init__(self, periodicity: int, configuration: StateSpaceModelConfiguration = StateSpaceModelConfiguration()) -> None:
        self._periodicity = self._values = periodicity
        super().__init__(configuration=configuration)

    def transition_to_powers(self, powers: Any) -> Any:
        """Each value moves by as many places."""
        powers = tf.mod(tf.cast(powers, tf.int64), self._periodicity)[..., None, None]
        places = np.arange(self._periodicity)
        return self._moved(tf.cast(tf.equal(tf.constant((places[:, None] - places) % self._periodicity, tf.int64), powers), self.dtype))


class ResolutionCycleModel(_Cycle):
    """A cycle of ``num_latent_values`` values over any number of steps, with trigonometric interpolation between them."""

    def __init__(self, num_latent_values: int, periodicity: Any, near_integer_threshold: float = 1e-8,
                 configuration: StateSpaceModelConfiguration = StateSpaceModelConfiguration()) -> None:
        if num_latent_values % 2 != 1:
            raise ValueError(f"The number of latent values must be odd, got num_latent_values={num_latent_values}.")
        self._num_latent_values = self._values = num_latent_values
        self._true_periodicity, self._near_integer_threshold = periodicity, near_integer_threshold
        super().__init__(configuration=configuration)

    def transition_to_powers(self, powers: Any) -> Any:
        """Each value moves by the same part of the cycle, as a sum of waves."""
        count = self._num_latent_values
        places = tf.cast(powers, self.dtype) * count / tf.cast(self._true_periodicity, self.dtype)
        index = np.arange(count)
        distance = tf.constant(index[:, None] - index, self.dtype) - places[..., None, None]
        waves = tf.constant(2 * math.pi / count * np.arange(1, (count + 1) // 2), self.dtype)
        return self._moved((1 + 2 * tf.reduce_sum(tf.cos(distance[..., None] * waves), -1)) / count)


class VARMA(StateSpaceModel):
    """An autoregressive moving average of vectors."""

    def __init__(self, autoregressive_order: int, moving_average_order: int,
                 configuration: StateSpaceModelConfiguration = StateSpaceModelConfiguration()) -> None:
        self.ar_order, self.ma_order = autoregressive_order, moving_average_order
        self.state_num_blocks = max(autoregressive_order, moving_average_order + 1)
        self.state_dimension = self.state_num_blocks * configuration.num_features
        self.ar_coefs: Any = None
        self.ma_coefs: Any = None
        super().__init__(configuration=configuration)

    def _define_parameters(self, observation_transition_tradeoff_log: Any = None) -> None:
        features = self.num_features
        with tf.variable_scope(self._variable_scope):
            self.ar_coefs = tf.get_variable("ar_coefs", [features, features, self.ar_order], self.dtype, tf.zeros_initializer())
            ones = np.tile(np.eye(features), [self.ma_order, 1, 1])
            self.ma_coefs = tf.get_variable("ma_coefs", [self.ma_order, features, features], self.dtype, Constant(ones))
        super()._define_parameters(observation_transition_tradeoff_log)

    def get_state_transition(self) -> Any:
        """The coefficients of the past, and blocks that move down by one."""
        features, blocks = self.num_features, self.state_num_blocks
        first = tf.reshape(tf.pad(self.ar_coefs, [[0, 0], [0, 0], [0, blocks - self.ar_order]]), [features, features * blocks])
        return tf.concat([first, np.eye(features * (blocks - 1), features * blocks)], 0)

    def get_noise_transform(self) -> Any:
        """The coefficients of the moving average, and the noise itself last."""
        features = self.num_features
        missing = self.state_num_blocks - self.ma_order - 1
        coefficients = tf.reshape(self.ma_coefs, [self.ma_order * features, features])
        return tf.concat([tf.zeros([missing * features, features], self.dtype), coefficients, tf.eye(features, dtype=self.dtype)], 0)

    def _noise_size(self) -> int:
        return self.num_features

    def _state_size(self) -> int:
        return self.state_dimension

    def get_observation_model(self, times: Any) -> Any:
        """The first block, and the last one if no coefficient of the past belongs to it."""
        seen = [np.zeros([self.num_features] * 2) for _ in range(self.state_num_blocks)]
        if self.ar_order < self.state_num_blocks:
            seen[-1] = np.eye(self.num_features)
        seen[0] = np.eye(self.num_features)
        return np.concatenate(seen, 1)

    def get_state_transition_noise_covariance(self, minimum_initial_variance: float = MINIMUM_INITIAL_VARIANCE) -> Any:
        """The covariance of the noise, which begins with the variance of the series."""
        scale: Any = 0.0
        if self._input_statistics is not None:
            scale = tf.log(tf.maximum(tf.reduce_mean(self._start_variance()), minimum_initial_variance))
        return matrices.variable_covariance_matrix(self.num_features, "state_transition_noise", self.dtype, initial_overall_scale_log=scale)
