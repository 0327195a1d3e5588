"""Windows of a series: random batches to train, the whole series to evaluate, and what follows an evaluation to predict."""
from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.contrib import prelude as tf
from penstock.contrib.timeseries.keys import FilteringResults, PredictionFeatures, TrainEvalFeatures
from penstock.contrib.timeseries.readers import TimeSeriesReader
from penstock.graph import nest
from penstock.train.batching import batch, maybe_shuffle_batch
from penstock.variables.variable import Variable

Features = dict[str, Any]


class TimeSeriesInputFn(ABC):
    """An input function of an estimator."""

    @abstractmethod
    def create_batch(self) -> Any:
        """(features, None)."""

    def __call__(self) -> Any:
        return self.create_batch()


class WholeDatasetInputFn(TimeSeriesInputFn):
    """``tf.contrib.timeseries.WholeDatasetInputFn``: the whole series as one window."""

    def __init__(self, time_series_reader: TimeSeriesReader) -> None:
        self._reader = time_series_reader

    def create_batch(self) -> Any:
        """(features of the whole series, None)."""
        return {name: value[None] for name, value in self._reader.read_full().items()}, None


class RandomWindowInputFn(TimeSeriesInputFn):
    """``tf.contrib.timeseries.RandomWindowInputFn``: batches of windows that lie anywhere in the series."""

    def __init__(self, time_series_reader: TimeSeriesReader, window_size: int, batch_size: int, queue_capacity_multiplier: int = 1000,
                 shuffle_min_after_dequeue_multiplier: int = 2, discard_out_of_order: bool = True, discard_consecutive_batches_limit: int = 1000,
                 jitter: bool = True, num_threads: int = 2, shuffle_seed: int | None = None) -> None:
        self._reader, self._window_size, self._batch_size = time_series_reader, window_size, batch_size
        self._reader.check_dataset_size(minimum_dataset_size=window_size)
        self._capacity, self._least = queue_capacity_multiplier, shuffle_min_after_dequeue_multiplier
        self._discard_out_of_order, self._discard_limit = discard_out_of_order, discard_consecutive_batches_limit
        self._jitter, self._num_threads, self._shuffle_seed = jitter, num_threads, shuffle_seed

    def create_batch(self) -> Any:
        """(features of a batch, None)."""
        windows, keep = self._windows()
        return maybe_shuffle_batch(windows, num_threads=self._num_threads, seed=self._shuffle_seed, batch_size=self._batch_size, keep_input=keep,
                                   capacity=self._capacity * self._batch_size, min_after_dequeue=self._least * self._batch_size, enqueue_many=True,
                                   name="shuffle_batch"), None

    def _windows(self) -> tuple[Features, Any]:
        """(as many windows as a batch has, whether each is kept)."""
        size = self._window_size * self._batch_size
        # Rows that are left out now and then move the windows along the series.
        rows = size + tf.random_uniform([], 0, 2, tf.int32) if self._jitter else size
        features = batch(self._reader.read(), batch_size=rows, capacity=self._capacity * size, enqueue_many=True, num_threads=self._num_threads)
        windows = {}
        for name, value in features.items():
            value = value[:size]
            windows[name] = tf.reshape(value, tf.concat([[self._batch_size, self._window_size], tf.shape(value)[1:]], 0))
            windows[name].set_shape([self._batch_size, self._window_size, *value.shape[1:]])
        times = windows[TrainEvalFeatures.TIMES]
        if self._discard_out_of_order:
            return windows, self._limited(tf.reduce_all(times[:, 1:] >= times[:, :-1], 1))
        order = tf.top_k(-times, k=self._window_size)[1]
        rows = tf.stack([tf.tile(tf.range(self._batch_size)[:, None], [1, self._window_size]), order], 2)
        return {name: tf.gather_nd(value, rows) for name, value in windows.items()}, tf.constant(True)

    def _limited(self, keep: Any) -> Any:
        """``keep``, with an error if no window was kept for too long."""
        count = Variable(0, dtype=tf.int64, name="discarded_windows_limiter", trainable=False, collections=[tf.GraphKeys.LOCAL_VARIABLES])
        counted = tf.cond(tf.reduce_any(keep), lambda: tf.assign(count, 0), lambda: count.count_up_to(self._discard_limit))
        with tf.control_dependencies([counted]):
            return tf.identity(keep)


def times_and_first(times: Any, steps: int | None, previous: dict[str, Any]) -> Any:
    """The times to predict, as a matrix: those given, or as many as ``steps`` after an evaluation."""
    if (times is None) == (steps is None):
        raise ValueError("Either times or steps is needed to say what to predict, and not both.")
    last = np.asarray(previous[FilteringResults.TIMES])
    if steps is not None:
        start = last[:, -1:] if last.ndim == 2 else np.reshape(last, [-1])[-1:, None]
        return start + 1 + np.arange(steps)
    times = np.array(times)
    times = times[None] if times.ndim == 1 else times
    if times.ndim != 2:
        raise ValueError(f"The times are a matrix with a row for each series, got the shape {times.shape}.")
    ends = last[:, -1] if last.ndim == 2 else np.reshape(last, [-1])[-1:]
    if (times[:, 0] <= ends).any():
        raise ValueError(f"Predictions follow the evaluation: all times must be greater than {ends}, got {times[:, 0]}.")
    return times


def predict_continuation_input_fn(evaluation: dict[str, Any], steps: int | None = None, times: Any = None,
                                  exogenous_features: Features | None = None) -> Callable[[], Any]:
    """``tf.contrib.timeseries.predict_continuation_input_fn``: predictions after what an estimator's ``evaluate`` returned."""
    wanted = times_and_first(times, steps, evaluation)
    state = nest.map_structure(np.asarray, evaluation[FilteringResults.STATE_TUPLE])
    rest = {key: np.asarray(value) for key, value in (exogenous_features or {}).items()}
    for key, value in rest.items():
        if value.shape[:2] != wanted.shape:
            raise ValueError(f"The shape of every exogenous feature begins with that of the times, {wanted.shape}; got {value.shape} for '{key}'.")

    def predict_input_fn() -> Any:
        features = {key: tf.constant(value, name=key) for key, value in rest.items()}
        features[PredictionFeatures.TIMES] = tf.constant(wanted, tf.int64)
        features[PredictionFeatures.STATE_TUPLE] = nest.map_structure(tf.constant, state)
        return features_once(features), None
    return predict_input_fn


def features_once(features: Any) -> Any:
    """Features that are there once: the input ends after them."""
    count = Variable(0, dtype=tf.int64, trainable=False, collections=[tf.GraphKeys.LOCAL_VARIABLES], name="predictions_limiter")
    with tf.control_dependencies([count.count_up_to(1)]):
        return nest.map_structure(tf.identity, features)
