"""What happens after each step of a filter: anomalies are kept away from the state."""
from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from penstock.contrib import prelude as tf
from penstock.contrib.timeseries.densities import cauchy_log_prob, entropy_matched_cauchy_scale
from penstock.graph import nest


class FilteringStepPostprocessor(ABC):
    """The base of postprocessors."""

    @abstractmethod
    def process_filtering_step(self, current_times: Any, current_values: Any, predicted_state: Any, filtered_state: Any,
                               outputs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """(state, outputs) of a step, changed."""

    @property
    @abstractmethod
    def output_names(self) -> list[str]:
        """The names of the outputs that it adds."""


def cauchy_alternative_to_gaussian(current_times: Any, current_values: Any, outputs: dict[str, Any]) -> Any:
    """The log likelihood of values under Cauchy distributions around the prediction."""
    scale = entropy_matched_cauchy_scale(outputs["covariance"])
    return tf.reduce_sum(cauchy_log_prob(outputs["mean"], scale, current_values), -1)


class StateInterpolatingAnomalyDetector(FilteringStepPostprocessor):
    """Between the state before and after an observation: the less likely the observation is an anomaly, the more of the latter."""

    output_names = ["anomaly_score"]

    def __init__(self, anomaly_log_likelihood: Callable[..., Any] = cauchy_alternative_to_gaussian, anomaly_prior_probability: float = 0.01,
                 responsibility_scaling: float = 1.0) -> None:
        self._anomaly_log_likelihood, self._prior, self._scaling = anomaly_log_likelihood, anomaly_prior_probability, responsibility_scaling

    def process_filtering_step(self, current_times: Any, current_values: Any, predicted_state: Any, filtered_state: Any,
                               outputs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """The state between both, and the loss of the mixture."""
        anomaly = self._anomaly_log_likelihood(current_times=current_times, current_values=current_values, outputs=outputs) + math.log(self._prior)
        usual = outputs["log_likelihood"] + math.log(1 - self._prior)
        score = anomaly - usual
        share = tf.sigmoid(-self._scaling * score)

        def between(before: Any, after: Any) -> Any:
            if not after.dtype.is_floating:
                return after
            weight = tf.reshape(share, tf.concat([tf.shape(share), tf.ones([tf.rank(after) - 1], tf.int32)], 0))
            return after * weight + before * (1 - weight)
        state = nest.map_structure(between, predicted_state, filtered_state)
        return state, {**outputs, "loss": -(share * usual + (1 - share) * anomaly), "anomaly_score": score}
