"""From a model of series to an EstimatorSpec: what is trained, evaluated, predicted and exported."""
from __future__ import annotations

from typing import Any

from penstock.contrib import prelude as tf
from penstock.contrib.timeseries.keys import (
    FilteringFeatures,
    FilteringResults,
    PredictionFeatures,
    PredictionResults,
    SavedModelLabels,
    TrainEvalFeatures,
)
from penstock.contrib.timeseries.model import ModelOutputs
from penstock.contrib.timeseries.state_management import PassthroughStateManager
from penstock.estimator.export_outputs import PredictOutput
from penstock.estimator.mode_keys import ModeKeys
from penstock.estimator.spec import EstimatorSpec
from penstock.graph import nest
from penstock.layers.metrics.streaming import mean
from penstock.train.global_step import get_global_step
from penstock.variables.scope import AUTO_REUSE
from penstock.variables.variable import Variable


class _NoStatePredictOutput(PredictOutput):
    """A signature that takes no state, whatever the model is fed."""

    def as_signature_def(self, receiver_tensors: dict[str, Any]) -> Any:
        """The signature without the inputs of the state."""
        return super().as_signature_def({key: value for key, value in receiver_tensors.items() if not key.startswith(FilteringFeatures.STATE_PREFIX)})


def state_to_dictionary(state_tuple: Any) -> dict[str, Any]:
    """The parts of a state, under numbered names."""
    return {f"{FilteringFeatures.STATE_PREFIX}_{number:02d}": part for number, part in enumerate(nest.flatten(state_tuple))}


class TimeSeriesRegressionHead:
    """Trains and evaluates a model, predicts with it, and exports signatures that filter and predict."""

    def __init__(self, model: Any, state_manager: PassthroughStateManager, optimizer: Any, input_statistics_generator: Any = None,
                 name: str | None = None) -> None:
        self.model, self.state_manager, self.optimizer = model, state_manager, optimizer
        self.input_statistics_generator = input_statistics_generator
        self._name = name

    @property
    def name(self) -> str | None:
        """The name of the head."""
        return self._name

    @property
    def logits_dimension(self) -> int:
        """A series has no logits."""
        return 1

    def create_loss(self, features: dict[str, Any], mode: str, logits: Any = None, labels: Any = None) -> ModelOutputs:
        """What the model tells of the features."""
        with tf.variable_scope("model", use_resource=True, reuse=AUTO_REUSE):
            return self.state_manager.define_loss(self.model, features, mode)

    def create_estimator_spec(self, features: dict[str, Any], mode: str, labels: Any = None) -> EstimatorSpec:
        """The specification for a mode; what predicts observations that it was given is a model to export."""
        with tf.name_scope(self._name or "head"):
            if labels:
                raise ValueError(f"A series has no labels: its values are among the features. Got {labels}.")
            features = {name: self._convert_feature_to_tensor(name, value) for name, value in features.items()}
            if self.input_statistics_generator is None:
                statistics = None
            else:
                statistics = self._statistics(features, mode)
            self.model.initialize_graph(input_statistics=statistics)
            self.state_manager.initialize_graph(self.model, statistics)
            if mode == ModeKeys.TRAIN:
                _check_train_eval_features(features, self.model)
                return self._train_ops(features)
            if mode == ModeKeys.EVAL:
                _check_train_eval_features(features, self.model)
                return self._evaluate_ops(features)
            if mode != ModeKeys.PREDICT:
                raise ValueError(f"Unknown mode '{mode}' passed to model_fn.")
            return self._predicted(self._gather_state(features))

    def _statistics(self, features: dict[str, Any], mode: str) -> Any:
        if TrainEvalFeatures.VALUES not in features:  # predictions do not change them, and have no values
            features = {**features, TrainEvalFeatures.VALUES: tf.zeros([1, 1, self.model.num_features], self.model.dtype)}
        with tf.name_scope(None), tf.variable_scope(""):
            return self.input_statistics_generator.initialize_graph(features, update_statistics=mode == ModeKeys.TRAIN)

    def _predicted(self, gathered: tuple[dict[str, Any], bool]) -> EstimatorSpec:
        features, has_numbered_state = gathered
        if has_numbered_state or TrainEvalFeatures.VALUES in features:
            return self._serving_ops(features)
        self._check_predict_features(features)
        return self._predict_ops(features)

    def _train_ops(self, features: dict[str, Any]) -> EstimatorSpec:
        outputs = self.create_loss(features, ModeKeys.TRAIN)
        return EstimatorSpec(ModeKeys.TRAIN, loss=outputs.loss, train_op=self.optimizer.minimize(outputs.loss, global_step=get_global_step()))

    def _evaluate_ops(self, features: dict[str, Any]) -> EstimatorSpec:
        outputs = self.create_loss(features, ModeKeys.EVAL)
        told = {"observed": features[TrainEvalFeatures.VALUES], **outputs.predictions, FilteringResults.TIMES: outputs.prediction_times}
        metrics = {name: _identity_metric_single(name, value) for name, value in told.items()}
        metrics.update(self._state_metrics(outputs))
        metrics["average_loss"] = mean(outputs.loss, name="average_loss")
        return EstimatorSpec(ModeKeys.EVAL, loss=outputs.loss, eval_metric_ops=metrics, predictions={})

    def _state_metrics(self, outputs: ModelOutputs) -> dict[str, Any]:
        return {FilteringResults.STATE_TUPLE: _identity_metric_nested(FilteringResults.STATE_TUPLE, outputs.end_state)}

    def _predict(self, features: dict[str, Any]) -> dict[str, Any]:
        with tf.variable_scope("model", use_resource=True, reuse=AUTO_REUSE):
            return dict(self.model.predict(features=features))

    def _predict_ops(self, features: dict[str, Any]) -> EstimatorSpec:
        predictions = self._predict(features)
        predictions[PredictionResults.TIMES] = features[PredictionFeatures.TIMES]
        return EstimatorSpec(ModeKeys.PREDICT, predictions=predictions)

    def _serving_ops(self, features: dict[str, Any]) -> EstimatorSpec:
        predictions = self._predict({key: value for key, value in features.items() if key != FilteringFeatures.VALUES})
        filtered = self.create_loss(features, ModeKeys.EVAL)
        cold = self.create_loss({key: value for key, value in features.items() if key != FilteringFeatures.STATE_TUPLE}, ModeKeys.EVAL)
        exports = {SavedModelLabels.PREDICT: PredictOutput(predictions),
                   SavedModelLabels.FILTER: PredictOutput(state_to_dictionary(filtered.end_state)),
                   SavedModelLabels.COLD_START_FILTER: _NoStatePredictOutput(state_to_dictionary(cold.end_state))}
        return EstimatorSpec(ModeKeys.PREDICT, predictions={}, export_outputs=exports)

    def _convert_feature_to_tensor(self, name: str, value: Any) -> Any:
        if name == TrainEvalFeatures.TIMES:
            return tf.cast(value, tf.int64)
        if name == TrainEvalFeatures.VALUES:
            return tf.cast(value, self.model.dtype)
        if name == PredictionFeatures.STATE_TUPLE or isinstance(value, tf.SparseTensor):
            return value  # its parts have types of their own
        return tf.convert_to_tensor(value)

    def _gather_state(self, features: dict[str, Any]) -> tuple[dict[str, Any], bool]:
        """(features with the numbered parts of the state as one, whether there were some)."""
        prefix = PredictionFeatures.STATE_PREFIX
        parts = sorted(key for key in features if key.startswith(prefix))
        if not parts:
            return features, False
        if PredictionFeatures.STATE_TUPLE in features:
            raise ValueError(f"A state is given as {PredictionFeatures.STATE_TUPLE!r} or in parts that begin with {prefix!r}, not both.")
        result = {key: value for key, value in features.items() if key not in parts}
        result[PredictionFeatures.STATE_TUPLE] = nest.pack_sequence_as(self.model.get_start_state(), [features[key] for key in parts])
        return result, True

    def _check_predict_features(self, features: dict[str, Any]) -> None:
        for key, what in ((PredictionFeatures.TIMES, "times to predict"), (PredictionFeatures.STATE_TUPLE, "a state to start from")):
            if key not in features:
                raise ValueError(f"Expected a '{key}' feature for prediction: {what}. predict_continuation_input_fn makes these features.")
        times = features[PredictionFeatures.TIMES]
        if not times.shape.is_compatible_with([None, None]):
            raise ValueError(f"Expected shape (batch dimension, window size) for feature '{PredictionFeatures.TIMES}' (got shape {times.shape})")
        _check_feature_shapes_compatible_with(features, PredictionFeatures.TIMES, times, {PredictionFeatures.STATE_TUPLE})


class OneShotPredictionHead(TimeSeriesRegressionHead):
    """``tf.contrib.timeseries.OneShotPredictionHead``: its exported signature has no state: it filters values, and predicts what follows."""

    def _check_predict_features(self, features: dict[str, Any]) -> None:
        for key in (FilteringFeatures.TIMES, FilteringFeatures.VALUES):
            if key not in features:
                raise ValueError(f"Expected a '{key}' feature: values and their times, followed by the times to predict.")
        if FilteringFeatures.STATE_TUPLE in features:
            raise ValueError(f"A prediction in one shot starts from the start state; it takes no '{FilteringFeatures.STATE_TUPLE}' feature.")
        _check_feature_shapes_compatible_with(features, FilteringFeatures.TIMES, features[FilteringFeatures.TIMES], {FilteringFeatures.VALUES})

    def _state_metrics(self, outputs: ModelOutputs) -> dict[str, Any]:
        return {}

    def _predicted(self, gathered: tuple[dict[str, Any], bool]) -> EstimatorSpec:
        self._check_predict_features(gathered[0])
        return self._serving_ops(gathered[0])

    def _serving_ops(self, features: dict[str, Any]) -> EstimatorSpec:
        length = tf.shape(features[FilteringFeatures.VALUES])[1]
        before, after = {}, {}
        for key, value in features.items():
            if key == FilteringFeatures.VALUES:
                before[key] = value
            else:
                before[key], after[key] = value[:, :length], value[:, length:]
        after[PredictionFeatures.STATE_TUPLE] = self.create_loss(before, ModeKeys.EVAL).end_state
        predictions = self._predict(after)
        return EstimatorSpec(ModeKeys.PREDICT, predictions=predictions, export_outputs={SavedModelLabels.PREDICT: PredictOutput(predictions)})


def _check_feature_shapes_compatible_with(features: dict[str, Any], name: str, value: Any, ignore: set[str] = frozenset()) -> None:  # type: ignore[assignment]
    for key, feature in features.items():
        if key in ignore or key == name or isinstance(feature, tf.SparseTensor):
            continue
        if feature.shape.ndims is not None and not feature.shape[:2].is_compatible_with(value.shape):
            raise ValueError(f"The shape of every feature begins with that of '{name}', {value.shape}; got {feature.shape} for '{key}'.")


def _check_train_eval_features(features: dict[str, Any], model: Any) -> None:
    for key in (TrainEvalFeatures.TIMES, TrainEvalFeatures.VALUES):
        if key not in features:
            raise ValueError(f"Expected a '{key}' feature for training and evaluation, got {sorted(features)}.")
    times, values = features[TrainEvalFeatures.TIMES], features[TrainEvalFeatures.VALUES]
    if not times.shape.is_compatible_with([None, None]):
        raise ValueError(f"Expected shape (batch dimension, window size) for feature '{TrainEvalFeatures.TIMES}' (got shape {times.shape})")
    if not values.shape.is_compatible_with([None, None, model.num_features]):
        raise ValueError(f"Expected shape (batch dimension, window size, {model.num_features}) for feature '{TrainEvalFeatures.VALUES}', since the "
                         f"model was configured with num_features={model.num_features} (got shape {values.shape})")
    _check_feature_shapes_compatible_with(features, TrainEvalFeatures.TIMES, times)


def _identity_metric_single(name: str, input_tensor: Any) -> tuple[Any, Any]:
    """(value, update) of a metric whose value is that of the last batch."""
    input_tensor = tf.convert_to_tensor(input_tensor)
    kept = Variable(lambda: tf.zeros([1] * (input_tensor.shape.ndims or 0), input_tensor.dtype), validate_shape=False,
                    name=f"{name}_identity_metric", collections=[tf.GraphKeys.LOCAL_VARIABLES], trainable=False)
    return kept.read_value(), tf.assign(kept, input_tensor, validate_shape=False)


def _identity_metric_nested(name: str, input_tensors: Any) -> tuple[Any, Any]:
    pairs = [_identity_metric_single(f"{name}_{number}", part) for number, part in enumerate(nest.flatten(input_tensors))]
    return nest.pack_sequence_as(input_tensors, [value for value, _ in pairs]), tf.group(*[update for _, update in pairs])
