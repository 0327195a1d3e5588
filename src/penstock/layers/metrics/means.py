"""Metrics that are means: of correct answers, of errors, of distances."""
from __future__ import annotations

from typing import Any

from penstock.graph import dtypes
from penstock.graph.scopes import control_dependencies
from penstock.layers.metrics.streaming import Metric, aligned, collected, mean, metric_variable
from penstock.layers.weighting import broadcast_weights
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import ones_like, zeros_like
from penstock.ops.array.select import where
from penstock.ops.math.compare import equal, less
from penstock.ops.math.division import div
from penstock.ops.math.elementwise import abs as absolute
from penstock.ops.math.elementwise import div_no_nan, maximum, multiply, squared_difference, subtract
from penstock.ops.math.powers import sqrt
from penstock.ops.math.reduce import reduce_sum
from penstock.ops.nn.confusion_matrix import remove_squeezable_dimensions
from penstock.variables.assign import assign_add
from penstock.variables.scope import variable_scope


def accuracy(labels: Any, predictions: Any, weights: Any = None, metrics_collections: Any = None, updates_collections: Any = None,
             name: str | None = None) -> Metric:
    """``tf.metrics.accuracy``: how often predictions equal labels."""
    predictions, labels, weights = aligned(predictions, labels, weights)
    if labels.dtype != predictions.dtype:
        predictions = cast(predictions, labels.dtype)
    correct = cast(equal(predictions, labels), dtypes.float32)
    return mean(correct, weights, metrics_collections, updates_collections, name or "accuracy")


def mean_absolute_error(labels: Any, predictions: Any, weights: Any = None, metrics_collections: Any = None, updates_collections: Any = None,
                        name: str | None = None) -> Metric:
    """``tf.metrics.mean_absolute_error``."""
    predictions, labels, weights = aligned(predictions, labels, weights)
    return mean(absolute(predictions - labels), weights, metrics_collections, updates_collections, name or "mean_absolute_error")


def mean_squared_error(labels: Any, predictions: Any, weights: Any = None, metrics_collections: Any = None, updates_collections: Any = None,
                       name: str | None = None) -> Metric:
    """``tf.metrics.mean_squared_error``."""
    predictions, labels, weights = aligned(predictions, labels, weights)
    return mean(squared_difference(labels, predictions), weights, metrics_collections, updates_collections, name or "mean_squared_error")


def root_mean_squared_error(labels: Any, predictions: Any, weights: Any = None, metrics_collections: Any = None, updates_collections: Any = None,
                            name: str | None = None) -> Metric:
    """``tf.metrics.root_mean_squared_error``."""
    predictions, labels, weights = aligned(predictions, labels, weights)
    value, update = mean_squared_error(labels, predictions, weights, None, None, name or "root_mean_squared_error")
    return collected(sqrt(value), sqrt(update), metrics_collections, updates_collections)


def mean_relative_error(labels: Any, predictions: Any, normalizer: Any, weights: Any = None, metrics_collections: Any = None,
                        updates_collections: Any = None, name: str | None = None) -> Metric:
    """``tf.metrics.mean_relative_error``: errors over ``normalizer``; 0 where that is 0."""
    predictions, labels, weights = aligned(predictions, labels, weights)
    predictions, normalizer = remove_squeezable_dimensions(predictions, normalizer)
    predictions.shape.assert_is_compatible_with(normalizer.shape)
    errors = where(equal(normalizer, 0.0), zeros_like(labels), div(absolute(labels - predictions), normalizer))
    return mean(errors, weights, metrics_collections, updates_collections, name or "mean_relative_error")


def mean_cosine_distance(labels: Any, predictions: Any, dim: int, weights: Any = None, metrics_collections: Any = None,
                         updates_collections: Any = None, name: str | None = None) -> Metric:
    """``tf.metrics.mean_cosine_distance``: of unit vectors along ``dim``."""
    predictions, labels, weights = aligned(predictions, labels, weights)
    products = reduce_sum(multiply(predictions, labels), axis=[dim], keepdims=True)
    value, update = mean(products, weights, None, None, name or "mean_cosine_distance")
    return collected(subtract(1.0, value), subtract(1.0, update), metrics_collections, updates_collections)


def percentage_below(values: Any, threshold: Any, weights: Any = None, metrics_collections: Any = None, updates_collections: Any = None,
                     name: str | None = None) -> Metric:
    """``tf.metrics.percentage_below``: the share of values that are less than ``threshold``."""
    below = cast(less(values, threshold), dtypes.float32)
    return mean(below, weights, metrics_collections, updates_collections, name or "percentage_below_threshold")


def mean_tensor(values: Any, weights: Any = None, metrics_collections: Any = None, updates_collections: Any = None,
                name: str | None = None) -> Metric:
    """``tf.metrics.mean_tensor``: a mean for each place of a tensor."""
    with variable_scope(name, "mean", [values, weights]):
        values = cast(values, dtypes.float32)
        total = metric_variable(values.shape, dtypes.float32, name="total_tensor")
        count = metric_variable(values.shape, dtypes.float32, name="count_tensor")
        number = ones_like(values)
        if weights is not None:
            values, _, weights = aligned(values, None, weights)
            weights = broadcast_weights(cast(weights, dtypes.float32), values)
            values, number = multiply(values, weights), multiply(number, weights)
        update_total = assign_add(total, values)
        with control_dependencies([values]):
            update_count = assign_add(count, number)
        value = div_no_nan(total, maximum(count, 0), name="value")
        update = div_no_nan(update_total, maximum(update_count, 0), name="update_op")
        return collected(value, update, metrics_collections, updates_collections)
