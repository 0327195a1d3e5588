"""The metrics of heads: streaming means, areas and shares, of all examples or of one class."""
from __future__ import annotations

from typing import Any

from penstock.contrib import prelude as tf
from penstock.layers.metrics import thresholds
from penstock.layers.metrics.means import accuracy
from penstock.layers.metrics.streaming import mean
from penstock.platform import logging

Metric = tuple[Any, Any]  # (value, update)


def _of_class(values: Any, weights: Any, class_id: int | None) -> tuple[Any, Any]:
    """(values, weights) as floats of one shape; of one class, if ``class_id`` is given."""
    values = tf.cast(values, tf.float32)
    if weights is not None:
        weights = tf.broadcast_weights(tf.cast(weights, tf.float32), values)
    if class_id is None:
        return values, weights
    return values[:, class_id], None if weights is None else weights[:, class_id]


def streaming_mean(values: Any, weights: Any, class_id: int | None = None) -> Metric:
    """The mean of predictions or labels."""
    return mean(*_of_class(values, weights, class_id))


def share_of_class(ids: Any, weights: Any, class_id: int) -> Metric:
    """How many of the ids are ``class_id``."""
    return mean(tf.where(tf.equal(tf.cast(class_id, tf.int32), tf.cast(ids, tf.int32)), tf.ones_like(ids), tf.zeros_like(ids)), weights=weights)


def auc(predictions: Any, labels: Any, weights: Any, class_id: int | None = None, curve: str = "ROC") -> Metric:
    """The area under a curve."""
    predictions, weights = _of_class(predictions, weights, class_id)
    if labels.dtype.base_dtype != tf.bool_:
        logging.warning("Casting %s labels to bool.", labels.dtype)
        labels = tf.cast(labels, tf.bool_)
    return thresholds.auc(labels if class_id is None else labels[:, class_id], predictions, weights, curve=curve)


def accuracy_at(predictions: Any, labels: Any, weights: Any, threshold: float) -> Metric:
    """The accuracy of predictions that are yes from ``threshold`` on."""
    return accuracy(labels, tf.cast(tf.greater_equal(predictions, threshold), tf.float32), weights)


def precision_at(predictions: Any, labels: Any, weights: Any, threshold: float) -> Metric:
    """The precision of the same."""
    return _single(thresholds.precision_at_thresholds(labels, predictions, (threshold,), _floats(weights)))


def recall_at(predictions: Any, labels: Any, weights: Any, threshold: float) -> Metric:
    """The recall of the same."""
    return _single(thresholds.recall_at_thresholds(labels, predictions, (threshold,), _floats(weights)))


def _floats(weights: Any) -> Any:
    return None if weights is None else tf.cast(weights, tf.float32)


def _single(metric: Metric) -> Metric:
    return tf.squeeze(metric[0]), tf.squeeze(metric[1])
