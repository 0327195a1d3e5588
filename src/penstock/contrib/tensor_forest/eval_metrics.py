"""Metrics of forests by name, and the predictions that each of them takes: ``tf.contrib.tensor_forest.client.eval_metrics``."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.contrib import prelude as tf
from penstock.contrib.learn.keys import PredictionKey
from penstock.contrib.losses import losses
from penstock.layers.metrics import counts, means, streaming, thresholds
from penstock.ops.nn.nn_ops import in_top_k

INFERENCE_PROB_NAME, INFERENCE_PRED_NAME = PredictionKey.PROBABILITIES, PredictionKey.CLASSES
FEATURE_IMPORTANCE_NAME = "global_feature_importance"


def _top_k(k: int) -> Callable[..., Any]:
    def metric(probabilities: Any, targets: Any) -> Any:
        targets = tf.cast(targets, tf.int32)
        return streaming.mean(in_top_k(probabilities, tf.squeeze(targets, axis=[1]) if targets.shape.ndims > 1 else targets, k))
    return metric


def _r2(probabilities: Any, targets: Any, weights: Any = None) -> Any:
    targets = tf.cast(targets, tf.float32)
    total = tf.reduce_sum(tf.squared_difference(targets, tf.reduce_mean(targets, 0)), 0)
    residuals = tf.reduce_sum(tf.squared_difference(targets, probabilities), 0)
    return streaming.mean(1 - tf.reduce_sum(residuals / total), weights=weights)


def _one_hot(targets: Any, probabilities: Any) -> Any:
    return tf.one_hot(tf.cast(tf.squeeze(targets, axis=[1]), tf.int32), tf.shape(probabilities)[1])


def _of_classes(metric: Callable[..., Any]) -> Callable[..., Any]:
    """A metric of labels and predicted classes."""
    return lambda predictions, targets, weights=None: metric(labels=targets, predictions=predictions, weights=weights)


def _of_second(metric: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """A metric of labels and the probability of the second of two classes."""
    return lambda predictions, targets, weights=None: metric(
        labels=targets, predictions=tf.slice_(predictions, [0, 1], [-1, 1]), weights=weights, **options)


def _mean_loss(loss: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    return lambda probabilities, targets, weights=None: streaming.mean(loss(probabilities, targets), weights=weights)


_THRESHOLDS = {"thresholds": np.arange(0, 1, 0.01, dtype=np.float32)}
_METRICS: dict[str, tuple[str, Callable[..., Any]]] = {
    "auc": (INFERENCE_PROB_NAME, _of_second(thresholds.auc)),
    "sigmoid_entropy": (INFERENCE_PROB_NAME, _mean_loss(lambda p, t: losses.sigmoid_cross_entropy(p, _one_hot(t, p)))),
    "softmax_entropy": (INFERENCE_PROB_NAME, _mean_loss(lambda p, t: losses.sparse_softmax_cross_entropy(p, tf.cast(t, tf.int32)))),
    "accuracy": (INFERENCE_PRED_NAME, _of_classes(means.accuracy)),
    "r2": (PredictionKey.SCORES, _r2),
    "predictions": (INFERENCE_PRED_NAME, lambda predictions, unused_targets, **unused: predictions),
    "classification_log_loss": (INFERENCE_PROB_NAME, _mean_loss(lambda p, t: losses.log_loss(p, _one_hot(t, p)))),
    "precision": (INFERENCE_PRED_NAME, _of_classes(counts.precision)),
    "precision_at_thresholds": (INFERENCE_PROB_NAME, _of_second(thresholds.precision_at_thresholds, **_THRESHOLDS)),
    "recall": (INFERENCE_PRED_NAME, _of_classes(counts.recall)),
    "recall_at_thresholds": (INFERENCE_PROB_NAME, _of_second(thresholds.recall_at_thresholds, **_THRESHOLDS)),
    "top_5": (INFERENCE_PROB_NAME, _top_k(5)),
}


def get_metric(metric_name: str) -> Callable[..., Any]:
    """The function ``(predictions, targets, weights)`` of a metric."""
    return _METRICS[metric_name][1]


def get_prediction_key(metric_name: str) -> str:
    """The key of the predictions that a metric takes."""
    return _METRICS[metric_name][0]
