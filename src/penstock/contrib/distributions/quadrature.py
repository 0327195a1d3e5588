"""Few places and weights for the integral over a distribution: by Gauss and Hermite, or between quantiles."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.contrib import prelude as tf
from penstock.contrib.distributions.distribution import Distribution


def hermite_places(loc: tf.Tensor, scale: tf.Tensor, size: int) -> tuple[tf.Tensor, tf.Tensor]:
    """(places of a normal distribution along a new last axis, their weights)."""
    dtype = loc.dtype.base_dtype
    places, weights = (each.astype(dtype.as_numpy_dtype) for each in np.polynomial.hermite.hermgauss(deg=size))
    probs = tf.convert_to_tensor(weights / np.linalg.norm(weights, ord=1, keepdims=True), name="probs", dtype=dtype)
    return loc[..., None] + np.sqrt(2.0) * scale[..., None] * places, probs


def quantile_places(distribution: Distribution, size: int,
                    transform: Callable[[tf.Tensor], tf.Tensor] | None = None) -> tuple[tf.Tensor, tf.Tensor]:
    """(means of neighbouring quantiles after ``transform``, along a new last axis; equal weights)."""
    ndims: Any = distribution.batch_shape.ndims
    ndims = tf.shape(distribution.batch_shape_tensor())[0] if ndims is None else ndims
    edges = tf.linspace(tf.zeros([], dtype=distribution.dtype), 1.0, size + 3)[1:-1]
    edges = tf.reshape(edges, shape=tf.concat([[-1], tf.ones([ndims], dtype=tf.int32)], axis=0))
    quantiles = distribution.quantile(edges)
    quantiles = quantiles if transform is None else transform(quantiles)
    quantiles = tf.transpose(quantiles, tf.concat([tf.range(1, 1 + ndims), [0]], axis=0))
    places = (quantiles[..., :-1] + quantiles[..., 1:]) / 2.0
    return places, tf.fill([size], 1.0 / tf.cast(size, distribution.dtype))
