"""Structural models: a level with a slope, a moving average and cycles, for each feature, with noises that are correlated between features."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.contrib import prelude as tf
from penstock.contrib.timeseries.state_space.components import VARMA, AdderStateSpaceModel, CycleStateSpaceModel, ResolutionCycleModel
from penstock.contrib.timeseries.state_space.configuration import StateSpaceModelConfiguration
from penstock.contrib.timeseries.state_space.state_space_model import (
    StateSpaceCorrelatedFeaturesEnsemble,
    StateSpaceIndependentEnsemble,
    StateSpaceModel,
)


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _for_each_feature(scope: str, make: Callable[[StateSpaceModelConfiguration], StateSpaceModel],
                      configuration: StateSpaceModelConfiguration) -> StateSpaceModel:
    members = []
    with tf.variable_scope(scope):
        for feature in range(configuration.num_features):
            with tf.variable_scope(f"feature{feature}"):
                members.append(make(configuration._replace(num_features=1)))
        return StateSpaceCorrelatedFeaturesEnsemble(members, configuration)


class _Structural(StateSpaceIndependentEnsemble):

    def __init__(self, cycles: list[Callable[[StateSpaceModelConfiguration], StateSpaceModel]], moving_average_order: int, autoregressive_order: int,
                 use_level_noise: bool, configuration: StateSpaceModelConfiguration) -> None:
        # What the whole model does with features from outside, and with anomalies, its members do not do again.
        member = StateSpaceModelConfiguration(num_features=configuration.num_features, dtype=configuration.dtype,
                                              covariance_prior_fn=configuration.covariance_prior_fn,
                                              bayesian_prior_weighting=configuration.bayesian_prior_weighting,
                                              trainable_start_state=configuration.trainable_start_state,
                                              transition_covariance_initial_log_scale_bias=configuration.transition_covariance_initial_log_scale_bias)
        members = [_for_each_feature("adder", lambda each: AdderStateSpaceModel(use_level_noise, each), member)]
        with tf.variable_scope("varma"):
            members.append(VARMA(autoregressive_order, moving_average_order, member))
        members += [_for_each_feature(f"cycle{number}", cycle, member) for number, cycle in enumerate(cycles)]
        super().__init__(ensemble_members=members, configuration=configuration)


class StructuralEnsemble(_Structural):
    """Cycles of as many values as they have steps."""

    def __init__(self, periodicities: Any, moving_average_order: int, autoregressive_order: int, use_level_noise: bool = True,
                 configuration: StateSpaceModelConfiguration = StateSpaceModelConfiguration()) -> None:
        cycles = [lambda each, period=period: CycleStateSpaceModel(period, each) for period in _listed(periodicities)]
        super().__init__(cycles, moving_average_order, autoregressive_order, use_level_noise, configuration)


class MultiResolutionStructuralEnsemble(_Structural):
    """Cycles of a fixed number of values over any number of steps."""

    def __init__(self, cycle_num_latent_values: Any, moving_average_order: int, autoregressive_order: int, periodicities: Any,
                 use_level_noise: bool = True, configuration: StateSpaceModelConfiguration = StateSpaceModelConfiguration()) -> None:
        periods, values = _listed(periodicities), _listed(cycle_num_latent_values)
        values = values * len(periods) if len(values) == 1 else values
        if len(values) != len(periods):
            raise ValueError(f"There must be one period for each number of latent values, got {len(periods)} and {len(values)}.")
        cycles = [lambda each, period=period, count=count: ResolutionCycleModel(count, period, configuration=each)
                  for period, count in zip(periods, values)]
        super().__init__(cycles, moving_average_order, autoregressive_order, use_level_noise, configuration)
