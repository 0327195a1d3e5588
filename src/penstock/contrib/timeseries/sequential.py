"""Models with a state that each observation moves: a loop over the times of a window, with a step to predict and one to take in what was observed."""
from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from penstock.contrib import prelude as tf
from penstock.contrib.timeseries.keys import PredictionFeatures, TrainEvalFeatures
from penstock.contrib.timeseries.model import ModelOutputs, TimeSeriesModel
from penstock.graph import nest
from penstock.variables.scope import AUTO_REUSE

_KNOWN = (TrainEvalFeatures.TIMES, TrainEvalFeatures.VALUES, PredictionFeatures.STATE_TUPLE)


class SequentialTimeSeriesModel(TimeSeriesModel):
    """The base of recurrent models. Subclasses say how a state moves over a gap, how it predicts, and how an observation changes it."""

    def __init__(self, train_output_names: list[str], predict_output_names: list[str], num_features: int, normalize_features: bool = False,
                 dtype: Any = tf.float32, exogenous_feature_columns: Any = None, exogenous_update_condition: Callable[..., Any] | None = None,
                 static_unrolling_window_size_threshold: int | None = None) -> None:
        super().__init__(num_features=num_features, exogenous_feature_columns=exogenous_feature_columns, dtype=dtype)
        self._train_output_names, self._predict_output_names = train_output_names, predict_output_names
        self._normalize_features, self._exogenous_update_condition = normalize_features, exogenous_update_condition
        self._static_unrolling_window_size_threshold = static_unrolling_window_size_threshold

    def _scale_back_predictions(self, predictions: dict[str, Any]) -> dict[str, Any]:
        """Predictions in the scale of the data, for models whose features are normalized."""
        if self._normalize_features:
            raise NotImplementedError(f"{type(self).__name__} normalizes features, so it needs a method _scale_back_predictions.")
        return predictions

    @abstractmethod
    def _filtering_step(self, current_times: Any, current_values: Any, state: Any, predictions: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """(state, outputs with a "loss" among them) after an observation."""

    @abstractmethod
    def _prediction_step(self, current_times: Any, state: Any) -> tuple[Any, dict[str, Any]]:
        """(state, outputs) one step later."""

    @abstractmethod
    def _imputation_step(self, current_times: Any, state: Any) -> Any:
        """The state after a gap, just before ``current_times``."""

    @abstractmethod
    def _exogenous_input_step(self, current_times: Any, current_exogenous_regressors: Any, state: Any) -> Any:
        """The state after features from outside."""

    def _loss_additions(self, times: Any, values: Any, mode: str) -> Any:
        """What is added to the loss per observation, such as a regularization."""
        return 0.0

    def _window_initializer(self, times: Any, state: Any) -> None:
        """Prepares for a window."""

    def get_batch_loss(self, features: dict[str, Any], mode: str, state: Any) -> ModelOutputs:
        """Loss, one-step-ahead predictions and last state of windows."""
        loss, states, outputs = self.per_step_batch_loss(features, mode, state)
        return ModelOutputs(loss, nest.map_structure(lambda each: each[:, -1], states), outputs, features[TrainEvalFeatures.TIMES])

    def per_step_batch_loss(self, features: dict[str, Any], mode: str, state: Any) -> tuple[Any, Any, dict[str, Any]]:
        """(mean loss, states after each observation, predictions of each) of windows."""
        self._check_graph_initialized()
        times, values = tf.cast(features[TrainEvalFeatures.TIMES], tf.int64), tf.cast(features[TrainEvalFeatures.VALUES], self.dtype)
        if self._normalize_features:
            values = self._scale_data(values)
        update = self._exogenous_update(times, features)

        def step(number: Any, current_times: Any, state: Any) -> tuple[Any, dict[str, Any]]:
            state = update(number, current_times, state)
            state, predictions = self._prediction_step(current_times=current_times, state=state)
            return self._filtering_step(current_times=current_times, current_values=values[:, number], state=state, predictions=predictions)

        states, outputs = self._state_update_loop(times, state, step, ["loss", *self._train_output_names])
        outputs["loss"].set_shape(times.shape)
        losses = outputs.pop("loss")
        loss = tf.reduce_sum(losses) / tf.cast(tf.size(losses), self.dtype)
        return loss + self._loss_additions(times, values, mode), states, self._scale_back_predictions(outputs)

    def predict(self, features: dict[str, Any]) -> dict[str, Any]:
        """Predictions for times that follow a state."""
        self._check_graph_initialized()
        times = tf.convert_to_tensor(features[PredictionFeatures.TIMES], dtype=tf.int64)
        update = self._exogenous_update(times, features)

        def step(number: Any, current_times: Any, state: Any) -> tuple[Any, dict[str, Any]]:
            return self._prediction_step(current_times=current_times, state=update(number, current_times, state))

        outputs = self._state_update_loop(times, features[PredictionFeatures.STATE_TUPLE], step, self._predict_output_names)[1]
        return self._scale_back_predictions(outputs)

    def _exogenous_update(self, times: Any, features: dict[str, Any]) -> Callable[[Any, Any, Any], Any]:
        """A function of (number of the step, times, state): the state after the features from outside."""
        raw = {key: value for key, value in features.items() if key not in _KNOWN}
        if not self._exogenous_feature_columns:
            if raw:
                raise ValueError(f"The model has no exogenous_feature_columns for the features {sorted(raw)}.")
            return lambda number, current_times, state: state
        vectors = self._process_exogenous_features(times, raw)

        def update(number: Any, current_times: Any, state: Any) -> Any:
            new = self._exogenous_input_step(current_times=current_times, current_exogenous_regressors=vectors[:, number], state=state)
            if self._exogenous_update_condition is None:
                return new
            is_update = self._exogenous_update_condition(times=current_times, features={key: value[:, number] for key, value in raw.items()})
            return nest.map_structure(lambda after, before: tf.where(is_update, after, before), new, state)
        return update

    def _state_update_loop(self, times: Any, state: Any, state_update_fn: Callable[..., Any], outputs: list[str]) -> tuple[Any, dict[str, Any]]:
        """(the state after each time, outputs by name), with the batch first; ``state_update_fn`` makes a step."""
        self._window_initializer(times, state)
        state = nest.map_structure(tf.convert_to_tensor, state)
        length = tf.shape(times)[1]

        def step(number: Any, state: Any) -> tuple[Any, list[Any]]:
            current = times[:, number]
            with tf.variable_scope("state_update_step", reuse=AUTO_REUSE):  # the steps of all loops share their variables
                after, made = state_update_fn(number, current, self._imputation_step(current_times=current, state=state))
            for new, old in zip(nest.flatten(after), nest.flatten(state)):
                new.set_shape(old.shape)
            after = nest.pack_sequence_as(state, nest.flatten(after))  # a list where a step gives a tuple, or the other way round
            return after, [*nest.flatten(after), *(made[name] for name in outputs)]

        window = times.shape[1].value
        threshold = self._static_unrolling_window_size_threshold
        if threshold is not None and window is not None and window <= threshold:
            rows = []
            for number in range(window):
                state, made = step(number, state)
                rows.append(made)
            columns = [tf.stack(column, 1) for column in zip(*rows)]
        else:
            columns = self._dynamic_loop(step, state, length, window, len(outputs))
        count = len(columns) - len(outputs)
        return nest.pack_sequence_as(state, columns[:count]), dict(zip(outputs, columns[count:]))

    def _dynamic_loop(self, step: Callable[..., Any], state: Any, length: Any, window: int | None, outputs: int) -> list[Any]:
        types = [each.dtype for each in nest.flatten(state)] + [tf.as_dtype(self.dtype)] * outputs
        arrays = [tf.TensorArray(dtype, size=length) for dtype in types]

        def body(number: Any, state: Any, arrays: list[Any]) -> tuple[Any, Any, list[Any]]:
            state, made = step(number, state)
            return number + 1, state, [array.write(number, value) for array, value in zip(arrays, made)]

        _, _, arrays = tf.while_loop(lambda number, *_: number < length, body, (tf.constant(0), state, arrays))
        columns = [_batch_first(array.stack()) for array in arrays]
        for column in columns:
            column.set_shape([None, window, *[None] * (column.shape.ndims - 2)])
        return columns


def _batch_first(tensor: Any) -> Any:
    return tf.transpose(tensor, [1, 0, *range(2, tensor.shape.ndims)])
