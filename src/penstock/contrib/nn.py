"""``tf.contrib.nn``: cross entropies with the arguments of old, losses of sampled classes, dropout for self-normalizing networks."""
from __future__ import annotations

import numbers
from typing import Any

from penstock.contrib import prelude as tf
from penstock.ops.nn.candidate import learned_unigram_candidate_sampler
from penstock.ops.nn.sampled_loss import sampled_logits, sampled_softmax_loss
from penstock.ops.sparse.embedding import embedding_lookup

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


def scaled_softplus(x: Any, alpha: Any, clip: Any = None, name: str | None = None) -> tf.Tensor:
    """``tf.contrib.nn.scaled_softplus``: alpha * log(1 + exp(x / alpha)), at most ``clip``."""
    with tf.name_scope(name, "scaled_softplus", [x, alpha] + ([] if clip is None else [clip])):
        x = tf.convert_to_tensor(x, name="x")
        alpha = tf.convert_to_tensor(alpha, dtype=x.dtype, name="alpha")
        result = alpha * tf.softplus(x / alpha)
        return result if clip is None else tf.minimum(result, tf.convert_to_tensor(clip, dtype=x.dtype, name="clip"))


def sampled_sparse_softmax_loss(weights: Any, biases: Any, labels: Any, inputs: Any, num_sampled: int, num_classes: int, sampled_values: Any = None,
                                remove_accidental_hits: bool = True, partition_strategy: str = "mod",
                                name: str = "sampled_sparse_softmax_loss") -> tf.Tensor:
    """``tf.contrib.nn.sampled_sparse_softmax_loss``: ``tf.nn.sampled_softmax_loss`` for one true class per example."""
    logits, _ = sampled_logits(weights, biases, labels, inputs, num_sampled, num_classes, 1, sampled_values, remove_accidental_hits,
                               partition_strategy, name)
    return tf.sparse_softmax_cross_entropy_with_logits(labels=tf.zeros(tf.shape(logits)[:1], tf.int64), logits=logits)


def rank_sampled_softmax_loss(weights: Any, biases: Any, labels: Any, inputs: Any, num_sampled: int, num_resampled: int, num_classes: int,
                              num_true: int, sampled_values: Any, resampling_temperature: Any, remove_accidental_hits: bool,
                              partition_strategy: str, name: str | None = None) -> tf.Tensor:
    """``tf.contrib.nn.rank_sampled_softmax_loss``: of the sampled classes, those whose logits are largest take part in the loss."""
    if num_sampled > num_classes:
        raise ValueError(f"num_sampled ({num_sampled}) cannot be greater than num_classes ({num_classes})")
    if num_sampled <= num_resampled:
        raise ValueError(f"num_resampled ({num_resampled}) must be less than num_sampled ({num_sampled})")
    if partition_strategy not in ("div", "mod"):
        raise ValueError(f"unsupported partition_strategy ({partition_strategy})")
    with tf.name_scope(name, "rank_sampled_softmax_loss", [labels, inputs]) as scope:
        if not sampled_values:
            sampled_values = learned_unigram_candidate_sampler(true_classes=labels, num_true=num_true, num_sampled=num_sampled, unique=True,
                                                               range_max=num_classes)
        sampled, true_count, sampled_count = (tf.stop_gradient(each) for each in sampled_values)
        sampled = tf.cast(sampled, tf.int64)
        products = tf.matmul(embedding_lookup(weights, sampled, partition_strategy), inputs / resampling_temperature, transpose_b=True)
        offsets = tf.reshape(embedding_lookup(biases, sampled, partition_strategy), [-1]) / resampling_temperature
        _, best = tf.top_k(tf.reduce_logsumexp(products, axis=1) + offsets, k=num_resampled, sorted=False)
        chosen = (tf.gather(sampled, best), true_count, tf.gather(sampled_count, best))
        return sampled_softmax_loss(weights=weights, biases=biases, labels=labels, inputs=inputs, num_sampled=num_resampled, num_classes=num_classes,
                                    num_true=num_true, sampled_values=chosen, remove_accidental_hits=remove_accidental_hits,
                                    partition_strategy=partition_strategy, name=scope)
