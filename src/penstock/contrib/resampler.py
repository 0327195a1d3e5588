"""``tf.contrib.resampler``: an image at places between its pixels."""
from __future__ import annotations

from typing import Any

from penstock.contrib import prelude as tf
from penstock.errors import UnimplementedError


def resampler(data: Any, warp: Any, name: str = "resampler") -> tf.Tensor:
    """``tf.contrib.resampler.resampler``: data [batch, height, width, channels] at places warp [batch, ..., (x, y)], interpolated bilinearly.

    Pixels outside of the image are 0. Gradients flow to both.
    """
    with tf.name_scope(name):
        data, warp = tf.convert_to_tensor(data, name="data"), tf.convert_to_tensor(warp, name="warp")
        if data.shape.ndims not in (None, 4):
            raise UnimplementedError(None, None, f"data should be tensor with rank 4, but got rank {data.shape.ndims}.")
        if warp.shape.ndims is not None and (warp.shape.ndims < 2 or warp.shape.extent(-1) not in (None, 2)):
            raise ValueError(f"warp should be at least a matrix, with a last dimension of 2, but got {warp.shape}.")
        batch, height, width, channels = (tf.shape(data)[axis] for axis in range(4))
        flat = tf.reshape(data, [batch * height * width, channels])
        places = tf.reshape(warp, [batch, -1, 2])
        left, top = tf.floor(places[..., 0]), tf.floor(places[..., 1])
        right_share, bottom_share = places[..., 0] - left, places[..., 1] - top
        first = tf.reshape(tf.range(batch) * height * width, [batch, 1])

        def part(column: tf.Tensor, row: tf.Tensor, share: tf.Tensor) -> tf.Tensor:
            """The pixels at these places, as far as they are in the image, times their shares."""
            inside = (column >= 0) & (row >= 0) & (column < tf.cast(width, column.dtype)) & (row < tf.cast(height, row.dtype))
            index = tf.cast(tf.where(inside, row, tf.zeros_like(row)), tf.int32) * width + tf.cast(
                tf.where(inside, column, tf.zeros_like(column)), tf.int32)
            share = tf.where(inside, share, tf.zeros_like(share))
            return tf.gather(flat, first + index) * tf.expand_dims(share, -1)

        result = tf.add_n([part(left, top, (1 - right_share) * (1 - bottom_share)), part(left + 1, top, right_share * (1 - bottom_share)),
                           part(left, top + 1, (1 - right_share) * bottom_share), part(left + 1, top + 1, right_share * bottom_share)])
        result = tf.reshape(result, tf.concat([tf.shape(warp)[:-1], [channels]], 0))
        if warp.shape.ndims is not None:
            result.set_shape(warp.shape[:-1].concatenate(data.shape[3:] if data.shape.ndims is not None else [None]))
        return result
