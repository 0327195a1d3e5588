"""The Kalman filter: what is known of a hidden state, moved over time and corrected by observations."""
from __future__ import annotations

from typing import Any

from penstock.contrib import prelude as tf
from penstock.contrib.timeseries.densities import mvn_tril_log_prob


class KalmanFilter:
    """Means and covariances of the states of a batch of series."""

    def __init__(self, dtype: Any = tf.float32, simplified_posterior_covariance_computation: bool = False) -> None:
        self.dtype, self._simplified = dtype, simplified_posterior_covariance_computation

    def do_filter(self, estimated_state: Any, estimated_state_covariance: Any, predicted_observation: Any, predicted_observation_covariance: Any,
                  observation: Any, observation_model: Any, observation_noise: Any) -> tuple[Any, Any, Any]:
        """(mean, covariance, log likelihood of the observation) after an observation."""
        factor = tf.cholesky(predicted_observation_covariance)
        log_likelihood = mvn_tril_log_prob(predicted_observation, factor, observation)
        mean, covariance = self.posterior_from_prior_state(
            estimated_state, estimated_state_covariance, observation, observation_model,
            (predicted_observation, predicted_observation_covariance), observation_noise)
        return mean, covariance, log_likelihood

    def predict_state_mean(self, prior_state: Any, transition_matrices: Any) -> Any:
        """The mean some steps later."""
        return tf.squeeze(tf.matmul(transition_matrices, prior_state[..., None]), -1)

    def predict_state_var(self, prior_state_var: Any, transition_matrices: Any, transition_noise_sums: Any) -> Any:
        """The covariance some steps later, which add the noise of all of them."""
        return tf.matmul(transition_matrices, tf.matmul(prior_state_var, transition_matrices, adjoint_b=True)) + transition_noise_sums

    def posterior_from_prior_state(self, prior_state: Any, prior_state_var: Any, observation: Any, observation_model: Any,
                                   predicted_observations: Any, observation_noise: Any) -> tuple[Any, Any]:
        """(mean, covariance) after an observation."""
        predicted, covariance = predicted_observations
        gain = tf.matrix_transpose(tf.matrix_solve(covariance, tf.matmul(observation_model, prior_state_var)))
        mean = prior_state + tf.squeeze(tf.matmul(gain, (observation - predicted)[..., None]), -1)
        size = tf.shape(prior_state_var)[1]
        left = tf.eye(size, dtype=self.dtype)[None] - tf.matmul(gain, observation_model)
        if self._simplified:
            return mean, tf.matmul(left, prior_state_var)
        noise = observation_noise if observation_noise.shape.ndims == 3 else observation_noise[None]
        noise = tf.matmul(tf.matmul(gain, noise), gain, adjoint_b=True)
        return mean, tf.matmul(tf.matmul(left, prior_state_var), left, adjoint_b=True) + noise

    def observed_from_state(self, state_mean: Any, state_var: Any, observation_model: Any, observation_noise: Any) -> tuple[Any, Any]:
        """(mean, covariance) of what is observed of a state."""
        mean = tf.squeeze(tf.matmul(state_mean[:, None], observation_model, adjoint_b=True), 1)
        return mean, tf.matmul(tf.matmul(observation_model, state_var), observation_model, adjoint_b=True) + observation_noise
