"""Rotations, translations and other projective transforms of images.

A transform is eight numbers [a0, a1, a2, b0, b1, b2, c0, c1]: the output at (x, y) is the input at ((a0 x + a1 y + a2) / k, (b0 x + b1 y + b2) / k)
with k = c0 x + c1 y + 1, and 0 where that lies outside. The gradient of an image is the gradient of the output, transformed back.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.contrib import prelude as tf

_DTYPES = ("uint8", "int32", "int64", "float16", "float32", "float64")
_FILLED = {"NEAREST", "BILINEAR"}


# --- transforms as numbers -------------------------------------------------------------------------------------------


def angles_to_projective_transforms(angles: Any, image_height: Any, image_width: Any, name: str | None = None) -> tf.Tensor:
    """``tf.contrib.image.angles_to_projective_transforms``: rotations about the middle of the image, counterclockwise."""
    with tf.name_scope(name, "angles_to_projective_transforms"):
        angles = tf.convert_to_tensor(angles, name="angles", dtype=tf.float32)
        if angles.shape.ndims not in (0, 1):
            raise TypeError("Angles should have rank 0 or 1.")
        angles = angles[None] if angles.shape.ndims == 0 else angles
        cos, sin, width, height = tf.cos(angles), tf.sin(angles), image_width - 1, image_height - 1
        x = (width - (cos * width - sin * height)) / 2.0
        y = (height - (sin * width + cos * height)) / 2.0
        columns = [each[:, None] for each in (cos, -sin, x, sin, cos, y)]
        return tf.concat([*columns, tf.zeros((tf.shape(angles)[0], 2), tf.float32)], axis=1)


def translations_to_projective_transforms(translations: Any, name: str | None = None) -> tf.Tensor:
    """``tf.contrib.image.translations_to_projective_transforms``: shifts by [dx, dy]."""
    with tf.name_scope(name, "translations_to_projective_transforms"):
        shifts = tf.convert_to_tensor(translations, name="translations", dtype=tf.float32)
        if shifts.shape.ndims is None:
            raise TypeError("translation_or_translations rank must be statically known")
        if shifts.shape.ndims not in (1, 2):
            raise TypeError("Translations should have rank 1 or 2.")
        shifts = shifts[None] if shifts.shape.ndims == 1 else shifts
        one, zero = tf.ones((tf.shape(shifts)[0], 1), tf.float32), tf.zeros((tf.shape(shifts)[0], 1), tf.float32)
        return tf.concat([one, zero, -shifts[:, 0, None], zero, one, -shifts[:, 1, None], zero, zero], axis=1)


def flat_transforms_to_matrices(transforms: Any) -> tf.Tensor:
    """``tf.contrib.image.flat_transforms_to_matrices``: as matrices, [count, 3, 3]."""
    with tf.name_scope("flat_transforms_to_matrices"):
        transforms = tf.convert_to_tensor(transforms, name="transforms")
        if transforms.shape.ndims not in (1, 2):
            raise ValueError(f"Transforms should be 1D or 2D, got: {transforms}")
        flat = tf.reshape(transforms, tf.constant([-1, 8]))
        return tf.reshape(tf.concat([flat, tf.ones([tf.shape(flat)[0], 1])], axis=1), tf.constant([-1, 3, 3]))


def matrices_to_flat_transforms(transform_matrices: Any) -> tf.Tensor:
    """``tf.contrib.image.matrices_to_flat_transforms``: matrices as eight numbers each; the ninth becomes 1."""
    with tf.name_scope("matrices_to_flat_transforms"):
        matrices = tf.convert_to_tensor(transform_matrices, name="transform_matrices")
        if matrices.shape.ndims not in (2, 3):
            raise ValueError(f"Matrices should be 2D or 3D, got: {matrices}")
        flat = tf.reshape(matrices, tf.constant([-1, 9]))
        flat /= flat[:, 8:9]
        return flat[:, :8]


def compose_transforms(*transforms: Any) -> tf.Tensor:
    """``tf.contrib.image.compose_transforms``: the transform that does what all of them do, the last one first."""
    assert transforms, "transforms cannot be empty"
    with tf.name_scope("compose_transforms"):
        composed = flat_transforms_to_matrices(transforms[0])
        for each in transforms[1:]:
            composed = tf.matmul(composed, flat_transforms_to_matrices(each))
        return matrices_to_flat_transforms(composed)


# --- images ----------------------------------------------------------------------------------------------------------


def _as_batch(images: tf.Tensor) -> tuple[tf.Tensor, Callable[[tf.Tensor], tf.Tensor]]:
    """A batch of images with channels, and what brings a result back to the rank of ``images``."""
    if images.dtype.base_dtype.name not in _DTYPES:
        raise TypeError(f"Invalid dtype {images.dtype}.")
    if images.shape.ndims is None:
        raise TypeError("image_or_images rank must be statically known")
    if images.shape.ndims == 2:
        return images[None, :, :, None], lambda result: result[0, :, :, 0]
    if images.shape.ndims == 3:
        return images[None, :, :, :], lambda result: result[0, :, :, :]
    if images.shape.ndims == 4:
        return images, lambda result: result
    raise TypeError("Images should have rank between 2 and 4.")


def rotate(images: Any, angles: Any, interpolation: str = "NEAREST", name: str | None = None) -> tf.Tensor:
    """``tf.contrib.image.rotate``: images about their middle, by angles in radians, counterclockwise."""
    with tf.name_scope(name, "rotate"):
        batch, back = _as_batch(tf.convert_to_tensor(images))
        height, width = (tf.cast(tf.shape(batch)[axis], tf.float32)[None] for axis in (1, 2))
        return back(transform(batch, angles_to_projective_transforms(angles, height, width), interpolation=interpolation))


def translate(images: Any, translations: Any, interpolation: str = "NEAREST", name: str | None = None) -> tf.Tensor:
    """``tf.contrib.image.translate``: images moved by [dx, dy]."""
    with tf.name_scope(name, "translate"):
        return transform(images, translations_to_projective_transforms(translations), interpolation=interpolation)


def transform(images: Any, transforms: Any, interpolation: str = "NEAREST", output_shape: Any = None, name: str | None = None) -> tf.Tensor:
    """``tf.contrib.image.transform``: images under projective transforms, one for all or one for each."""
    with tf.name_scope(name, "transform"):
        batch, back = _as_batch(tf.convert_to_tensor(images, name="images"))
        transforms = tf.convert_to_tensor(transforms, name="transforms", dtype=tf.float32)
        size = tf.shape(batch)[1:3] if output_shape is None else output_shape
        known = tf.constant_value(size) if isinstance(size, tf.Tensor) else None
        size = tf.convert_to_tensor(size if known is None else known, tf.int32, name="output_shape")
        if not size.shape.is_compatible_with([2]):
            raise ValueError("output_shape must be a 1-D Tensor of 2 elements: new_height, new_width")
        if transforms.shape.ndims is None:
            raise TypeError("transform_or_transforms rank must be statically known")
        if transforms.shape.ndims not in (1, 2):
            raise TypeError("Transforms should have rank 1 or 2.")
        transforms = transforms[None] if transforms.shape.ndims == 1 else transforms
        if interpolation.upper() not in _FILLED:
            raise ValueError(f"interpolation must be one of {sorted(_FILLED)}: it is {interpolation!r}")
        return back(_transform(batch, transforms, size, interpolation.upper()))


def _transform(batch: tf.Tensor, transforms: tf.Tensor, size: tf.Tensor, interpolation: str) -> tf.Tensor:
    """The images; their gradient is the inverse transform, as in TensorFlow, which is not quite that of the sampling."""
    @tf.custom_gradient
    def differentiable(images: tf.Tensor) -> tuple[tf.Tensor, Callable[[tf.Tensor], tf.Tensor]]:
        def gradient(dy: tf.Tensor) -> tf.Tensor:
            inverse = matrices_to_flat_transforms(tf.matrix_inverse(flat_transforms_to_matrices(transforms)))
            return _sample(dy, inverse, tf.shape(images)[1:3], interpolation)

        return _sample(images, transforms, size, interpolation), gradient

    result = differentiable(batch) if batch.dtype.is_floating else _sample(batch, transforms, size, interpolation)
    height, width = tf.constant_value_as_shape(size).with_rank(2).as_list()
    result.set_shape([batch.shape[0], height, width, batch.shape[3]])
    return result


def _sample(images: tf.Tensor, transforms: tf.Tensor, size: tf.Tensor, interpolation: str) -> tf.Tensor:
    x, y, exists = _sources(transforms, size)
    if interpolation == "NEAREST":
        return _read(images, _round(x), _round(y), exists)
    left, top = tf.floor(x), tf.floor(y)
    rows = []
    for row in (top, top + 1):
        here, right = (tf.cast(_read(images, column, row, exists), tf.float32) for column in (left, left + 1))
        rows.append((left + 1 - x)[..., None] * here + (x - left)[..., None] * right)
    return tf.cast((top + 1 - y)[..., None] * rows[0] + (y - top)[..., None] * rows[1], images.dtype)


def _sources(transforms: tf.Tensor, size: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """(x, y, whether there is such a place) in the input for each place of the output, [transforms, height, width]."""
    x, y = tf.cast(tf.range(size[1]), tf.float32)[None, None, :], tf.cast(tf.range(size[0]), tf.float32)[None, :, None]
    a0, a1, a2, b0, b1, b2, c0, c1 = (each[:, None, None] for each in tf.unstack(transforms, num=8, axis=1))
    scale = c0 * x + c1 * y + 1.0
    exists = tf.not_equal(scale, 0.0)
    scale = tf.where(exists, scale, tf.ones_like(scale))
    return (a0 * x + a1 * y + a2) / scale, (b0 * x + b1 * y + b2) / scale, exists


def _round(x: tf.Tensor) -> tf.Tensor:
    """The nearest whole number; halves go away from 0."""
    return tf.sign(x) * tf.floor(tf.abs(x) + 0.5)


def _read(images: tf.Tensor, x: tf.Tensor, y: tf.Tensor, exists: tf.Tensor) -> tf.Tensor:
    """The elements at whole places, 0 outside of the image."""
    count, height, width, channels = (tf.shape(images)[axis] for axis in (0, 1, 2, 3))
    last_x, last_y = tf.cast(width - 1, tf.float32), tf.cast(height - 1, tf.float32)
    inside = tf.reduce_all(tf.stack([exists, x >= 0, x <= last_x, y >= 0, y <= last_y]), axis=0)
    safe_x, safe_y = (tf.cast(tf.where(inside, each, tf.zeros_like(each)), tf.int32) for each in (x, y))
    places = (tf.range(count) * height * width)[:, None, None] + safe_y * width + safe_x  # one transform serves all images
    rows = tf.gather(tf.reshape(images, tf.stack([count * height * width, channels])), places)
    return rows * tf.cast(inside, images.dtype)[..., None]
