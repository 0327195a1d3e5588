"""Losses that shape a space of embeddings: what belongs together shall lie close, the rest apart."""
from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

from penstock.contrib import prelude as tf


def pairwise_distance(feature: Any, squared: bool = False) -> tf.Tensor:
    """The distances between the rows of ``feature``; the diagonal is 0, and so is the gradient of distances that are 0."""
    squares = tf.add(tf.reduce_sum(tf.square(feature), axis=[1], keepdims=True),
                     tf.reduce_sum(tf.square(tf.transpose(feature)), axis=[0], keepdims=True))
    distances = tf.maximum(squares - 2.0 * tf.matmul(feature, tf.transpose(feature)), 0.0)  # rounding can make them negative
    is_zero = tf.less_equal(distances, 0.0)
    if not squared:
        distances = tf.sqrt(distances + tf.cast(is_zero, tf.float32) * 1e-16)
    distances = tf.multiply(distances, tf.cast(tf.logical_not(is_zero), tf.float32))
    off_diagonal = tf.ones_like(distances) - tf.diag(tf.ones([tf.shape(feature)[0]]))
    return tf.multiply(distances, off_diagonal)


def contrastive_loss(labels: Any, embeddings_anchor: Any, embeddings_positive: Any, margin: float = 1.0) -> tf.Tensor:
    """``contrastive_loss``: pairs with label 1 shall be close, those with label 0 a margin apart."""
    distances = tf.sqrt(tf.reduce_sum(tf.squared_difference(embeddings_anchor, embeddings_positive), 1))
    together = tf.cast(labels, distances.dtype) * tf.square(distances)
    apart = (1.0 - tf.cast(labels, distances.dtype)) * tf.square(tf.maximum(margin - distances, 0.0))
    return tf.reduce_mean(together + apart, name="contrastive_loss")


def _column(labels: Any) -> tf.Tensor:
    extents = tf.shape(labels)
    if extents.shape.as_list() != [1]:
        raise AssertionError(f"labels must be a vector, one class per embedding: their shape is {labels.shape}")
    return tf.reshape(labels, [extents[0], 1])


def _masked_maximum(data: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """The maximum of each row where the mask is 1."""
    least = tf.reduce_min(data, 1, keepdims=True)
    return tf.reduce_max(tf.multiply(data - least, mask), 1, keepdims=True) + least


def _masked_minimum(data: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """The minimum of each row where the mask is 1."""
    most = tf.reduce_max(data, 1, keepdims=True)
    return tf.reduce_min(tf.multiply(data - most, mask), 1, keepdims=True) + most


def triplet_semihard_loss(labels: Any, embeddings: Any, margin: float = 1.0) -> tf.Tensor:
    """``triplet_semihard_loss``: an anchor is closer to those of its class than to the nearest negative that is farther than they are."""
    labels = _column(labels)
    distances = pairwise_distance(embeddings, squared=True)
    is_same = tf.equal(labels, tf.transpose(labels))
    is_other = tf.logical_not(is_same)
    batch = tf.size(labels)
    tiled = tf.tile(distances, [batch, 1])
    farther = tf.logical_and(tf.tile(is_other, [batch, 1]), tf.greater(tiled, tf.reshape(tf.transpose(distances), [-1, 1])))
    has_farther = tf.greater(tf.reduce_sum(tf.cast(farther, tf.float32), 1, keepdims=True), 0.0)
    has_farther = tf.transpose(tf.reshape(has_farther, [batch, batch]))
    others = tf.cast(is_other, tf.float32)
    outside = tf.transpose(tf.reshape(_masked_minimum(tiled, tf.cast(farther, tf.float32)), [batch, batch]))
    inside = tf.tile(_masked_maximum(distances, others), [1, batch])
    negatives = tf.where(has_farther, outside, inside)
    losses = tf.add(margin, distances - negatives)
    positives = tf.cast(is_same, tf.float32) - tf.diag(tf.ones([batch]))
    count = tf.reduce_sum(positives)
    return tf.truediv(tf.reduce_sum(tf.maximum(tf.multiply(losses, positives), 0.0)), count, name="triplet_semihard_loss")


def lifted_struct_loss(labels: Any, embeddings: Any, margin: float = 1.0) -> tf.Tensor:
    """``lifted_struct_loss``: each positive pair against all negatives of both its members."""
    labels = _column(labels)
    distances = pairwise_distance(embeddings)
    is_same = tf.equal(labels, tf.transpose(labels))
    batch = tf.size(labels)
    diff = margin - distances
    others = tf.cast(tf.logical_not(is_same), tf.float32)
    row_most = _masked_maximum(diff, others)
    most = tf.maximum(row_most, tf.transpose(row_most))
    shifted = tf.exp(tf.tile(diff, [batch, 1]) - tf.reshape(tf.transpose(most), [-1, 1]))
    left = tf.reshape(tf.reduce_sum(tf.multiply(shifted, tf.tile(others, [batch, 1])), 1, keepdims=True), [batch, batch])
    losses = most + tf.log(left + tf.transpose(left)) + distances
    positives = tf.cast(is_same, tf.float32) - tf.diag(tf.ones([batch]))
    count = tf.reduce_sum(positives) / 2.0
    squares = tf.square(tf.maximum(tf.multiply(losses, positives), 0.0))
    return tf.truediv(0.25 * tf.reduce_sum(squares), count, name="liftedstruct_loss")


# --- n pairs ---------------------------------------------------------------------------------------------------------


def npairs_loss(labels: Any, embeddings_anchor: Any, embeddings_positive: Any, reg_lambda: float = 0.002, print_losses: bool = False) -> tf.Tensor:
    """``npairs_loss``: each anchor shall resemble the positives of its class, against all other positives."""
    penalty = _penalty(embeddings_anchor, embeddings_positive, reg_lambda)
    similarities = tf.matmul(embeddings_anchor, embeddings_positive, transpose_a=False, transpose_b=True)
    column = _column(labels)
    wanted = tf.cast(tf.equal(column, tf.transpose(column)), tf.float32)
    return _against(similarities, wanted, penalty, print_losses)


def npairs_loss_multilabel(sparse_labels: Sequence[tf.SparseTensor], embeddings_anchor: Any, embeddings_positive: Any, reg_lambda: float = 0.002,
                           print_losses: bool = False) -> tf.Tensor:
    """``npairs_loss_multilabel``: the same for pairs with several labels each, as 0 and 1 in a SparseTensor per pair."""
    if not all(isinstance(each, tf.SparseTensor) for each in sparse_labels):
        raise TypeError(f"sparse_labels must be a list of SparseTensors, but got {sparse_labels}")
    with tf.name_scope("NpairsLossMultiLabel"):
        penalty = _penalty(embeddings_anchor, embeddings_positive, reg_lambda)
        similarities = tf.matmul(embeddings_anchor, embeddings_positive, transpose_a=False, transpose_b=True)
        return _against(similarities, tf.cast(_common_labels(sparse_labels), tf.float32), penalty, print_losses)


def _penalty(anchors: Any, positives: Any, scale: float) -> tf.Tensor:
    mean_anchor = tf.reduce_mean(tf.reduce_sum(tf.square(anchors), 1))
    mean_positive = tf.reduce_mean(tf.reduce_sum(tf.square(positives), 1))
    return tf.multiply(0.25 * scale, mean_anchor + mean_positive, name="l2loss")


def _against(similarities: tf.Tensor, wanted: tf.Tensor, penalty: tf.Tensor, print_losses: bool) -> tf.Tensor:
    """The cross entropy of each row of similarities with the row of what is wanted, and the penalty."""
    wanted /= tf.reduce_sum(wanted, 1, keepdims=True)
    entropy = tf.softmax_cross_entropy_with_logits(logits=similarities, labels=wanted)
    entropy = tf.reduce_mean(entropy, name="xentropy")
    if print_losses:
        entropy = tf.Print(entropy, ["cross entropy:", entropy, "l2loss:", penalty])
    return penalty + entropy


def _common_labels(sparse_labels: Sequence[tf.SparseTensor]) -> tf.Tensor:
    """How many labels each two pairs share."""
    count = len(sparse_labels)
    matrix = tf.zeros([count, count])
    for row in builtins.range(count):
        for column in builtins.range(count):
            common = tf.cast(tf.sparse_reduce_sum(tf.sparse_minimum(sparse_labels[row], sparse_labels[column])), tf.float32)
            cell = tf.expand_dims(tf.expand_dims(common, 0), 1)
            matrix += tf.pad(cell, [[row, count - row - 1], [column, count - column - 1]], "CONSTANT")
    return matrix
