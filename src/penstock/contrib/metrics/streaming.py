"""The metrics that ``tf.metrics`` has, under their older names: ``streaming_accuracy(predictions, labels)``."""
from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from penstock.contrib import prelude as tf
from penstock.layers.metrics import counts, means, ranking, thresholds
from penstock.layers.metrics.streaming import Metric, collected, mean


def _predictions_first(metric: Callable[..., Metric], public: str | None = None) -> Callable[..., Metric]:
    """``metric`` with its first two arguments exchanged."""
    labels, predictions, *others = inspect.signature(metric).parameters.values()

    def streaming(predictions: Any, labels: Any, *args: Any, **kwargs: Any) -> Metric:
        return metric(labels, predictions, *args, **kwargs)

    streaming.__name__ = streaming.__qualname__ = public or f"streaming_{metric.__name__}"
    streaming.__doc__ = f"``tf.metrics.{metric.__name__}`` with predictions before labels."
    streaming.__signature__ = inspect.Signature([predictions, labels, *others])  # type: ignore[attr-defined]
    return streaming


streaming_accuracy = _predictions_first(means.accuracy)
streaming_auc = _predictions_first(thresholds.auc)
streaming_false_negatives = _predictions_first(counts.false_negatives)
streaming_false_positives = _predictions_first(counts.false_positives)
streaming_mean_absolute_error = _predictions_first(means.mean_absolute_error)
streaming_mean_cosine_distance = _predictions_first(means.mean_cosine_distance)
streaming_mean_iou = _predictions_first(counts.mean_iou)
streaming_mean_relative_error = _predictions_first(means.mean_relative_error)
streaming_mean_squared_error = _predictions_first(means.mean_squared_error)
streaming_precision = _predictions_first(counts.precision)
streaming_precision_at_thresholds = _predictions_first(thresholds.precision_at_thresholds)
streaming_recall = _predictions_first(counts.recall)
streaming_recall_at_thresholds = _predictions_first(thresholds.recall_at_thresholds)
streaming_root_mean_squared_error = _predictions_first(means.root_mean_squared_error)
streaming_sensitivity_at_specificity = _predictions_first(thresholds.sensitivity_at_specificity)
streaming_sparse_average_precision_at_k = _predictions_first(ranking.average_precision_at_k, "streaming_sparse_average_precision_at_k")
streaming_sparse_precision_at_k = _predictions_first(ranking.precision_at_k, "streaming_sparse_precision_at_k")
streaming_sparse_recall_at_k = _predictions_first(ranking.recall_at_k, "streaming_sparse_recall_at_k")
streaming_specificity_at_sensitivity = _predictions_first(thresholds.specificity_at_sensitivity)
streaming_true_negatives = _predictions_first(counts.true_negatives)
streaming_true_positives = _predictions_first(counts.true_positives)


def streaming_recall_at_k(predictions: Any, labels: Any, k: int, weights: Any = None, metrics_collections: Any = None,
                          updates_collections: Any = None, name: str | None = None) -> Metric:
    """How often the label of an example is among the k classes with the highest scores."""
    in_top_k = tf.cast(tf.in_top_k(predictions, labels, k), tf.float32)
    return mean(in_top_k, weights, metrics_collections, updates_collections, name or f"recall_at_{k}")


def _at_k(what: str, class_id: int | None) -> str:
    return f"{what}_at_k" + ("" if class_id is None else f"_class{class_id}")


def streaming_sparse_precision_at_top_k(top_k_predictions: Any, labels: Any, class_id: int | None = None, weights: Any = None,
                                        metrics_collections: Any = None, updates_collections: Any = None, name: str | None = None) -> Metric:
    """The share of right classes among ``top_k_predictions``."""
    with tf.name_scope(name, _at_k("precision", class_id), [top_k_predictions, labels, weights]) as scope:
        return ranking.precision_at_top_k(labels, top_k_predictions, None, class_id, weights, metrics_collections, updates_collections, scope)


def sparse_recall_at_top_k(labels: Any, top_k_predictions: Any, class_id: int | None = None, weights: Any = None, metrics_collections: Any = None,
                           updates_collections: Any = None, name: str | None = None) -> Metric:
    """The share of the labels that are among ``top_k_predictions``."""
    with tf.name_scope(name, _at_k("recall", class_id), [top_k_predictions, labels, weights]) as scope:
        return ranking.recall_at_top_k(labels, top_k_predictions, None, class_id, weights, metrics_collections, updates_collections, scope)


def streaming_sparse_average_precision_at_top_k(top_k_predictions: Any, labels: Any, weights: Any = None, metrics_collections: Any = None,
                                                updates_collections: Any = None, name: str | None = None) -> Metric:
    """The mean, over the right ones among ``top_k_predictions``, of the precision up to each."""
    return ranking.streaming_average_precision_at_top_k(labels, top_k_predictions, weights, metrics_collections, updates_collections, name)


# --- pairs of value and update ---------------------------------------------------------------------------------------


def aggregate_metrics(*value_update_tuples: Metric) -> tuple[list[Any], list[Any]]:
    """``tf.contrib.metrics.aggregate_metrics``: the values of several metrics, and their updates."""
    if not value_update_tuples:
        raise ValueError("Expected at least one value_tensor/update_op pair")
    values, updates = zip(*value_update_tuples)
    return list(values), list(updates)


def aggregate_metric_map(names_to_tuples: dict[str, Metric]) -> tuple[dict[str, Any], dict[str, Any]]:
    """``tf.contrib.metrics.aggregate_metric_map``: {name: value} and {name: update} of {name: (value, update)}."""
    values, updates = zip(*names_to_tuples.values())
    return dict(zip(names_to_tuples, values)), dict(zip(names_to_tuples, updates))


# --- rates -----------------------------------------------------------------------------------------------------------


def streaming_false_positive_rate(predictions: Any, labels: Any, weights: Any = None, metrics_collections: Any = None,
                                  updates_collections: Any = None, name: str | None = None) -> Metric:
    """The share of the cases where no is right in which the answer is yes."""
    return _rate("false_positive_rate", counts.false_positives, counts.true_negatives, predictions, labels, weights, metrics_collections,
                 updates_collections, name)


def streaming_false_negative_rate(predictions: Any, labels: Any, weights: Any = None, metrics_collections: Any = None,
                                  updates_collections: Any = None, name: str | None = None) -> Metric:
    """The share of the cases where yes is right in which the answer is no."""
    return _rate("false_negative_rate", counts.false_negatives, counts.true_positives, predictions, labels, weights, metrics_collections,
                 updates_collections, name)


def _rate(what: str, wrong: Callable[..., Metric], right: Callable[..., Metric], predictions: Any, labels: Any, weights: Any,
          metrics_collections: Any, updates_collections: Any, name: str | None) -> Metric:
    with tf.variable_scope(name, what, [predictions, labels, weights]):
        predictions, labels, weights = counts.yes_or_no(predictions, labels, weights)
        wrongs, wrongs_update = wrong(labels, predictions, weights)
        rights, rights_update = right(labels, predictions, weights)
        return collected(counts.share(wrongs, rights, "value"), counts.share(wrongs_update, rights_update, "update_op"), metrics_collections,
                         updates_collections)
