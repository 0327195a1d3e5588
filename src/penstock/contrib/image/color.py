"""Colours of images, changed in YIQ space: ``tensorflow.contrib.image.python.ops.distort_image_ops``."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.contrib import prelude as tf
from penstock.errors import InvalidArgumentError
from penstock.ops.image.image_color import convert_image_dtype

# Brightness and the two axes of colour, of red, green and blue.
_YIQ = np.array([[0.299, 0.587, 0.114], [0.596, -0.274, -0.322], [0.211, -0.523, 0.312]])


def adjust_hsv_in_yiq(image: Any, delta_hue: Any = 0, scale_saturation: Any = 1, scale_value: Any = 1, name: str | None = None) -> tf.Tensor:
    """``adjust_hsv_in_yiq``: turns the colours by ``delta_hue`` (radians), and scales how strong and how bright they are."""
    with tf.name_scope(name, "adjust_hsv_in_yiq", [image]) as scope:
        image = tf.convert_to_tensor(image, name="image")
        _check_shape(image)
        pixels = convert_image_dtype(image, tf.float32)
        hue = tf.convert_to_tensor(delta_hue, dtype=tf.float32)
        strength = tf.convert_to_tensor(scale_saturation, dtype=tf.float32)
        cosine, sine = strength * tf.cos(hue), strength * tf.sin(hue)
        zero = tf.zeros_like(cosine)
        rotation = tf.stack([tf.stack([tf.ones_like(cosine), zero, zero]), tf.stack([zero, cosine, -sine]), tf.stack([zero, sine, cosine])])
        yiq, back = tf.constant(_YIQ, tf.float32), tf.constant(np.linalg.inv(_YIQ), tf.float32)
        matrix = tf.matmul(back, tf.matmul(rotation, yiq)) * tf.convert_to_tensor(scale_value, dtype=tf.float32)
        adjusted = tf.reshape(tf.matmul(tf.reshape(pixels, [-1, 3]), matrix, transpose_b=True), tf.shape(pixels))
        adjusted.set_shape(pixels.shape)
        return tf.identity(convert_image_dtype(adjusted, image.dtype), name=scope)


def _check_shape(image: tf.Tensor) -> None:
    ndims = image.shape.ndims
    if ndims is not None and ndims < 3:
        raise ValueError(f"Shape must be at least rank 3 but is rank {ndims}: an image has the shape [..., height, width, 3], not {image.shape}.")
    channels = None if ndims is None else image.shape.as_list()[-1]
    if channels not in (None, 3):
        raise InvalidArgumentError(None, None, f"input must have 3 channels but instead has {channels} channels.")


def random_hsv_in_yiq(image: Any, max_delta_hue: float = 0, lower_saturation: float = 1, upper_saturation: float = 1, lower_value: float = 1,
                      upper_value: float = 1, seed: int | None = None) -> tf.Tensor:
    """``random_hsv_in_yiq``: the same, by numbers chosen at random."""
    if max_delta_hue < 0:
        raise ValueError("max_delta must be non-negative.")
    for what, lower, upper in (("saturation", lower_saturation, upper_saturation), ("value", lower_value, upper_value)):
        if lower < 0:
            raise ValueError(f"lower_{what} must be non-negative.")
        if upper < lower:
            raise ValueError(f"lower_{what} must be < upper_{what}.")
    def chosen(lower: float, upper: float) -> Any:
        return lower if lower == upper else tf.random_uniform([], lower, upper, seed=seed)

    return adjust_hsv_in_yiq(image, chosen(-max_delta_hue, max_delta_hue), chosen(lower_saturation, upper_saturation),
                             chosen(lower_value, upper_value))
