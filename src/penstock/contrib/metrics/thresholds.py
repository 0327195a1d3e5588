"""Metrics of probabilities at thresholds that ``tf.metrics`` does not have. Unlike there, predictions outside of [0, 1] are not refused."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from penstock.contrib import prelude as tf
from penstock.layers.metrics.streaming import Metric, aligned, collected, metric_variable
from penstock.layers.metrics.thresholds import MARGIN, counts_at, even_thresholds, streaming_counts
from penstock.ops.flow.checks import assert_type

_KINDS = ("tp", "fn", "tn", "fp")


def _counts(predictions: Any, labels: Any, thresholds: Sequence[float], weights: Any = None, includes: Sequence[str] = _KINDS) -> Any:
    """For each wanted kind ("tp", ...), the variable of counts at each threshold, and the op that adds a batch."""
    predictions, labels, weights = aligned(predictions, labels, weights)
    return streaming_counts(labels, predictions, thresholds, weights, includes)


def _counting_metric(kind: str, what: str) -> Callable[..., Metric]:
    def metric(predictions: Any, labels: Any, thresholds: Sequence[float], weights: Any = None) -> Metric:
        values, updates = _counts(predictions, labels, thresholds, weights, (kind,))
        return values[kind], updates[kind]

    metric.__name__ = metric.__qualname__ = f"streaming_{what}_at_thresholds"
    metric.__doc__ = f"For each threshold, above which answers are yes, the {what.replace('_', ' ')}."
    return metric


streaming_true_positives_at_thresholds = _counting_metric("tp", "true_positives")
streaming_true_negatives_at_thresholds = _counting_metric("tn", "true_negatives")
streaming_false_positives_at_thresholds = _counting_metric("fp", "false_positives")
streaming_false_negatives_at_thresholds = _counting_metric("fn", "false_negatives")


def streaming_false_positive_rate_at_thresholds(predictions: Any, labels: Any, thresholds: Sequence[float], weights: Any = None,
                                                metrics_collections: Any = None, updates_collections: Any = None,
                                                name: str | None = None) -> Metric:
    """For each threshold, the share of the cases where no is right in which the answer is yes."""
    with tf.variable_scope(name, "false_positive_rate_at_thresholds", [predictions, labels, weights]):
        values, updates = _counts(predictions, labels, thresholds, weights, ("fp", "tn"))
        return collected(_rate(values, "fp", "tn", "fpr_value"), _rate(updates, "fp", "tn", "fpr_update_op"), metrics_collections,
                         updates_collections)


def streaming_false_negative_rate_at_thresholds(predictions: Any, labels: Any, thresholds: Sequence[float], weights: Any = None,
                                                metrics_collections: Any = None, updates_collections: Any = None,
                                                name: str | None = None) -> Metric:
    """For each threshold, the share of the cases where yes is right in which the answer is no."""
    with tf.variable_scope(name, "false_negative_rate_at_thresholds", [predictions, labels, weights]):
        values, updates = _counts(predictions, labels, thresholds, weights, ("fn", "tp"))
        return collected(_rate(values, "fn", "tp", "fnr_value"), _rate(updates, "fn", "tp", "fnr_update_op"), metrics_collections,
                         updates_collections)


def _rate(counts: dict[str, Any], wrong: str, right: str, name: str) -> tf.Tensor:
    return tf.div(counts[wrong], MARGIN + counts[wrong] + counts[right], name=name)


# --- curves ----------------------------------------------------------------------------------------------------------


def _covering_thresholds(count: int) -> list[float]:
    return [0.0 - MARGIN, *even_thresholds(count), 1.0 + MARGIN]


def streaming_curve_points(labels: Any = None, predictions: Any = None, weights: Any = None, num_thresholds: int = 200,
                           metrics_collections: Any = None, updates_collections: Any = None, curve: str = "ROC",
                           name: str | None = None) -> Metric:
    """Points of the curve of recall over false positives ("ROC"), or of precision over recall ("PR")."""
    with tf.variable_scope(name, "curve_points", [labels, predictions, weights]):
        if curve not in ("ROC", "PR"):
            raise ValueError(f"curve must be either ROC or PR, {curve} unknown")
        values, updates = _counts(predictions, labels, _covering_thresholds(num_thresholds), weights)
        points = tf.stack(_curve(values, curve), axis=1)
        return collected(points, tf.group(*updates.values()), metrics_collections, updates_collections)


def _curve(counts: dict[str, Any], curve: str) -> tuple[tf.Tensor, tf.Tensor]:
    tp, fn, tn, fp = (counts[kind] for kind in _KINDS)
    epsilon = 1.0e-6
    recall = tf.div(tp + epsilon, tp + fn + epsilon)
    if curve == "ROC":
        return tf.div(fp, fp + tn + epsilon), recall
    return recall, tf.div(tp + epsilon, tp + fp + epsilon)


def recall_at_precision(labels: Any, predictions: Any, precision: float, weights: Any = None, num_thresholds: int = 200,
                        metrics_collections: Any = None, updates_collections: Any = None, name: str | None = None,
                        strict_mode: bool = False) -> Metric:
    """Recall at the threshold whose precision comes closest; with ``strict_mode`` it must not be lower, and without one recall is 0."""
    if not 0 <= precision <= 1:
        raise ValueError("`precision` must be in the range [0, 1].")
    with tf.variable_scope(name, "recall_at_precision", [predictions, labels, weights]):
        values, updates = _counts(predictions, labels, _covering_thresholds(num_thresholds), weights)

        def recall(counts: dict[str, Any], name: str) -> tf.Tensor:
            tp, fp, fn = (counts[kind] for kind in ("tp", "fp", "fn"))
            precisions = tf.div(tp, tp + fp + MARGIN)
            if not strict_mode:
                place = tf.argmin(tf.abs(precisions - precision), 0, output_type=tf.int32)
                return tf.div(tp[place], tp[place] + fn[place] + MARGIN, name)
            place = tf.argmax(tf.div(1.0, precisions - precision + MARGIN), 0, output_type=tf.int32)
            return tf.cond(precisions[place] >= precision, lambda: tf.div(tp[place], tp[place] + fn[place] + MARGIN, name),
                           lambda: tf.constant(0.0))

        return collected(recall(values, "value"), recall(updates, "update_op"), metrics_collections, updates_collections)


def precision_at_recall(labels: Any, predictions: Any, target_recall: float, weights: Any = None, num_thresholds: int = 200,
                        metrics_collections: Any = None, updates_collections: Any = None, name: str | None = None) -> Metric:
    """Precision at the highest threshold whose recall is at least ``target_recall``."""
    if target_recall < 0 or target_recall > 1:
        raise ValueError("`target_recall` must be in the range [0, 1].")
    with tf.variable_scope(name, "precision_at_recall", [predictions, labels, weights]):
        values, updates = _counts(predictions, labels, _covering_thresholds(num_thresholds), weights)

        def precision(counts: dict[str, Any], name: str) -> tf.Tensor:
            tp, fp, fn = (counts[kind] for kind in ("tp", "fp", "fn"))
            recalls = tf.div(tp, tp + fn + MARGIN)
            place = tf.reduce_sum(tf.cast(tf.greater_equal(recalls, target_recall), tf.int64)) - 1
            return tf.div(tp[place] + MARGIN, tp[place] + fp[place] + MARGIN, name)

        return collected(precision(values, "value"), precision(updates, "update_op"), metrics_collections, updates_collections)


def f1_score(labels: Any, predictions: Any, weights: Any = None, num_thresholds: int = 200, metrics_collections: Any = None,
             updates_collections: Any = None, name: str | None = None) -> Metric:
    """``tf.contrib.metrics.f1_score``: the best harmonic mean of precision and recall at any threshold."""
    with tf.variable_scope(name, "f1", [labels, predictions, weights]):
        predictions, labels, weights = aligned(predictions, labels, weights)
        values, updates = counts_at(labels, predictions, _covering_thresholds(num_thresholds), weights, includes=("tp", "fp", "fn"))

        def best(counts: dict[str, Any], name: str) -> tf.Tensor:
            precision = tf.div(counts["tp"], MARGIN + counts["tp"] + counts["fp"], name=f"precision_{name}")
            recall = tf.div(counts["tp"], MARGIN + counts["tp"] + counts["fn"], name=f"recall_{name}")
            return tf.reduce_max(2.0 * precision * recall / (precision + recall + MARGIN))

        return collected(best(values, "value"), best(updates, "update"), metrics_collections, updates_collections)


# --- thresholds at even distances ------------------------------------------------------------------------------------


class PrecisionRecallData(NamedTuple):
    """Counts, precision and recall at each threshold."""

    tp: Any
    fp: Any
    tn: Any
    fn: Any
    precision: Any
    recall: Any
    thresholds: Any


def precision_recall_at_equal_thresholds(labels: Any, predictions: Any, weights: Any = None, num_thresholds: int | None = None,
                                         use_locking: bool | None = None, name: str | None = None) -> tuple[PrecisionRecallData, Any]:
    """Counts, precision and recall at thresholds in even distances: each example goes to one bucket, however many thresholds there are."""
    count = 201 if num_thresholds is None else num_thresholds
    weights = 1.0 if weights is None else weights
    locking = True if use_locking is None else use_locking
    assert_type(labels, tf.bool_)
    with tf.variable_scope(name, "precision_recall_at_equal_thresholds", [labels, predictions, weights]):
        inside = [tf.assert_greater_equal(predictions, tf.cast(0.0, predictions.dtype), message="predictions must be in [0, 1]"),
                  tf.assert_less_equal(predictions, tf.cast(1.0, predictions.dtype), message="predictions must be in [0, 1]")]
        with tf.control_dependencies(inside):
            predictions, labels, weights = aligned(predictions, labels, weights)
        answers, weights = tf.cast(labels, tf.float64), tf.cast(weights, tf.float64)
        true, false = answers * weights, (1.0 - answers) * weights
        predictions, true, false = (tf.reshape(each, [-1]) for each in (predictions, true, false))
        buckets = tf.cast(tf.floor(predictions * (count - 1)), tf.int32)
        with tf.name_scope("variables"):
            true_buckets = metric_variable([count], tf.float64, name="tp_buckets")
            false_buckets = metric_variable([count], tf.float64, name="fp_buckets")
        with tf.name_scope("update_op"):
            updates = [tf.scatter_add(true_buckets, buckets, true, use_locking=locking),
                       tf.scatter_add(false_buckets, buckets, false, use_locking=locking)]
        return _at_buckets(true_buckets, false_buckets, predictions.dtype, count), tf.group(*updates)


def _at_buckets(true_buckets: Any, false_buckets: Any, dtype: Any, count: int) -> PrecisionRecallData:
    tp, fp = tf.cumsum(true_buckets, reverse=True, name="tp"), tf.cumsum(false_buckets, reverse=True, name="fp")
    tn, fn = fp[0] - fp, tp[0] - tp
    least = tf.convert_to_tensor(1e-7, dtype=tf.float64)
    precision, recall = tp / tf.maximum(least, tp + fp), tp / tf.maximum(least, tp + fn)
    return PrecisionRecallData(*(tf.cast(each, dtype) for each in (tp, fp, tn, fn, precision, recall, tf.lin_space(0.0, 1.0, count))))
