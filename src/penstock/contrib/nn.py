"""``tf.contrib.nn``: cross entropies with the arguments of old, and dropout that keeps mean and variance of self-normalizing networks."""
from __future__ import annotations

import numbers
from typing import Any

from penstock.contrib import prelude as tf

_SATURATION = -1.7580993408473766  # what SELU gives far below 0


def deprecated_flipped_softmax_cross_entropy_with_logits(logits: Any, labels: Any, dim: int = -1, name: str | None = None) -> tf.Tensor:
    """``tf.nn.softmax_cross_entropy_with_logits`` with logits before labels."""
    return tf.softmax_cross_entropy_with_logits(labels=labels, logits=logits, dim=dim, name=name)


def deprecated_flipped_sparse_softmax_cross_entropy_with_logits(logits: Any, labels: Any, name: str | None = None) -> tf.Tensor:
    """``tf.nn.sparse_softmax_cross_entropy_with_logits`` with logits before labels."""
    return tf.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits, name=name)


def deprecated_flipped_sigmoid_cross_entropy_with_logits(logits: Any, targets: Any, name: str | None = None) -> tf.Tensor:
    """``tf.nn.sigmoid_cross_entropy_with_logits`` with logits before labels."""
    return tf.sigmoid_cross_entropy_with_logits(labels=targets, logits=logits, name=name)


def alpha_dropout(x: Any, keep_prob: Any, noise_shape: Any = None, seed: int | None = None, name: str | None = None) -> tf.Tensor:
    """``tf.contrib.nn.alpha_dropout``: sets elements to SELU's lowest value, and scales so that mean and variance stay (Klambauer et al. 2017)."""
    with tf.name_scope(name, "alpha_dropout", [x]):
        x = tf.convert_to_tensor(x, name="x")
        if isinstance(keep_prob, numbers.Real) and not 0 < keep_prob <= 1.0:
            raise ValueError(f"keep_prob must be a scalar tensor or a float in the range (0, 1], got {keep_prob:g}")
        keep = tf.convert_to_tensor(keep_prob, dtype=x.dtype, name="keep_prob")
        keep.shape.assert_has_rank(0)
        if tf.constant_value(keep) == 1:
            return x
        noise = tf.random_uniform(tf.shape(x) if noise_shape is None else noise_shape, seed=seed, dtype=x.dtype)
        kept = tf.cast(tf.greater_equal(noise, 1 - keep), x.dtype)
        scale = (keep + keep * (1 - keep) * _SATURATION ** 2) ** (-0.5)
        return scale * (x * kept + _SATURATION * (1 - kept)) - scale * _SATURATION * (1 - keep)
