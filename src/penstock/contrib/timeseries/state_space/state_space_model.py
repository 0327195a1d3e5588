"""Linear state space models with normal noise: state[t] = A state[t-1] + R noise[t], observation[t] = H state[t] + noise.

The state of the filter is (mean, covariance, time of the last observation). Subclasses say what A, R and H are.
"""
from __future__ import annotations

from abc import abstractmethod
from typing import Any

from penstock.contrib import prelude as tf
from penstock.contrib.layers.connected import fully_connected
from penstock.contrib.timeseries import matrices
from penstock.contrib.timeseries.sequential import SequentialTimeSeriesModel
from penstock.contrib.timeseries.state_space.configuration import StateSpaceModelConfiguration
from penstock.contrib.timeseries.state_space.kalman_filter import KalmanFilter
from penstock.estimator.mode_keys import ModeKeys
from penstock.variables.scope import get_variable_scope

State = tuple[Any, Any, Any]
MINIMUM_INITIAL_VARIANCE = 1e-5


def chosen(table: Any, shares: Any) -> Any:
    """Matrices of a table, by the rows of ``shares`` that have a 1 each: a product, since the gradient of a gather is sparse."""
    size = tf.shape(table)[1:]
    rows = tf.matmul(tf.reshape(shares, [-1, tf.shape(table)[0]]), tf.reshape(table, [tf.shape(table)[0], -1]))
    result = tf.reshape(rows, tf.concat([tf.shape(shares)[:-1], size], 0))
    result.set_shape(shares.shape[:-1].concatenate(table.shape[1:]))
    return result


class StateSpaceModel(SequentialTimeSeriesModel):
    """The base of state space models."""

    def __init__(self, configuration: StateSpaceModelConfiguration) -> None:
        self._configuration = configuration
        names = ["mean", "covariance", "log_likelihood"]
        if configuration.filtering_postprocessor is not None:
            names += configuration.filtering_postprocessor.output_names
        super().__init__(train_output_names=names, predict_output_names=["mean", "covariance"], num_features=configuration.num_features,
                         normalize_features=True, dtype=configuration.dtype, exogenous_feature_columns=configuration.exogenous_feature_columns,
                         exogenous_update_condition=configuration.exogenous_update_condition,
                         static_unrolling_window_size_threshold=configuration.static_unrolling_window_size_threshold)
        self._kalman_filter: Any = None
        self.prior_state_mean: Any = None
        self.prior_state_var: Any = None
        self.state_transition_noise_covariance: Any = None
        self._observation_noise_covariance: Any = None
        self._observation_transition_tradeoff_log_scale: Any = None
        self._variable_scope = get_variable_scope()
        self._window: Any = None  # (numbers of steps, powers of the transition, sums of its noise) between the times of a window

    # --- what a model is ---------------------------------------------------------------------------------------------

    @abstractmethod
    def get_state_transition(self) -> Any:
        """A: [state, state]."""

    @abstractmethod
    def get_noise_transform(self) -> Any:
        """R: [state, noise]."""

    @abstractmethod
    def get_observation_model(self, times: Any) -> Any:
        """H: [state], [features, state] or [batch, features, state]."""

    def get_broadcasted_observation_model(self, times: Any) -> Any:
        """H for each time of a batch."""
        model = tf.convert_to_tensor(self.get_observation_model(times), dtype=self.dtype)
        if model.shape.ndims == 3:
            return model
        model = model if model.shape.ndims == 2 else tf.tile(model[None], [self.num_features, 1])
        return tf.tile(model[None], [tf.shape(times)[0], 1, 1])

    def transition_to_powers(self, powers: Any) -> Any:
        """A to many powers."""
        return matrices.matrix_to_powers(tf.convert_to_tensor(self.get_state_transition(), dtype=self.dtype), powers)

    def transition_power_noise_accumulator(self, num_steps: Any) -> Any:
        """The noise of many steps: the sum of A^i Q (A^i)^T, of all i below each number of steps."""
        num_steps = tf.convert_to_tensor(num_steps)
        transform = tf.convert_to_tensor(self.get_noise_transform(), dtype=self.dtype)
        noise = tf.matmul(tf.matmul(transform, self.state_transition_noise_covariance), transform, adjoint_b=True)
        moved = self.transition_to_powers(tf.range(tf.maximum(tf.reduce_max(num_steps), 1)))
        sums = tf.cumsum(tf.matmul(tf.matmul(moved, noise[None] + tf.zeros_like(moved)), moved, adjoint_b=True))
        return chosen(tf.concat([tf.zeros_like(sums[:1]), sums], 0), tf.one_hot(num_steps, tf.shape(sums)[0] + 1, dtype=self.dtype))

    # --- parameters --------------------------------------------------------------------------------------------------

    def initialize_graph(self, input_statistics: Any = None) -> None:
        """Makes the variables of the model and of its members."""
        self._set_input_statistics(input_statistics)
        super().initialize_graph(input_statistics)
        self._define_parameters()
        with tf.variable_scope(self._variable_scope):
            self._observation_noise_covariance = self.get_observation_noise_covariance()
        self._kalman_filter = KalmanFilter(dtype=self.dtype)
        with tf.variable_scope(self._variable_scope):
            self.prior_state_var, self.prior_state_mean = self._make_priors()

    def _make_priors(self) -> tuple[Any, Any]:
        return self.get_prior_covariance(), self.get_prior_mean()

    def _define_parameters(self, observation_transition_tradeoff_log: Any = None) -> None:
        with tf.variable_scope(self._variable_scope):
            if observation_transition_tradeoff_log is None:
                observation_transition_tradeoff_log = self._variable_observation_transition_tradeoff_log()
            self._observation_transition_tradeoff_log_scale = observation_transition_tradeoff_log
            self.state_transition_noise_covariance = self.get_state_transition_noise_covariance()

    def _variable_observation_transition_tradeoff_log(self) -> Any:
        bias = self._configuration.transition_covariance_initial_log_scale_bias
        return tf.get_variable("observation_transition_tradeoff_log_scale", initializer=tf.constant(-bias, self.dtype))

    def _noise_size(self) -> int:
        return int(tf.convert_to_tensor(self.get_noise_transform(), dtype=self.dtype).shape[1].value)

    def _state_size(self) -> int:
        return int(tf.convert_to_tensor(self.get_noise_transform(), dtype=self.dtype).shape[0].value)

    def _start_variance(self) -> Any:
        return self._scale_variance(self._input_statistics.series_start_moments.variance)

    def get_state_transition_noise_covariance(self, minimum_initial_variance: float = MINIMUM_INITIAL_VARIANCE) -> Any:
        """The covariance of the noise of a step, which begins with the variance per observation of the series."""
        scale: Any = 0.0
        if self._input_statistics is not None:
            count = tf.cast(self._input_statistics.total_observation_count, self.dtype)
            scale = tf.log(tf.maximum(tf.reduce_mean(self._start_variance()) / count, minimum_initial_variance))
        return matrices.variable_covariance_matrix(self._noise_size(), "state_transition_noise", self.dtype,
                                                   initial_overall_scale_log=scale - self._observation_transition_tradeoff_log_scale)

    def get_observation_noise_covariance(self, minimum_initial_variance: float = MINIMUM_INITIAL_VARIANCE) -> Any:
        """The covariance of the noise of an observation; 0 without such noise."""
        if not self._configuration.use_observation_noise:
            return tf.zeros([self.num_features, self.num_features], self.dtype)
        diagonal = None if self._input_statistics is None else tf.maximum(self._start_variance(), minimum_initial_variance)
        return matrices.variable_covariance_matrix(self.num_features, "observation_noise_covariance", self.dtype, initial_diagonal_values=diagonal,
                                                   initial_overall_scale_log=self._observation_transition_tradeoff_log_scale)

    def get_prior_covariance(self) -> Any:
        """What is not known of the first state."""
        with tf.variable_scope(self._variable_scope):
            if self._configuration.trainable_start_state:
                return matrices.variable_covariance_matrix(self._state_size(), "prior_state_var", self.dtype)
            return tf.eye(self._state_size(), dtype=self.dtype)

    def get_prior_mean(self) -> Any:
        """The mean of the first state."""
        with tf.variable_scope(self._variable_scope):
            return tf.get_variable("prior_state_mean", [self._state_size()], self.dtype, trainable=self._configuration.trainable_start_state)

    def get_start_state(self) -> State:
        """The state one step before the series begins."""
        start = 0 if self._input_statistics is None else self._input_statistics.start_time
        return (self.prior_state_mean, self.prior_state_var, tf.cast(start, tf.int64) - 1)

    def _loss_additions(self, times: Any, values: Any, mode: str) -> Any:
        """The prior of the noises, per observation, in training."""
        if mode != ModeKeys.TRAIN:
            return tf.zeros([], self.dtype)
        prior = self._configuration.covariance_prior_fn(self.state_transition_noise_covariance)
        if self._configuration.use_observation_noise and self._observation_noise_covariance is not None:
            prior += self._configuration.covariance_prior_fn(self._observation_noise_covariance)
        return -prior / self._observations(times)

    def _observations(self, times: Any) -> Any:
        if self._configuration.bayesian_prior_weighting and self._input_statistics is not None:
            return tf.cast(self._input_statistics.total_observation_count, self.dtype)
        return tf.cast(tf.shape(times)[1], self.dtype)

    # --- steps -------------------------------------------------------------------------------------------------------

    def _window_initializer(self, times: Any, state: State) -> None:
        """Powers of the transition are computed once for each distance between two times in the window."""
        before = tf.concat([tf.cast(state[-1], times.dtype)[:, None], times[:, :-1]], 1)
        steps, _ = tf.unique(tf.reshape(times - before, [-1]))
        with tf.control_dependencies([tf.assert_positive(steps, message="Times have to increase, and to follow the last time of the state.")]):
            steps = tf.identity(steps)
        self._window = (steps, self.transition_to_powers(steps), self.transition_power_noise_accumulator(steps))

    def _imputation_step(self, current_times: Any, state: State) -> State:
        mean, covariance, previous = state
        steps, powers, noises = self._window
        shares = tf.cast(tf.equal((current_times - previous)[:, None], steps[None]), self.dtype)
        powers, noises = chosen(powers, shares), chosen(noises, shares)
        return (self._kalman_filter.predict_state_mean(mean, powers), self._kalman_filter.predict_state_var(covariance, powers, noises),
                current_times)

    def _prediction_step(self, current_times: Any, state: State) -> tuple[State, dict[str, Any]]:
        mean, covariance, previous = state
        with tf.control_dependencies([tf.assert_equal(previous, current_times)]):
            mean = tf.identity(mean)
        observed = self._kalman_filter.observed_from_state(mean, covariance, self.get_broadcasted_observation_model(current_times),
                                                           self._observation_noise_covariance)
        return (mean, covariance, current_times), dict(zip(("mean", "covariance"), observed))

    def _filtering_step(self, current_times: Any, current_values: Any, state: State, predictions: dict[str, Any]) -> tuple[State, dict[str, Any]]:
        mean, covariance, _ = state
        covariance = matrices.clip_covariance(covariance, self._configuration.filtering_maximum_posterior_variance_ratio,
                                              self._configuration.filtering_minimum_posterior_variance)
        mean, covariance, log_likelihood = self._kalman_filter.do_filter(
            mean, covariance, predictions["mean"], predictions["covariance"], current_values,
            self.get_broadcasted_observation_model(current_times), self._observation_noise_covariance)
        filtered = (mean, covariance, current_times)
        outputs = {**predictions, "loss": -log_likelihood, "log_likelihood": log_likelihood}
        if self._configuration.filtering_postprocessor is None:
            return filtered, outputs
        return self._configuration.filtering_postprocessor.process_filtering_step(
            current_times=current_times, current_values=current_values, predicted_state=state, filtered_state=filtered, outputs=outputs)

    def _scale_back_predictions(self, predictions: dict[str, Any]) -> dict[str, Any]:
        """In the scale of the data. Covariances between features are scaled by the variance of the second one, as TensorFlow does it."""
        return dict(predictions, mean=self._scale_back_data(predictions["mean"]), covariance=self._scale_back_variance(predictions["covariance"]))

    # --- features from outside ---------------------------------------------------------------------------------------

    def _exogenous_input_step(self, current_times: Any, current_exogenous_regressors: Any, state: State) -> State:
        if self._configuration.exogenous_noise_decreases:
            state = self._exogenous_noise_decreasing(current_times, current_exogenous_regressors, state)
        if self._configuration.exogenous_noise_increases:
            state = self._exogenous_noise_increasing(current_times, current_exogenous_regressors, state)
        return state

    def _dense(self, scope: str, inputs: Any, size: int) -> Any:
        with tf.variable_scope(f"exogenous_noise_{scope}"):
            return fully_connected(inputs, size, activation_fn=None, scope="fully_connected")

    def _dense_covariance(self, scope: str, inputs: Any, size: int) -> Any:
        with tf.variable_scope(f"exogenous_noise_{scope}"):
            return matrices.transform_to_covariance_matrices(inputs, size)

    def _exogenous_noise_increasing(self, current_times: Any, exogenous_values: Any, state: State) -> State:
        mean, covariance, times = state
        size = self._state_size()
        mean = mean + self._dense("increasing_mean", exogenous_values, size)
        return mean, covariance + self._dense_covariance("increasing_covariance", exogenous_values, size), times

    def _exogenous_noise_decreasing(self, current_times: Any, exogenous_values: Any, state: State) -> State:
        """As if the state itself had been observed, with noise."""
        mean, covariance, times = state
        size = self._state_size()
        noise = self._dense_covariance("decreasing_covariance", exogenous_values, size)
        observation = self._dense("decreasing_observation", exogenous_values, size)
        model = tf.eye(size, dtype=self.dtype)[None] + tf.zeros_like(covariance)
        mean, covariance = self._kalman_filter.posterior_from_prior_state(mean, covariance, observation, model, (mean, covariance + noise), noise)
        return mean, covariance, times


class StateSpaceEnsemble(StateSpaceModel):
    """Several models as one: their states one behind the other."""

    def __init__(self, ensemble_members: list[StateSpaceModel], configuration: StateSpaceModelConfiguration) -> None:
        self._ensemble_members = ensemble_members
        super().__init__(configuration=configuration)

    def _set_input_statistics(self, input_statistics: Any) -> None:
        super()._set_input_statistics(input_statistics)
        for member in self._ensemble_members:
            member._set_input_statistics(input_statistics)

    def _define_parameters(self, observation_transition_tradeoff_log: Any = None) -> None:
        with tf.variable_scope(self._variable_scope):
            if observation_transition_tradeoff_log is None:
                observation_transition_tradeoff_log = self._variable_observation_transition_tradeoff_log()
            for member in self._ensemble_members:
                member._define_parameters(observation_transition_tradeoff_log)
            super()._define_parameters(observation_transition_tradeoff_log)

    def _loss_additions(self, times: Any, values: Any, mode: str) -> Any:
        result = super()._loss_additions(times, values, mode)
        for member in self._ensemble_members:
            result += member._loss_additions(times, values, mode)
        return result

    def _blocks(self, made: list[Any]) -> Any:
        return matrices.block_diagonal([tf.convert_to_tensor(each, dtype=self.dtype) for each in made], dtype=self.dtype)

    def transition_to_powers(self, powers: Any) -> Any:
        """Those of the members."""
        return self._blocks([member.transition_to_powers(powers) for member in self._ensemble_members])

    def get_state_transition(self) -> Any:
        """Those of the members."""
        return self._blocks([member.get_state_transition() for member in self._ensemble_members])

    def get_noise_transform(self) -> Any:
        """Those of the members."""
        return self._blocks([member.get_noise_transform() for member in self._ensemble_members])

    def get_prior_mean(self) -> Any:
        """Those of the members."""
        return tf.concat([member.get_prior_mean() for member in self._ensemble_members], 0)

    def get_observation_model(self, times: Any) -> Any:
        """See ``get_broadcasted_observation_model``."""
        raise NotImplementedError("An ensemble has no observation model of its own: see get_broadcasted_observation_model().")

    def get_broadcasted_observation_model(self, times: Any) -> Any:
        """What is observed is the sum of what is observed of the members."""
        return tf.concat([member.get_broadcasted_observation_model(times) for member in self._ensemble_members], 2)


class StateSpaceIndependentEnsemble(StateSpaceEnsemble):
    """Members whose noises have nothing to do with each other, and whose observations add up."""

    def transition_power_noise_accumulator(self, num_steps: Any) -> Any:
        """Those of the members."""
        return self._blocks([member.transition_power_noise_accumulator(num_steps) for member in self._ensemble_members])

    def get_state_transition_noise_covariance(self, minimum_initial_variance: float = MINIMUM_INITIAL_VARIANCE) -> Any:
        """Those of the members."""
        return self._blocks([member.state_transition_noise_covariance for member in self._ensemble_members])

    def get_prior_covariance(self) -> Any:
        """Those of the members."""
        return self._blocks([member.get_prior_covariance() for member in self._ensemble_members])


class StateSpaceCorrelatedFeaturesEnsemble(StateSpaceEnsemble):
    """A member for each feature; their noises have one covariance."""

    def __init__(self, ensemble_members: list[StateSpaceModel], configuration: StateSpaceModelConfiguration) -> None:
        if len(ensemble_members) != configuration.num_features:
            raise ValueError(f"There is a member for each feature, got {len(ensemble_members)} members and {configuration.num_features} features.")
        for member in ensemble_members:
            if member.num_features != 1:
                raise ValueError(f"Each member models one feature, got {type(member).__name__} with {member.num_features}.")
        super().__init__(ensemble_members=ensemble_members, configuration=configuration)

    def transition_power_noise_accumulator(self, num_steps: Any) -> Any:
        """That of the only member, if there is one: as in TensorFlow, the noise of the ensemble itself then counts in its prior alone."""
        if len(self._ensemble_members) == 1:
            return self._ensemble_members[0].transition_power_noise_accumulator(num_steps)
        return super().transition_power_noise_accumulator(num_steps)

    def get_broadcasted_observation_model(self, times: Any) -> Any:
        """Each feature is observed of its own member."""
        return self._blocks([member.get_broadcasted_observation_model(times) for member in self._ensemble_members])
