"""Autoregressive models: a window of values and times gives the values of the window after it."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from penstock.contrib import prelude as tf
from penstock.contrib.timeseries.ar_networks import FlatPredictionModel
from penstock.contrib.timeseries.densities import cauchy_log_prob, normal_log_prob
from penstock.contrib.timeseries.keys import PredictionFeatures, TrainEvalFeatures
from penstock.contrib.timeseries.model import ModelOutputs, TimeSeriesModel
from penstock.estimator.mode_keys import ModeKeys
from penstock.variables.scope import AUTO_REUSE, get_variable_scope

MINIMUM_VARIANCE = 1e-5


class ARModel(TimeSeriesModel):
    """``tf.contrib.timeseries.ARModel``: predicts ``output_window_size`` values of ``input_window_size`` values before them.

    The times within each period of ``periodicities``, in ``num_time_buckets`` buckets, are inputs of the network that the factory makes.
    """

    SQUARED_LOSS = "squared_loss"
    NORMAL_LIKELIHOOD_LOSS = "normal_likelihood_loss"

    def __init__(self, periodicities: Any, input_window_size: int, output_window_size: int, num_features: int,
                 prediction_model_factory: Callable[..., Any] = FlatPredictionModel, num_time_buckets: int = 10,
                 loss: str = NORMAL_LIKELIHOOD_LOSS, exogenous_feature_columns: Any = None) -> None:
        self._model_factory = prediction_model_factory
        self.input_window_size, self.output_window_size = input_window_size, output_window_size
        self.window_size = input_window_size + output_window_size
        self.loss = loss
        super().__init__(num_features=num_features, exogenous_feature_columns=exogenous_feature_columns)
        self._periodicities = [] if periodicities is None else periodicities if isinstance(periodicities, (list, tuple)) else [periodicities]
        self._buckets = num_time_buckets
        if num_time_buckets <= 0 or any(each <= 0 for each in self._periodicities):
            raise ValueError(f"Periods and buckets are positive numbers, got {periodicities} and {num_time_buckets}.")
        self._network: Any = None

    def initialize_graph(self, input_statistics: Any = None) -> None:
        """Makes the network."""
        super().initialize_graph(input_statistics)
        self._network = None

    def get_start_state(self) -> Any:
        """Times, values and features from outside of a window before the first."""
        size = self.input_window_size
        return (tf.zeros([size], tf.int64), tf.zeros([size, self.num_features], self.dtype), tf.zeros([size, self.exogenous_size], self.dtype))

    def random_model_parameters(self, seed: int | None = None) -> None:
        """It draws none."""

    # --- the network -------------------------------------------------------------------------------------------------

    def _compute_time_features(self, time: Any) -> tuple[int, Any]:
        """(number of periods, position of each time in each bucket of each period, 0 outside of the bucket)."""
        periods = tf.constant(self._periodicities, shape=[1, 1, len(self._periodicities), 1], dtype=time.dtype)
        within = tf.cast(tf.mod(time[:, :, None, None], periods), self.dtype) * self._buckets / tf.cast(periods, self.dtype)
        offset = tf.maximum(within - tf.reshape(tf.range(self._buckets, dtype=self.dtype), [1, 1, 1, -1]), 0)
        return len(self._periodicities), tf.where(offset < 1, offset, tf.zeros_like(offset))

    def prediction_ops(self, times: Any, values: Any, exogenous_regressors: Any) -> dict[str, Any]:
        """Mean and covariance of the values of a window's second part."""
        times.get_shape().assert_is_compatible_with([None, self.window_size])
        batch = tf.shape(times)[0]
        inputs, outputs = [], []
        if self._periodicities:
            count, features = self._compute_time_features(times)
            features = tf.reshape(features, [batch, self.window_size, count * self._buckets])
            inputs.append(features[:, :self.input_window_size])
            outputs.append(features[:, self.input_window_size:])
        if self.input_window_size:
            inputs.append(tf.reshape(values[:, :self.input_window_size], [batch, self.input_window_size, self.num_features]))
        if self.exogenous_size:
            inputs.append(exogenous_regressors[:, :self.input_window_size])
            outputs.append(exogenous_regressors[:, self.input_window_size:])
        before = tf.concat(inputs, 2) if inputs else tf.zeros([batch, self.input_window_size, 0], self.dtype)
        after = tf.concat(outputs, 2) if outputs else tf.zeros([batch, self.output_window_size, 0], self.dtype)
        before.set_shape([None, self.input_window_size, None])
        after.set_shape([None, self.output_window_size, None])
        return self._output_window_predictions(before, after)

    def _output_window_predictions(self, input_window_features: Any, output_window_features: Any) -> dict[str, Any]:
        self._check_graph_initialized()
        if self._network is None:
            # The names of TensorFlow's variables: "model/flat_prediction_model/..." whatever scope this is called in, "model/model//encoder/..."
            with tf.variable_scope("model/", use_resource=True):
                self._network = self._model_factory(num_features=self.num_features, input_window_size=self.input_window_size,
                                                    output_window_size=self.output_window_size)
                predictions = self._network(input_window_features, output_window_features)
        else:
            predictions = self._network(input_window_features, output_window_features)
        result_shape = [None, self.output_window_size, self.num_features]
        for value in predictions.values():
            value.shape.assert_is_compatible_with(result_shape)
        return predictions

    # --- losses ------------------------------------------------------------------------------------------------------

    def loss_op(self, targets: Any, prediction_ops: dict[str, Any]) -> Any:
        """The loss per value."""
        mean = prediction_ops["mean"]
        if self.loss == ARModel.NORMAL_LIKELIHOOD_LOSS:
            total = -tf.reduce_sum(_log_likelihood(targets, prediction_ops["covariance"], mean))
        elif self.loss == ARModel.SQUARED_LOSS:
            total = tf.reduce_sum(tf.squared_difference(mean, targets))
        else:
            raise ValueError(f"The loss is {ARModel.SQUARED_LOSS!r} or {ARModel.NORMAL_LIKELIHOOD_LOSS!r}, got {self.loss!r}.")
        return total / tf.cast(tf.size(targets), total.dtype)

    def get_batch_loss(self, features: dict[str, Any], mode: str, state: Any) -> ModelOutputs:
        """Loss and predictions; an evaluation takes a longer window apart, into parts whose predictions do not overlap."""
        features = {name: tf.convert_to_tensor(value) for name, value in features.items()}
        times = features[TrainEvalFeatures.TIMES]
        exogenous = self._process_exogenous_features(
            times, {key: value for key, value in features.items() if key not in (TrainEvalFeatures.TIMES, TrainEvalFeatures.VALUES)})
        if mode == ModeKeys.TRAIN:
            if times.shape[1].value not in (None, self.window_size):
                raise ValueError(f"ARModel trains on windows of input_window_size + output_window_size = {self.window_size} values, "
                                 f"got {times.shape[1].value}.")
            return self._process_window(features, mode, exogenous)
        if mode != ModeKeys.EVAL:
            raise ValueError(f"The mode is {ModeKeys.TRAIN!r} or {ModeKeys.EVAL!r}, got {mode!r}. Predictions come from predict().")
        return self._evaluate(times, features[TrainEvalFeatures.VALUES], exogenous, mode, state)

    def _process_window(self, features: dict[str, Any], mode: str, exogenous_regressors: Any) -> ModelOutputs:
        times, unscaled = tf.cast(features[TrainEvalFeatures.TIMES], tf.int64), tf.cast(features[TrainEvalFeatures.VALUES], self.dtype)
        values = self._scale_data(unscaled)
        predictions = self.prediction_ops(times, values[:, :self.input_window_size], exogenous_regressors)
        mean, covariance = self._scale_back_data(predictions["mean"]), self._scale_back_variance(predictions["covariance"])
        if mode == ModeKeys.EVAL and self.loss == ARModel.SQUARED_LOSS:  # told in the scale of the data
            loss = self.loss_op(unscaled[:, self.input_window_size:], {**predictions, "mean": mean})
        else:
            loss = self.loss_op(values[:, self.input_window_size:], predictions)
        told = dict(mean=mean, covariance=covariance, observed=unscaled[:, -self.output_window_size:])
        size = self.input_window_size
        state = tuple(_last(each, size) for each in (times, values, exogenous_regressors))
        return ModelOutputs(loss, state, told, times[:, -self.output_window_size:])

    def _evaluate(self, times: Any, values: Any, exogenous: Any, mode: str, state: Any) -> ModelOutputs:
        """As many windows as fit, the last of which ends with the data; each is a row of one batch."""
        batch, length = tf.shape(times)[0], tf.shape(times)[1]
        if times.shape[1].value is not None and times.shape[1].value < self.window_size:
            raise ValueError(f"An evaluation needs at least input_window_size + output_window_size = {self.window_size} values, "
                             f"got {times.shape[1].value}.")
        with tf.control_dependencies([tf.assert_greater_equal(length, self.window_size)]):
            count = (length - self.input_window_size) // self.output_window_size
        start = length - self.input_window_size - count * self.output_window_size
        rows = start + tf.range(count)[:, None] * self.output_window_size + tf.range(self.window_size)[None]

        def cut(tensor: Any, rows: Any = rows) -> Any:
            windows = tf.gather(tensor, rows, axis=1)
            result = tf.reshape(windows, tf.concat([[batch * count], tf.shape(windows)[2:]], 0))
            result.set_shape([None, self.window_size, *tensor.shape[2:]])
            return result

        def joined(tensor: Any) -> Any:
            result = tf.reshape(tensor, tf.concat([[batch, count * self.output_window_size], tf.shape(tensor)[2:]], 0))
            result.set_shape([times.shape[0], None, *tensor.shape[2:]])
            return result

        # As in TensorFlow, windows of features from outside begin with the data, and not where those of the values do.
        windows = {TrainEvalFeatures.TIMES: cut(times), TrainEvalFeatures.VALUES: cut(values)}
        outputs = self._process_window(windows, mode, cut(exogenous, rows - start))
        whole = (tf.cast(times, tf.int64), self._scale_data(tf.cast(values, self.dtype)), exogenous)
        end = tuple(_last(tf.concat([tf.cast(before, now.dtype), now], 1), self.input_window_size) for before, now in zip(state, whole))
        predictions = {name: joined(value) for name, value in outputs.predictions.items()}
        return ModelOutputs(outputs.loss, end, predictions, joined(outputs.prediction_times))

    # --- predictions -------------------------------------------------------------------------------------------------

    def predict(self, features: dict[str, Any]) -> dict[str, Any]:
        """Window after window: the means of one are among the values before the next."""
        times = tf.cast(features[PredictionFeatures.TIMES], tf.int64)
        exogenous = self._process_exogenous_features(
            times, {key: value for key, value in features.items() if key not in (PredictionFeatures.TIMES, PredictionFeatures.STATE_TUPLE)})
        state_times, state_values, state_exogenous = features[PredictionFeatures.STATE_TUPLE]
        batch, length, size = tf.shape(times)[0], tf.shape(times)[1], self.output_window_size
        count = (length + size - 1) // size
        missing = count * size - length
        all_times = tf.concat([tf.cast(state_times, tf.int64), tf.pad(times, [[0, 0], [0, missing]])], 1)
        all_exogenous = tf.concat([state_exogenous, tf.pad(exogenous, [[0, 0], [0, missing], [0, 0]])], 1)
        arrays = [tf.TensorArray(self.dtype, count) for _ in range(2)]

        def body(number: Any, values: Any, means: Any, covariances: Any) -> tuple[Any, ...]:
            first = number * size
            window_times = tf.reshape(all_times[:, first:first + self.window_size], [batch, self.window_size])
            window_exogenous = tf.reshape(all_exogenous[:, first:first + self.window_size], [batch, self.window_size, self.exogenous_size])
            predictions = self.prediction_ops(window_times, values, window_exogenous)
            mean = predictions["mean"]
            covariance = tf.ones_like(mean) if self.loss == ARModel.SQUARED_LOSS else predictions["covariance"]
            values = _last(tf.concat([values, mean], 1), self.input_window_size)
            values.set_shape([None, self.input_window_size, self.num_features])
            return number + 1, values, means.write(number, mean), covariances.write(number, covariance)

        values = tf.reshape(tf.cast(state_values, self.dtype), [batch, self.input_window_size, self.num_features])
        _, _, *arrays = tf.while_loop(lambda number, *_: number < count, body, (tf.constant(0), values, *arrays),
                                      shape_invariants=(tf.TensorShape([]), tf.TensorShape([None, self.input_window_size, self.num_features]),
                                                        tf.TensorShape(None), tf.TensorShape(None)))
        mean, covariance = (tf.reshape(tf.transpose(array.stack(), [1, 0, 2, 3]), [batch, -1, self.num_features])[:, :length] for array in arrays)
        return {"mean": self._scale_back_data(mean), "covariance": self._scale_back_variance(covariance)}


def _log_likelihood(targets: Any, variance: Any, mean: Any) -> Any:
    return normal_log_prob(mean, tf.sqrt(tf.maximum(variance, MINIMUM_VARIANCE)), targets)


def _last(tensor: Any, size: int) -> Any:
    """The last ``size`` times."""
    return tensor[:, -size:] if size else tensor[:, :0]


class AnomalyMixtureARModel(ARModel):
    """An ARModel of values some of which are anomalies: a mixture of the prediction and of a wide distribution."""

    GAUSSIAN_ANOMALY = "gaussian"
    CAUCHY_ANOMALY = "cauchy"

    def __init__(self, periodicities: Any, anomaly_prior_probability: float, input_window_size: int, output_window_size: int, num_features: int,
                 prediction_model_factory: Callable[..., Any] = FlatPredictionModel, anomaly_distribution: str = GAUSSIAN_ANOMALY,
                 num_time_buckets: int = 10, exogenous_feature_columns: Any = None) -> None:
        if not 0 < anomaly_prior_probability < 1:
            raise ValueError(f"A probability is between 0 and 1, got anomaly_prior_probability={anomaly_prior_probability}.")
        assert anomaly_distribution in (self.GAUSSIAN_ANOMALY, self.CAUCHY_ANOMALY), anomaly_distribution
        self._anomaly_prior_probability, self._anomaly_distribution = anomaly_prior_probability, anomaly_distribution
        super().__init__(periodicities=periodicities, num_features=num_features, num_time_buckets=num_time_buckets,
                         input_window_size=input_window_size, output_window_size=output_window_size, loss=ARModel.NORMAL_LIKELIHOOD_LOSS,
                         prediction_model_factory=prediction_model_factory, exogenous_feature_columns=exogenous_feature_columns)

    def prediction_ops(self, times: Any, values: Any, exogenous_regressors: Any) -> dict[str, Any]:
        """Mean and covariance of what is no anomaly, and the width of what is one."""
        predictions = super().prediction_ops(times, values, exogenous_regressors)
        with tf.variable_scope(get_variable_scope(), reuse=AUTO_REUSE):
            width = tf.get_variable("anomaly_log_param", [], self.dtype, tf.zeros_initializer())
        return {**predictions, "anomaly_params": tf.exp(width)}

    def loss_op(self, targets: Any, prediction_ops: dict[str, Any]) -> Any:
        """The loss per value, under the mixture."""
        mean, width = prediction_ops["mean"], prediction_ops["anomaly_params"]
        usual = _log_likelihood(targets, prediction_ops["covariance"], mean)
        if self._anomaly_distribution == self.GAUSSIAN_ANOMALY:
            unusual = _log_likelihood(targets, width, mean)
        else:
            unusual = cauchy_log_prob(mean, width, targets)
        parts = (usual + math.log(1 - self._anomaly_prior_probability), unusual + math.log(self._anomaly_prior_probability))
        larger = tf.maximum(*parts)
        total = -tf.reduce_sum(larger + tf.log(1 + tf.exp(tf.minimum(*parts) - larger)))
        return total / tf.cast(tf.size(targets), total.dtype)
