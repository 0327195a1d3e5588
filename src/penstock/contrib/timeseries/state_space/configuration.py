"""What state space models can be told."""
from __future__ import annotations

from typing import Any, NamedTuple

from penstock.contrib import prelude as tf
from penstock.contrib.timeseries.matrices import log_noninformative_covariance_prior


class StateSpaceModelConfiguration(NamedTuple):
    """Settings of a state space model; those of a whole ensemble are its own, and its members share the others."""

    num_features: int = 1
    use_observation_noise: bool = True
    dtype: Any = tf.float32
    covariance_prior_fn: Any = log_noninformative_covariance_prior
    bayesian_prior_weighting: bool = True  # by the length of the whole series, not by that of a window
    filtering_postprocessor: Any = None
    trainable_start_state: bool = False
    exogenous_noise_increases: bool = True
    exogenous_noise_decreases: bool = False
    exogenous_feature_columns: Any = None
    exogenous_update_condition: Any = None
    filtering_maximum_posterior_variance_ratio: float = 1e6
    filtering_minimum_posterior_variance: float = 0.0
    transition_covariance_initial_log_scale_bias: float = -5.0
    static_unrolling_window_size_threshold: int | None = None
