"""``tf.contrib.sparsemax``: a softmax that gives exact zeros: the nearest point of the simplex (Martins and Astudillo 2016)."""
from __future__ import annotations

from typing import Any

from penstock.contrib import prelude as tf


def sparsemax(logits: Any, name: str | None = None) -> tf.Tensor:
    """``tf.contrib.sparsemax.sparsemax``: of each row; NaN for rows with NaN or infinity in them."""
    with tf.name_scope(name, "sparsemax", [logits]):
        logits = tf.convert_to_tensor(logits, name="logits")
        rows, size = tf.shape(logits)[0], tf.shape(logits)[1]
        ordered, _ = tf.top_k(logits, k=size)
        sums = tf.cumsum(ordered, axis=1)
        counts = tf.range(1, tf.cast(size, logits.dtype) + 1, dtype=logits.dtype)
        support = tf.reduce_sum(tf.cast(1 + counts * ordered > sums, tf.int32), axis=1)
        last = tf.stack([tf.range(0, rows), tf.maximum(support, 1) - 1], axis=1)
        threshold = (tf.gather_nd(sums, last) - 1) / tf.cast(support, logits.dtype)
        result = tf.maximum(tf.cast(0, logits.dtype), logits - threshold[:, None])
        is_invalid = tf.logical_or(tf.equal(support, 0), tf.is_nan(sums[:, -1]))
        return tf.where(is_invalid, tf.fill([rows, size], tf.cast(float("nan"), logits.dtype)), result)


def sparsemax_loss(logits: Any, sparsemax: Any, labels: Any, name: str | None = None) -> tf.Tensor:
    """``tf.contrib.sparsemax.sparsemax_loss``: the loss whose gradient is sparsemax minus labels."""
    with tf.name_scope(name, "sparsemax_loss", [logits, sparsemax, labels]):
        logits, sparsemax = tf.convert_to_tensor(logits, name="logits"), tf.convert_to_tensor(sparsemax, name="sparsemax")
        labels = tf.convert_to_tensor(labels, name="labels")
        inside = tf.where(tf.logical_or(sparsemax > 0, tf.is_nan(sparsemax)), sparsemax * (logits - 0.5 * sparsemax), tf.zeros_like(sparsemax))
        wanted = labels * (0.5 * labels - logits)
        wanted = tf.where(tf.logical_and(tf.equal(labels, 0), tf.is_inf(logits)), tf.zeros_like(logits), wanted)
        return tf.reduce_sum(inside + wanted, axis=1)
