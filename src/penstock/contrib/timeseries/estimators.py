"""Estimators of series."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.contrib import prelude as tf
from penstock.contrib.timeseries.ar_model import AnomalyMixtureARModel, ARModel
from penstock.contrib.timeseries.ar_networks import FlatPredictionModel, LSTMPredictionModel
from penstock.contrib.timeseries.head import OneShotPredictionHead, TimeSeriesRegressionHead, state_to_dictionary
from penstock.contrib.timeseries.keys import TrainEvalFeatures
from penstock.contrib.timeseries.state_management import ChainingStateManager, FilteringOnlyStateManager, PassthroughStateManager
from penstock.contrib.timeseries.state_space.configuration import StateSpaceModelConfiguration
from penstock.contrib.timeseries.state_space.filtering_postprocessor import StateInterpolatingAnomalyDetector
from penstock.contrib.timeseries.state_space.structural_ensemble import MultiResolutionStructuralEnsemble
from penstock.contrib.timeseries.statistics import InputStatisticsFromMiniBatch
from penstock.estimator.canned.optimizers import optimizer_instance
from penstock.estimator.estimator import Estimator
from penstock.estimator.serving import ServingInputReceiver
from penstock.graph.graph import Graph
from penstock.ops.constant import placeholder_with_default
from penstock.ops.text.parsing import FixedLenFeature, parse_example
from penstock.train.rules import AdagradOptimizer, AdamOptimizer


class TimeSeriesRegressor(Estimator):
    """``tf.contrib.timeseries.TimeSeriesRegressor``: an estimator of any model of series."""

    def __init__(self, model: Any, state_manager: PassthroughStateManager | None = None, optimizer: Any = None, model_dir: Any = None,
                 config: Any = None, head_type: Callable[..., TimeSeriesRegressionHead] = TimeSeriesRegressionHead) -> None:
        generator = InputStatisticsFromMiniBatch(dtype=model.dtype, num_features=model.num_features)
        state_manager = state_manager or PassthroughStateManager()
        self._model, self._head_type = model, head_type

        def model_fn(features: Any, labels: Any, mode: str) -> Any:
            head = head_type(model=model, state_manager=state_manager, optimizer=AdamOptimizer(0.02) if optimizer is None else optimizer,
                             input_statistics_generator=generator)
            return head.create_estimator_spec(features, mode, labels)
        super().__init__(model_fn=model_fn, model_dir=model_dir, config=config)

    def _model_start_state_placeholders(self, batch_size: Any, static_batch_size: int | None = None) -> dict[str, Any]:
        """Placeholders for a state, zero unless they are fed."""
        with Graph().as_default():
            self._model.initialize_graph()
            state = {name: tf.convert_to_tensor(part) for name, part in state_to_dictionary(self._model.get_start_state()).items()}
            parts = {name: (part.dtype, part.shape.as_list()) for name, part in state.items()}
        return {name: placeholder_with_default(tf.zeros(tf.concat([[batch_size], np.array(shape, np.int32)], 0), dtype),
                                               [static_batch_size, *shape], name=name) for name, (dtype, shape) in parts.items()}

    def build_one_shot_parsing_serving_input_receiver_fn(self, filtering_length: int, prediction_length: int, default_batch_size: int | None = None,
                                                         values_input_dtype: Any = None,
                                                         truncate_values: bool = False) -> Callable[[], ServingInputReceiver]:
        """A function that makes the inputs of a model for an OneShotPredictionHead: serialized examples, each with a series."""
        if not (isinstance(self._head_type, type) and issubclass(self._head_type, OneShotPredictionHead)):
            raise ValueError("build_one_shot_parsing_serving_input_receiver_fn needs head_type=OneShotPredictionHead.")

        def receiver_fn() -> ServingInputReceiver:
            total = filtering_length + prediction_length
            length = total if truncate_values else filtering_length
            spec = {TrainEvalFeatures.TIMES: FixedLenFeature([total], tf.int64),
                    TrainEvalFeatures.VALUES: FixedLenFeature([length, self._model.num_features], values_input_dtype or tf.float32)}
            for column in self._model.exogenous_feature_columns:
                for name, each in column.parse_example_spec.items():
                    if not isinstance(each, FixedLenFeature):
                        raise ValueError(f"Exogenous features of a serialized series are dense, got {each} for {name}.")
                    spec[name] = FixedLenFeature([total, *each.shape], each.dtype)
            serialized = tf.placeholder(tf.string, [default_batch_size], name="input")
            features = parse_example(serialized, spec)
            features[TrainEvalFeatures.VALUES] = tf.cast(features[TrainEvalFeatures.VALUES][:, :filtering_length], self._model.dtype)
            return ServingInputReceiver(features, {"examples": serialized})
        return receiver_fn

    def build_raw_serving_input_receiver_fn(self, default_batch_size: int | None = None,
                                            default_series_length: int | None = None) -> Callable[[], ServingInputReceiver]:
        """A function that makes the inputs of a model: times, values, features from outside, and the state unless the head starts anew."""
        def receiver_fn() -> ServingInputReceiver:
            sizes = [default_batch_size, default_series_length]
            made: dict[str, Any] = {TrainEvalFeatures.TIMES: tf.placeholder(tf.int64, sizes, name=TrainEvalFeatures.TIMES)}
            is_one_shot = isinstance(self._head_type, type) and issubclass(self._head_type, OneShotPredictionHead)
            times = made[TrainEvalFeatures.TIMES]
            batch = default_batch_size if default_batch_size is not None else tf.shape(times)[0]
            values_shape = [default_batch_size, None if is_one_shot else default_series_length, self._model.num_features]
            if is_one_shot:
                made[TrainEvalFeatures.VALUES] = tf.placeholder(self._model.dtype, values_shape, name=TrainEvalFeatures.VALUES)
            else:  # a prediction needs none
                zeros = tf.zeros(tf.concat([tf.shape(times), [self._model.num_features]], 0), self._model.dtype)
                made[TrainEvalFeatures.VALUES] = placeholder_with_default(zeros, values_shape, name=TrainEvalFeatures.VALUES)
                made.update(self._model_start_state_placeholders(batch, default_batch_size))
            for column in self._model.exogenous_feature_columns:
                for name, each in column.parse_example_spec.items():
                    if not isinstance(each, FixedLenFeature):
                        raise ValueError(f"Exogenous features of arrays are dense, got {each} for {name}.")
                    made[name] = tf.placeholder(each.dtype, [*sizes, *each.shape], name=name)
            return ServingInputReceiver(dict(made), made)
        return receiver_fn


class ARRegressor(TimeSeriesRegressor):
    """``tf.contrib.timeseries.ARRegressor``: an autoregressive model, linear or with hidden layers."""

    def __init__(self, periodicities: Any, input_window_size: int, output_window_size: int, num_features: int, exogenous_feature_columns: Any = None,
                 num_time_buckets: int = 10, loss: str = ARModel.NORMAL_LIKELIHOOD_LOSS, hidden_layer_sizes: Any = None,
                 anomaly_prior_probability: float | None = None, anomaly_distribution: str | None = None, optimizer: Any = None,
                 model_dir: Any = None, config: Any = None) -> None:
        arguments = {"periodicities": periodicities, "num_features": num_features, "num_time_buckets": num_time_buckets,
                     "input_window_size": input_window_size, "output_window_size": output_window_size,
                     "prediction_model_factory": functools.partial(FlatPredictionModel, hidden_layer_sizes=hidden_layer_sizes),
                     "exogenous_feature_columns": exogenous_feature_columns}
        if anomaly_distribution is not None and anomaly_prior_probability is None:
            raise ValueError("anomaly_prior_probability is required if anomaly_distribution is specified.")
        if anomaly_prior_probability is None:
            model = ARModel(loss=loss, **arguments)
        else:
            if loss != ARModel.NORMAL_LIKELIHOOD_LOSS:
                raise ValueError(f"The anomaly mixture model is trained with '{ARModel.NORMAL_LIKELIHOOD_LOSS}', got loss='{loss}'.")
            model = AnomalyMixtureARModel(anomaly_prior_probability=anomaly_prior_probability,
                                          anomaly_distribution=anomaly_distribution or AnomalyMixtureARModel.GAUSSIAN_ANOMALY, **arguments)
        super().__init__(model=model, state_manager=FilteringOnlyStateManager(), optimizer=AdagradOptimizer(0.1) if optimizer is None else optimizer,
                         model_dir=model_dir, config=config)


class LSTMAutoRegressor(TimeSeriesRegressor):
    """An autoregressive model by an LSTM that reads a window and one that writes the next."""

    def __init__(self, periodicities: Any, input_window_size: int, output_window_size: int, model_dir: Any = None, num_features: int = 1,
                 extra_feature_columns: Any = None, num_timesteps: int = 10, loss: str = ARModel.NORMAL_LIKELIHOOD_LOSS, num_units: int = 128,
                 optimizer: Any = "Adam", config: Any = None) -> None:
        model = ARModel(periodicities=periodicities, input_window_size=input_window_size, output_window_size=output_window_size,
                        num_features=num_features, exogenous_feature_columns=extra_feature_columns, num_time_buckets=num_timesteps, loss=loss,
                        prediction_model_factory=functools.partial(LSTMPredictionModel, num_units=num_units))
        super().__init__(model=model, state_manager=FilteringOnlyStateManager(), optimizer=optimizer_instance(optimizer, learning_rate=0.01),
                         model_dir=model_dir, config=config, head_type=OneShotPredictionHead)


class StateSpaceRegressor(TimeSeriesRegressor):
    """An estimator of any state space model."""

    def __init__(self, model: Any, state_manager: PassthroughStateManager | None = None, optimizer: Any = None, model_dir: Any = None,
                 config: Any = None, head_type: Callable[..., TimeSeriesRegressionHead] = TimeSeriesRegressionHead) -> None:
        super().__init__(model=model, state_manager=state_manager or ChainingStateManager(), optimizer=optimizer, model_dir=model_dir, config=config,
                         head_type=head_type)


class StructuralEnsembleRegressor(StateSpaceRegressor):
    """``tf.contrib.timeseries.StructuralEnsembleRegressor``: level, trend, cycles and a moving average, learned of the series."""

    def __init__(self, periodicities: Any, num_features: int, cycle_num_latent_values: Any = 11, moving_average_order: int = 4,
                 autoregressive_order: int = 0, exogenous_feature_columns: Any = None, exogenous_update_condition: Any = None,
                 dtype: Any = tf.float64, anomaly_prior_probability: float | None = None, optimizer: Any = None, model_dir: Any = None,
                 config: Any = None, head_type: Callable[..., TimeSeriesRegressionHead] = TimeSeriesRegressionHead) -> None:
        detector = None
        if anomaly_prior_probability is not None:
            detector = StateInterpolatingAnomalyDetector(anomaly_prior_probability=anomaly_prior_probability)
        configuration = StateSpaceModelConfiguration(num_features=num_features, dtype=dtype, filtering_postprocessor=detector,
                                                     exogenous_feature_columns=exogenous_feature_columns,
                                                     exogenous_update_condition=exogenous_update_condition)
        model = MultiResolutionStructuralEnsemble(cycle_num_latent_values=cycle_num_latent_values, moving_average_order=moving_average_order,
                                                  autoregressive_order=autoregressive_order, periodicities=periodicities, configuration=configuration)
        super().__init__(model=model, optimizer=optimizer, model_dir=model_dir, config=config, head_type=head_type)


