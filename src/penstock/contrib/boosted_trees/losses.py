"""Losses that can be differentiated twice: ``tf.contrib.boosted_trees.python.utils.losses``. Each returns (losses, an op without effect)."""
from __future__ import annotations

from typing import Any

from penstock.contrib import prelude as tf

_Loss = tuple[Any, Any]


def _weight(losses: Any, weights: Any) -> _Loss:
    return losses if weights is None else losses * weights, tf.no_op()


def per_example_logistic_loss(labels: Any, weights: Any, predictions: Any) -> _Loss:
    """Cross entropy of two classes, [examples, 1]."""
    return _weight(tf.sigmoid_cross_entropy_with_logits(labels=tf.cast(labels, tf.float32), logits=predictions), weights)


def per_example_maxent_loss(labels: Any, weights: Any, logits: Any, num_classes: int, eps: float = 1e-15) -> _Loss:
    """Cross entropy of several classes, of simple operations; probabilities stay away from 0 and 1 by ``eps``."""
    labels = tf.reshape(tf.cast(labels, tf.int64), [-1])
    powers = tf.exp(logits)
    probabilities = powers / (tf.reduce_sum(powers, 1, keepdims=True) + eps)
    of_label = tf.reduce_sum(tf.one_hot(labels, num_classes) * probabilities, 1)
    of_label = tf.where(of_label >= eps, of_label, tf.zeros_like(of_label) + eps)
    of_label = tf.where(of_label <= 1 - eps, of_label, tf.ones_like(of_label) - eps)
    return _weight(tf.expand_dims(-tf.log(of_label), 1), weights)


def per_example_squared_loss(labels: Any, weights: Any, predictions: Any) -> _Loss:
    """The sum of squared differences, [examples, 1]."""
    return _weight(tf.reduce_sum(tf.square(predictions - labels), 1, keepdims=True), weights)


def per_example_exp_loss(labels: Any, weights: Any, predictions: Any, name: str | None = None, eps: float = 0.1) -> _Loss:
    """exp(-label * prediction) of two classes: both are -1 or 1, and predictions whose probability is within ``eps`` of 1/2 lie between."""
    with tf.name_scope(name, "exp_loss", [predictions, labels]):
        logits, labels = tf.convert_to_tensor(predictions), tf.cast(labels, tf.float32)
        if not labels.shape.is_compatible_with(logits.shape):
            raise ValueError(f"logits and labels must have the same shape ({logits.shape} vs {labels.shape})")
        signs = tf.where(labels > 0, tf.ones_like(logits), -tf.ones_like(logits))
        decisions = tf.minimum(tf.maximum(tf.sigmoid(logits) / eps - 0.5 / eps, -1.0), 1.0)
        return _weight(tf.exp(-decisions * signs), weights)
