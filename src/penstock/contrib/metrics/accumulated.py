"""Metrics that keep what they have seen: all values (``streaming_concat``) and the exact areas under a curve that are computed of them."""
from __future__ import annotations

import builtins
from typing import Any, NamedTuple

from penstock.contrib import prelude as tf
from penstock.contrib.distributions.normal import Normal
from penstock.layers.metrics.streaming import Metric, aligned, collected, metric_variable
from penstock.layers.metrics.thresholds import MARGIN


def streaming_concat(values: Any, axis: int = 0, max_size: int | None = None, metrics_collections: Any = None, updates_collections: Any = None,
                     name: str | None = None) -> Metric:
    """``tf.contrib.metrics.streaming_concat``: all values so far, or the first ``max_size``, along ``axis``.

    The variable grows by half of its size when it is full, so that a value is copied a bounded number of times.
    """
    with tf.variable_scope(name, "streaming_concat", [values]):
        rank, axis, fixed = _fixed_extents(values, axis)
        array = metric_variable([0 if max_size is None else max_size, *fixed], values.dtype, validate_shape=False, name="array")
        size = metric_variable([], tf.int32, name="size")
        value = array[:size]
        value.set_shape([None, *fixed])
        value = tf.transpose(value, [0 if n == axis else n + 1 if n < axis else n for n in builtins.range(rank)], name="concat")
        batch = tf.shape(values)[axis]
        if max_size is not None:
            batch = tf.minimum(batch, max_size - size)
        rows = tf.transpose(values, [axis] + [n for n in builtins.range(rank) if n != axis])[:batch]
        return collected(value, _append(array, size, rows, batch, fixed), metrics_collections, updates_collections)


def _fixed_extents(values: Any, axis: int) -> tuple[int, int, list[int]]:
    """(rank, axis from 0, the extents of the other axes)."""
    if values.shape.ndims is None:
        raise ValueError("`values` must have known statically known rank")
    rank = values.shape.ndims
    axis = axis + rank if axis < 0 else axis
    if not 0 <= axis < rank:
        raise ValueError(f"axis = {axis!r} not in [0, {rank!r})")
    fixed = [extent for n, extent in enumerate(values.shape.as_list()) if n != axis]
    if None in fixed:
        raise ValueError("all dimensions of `values` other than the dimension to concatenate along must have statically known size")
    return rank, axis, fixed


def _append(array: Any, size: Any, rows: tf.Tensor, batch: tf.Tensor, fixed: list[int]) -> Any:
    """The op that writes ``rows`` behind the ``size`` rows of the array, in a larger one if they do not fit; its value is the new size."""
    def reallocate() -> Any:
        larger = tf.zeros(tf.stack([next_array_size(new_size), *fixed]), dtype=rows.dtype)
        old = array.value()
        with tf.control_dependencies([old]):
            assigned = tf.assign(array, larger, validate_shape=False)
        with tf.control_dependencies([assigned]):
            copied = array[:size].assign(old[:size])
        with tf.control_dependencies([copied]):
            return tf.no_op()

    new_size = size + batch
    room = tf.shape_internal(array, optimize=False)[0]
    grown = tf.cond(new_size > room, reallocate, tf.no_op)
    with tf.control_dependencies([grown]):
        appended = array[size:new_size].assign(rows)
    with tf.control_dependencies([appended]):
        return size.assign(new_size)


def next_array_size(required_size: Any, growth_factor: float = 1.5) -> tf.Tensor:
    """The next power of ``growth_factor``, rounded up."""
    exponent = tf.ceil(tf.log(tf.cast(required_size, tf.float32)) / tf.log(tf.cast(growth_factor, tf.float32)))
    return tf.cast(tf.ceil(growth_factor ** exponent), tf.int32)


# --- the area under all points ---------------------------------------------------------------------------------------


def _zero_or_one(labels: tf.Tensor) -> list[Any]:
    return [tf.assert_greater_equal(labels, tf.zeros_like(labels, tf.int64), message="labels must be 0 or 1, at least one is <0"),
            tf.assert_less_equal(labels, tf.ones_like(labels, tf.int64), message="labels must be 0 or 1, at least one is >1")]


def streaming_dynamic_auc(labels: Any, predictions: Any, curve: str = "ROC", metrics_collections: Any = (), updates_collections: Any = (),
                          name: str | None = None, weights: Any = None) -> Metric:
    """The area under a curve whose thresholds are all predictions that were seen."""
    if curve not in ("PR", "ROC"):
        raise ValueError(f"curve must be either ROC or PR, {curve} unknown")
    with tf.variable_scope(name, default_name="dynamic_auc"):
        labels.shape.assert_is_compatible_with(predictions.shape)
        predictions = tf.reshape(tf.cast(predictions, tf.float64), [-1])
        labels = tf.reshape(tf.cast(labels, tf.int64), [-1])
        with tf.control_dependencies(_zero_or_one(labels)):
            all_predictions, update_predictions = streaming_concat(predictions, name="concat_preds")
            all_labels, update_labels = streaming_concat(labels, name="concat_labels")
            all_weights, updates = None, [update_labels, update_predictions]
            if weights is not None:
                weights = tf.reshape(tf.cast(weights, tf.float64), [-1])
                all_weights, update_weights = streaming_concat(weights, name="concat_weights")
                updates.append(update_weights)
            update = tf.group(*updates)
            return collected(_dynamic_area(all_labels, all_predictions, curve, all_weights), update, metrics_collections, updates_collections)


def _dynamic_area(labels: tf.Tensor, predictions: tf.Tensor, curve: str, weights: Any) -> tf.Tensor:
    size = tf.size(predictions)
    if weights is None:
        weights = tf.ones_like(labels, dtype=tf.float64)
    labels, predictions, weights = aligned(labels, predictions, weights)
    total = tf.reduce_sum(weights)
    positive = tf.reduce_sum(tf.where(tf.greater(labels, 0), weights, tf.zeros_like(labels, dtype=tf.float64)))

    def area() -> tf.Tensor:
        ordered, places = tf.top_k(predictions, k=size)
        ordered_labels, ordered_weights = tf.gather(labels, places), tf.gather(weights, places)
        _, _, counts = tf.unique_with_counts(ordered)
        splits = tf.cast(tf.pad(tf.cumsum(counts), paddings=[[1, 0]]), tf.int32)

        def up_to_splits(chosen: tf.Tensor) -> tf.Tensor:
            return tf.gather(tf.pad(tf.cumsum(chosen), paddings=[[1, 0]]), splits)

        nothing = tf.zeros_like(ordered_labels, dtype=tf.float64)
        hits = up_to_splits(tf.where(tf.greater(ordered_labels, 0), ordered_weights, nothing))
        if curve == "ROC":
            misses = up_to_splits(tf.where(tf.less(ordered_labels, 1), ordered_weights, nothing))
            x, y = tf.truediv(misses, total - positive), tf.truediv(hits, positive)
        else:
            x = tf.truediv(hits, positive)
            y = tf.where(tf.greater(splits, 0), tf.truediv(hits, up_to_splits(ordered_weights)), tf.ones_like(hits, dtype=tf.float64))
        return tf.reduce_sum(tf.multiply(tf.add(y[1:], y[:-1]) / 2.0, tf.abs(tf.subtract(x[1:], x[:-1]))))

    is_trivial = tf.logical_or(tf.equal(positive, 0), tf.equal(positive, total))
    return tf.cond(is_trivial, true_fn=lambda: tf.constant(0, tf.float64), false_fn=area)


# --- with confidence -------------------------------------------------------------------------------------------------


class AucData(NamedTuple):
    """An area, and the bounds of its confidence interval."""

    auc: Any
    lower: Any
    upper: Any


def auc_with_confidence_intervals(labels: Any, predictions: Any, weights: Any = None, alpha: float = 0.95, logit_transformation: bool = True,
                                  metrics_collections: Any = (), updates_collections: Any = (), name: str | None = None) -> Metric:
    """The area under the ROC curve, with the interval that covers it with probability ``alpha`` (DeLong's method, by placement values)."""
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must be between 0 and 1; currently {alpha:.02f}")
    if weights is None:
        weights = tf.ones_like(predictions)
    with tf.variable_scope(name, default_name="auc_with_confidence_intervals", values=[labels, predictions, weights]):
        predictions, labels, weights = aligned(predictions, labels, weights)
        total = tf.reduce_sum(weights)
        weights = tf.reshape(weights, [-1])
        predictions = tf.reshape(tf.cast(predictions, tf.float64), [-1])
        labels = tf.reshape(tf.cast(labels, tf.int64), [-1])
        with tf.control_dependencies(_zero_or_one(labels)):
            all_predictions, update_predictions = streaming_concat(predictions, name="concat_preds")
            all_labels, update_labels = streaming_concat(labels, name="concat_labels")
            all_weights, update_weights = streaming_concat(weights, name="concat_weights")
            updates = tf.group(update_labels, update_predictions, update_weights)
            both = tf.logical_and(tf.equal(tf.reduce_min(labels), 0), tf.equal(tf.reduce_max(labels), 1))
            enough = tf.greater_equal(total, 1.0)
            is_valid = tf.logical_and(both, enough)
            update = tf.cond(enough, lambda: updates, tf.no_op)
            area = _placement_area(all_labels, all_predictions, all_weights, alpha, logit_transformation, is_valid)
            return collected(area, update, metrics_collections, updates_collections)


def _placement_area(labels: tf.Tensor, predictions: tf.Tensor, weights: tf.Tensor, alpha: float, logit: bool, is_valid: tf.Tensor) -> AucData:
    """A placement value is the share of the other class that an example beats; the area is their mean, its error comes from their variance."""
    negative = tf.reduce_sum(tf.cast(1 - labels, weights.dtype) * weights)
    positive = tf.reduce_sum(tf.cast(labels, weights.dtype) * weights)
    labels, weights, placements = _placements(labels, predictions, weights)
    of_0, of_1 = tf.cast(1 - labels, weights.dtype), tf.cast(labels, weights.dtype)
    placements_0, weights_0, placements_1, weights_1 = placements * of_0, weights * of_0, placements * of_1, weights * of_1
    area_0 = tf.reduce_sum(weights_0 * (1.0 - placements_0)) / (negative + MARGIN)
    area_1 = tf.reduce_sum(weights_1 * placements_1) / (positive + MARGIN)
    area = tf.where(tf.less(negative, positive), area_1, area_0)
    variance_0 = tf.reduce_sum(weights_0 * tf.square(1.0 - placements_0 - area_0)) / (negative - 1.0 + MARGIN)
    variance_1 = tf.reduce_sum(weights_1 * tf.squared_difference(placements_1, area_1)) / (positive - 1.0 + MARGIN)
    error = tf.sqrt(variance_0 / (negative + MARGIN) + variance_1 / (positive + MARGIN))
    z = Normal(loc=0.0, scale=1.0).quantile((1.0 - alpha) / 2.0)
    if logit:
        centre, error = tf.log(area / (1.0 - area + MARGIN)), error / (area * (1.0 - area + MARGIN))
        lower, upper = (1.0 / (1.0 + tf.exp(tf.negative(each)) + MARGIN) for each in (centre + z * error, centre - z * error))
    else:
        lower, upper = area + z * error, area - z * error
    is_extreme = tf.logical_or(tf.equal(area, tf.ones_like(area)), tf.equal(area, tf.zeros_like(area)))
    bounds = [area, tf.where(is_extreme, area, lower), tf.where(is_extreme, area, upper)]
    nothing = tf.constant(0.0)
    return AucData(*tf.cond(is_valid, lambda: bounds, lambda: [nothing] * 3))


def _placements(labels: tf.Tensor, predictions: tf.Tensor, weights: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Labels and weights in the order of their predictions, and placement values; equal predictions count half."""
    ordered, places = tf.top_k(predictions, k=tf.size(predictions, out_type=tf.int32), sorted=True)
    ordered = tf.reverse(ordered, axis=tf.zeros(1, tf.int32))
    places = tf.reverse(places, axis=tf.zeros(1, tf.int32))
    labels, weights = tf.gather(labels, places), tf.gather(weights, places)
    _, segments = tf.unique(ordered)
    is_1 = tf.cast(labels, tf.float32)
    is_0 = 1.0 - is_1

    def placements(others: tf.Tensor) -> tf.Tensor:
        totals = tf.segment_sum(others, segments)
        values = (tf.cumsum(totals, exclusive=True) + totals / 2.0) / (tf.reduce_sum(totals) + MARGIN)
        return tf.gather(values, segments)

    return labels, weights, placements(weights * is_0) * is_1 + placements(weights * is_1) * is_0
