"""Shapes and moments of mixtures."""
from __future__ import annotations

from typing import Any

from penstock.contrib import prelude as tf


def mixture_stddev(weights: tf.Tensor, means: tf.Tensor, deviations: tf.Tensor) -> tf.Tensor:
    """The deviation of a mixture, from matrices with one row per mixture and one column per component."""
    for other, what in ((means, "means"), (deviations, "stddevs")):
        if not other.shape.is_compatible_with(weights.shape):
            raise ValueError(f"Expecting {what} to have same shape as mixture weights.")
    row = tf.expand_dims(weights, axis=1)
    means, deviations = tf.expand_dims(means, axis=2), tf.expand_dims(deviations, axis=2)
    mean = tf.reshape(tf.matmul(row, means), (-1,))
    variance = tf.reshape(tf.matmul(row, tf.square(deviations)), (-1,))
    mean_of_squares = tf.reshape(tf.matmul(row, tf.square(means)), (-1,))
    return tf.sqrt(variance + mean_of_squares - tf.square(mean))


def pad_mixture_dimensions(x: tf.Tensor, mixture: Any, categorical: Any, event_ndims: Any) -> tf.Tensor:
    """``x``, whose last axis numbers components, with axes of extent 1 where the mixture's batch and event have more than ``categorical``."""
    with tf.name_scope("pad_mix_dims", values=[x]):
        batch_ndims, cat_ndims = _batch_ndims(mixture), _batch_ndims(categorical)
        extra = tf.where_v2(categorical.is_scalar_batch(), batch_ndims, batch_ndims - cat_ndims)
        shape = tf.shape(x)
        ones = tf.ones([extra], dtype=tf.int32)
        return tf.reshape(x, shape=tf.concat([shape[:-1], ones, shape[-1:], tf.ones([event_ndims], dtype=tf.int32)], axis=0))


def _batch_ndims(distribution: Any) -> Any:
    ndims = distribution.batch_shape.ndims
    return tf.shape(distribution.batch_shape_tensor())[0] if ndims is None else ndims
