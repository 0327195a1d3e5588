"""What all models of series have: parameters, a state that begins somewhere, a loss, predictions; scales of data; features from outside."""
from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

from penstock.contrib import prelude as tf
from penstock.contrib.timeseries.keys import TrainEvalFeatures
from penstock.estimator.columns.building import input_layer
from penstock.graph import nest
from penstock.graph.graph import Graph


class ModelOutputs(NamedTuple):
    """What a model tells of a batch of windows."""

    loss: Any
    end_state: Any
    predictions: dict[str, Any]
    prediction_times: Any


def replicate_state(state: Any, batch_size: Any) -> Any:
    """A state for each series of a batch."""
    def replicated(each: Any) -> Any:
        each = tf.convert_to_tensor(each)
        return tf.tile(each[None], tf.concat([[batch_size], tf.ones([tf.rank(each)], tf.int32)], 0))
    return nest.map_structure(replicated, state)


class TimeSeriesModel(ABC):
    """The base of all models. ``exogenous_feature_columns`` are features that help to predict, but are not predicted."""

    def __init__(self, num_features: int, exogenous_feature_columns: Any = None, dtype: Any = tf.float32) -> None:
        self.num_features, self.dtype = num_features, dtype
        self._exogenous_feature_columns = list(exogenous_feature_columns or [])
        self._graph_initialized = False
        self._input_statistics: Any = None
        self._stats_means: Any = None
        self._stats_sigmas: Any = None
        self.exogenous_size = self._get_exogenous_embedding_shape()[-1]

    @property
    def exogenous_feature_columns(self) -> list[Any]:
        """The columns of features that are not predicted."""
        return self._exogenous_feature_columns

    def generate(self, number_of_series: int, series_length: int, model_parameters: Any = None, seed: int | None = None) -> dict[str, Any]:
        """Series drawn from the model; few models can draw."""
        raise NotImplementedError(f"{type(self).__name__}.generate")

    def initialize_graph(self, input_statistics: Any = None) -> None:
        """Makes the parameters. Subclasses call this first."""
        self._graph_initialized = True
        self._set_input_statistics(input_statistics)

    def _set_input_statistics(self, input_statistics: Any) -> None:
        self._input_statistics = input_statistics
        if input_statistics is None:
            self._stats_means, self._stats_sigmas = None, None
        else:
            self._stats_means, variance = input_statistics.overall_feature_moments
            self._stats_sigmas = tf.sqrt(variance)

    @abstractmethod
    def get_start_state(self) -> Any:
        """The state of a series before its first observation, without a batch dimension."""

    @abstractmethod
    def get_batch_loss(self, features: dict[str, Any], mode: str, state: Any) -> ModelOutputs:
        """Loss, predictions and last state of a batch of windows that begin in ``state``."""

    @abstractmethod
    def predict(self, features: dict[str, Any]) -> dict[str, Any]:
        """Predictions by name, for times that follow a state."""

    def define_loss(self, features: dict[str, Any], mode: str) -> ModelOutputs:
        """Loss and predictions of windows that all begin in the start state."""
        self._check_graph_initialized()
        start = replicate_state(self.get_start_state(), tf.shape(features[TrainEvalFeatures.TIMES])[0])
        return self.get_batch_loss(features=features, mode=mode, state=start)

    # --- scales ------------------------------------------------------------------------------------------------------

    def _scale_data(self, data: Any) -> Any:
        return data if self._input_statistics is None else (data - self._stats_means) / self._stats_sigmas

    def _scale_variance(self, variance: Any) -> Any:
        return variance if self._input_statistics is None else variance / self._input_statistics.overall_feature_moments.variance

    def _scale_back_data(self, data: Any) -> Any:
        return data if self._input_statistics is None else data * self._stats_sigmas + self._stats_means

    def _scale_back_variance(self, variance: Any) -> Any:
        return variance if self._input_statistics is None else variance * self._input_statistics.overall_feature_moments.variance

    def _check_graph_initialized(self) -> None:
        if not self._graph_initialized:
            raise ValueError("The parameters of the model are not made yet: call initialize_graph() first.")

    # --- features from outside ---------------------------------------------------------------------------------------

    def _get_exogenous_embedding_shape(self) -> list[int]:
        """The shape of the features of one time as a vector."""
        if not self._exogenous_feature_columns:
            return [0]
        with Graph().as_default():
            made = {name: _placeholder(spec) for column in self._exogenous_feature_columns for name, spec in column.parse_example_spec.items()}
            return [input_layer(made, self._exogenous_feature_columns).shape[1].value]

    def _process_exogenous_features(self, times: Any, features: dict[str, Any]) -> Any:
        """The features of each time as a vector: [batch, window, size]."""
        shape = tf.shape(times)
        if not self._exogenous_feature_columns:
            return tf.zeros(tf.concat([shape, [0]], 0), self.dtype)
        flat = {}
        for name, value in features.items():
            if not isinstance(value, tf.SparseTensor):
                value = tf.convert_to_tensor(value, name=name)
                if value.shape.ndims is None:
                    raise ValueError(f"Features with unknown rank are not supported. Got shape {value.shape} for feature {name}.")
                value = tf.reshape(value, tf.concat([[-1], tf.shape(value)[2:]], 0)) if value.shape.ndims != 2 else tf.reshape(value, [-1])
                value = value[:, None] if value.shape.ndims == 1 else value
            flat[name] = value
        vectors = tf.cast(input_layer(flat, self._exogenous_feature_columns), self.dtype)
        result = tf.reshape(vectors, tf.concat([shape, [vectors.shape[1].value]], 0))
        result.set_shape(tf.convert_to_tensor(times).shape.concatenate([vectors.shape[1]]))
        return result


def _placeholder(spec: Any) -> Any:
    shape = getattr(spec, "shape", None)
    if shape is None:
        return tf.SparseTensor(tf.placeholder(tf.int64, [None, 2]), tf.placeholder(spec.dtype, [None]), tf.constant([1, 1], tf.int64))
    return tf.placeholder(spec.dtype, [1, *shape])
