"""Counts of right and wrong answers to questions of yes and no, and what is made of them: precision, recall; matrices of classes."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.graph import dtypes
from penstock.graph.scopes import control_dependencies
from penstock.layers.metrics.streaming import Metric, aligned, collected, metric_variable
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import ones, ones_like
from penstock.ops.array.select import where
from penstock.ops.array.shape_ops import rank, reshape, size
from penstock.ops.constant import identity
from penstock.ops.flow.check_shapes import assert_rank_in
from penstock.ops.flow.checks import assert_type
from penstock.ops.linalg.diag import diag_part
from penstock.ops.math.compare import equal, greater, logical_and, not_equal
from penstock.ops.math.division import div
from penstock.ops.math.elementwise import div_no_nan, maximum, multiply
from penstock.ops.math.reduce import reduce_mean, reduce_sum
from penstock.ops.nn.confusion_matrix import confusion_matrix
from penstock.variables.assign import assign_add, scatter_add
from penstock.variables.scope import variable_scope


def _count(what: str, label: bool, prediction: bool) -> Callable[..., Metric]:
    """The metric ``what``, which counts the pairs of such a label and such a prediction."""
    def metric(labels: Any, predictions: Any, weights: Any = None, metrics_collections: Any = None, updates_collections: Any = None,
               name: str | None = None) -> Metric:
        with variable_scope(name, what, [predictions, labels, weights]):
            predictions, labels, weights = yes_or_no(predictions, labels, weights)
            matches = logical_and(equal(labels, label), equal(predictions, prediction))
            return _count_where(matches, weights, metrics_collections, updates_collections)

    metric.__name__ = metric.__qualname__ = what
    metric.__doc__ = f"``tf.metrics.{what}``: how many labels are {label} whose prediction is {prediction}."
    return metric


def yes_or_no(predictions: Any, labels: Any, weights: Any) -> tuple[Any, Any, Any]:
    """Predictions and labels as bools, aligned with the weights."""
    return aligned(cast(predictions, dtypes.bool_), cast(labels, dtypes.bool_), weights)


def _count_where(values: Any, weights: Any, metrics_collections: Any, updates_collections: Any) -> Metric:
    """The sum of the weights of those ``values`` that are true."""
    assert_type(values, dtypes.bool_)
    count = metric_variable([], dtypes.float32, name="count")
    values = cast(values, dtypes.float32)
    if weights is not None:
        with control_dependencies([assert_rank_in(weights, (0, rank(values)))]):
            values = multiply(values, cast(weights, dtypes.float32))
    value = identity(count)
    return collected(value, assign_add(count, reduce_sum(values)), metrics_collections, updates_collections)


true_positives, true_negatives = _count("true_positives", True, True), _count("true_negatives", False, False)
false_positives, false_negatives = _count("false_positives", False, True), _count("false_negatives", True, False)


def share(hits: Any, misses: Any, name: str) -> Any:
    """hits / (hits + misses); 0 without any."""
    return where(greater(hits + misses, 0), div(hits, hits + misses), 0, name)


def precision(labels: Any, predictions: Any, weights: Any = None, metrics_collections: Any = None, updates_collections: Any = None,
              name: str | None = None) -> Metric:
    """``tf.metrics.precision``: the share of right answers among those that say yes."""
    return _share_metric("precision", false_positives, labels, predictions, weights, metrics_collections, updates_collections, name)


def recall(labels: Any, predictions: Any, weights: Any = None, metrics_collections: Any = None, updates_collections: Any = None,
           name: str | None = None) -> Metric:
    """``tf.metrics.recall``: the share of answers that say yes among the cases where yes is right."""
    return _share_metric("recall", false_negatives, labels, predictions, weights, metrics_collections, updates_collections, name)


def _share_metric(what: str, misses: Callable[..., Metric], labels: Any, predictions: Any, weights: Any, metrics_collections: Any,
                  updates_collections: Any, name: str | None) -> Metric:
    with variable_scope(name, what, [predictions, labels, weights]):
        predictions, labels, weights = yes_or_no(predictions, labels, weights)
        hit, hit_update = true_positives(labels, predictions, weights)
        missed, missed_update = misses(labels, predictions, weights)
        return collected(share(hit, missed, "value"), share(hit_update, missed_update, "update_op"), metrics_collections, updates_collections)


# --- classes ---------------------------------------------------------------------------------------------------------


def mean_per_class_accuracy(labels: Any, predictions: Any, num_classes: int, weights: Any = None, metrics_collections: Any = None,
                            updates_collections: Any = None, name: str | None = None) -> Metric:
    """``tf.metrics.mean_per_class_accuracy``: the mean of the classes' accuracies; the update is one accuracy per class."""
    with variable_scope(name, "mean_accuracy", [predictions, labels, weights]):
        labels = _flat(cast(labels, dtypes.int64))
        predictions = _flat(predictions)
        predictions.shape.assert_is_compatible_with(labels.shape)
        total, count = (metric_variable([num_classes], dtypes.float32, name=each) for each in ("total", "count"))
        number = ones([size(labels)], dtypes.float32)
        if labels.dtype != predictions.dtype:
            predictions = cast(predictions, labels.dtype)
        correct = cast(equal(predictions, labels), dtypes.float32)
        if weights is not None:
            weights = cast(_flat(weights), dtypes.float32)
            correct, number = correct * weights, number * weights
        update_total, update_count = scatter_add(total, labels, number), scatter_add(count, labels, correct)
        value = reduce_mean(div_no_nan(count, maximum(total, 0)), name="mean_accuracy")
        update = div_no_nan(update_count, maximum(update_total, 0), name="update_op")
        return collected(value, update, metrics_collections, updates_collections)


def _flat(tensor: Any) -> Any:
    return reshape(tensor, [-1]) if tensor.shape.ndims > 1 else tensor


def mean_iou(labels: Any, predictions: Any, num_classes: int, weights: Any = None, metrics_collections: Any = None,
             updates_collections: Any = None, name: str | None = None) -> Metric:
    """``tf.metrics.mean_iou``: the mean over classes of intersection over union; the update is the confusion matrix."""
    with variable_scope(name, "mean_iou", [predictions, labels, weights]):
        predictions.shape.assert_is_compatible_with(labels.shape)
        matrix, update = streaming_confusion_matrix(labels, predictions, num_classes, weights)
        rows, columns = cast(reduce_sum(matrix, 0), dtypes.float32), cast(reduce_sum(matrix, 1), dtypes.float32)
        hits = cast(diag_part(matrix), dtypes.float32)
        union = rows + columns - hits
        seen = reduce_sum(cast(not_equal(union, 0), dtypes.float32))
        union = where(greater(union, 0), union, ones_like(union))
        value = where(greater(seen, 0), reduce_sum(div(hits, union), name="mean_iou") / seen, 0)
        return collected(value, update, metrics_collections, updates_collections)


def streaming_confusion_matrix(labels: Any, predictions: Any, num_classes: int, weights: Any = None) -> Metric:
    """The sum of the confusion matrices of all batches, and its update."""
    total = metric_variable([num_classes, num_classes], dtypes.float64, name="total_confusion_matrix")
    predictions, labels, classes = (cast(each, dtypes.int64) for each in (predictions, labels, num_classes))
    predictions, labels = _flat(predictions), _flat(labels)
    weights = None if weights is None else _flat(weights)
    current = confusion_matrix(labels, predictions, classes, weights=weights, dtype=dtypes.float64)
    return total, assign_add(total, current)
