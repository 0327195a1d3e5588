"""The sliced Wasserstein distance of ``tf.contrib.gan.eval`` (Karras et al. 2018): between patches of images, for each level of detail.

In one dimension the Wasserstein distance is that of the sorted values. So patches are projected onto random directions, sorted along each, compared.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from penstock.contrib import prelude as tf
from penstock.ops.linalg.decompositions import svd
from penstock.ops.nn.normalization import moments
from penstock.ops.nn.space_to_batch_conv import depthwise_conv2d
from penstock.ops.random.random import random_normal, random_uniform

_COLORS = 3
_BINOMIAL = np.float32([1, 4, 6, 4, 1]) / 16


def sliced_wasserstein_distance(real_images: Any, fake_images: Any, resolution_min: int = 16, patches_per_image: int = 64, patch_size: int = 7,
                                random_sampling_count: int = 1, random_projection_dim: int = 7 * 7 * 3,
                                use_svd: bool = False) -> list[tuple[tf.Tensor, tf.Tensor]]:
    """``sliced_wasserstein_distance``: for each level, the finest first: (distance within the real images, distance of real and fake ones)."""
    height = real_images.shape[1]
    real_images.shape.assert_is_compatible_with([None, None, height, _COLORS])
    fake_images.shape.assert_is_compatible_with(real_images.shape)
    levels = int(math.log2(int(height))) - int(math.log2(min(resolution_min, int(height)))) + 1

    def distance(one: tf.Tensor, other: tf.Tensor) -> tf.Tensor:
        if use_svd:
            return _by_singular_vectors(one, other)
        return tf.reduce_mean([_by_projection(one, other, random_projection_dim) for _ in range(random_sampling_count)])

    distances = []
    for real, fake in zip(_laplacian_pyramid(real_images, levels), _laplacian_pyramid(fake_images, levels)):
        patches, others, generated = (_normalized_patches(level, patches_per_image, patch_size) for level in (real, real, fake))
        distances.append((distance(patches, others), distance(patches, generated)))
    return distances


# --- levels of detail ------------------------------------------------------------------------------------------------

def _laplacian_pyramid(images: Any, levels: int) -> list[tf.Tensor]:
    """What each level adds to the next coarser one, the finest first; the last is the coarsest image itself."""
    pyramid = [tf.cast(images, tf.float32)]
    for _ in range(1, levels):
        coarse = _blurred(pyramid[-1])[:, ::2, ::2]
        pyramid[-1] -= _blurred(_spread(coarse)) * 4.0
        pyramid.append(coarse)
    return pyramid


def _blurred(images: tf.Tensor) -> tf.Tensor:
    kernel = np.tile(np.outer(_BINOMIAL, _BINOMIAL)[:, :, None, None], [1, 1, _COLORS, 1])
    return depthwise_conv2d(tf.pad(images, [[0, 0], [2, 2], [2, 2], [0, 0]], "REFLECT"), tf.constant(kernel), [1, 1, 1, 1], "VALID")


def _spread(images: tf.Tensor) -> tf.Tensor:
    """Twice as large, with zeros between the pixels."""
    extents = tf.shape(images)
    apart = tf.pad(images[:, :, None, :, None, :], [[0, 0], [0, 0], [0, 1], [0, 0], [0, 1], [0, 0]])
    return tf.reshape(apart, [extents[0], 2 * extents[1], 2 * extents[2], _COLORS])


# --- patches ---------------------------------------------------------------------------------------------------------

def _normalized_patches(images: tf.Tensor, per_image: int, size: int) -> tf.Tensor:
    """Random patches, as rows with mean 0 and variance 1."""
    patches = _random_patches(images, per_image, size // 2)
    mean, variance = moments(patches, [1, 2, 3], keep_dims=True)
    return tf.reshape((patches - mean) / tf.sqrt(variance), [tf.shape(patches)[0], (2 * (size // 2) + 1) ** 2 * _COLORS])


def _random_patches(images: tf.Tensor, per_image: int, half: int) -> tf.Tensor:
    extents = tf.shape(images)
    count = extents[0] * per_image
    around = tf.range(-half, half + 1)
    numbers = tf.range(count) // per_image
    rows, columns = (random_uniform([count, 1], half, extents[axis] - half, tf.int32) + around for axis in (1, 2))
    extent = 2 * half + 1
    every = [count, extent, extent]
    places = [tf.broadcast_to(numbers[:, None, None], every), tf.broadcast_to(rows[:, :, None], every), tf.broadcast_to(columns[:, None, :], every)]
    return tf.gather_nd(images, tf.stack(places, -1))


# --- distances -------------------------------------------------------------------------------------------------------

def _by_projection(one: tf.Tensor, other: tf.Tensor, dimensions: int) -> tf.Tensor:
    directions = random_normal([tf.shape(one)[1], dimensions])
    directions *= tf.rsqrt(tf.reduce_sum(tf.square(directions), 0, keepdims=True))
    return _distance_of_sorted(tf.matmul(one, directions), tf.matmul(other, directions))


def _by_singular_vectors(one: tf.Tensor, other: tf.Tensor) -> tf.Tensor:
    values, left, _ = svd(tf.concat([one, other], 0))
    return _distance_of_sorted(*tf.split(left * values, 2, axis=0))


def _distance_of_sorted(one: tf.Tensor, other: tf.Tensor) -> tf.Tensor:
    rows = tf.shape(one)[0]
    sorted_one, sorted_other = (tf.top_k(tf.transpose(each), rows)[0] for each in (one, other))
    return tf.reduce_mean(tf.abs(sorted_one - sorted_other))
