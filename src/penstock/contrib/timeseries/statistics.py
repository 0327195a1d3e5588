"""Statistics of a series that is seen in small batches: models scale their data by them."""
from __future__ import annotations

from typing import Any, NamedTuple

from penstock.contrib import prelude as tf
from penstock.contrib.timeseries.keys import TrainEvalFeatures
from penstock.ops.nn.normalization import moments


class Moments(NamedTuple):
    """Mean and variance."""

    mean: Any
    variance: Any


class InputStatistics(NamedTuple):
    """What is known of a series: moments at its start and overall, its first time, how many observations it probably has."""

    series_start_moments: Any
    overall_feature_moments: Any
    start_time: Any
    total_observation_count: Any


class InputStatisticsFromMiniBatch:
    """Variables with the statistics of a series, which every batch of windows updates."""

    def __init__(self, num_features: int, dtype: Any, starting_variance_window_size: int = 16) -> None:
        self._num_features, self._dtype, self._window = num_features, tf.as_dtype(dtype), starting_variance_window_size

    def initialize_graph(self, features: dict[str, Any], update_statistics: bool = True) -> InputStatistics:
        """The statistics, after an update by ``features`` if they are to be updated."""
        times, values = features[TrainEvalFeatures.TIMES], features[TrainEvalFeatures.VALUES]
        if values.shape.ndims is None or values.shape.ndims != 3 or values.shape[2].value is None:
            raise ValueError(f"The values are to have a shape [batch, window, features] with a known number of features, got {values.shape}.")
        with tf.variable_scope("input_statistics", use_resource=True):
            statistics = self._variables()
        with tf.variable_scope("input_statistics_auxiliary", use_resource=True):
            sums = _Sums(self._num_features, self._dtype)
        return self._updated(statistics, sums, times, values) if update_statistics else statistics

    def _variables(self) -> InputStatistics:
        shape = [self._num_features]
        mean = _variable("series_start_mean", shape, self._dtype, 0)
        variance = _variable("series_start_variance", shape, self._dtype, 1)
        overall = Moments(_variable("overall_feature_mean", shape, self._dtype, 0), _variable("overall_feature_var", shape, self._dtype, 1))
        return InputStatistics(Moments(mean, variance), overall, _variable("start_time", [], tf.int64, tf.int64.max),
                               _variable("total_observation_count", [], tf.int64, 1))

    def _updated(self, statistics: InputStatistics, sums: _Sums, times: Any, values: Any) -> InputStatistics:
        values, times = tf.cast(values, self._dtype), tf.cast(times, tf.int64)
        first = tf.reduce_min(times)
        start = tf.minimum(statistics.start_time, first)
        mean, variance = moments(values[tf.argmin(times[:, 0], 0), :self._window], [0])
        is_start = first <= statistics.start_time
        old = statistics.series_start_moments
        new = Moments(*(tf.cond(is_start, lambda value=value: value, lambda before=before: tf.identity(before))
                        for value, before in zip((mean, variance), old)))
        with tf.control_dependencies([new.mean, new.variance, start]):
            overall, count, updates = sums.update(times, values, start)
        pairs = ((old.mean, new.mean), (old.variance, new.variance), (statistics.overall_feature_moments.mean, overall.mean),
                 (statistics.overall_feature_moments.variance, overall.variance), (statistics.start_time, start),
                 (statistics.total_observation_count, count))
        with tf.control_dependencies([tf.assign(variable, value).op for variable, value in pairs] + updates):
            return InputStatistics(Moments(*map(tf.identity, new)), Moments(*map(tf.identity, overall)), tf.identity(start), tf.identity(count))


class _Sums:
    """What the statistics are computed of: sums over all batches."""

    def __init__(self, num_features: int, dtype: Any) -> None:
        self._dtype = dtype
        self._latest = _variable("max_time_seen", [], tf.int64, tf.int64.min)
        self._chunks = _variable("chunk_count", [], tf.int64, 0)
        self._distances = _variable("inter_observation_duration_sum", [], dtype, 0)
        self._examples = _variable("example_count", [], tf.int64, 0)
        self._sum = _variable("overall_feature_sum", [num_features], dtype, 0)
        self._squares = _variable("overall_feature_sum_of_squares", [num_features], dtype, 0)

    def update(self, times: Any, values: Any, start: Any) -> tuple[Moments, Any, list[Any]]:
        """(overall moments, number of observations, the updates) with this batch."""
        batch, window = tf.shape(times)[0], tf.shape(times)[1]
        steps = tf.cast(window - 1, self._dtype)
        distances = self._distances + tf.reduce_sum(tf.cast(times[:, -1] - times[:, 0], self._dtype) / steps)
        latest = tf.maximum(self._latest, tf.reduce_max(times))
        chunks = self._chunks + tf.cast(batch, tf.int64)
        examples = self._examples + tf.cast(batch * window, tf.int64)
        total, squares = self._sum + tf.reduce_sum(values, [0, 1]), self._squares + tf.reduce_sum(values**2, [0, 1])
        count = tf.cast(examples, self._dtype)
        mean = total / count
        variance = (squares / count - mean**2) * (count / (count - 1))  # that of a sample
        duration = tf.cast(latest - start + 1, self._dtype)
        number = tf.cast(tf.round(duration / (distances / tf.cast(chunks, self._dtype))), tf.int64)
        pairs = ((self._latest, latest), (self._chunks, chunks), (self._distances, distances), (self._examples, examples), (self._sum, total),
                 (self._squares, squares))
        # Each is computed of the values before this batch, so nothing is assigned before all are computed.
        with tf.control_dependencies([each for _, each in pairs] + [mean, variance, number]):
            return Moments(mean, variance), number, [tf.assign(variable, value).op for variable, value in pairs]


def _variable(name: str, shape: list[int], dtype: Any, value: Any) -> Any:
    return tf.get_variable(name, initializer=tf.constant([value] * shape[0] if shape else value, dtype), trainable=False)
