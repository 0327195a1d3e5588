"""The losses from before ``tf.losses``: predictions come first, and weights stand for whole examples or leading axes of them.

Every loss is a weighted mean over the elements whose weight is not 0, and goes to ``GraphKeys.LOSSES``; ``hinge_loss`` alone returns its losses
unreduced and collects nothing.
"""
from __future__ import annotations

import builtins
from typing import Any

from penstock.contrib import prelude as tf
from penstock.layers.losses import add_loss, get_losses, get_regularization_losses


def compute_weighted_loss(losses: Any, weights: Any = 1.0, scope: str | None = None) -> tf.Tensor:
    """``tf.contrib.losses.compute_weighted_loss``: the mean of the losses that have a weight, each times its weight."""
    with tf.name_scope(scope, "weighted_loss", [losses, weights]):
        losses = tf.convert_to_tensor(losses)
        dtype = losses.dtype
        losses, weights = tf.cast(losses, tf.float32), tf.cast(tf.convert_to_tensor(weights), tf.float32)
        _check_ranks(losses=losses, weights=weights)
        if weights.shape.ndims > 1 and weights.shape[-1].is_compatible_with(1):
            weights = tf.squeeze(weights, [-1])
        total = _weighted_sum(losses, weights)
        present = _num_present(losses, weights)
        mean = tf.cast(tf.div_no_nan(tf.reduce_sum(total), present, name="value"), dtype)
        add_loss(mean)
        return mean


def _check_ranks(**tensors: tf.Tensor) -> None:
    for name, tensor in tensors.items():
        if tensor.shape.ndims is None:
            raise ValueError(f"{name}.get_shape().ndims cannot be None")


def _weighted_sum(losses: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    """The sum of the losses; a weight stands for all losses of its leading axes."""
    inner = list(builtins.range(weights.shape.ndims, losses.shape.ndims))
    return tf.reduce_sum(tf.multiply(tf.reduce_sum(losses, axis=inner), weights))


def _num_present(losses: tf.Tensor, weights: tf.Tensor, per_batch: bool = False) -> tf.Tensor:
    """How many losses have weights that are not 0: in all, or per example of the batch."""
    if weights.shape.ndims == 0:
        batch = tf.reshape(tf.slice_(tf.shape(losses), [0], [1]), [])
        each = tf.div(tf.cast(tf.size(losses), tf.float32), tf.cast(batch, tf.float32))
        each = tf.where(tf.equal(weights, 0), 0.0, each)
        present = tf.multiply(tf.ones(tf.reshape(batch, [1])), each)
    else:
        weighted = tf.reduce_sum(tf.cast(tf.not_equal(weights, 0), tf.float32), axis=list(builtins.range(1, weights.shape.ndims)))
        inner = tf.slice_(tf.shape(losses), [weights.shape.ndims], [-1])
        present = tf.multiply(weighted, tf.cast(tf.reduce_prod(inner), tf.float32))
    return present if per_batch else tf.reduce_sum(present)


def get_total_loss(add_regularization_losses: bool = True, name: str = "total_loss") -> tf.Tensor:
    """``tf.contrib.losses.get_total_loss``: the sum of all losses."""
    losses = get_losses()
    if add_regularization_losses:
        losses += get_regularization_losses()
    return tf.add_n(losses, name=name)


# --- losses ----------------------------------------------------------------------------------------------------------


def _float_pair(predictions: Any, labels: Any) -> tuple[tf.Tensor, tf.Tensor]:
    predictions.shape.assert_is_compatible_with(labels.shape)
    return tf.cast(predictions, tf.float32), tf.cast(labels, tf.float32)


def absolute_difference(predictions: Any, labels: Any = None, weights: Any = 1.0, scope: str | None = None) -> tf.Tensor:
    """``tf.contrib.losses.absolute_difference``."""
    with tf.name_scope(scope, "absolute_difference", [predictions, labels, weights]) as scope:
        predictions, labels = _float_pair(predictions, labels)
        return compute_weighted_loss(tf.abs(tf.subtract(predictions, labels)), weights, scope=scope)


def cosine_distance(predictions: Any, labels: Any = None, axis: int | None = None, weights: Any = 1.0, scope: str | None = None,
                    dim: int | None = None) -> tf.Tensor:
    """``tf.contrib.losses.cosine_distance``: 1 minus the product of unit vectors along ``axis``."""
    if axis is not None and dim is not None:
        raise ValueError("Cannot specify both 'axis' and 'dim'")
    axis = dim if axis is None else axis
    if axis is None:
        raise ValueError("You must specify 'axis'.")
    with tf.name_scope(scope, "cosine_distance_loss", [predictions, labels, weights]) as scope:
        predictions, labels = _float_pair(predictions, labels)
        losses = 1 - tf.reduce_sum(tf.multiply(predictions, labels), axis=[axis])
        return compute_weighted_loss(losses, weights, scope=scope)


def hinge_loss(logits: Any, labels: Any = None, scope: str | None = None) -> tf.Tensor:
    """``tf.contrib.losses.hinge_loss``: what is missing from a margin of 1, unreduced; labels are 0 and 1."""
    with tf.name_scope(scope, "hinge_loss", [logits, labels]) as scope:
        logits.shape.assert_is_compatible_with(labels.shape)
        labels = tf.cast(labels, tf.float32)
        ones = tf.ones_like(labels)
        signs = tf.subtract(2 * labels, ones)
        return tf.relu(tf.subtract(ones, tf.multiply(signs, logits)))


def log_loss(predictions: Any, labels: Any = None, weights: Any = 1.0, epsilon: float = 1e-7, scope: str | None = None) -> tf.Tensor:
    """``tf.contrib.losses.log_loss``: the cross entropy of probabilities of 1."""
    with tf.name_scope(scope, "log_loss", [predictions, labels, weights]) as scope:
        predictions, labels = _float_pair(predictions, labels)
        losses = -tf.multiply(labels, tf.log(predictions + epsilon)) - tf.multiply((1 - labels), tf.log(1 - predictions + epsilon))
        return compute_weighted_loss(losses, weights, scope=scope)


def mean_pairwise_squared_error(predictions: Any, labels: Any = None, weights: Any = 1.0, scope: str | None = None) -> tf.Tensor:
    """``tf.contrib.losses.mean_pairwise_squared_error``: differences between pairs of predictions of an example, against those of its labels."""
    with tf.name_scope(scope, "mean_pairwise_squared_error", [predictions, labels, weights]) as scope:
        predictions, labels = _float_pair(predictions, labels)
        weights = tf.cast(tf.convert_to_tensor(weights), tf.float32)
        diffs = tf.subtract(predictions, labels)
        _check_ranks(diffs=diffs, weights=weights)
        inner = list(builtins.range(1, diffs.shape.ndims))
        squares = tf.reduce_sum(tf.square(diffs), axis=inner)
        present = _num_present(diffs, weights, per_batch=True)
        first = 2.0 * tf.div_no_nan(squares, present, name="value")
        second = 2.0 * tf.div_no_nan(tf.square(tf.reduce_sum(diffs, axis=inner)), tf.square(present), name="value")
        loss = _weighted_sum(first - second, weights)
        mean = tf.where(tf.reduce_sum(present) > 0, loss, tf.zeros_like(loss), name="value")
        add_loss(mean)
        return mean


def mean_squared_error(predictions: Any, labels: Any = None, weights: Any = 1.0, scope: str | None = None) -> tf.Tensor:
    """``tf.contrib.losses.mean_squared_error``."""
    with tf.name_scope(scope, "mean_squared_error", [predictions, labels, weights]) as scope:
        predictions, labels = _float_pair(predictions, labels)
        return compute_weighted_loss(tf.squared_difference(predictions, labels), weights, scope=scope)


def sigmoid_cross_entropy(logits: Any, multi_class_labels: Any, weights: Any = 1.0, label_smoothing: float = 0,
                          scope: str | None = None) -> tf.Tensor:
    """``tf.contrib.losses.sigmoid_cross_entropy``: each class for itself; smoothing moves labels towards 1/2."""
    with tf.name_scope(scope, "sigmoid_cross_entropy_loss", [logits, multi_class_labels, weights]) as scope:
        logits.shape.assert_is_compatible_with(multi_class_labels.shape)
        labels = tf.cast(multi_class_labels, logits.dtype)
        if label_smoothing > 0:
            labels = labels * (1 - label_smoothing) + 0.5 * label_smoothing
        losses = tf.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, scope=scope)


def softmax_cross_entropy(logits: Any, onehot_labels: Any, weights: Any = 1.0, label_smoothing: float = 0,
                          scope: str | None = None) -> tf.Tensor:
    """``tf.contrib.losses.softmax_cross_entropy``: of one class among several; smoothing moves labels towards 1/classes."""
    with tf.name_scope(scope, "softmax_cross_entropy_loss", [logits, onehot_labels, weights]) as scope:
        logits.shape.assert_is_compatible_with(onehot_labels.shape)
        labels = tf.cast(onehot_labels, logits.dtype)
        if label_smoothing > 0:
            classes = tf.cast(tf.shape(labels)[1], logits.dtype)
            smooth_negatives = label_smoothing / classes
            labels = labels * (1.0 - label_smoothing) + smooth_negatives
        losses = tf.softmax_cross_entropy_with_logits(labels=labels, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, scope=scope)


def sparse_softmax_cross_entropy(logits: Any, labels: Any, weights: Any = 1.0, scope: str | None = None) -> tf.Tensor:
    """``tf.contrib.losses.sparse_softmax_cross_entropy``: of one class among several, whose number is the label."""
    with tf.name_scope(scope, "sparse_softmax_cross_entropy_loss", [logits, labels, weights]) as scope:
        labels = tf.reshape(labels, shape=[tf.shape(labels)[0]])
        losses = tf.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, scope=scope)
