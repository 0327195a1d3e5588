"""The kernel distance of ``tf.contrib.gan.eval`` (Bińkowski et al. 2018): the squared maximum mean discrepancy of two sets of activations.

The kernel is a polynomial of third degree. The estimate has no bias; it is the mean of estimates of blocks, whose spread gives its standard error.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.contrib import prelude as tf
from penstock.contrib.gan.classifier_metrics import in_batches
from penstock.ops.linalg.diag import trace

_NAN = float("nan")


def kernel_classifier_distance(real_images: Any, generated_images: Any, classifier_fn: Callable[..., Any], num_classifier_batches: int = 1,
                               max_block_size: int = 1024, dtype: Any = None) -> tf.Tensor:
    """``kernel_classifier_distance``: the kernel Inception distance, with a classifier of one's own."""
    return kernel_classifier_distance_and_std(real_images, generated_images, classifier_fn, num_classifier_batches, max_block_size, dtype)[0]


def kernel_classifier_distance_and_std(real_images: Any, generated_images: Any, classifier_fn: Callable[..., Any], num_classifier_batches: int = 1,
                                       max_block_size: int = 1024, dtype: Any = None) -> tuple[tf.Tensor, tf.Tensor]:
    """``kernel_classifier_distance_and_std``: (distance, its standard error)."""
    return kernel_classifier_distance_and_std_from_activations(in_batches(classifier_fn, real_images, num_classifier_batches),
                                                               in_batches(classifier_fn, generated_images, num_classifier_batches),
                                                               max_block_size, dtype)


def kernel_classifier_distance_from_activations(real_activations: Any, generated_activations: Any, max_block_size: int = 1024,
                                                dtype: Any = None) -> tf.Tensor:
    """``kernel_classifier_distance_from_activations``: the distance of two sets of activations."""
    return kernel_classifier_distance_and_std_from_activations(real_activations, generated_activations, max_block_size, dtype)[0]


def kernel_classifier_distance_and_std_from_activations(real_activations: Any, generated_activations: Any, max_block_size: int = 1024,
                                                        dtype: Any = None) -> tuple[tf.Tensor, tf.Tensor]:
    """``kernel_classifier_distance_and_std_from_activations``: (distance, its standard error), which is NaN if there is one block."""
    for each in (real_activations, generated_activations):
        each.shape.assert_has_rank(2)
    real_activations.shape[1:2].assert_is_compatible_with(generated_activations.shape[1:2])
    dtype = tf.as_dtype(real_activations.dtype if dtype is None else dtype)
    real, generated = tf.cast(real_activations, dtype), tf.cast(generated_activations, dtype)
    rows = tf.maximum(tf.shape(real)[0], tf.shape(generated)[0])
    blocks = tf.cast(tf.ceil(rows / max_block_size), tf.int32)
    of_real, of_generated = _boundaries(real, blocks), _boundaries(generated, blocks)

    def estimate(block: Any) -> tf.Tensor:
        return _discrepancy(real[of_real[block]:of_real[block + 1]], generated[of_generated[block]:of_generated[block + 1]])

    estimates = tf.map_fn(estimate, tf.range(blocks), dtype=dtype, back_prop=False)
    mean, count = tf.reduce_mean(estimates), tf.cast(blocks, dtype)
    variance = tf.cond(blocks <= 1, lambda: tf.constant(_NAN, dtype), lambda: tf.reduce_sum(tf.square(estimates - mean)) / (count - 1))
    return mean, tf.sqrt(variance / count)


def _boundaries(activations: tf.Tensor, blocks: tf.Tensor) -> tf.Tensor:
    """Where blocks begin, and where the last one ends. The last blocks may have a row more than the first ones."""
    rows = tf.shape(activations)[0]
    size, rest = rows // blocks, rows % blocks
    sizes = tf.concat([tf.fill([blocks - rest], size), tf.fill([rest], size + 1)], 0)
    return tf.concat([[0], tf.cumsum(sizes)], 0)


def _discrepancy(real: tf.Tensor, generated: tf.Tensor) -> tf.Tensor:
    """The estimate for one block."""
    return _mean_of_pairs(real) + _mean_of_pairs(generated) - 2 * tf.reduce_mean(_kernel(real, generated))


def _kernel(one: tf.Tensor, other: tf.Tensor) -> tf.Tensor:
    return (tf.matmul(one, other, transpose_b=True) / tf.cast(tf.shape(one)[1], one.dtype) + 1) ** 3


def _mean_of_pairs(rows: tf.Tensor) -> tf.Tensor:
    """The mean of the kernel over all pairs of different rows."""
    kernel, count = _kernel(rows, rows), tf.cast(tf.shape(rows)[0], rows.dtype)
    return (tf.reduce_sum(kernel) - trace(kernel)) / (count * (count - 1))
