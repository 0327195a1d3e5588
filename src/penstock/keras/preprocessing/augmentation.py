"""Images rotated, moved, scaled and coloured: functions of ``tf.keras.preprocessing.image``."""
from __future__ import annotations

from typing import Any

import numpy as np
from PIL import ImageEnhance
from scipy import ndimage

from penstock.keras.preprocessing.images import array_to_img, img_to_array


def _centre(matrix: np.ndarray, height: int, width: int) -> np.ndarray:
    """A transform about the middle of an image."""
    y, x = height / 2 + 0.5, width / 2 + 0.5  # a pixel beyond the middle: TensorFlow has it there, too
    to_middle, back = np.eye(3), np.eye(3)
    to_middle[:2, 2], back[:2, 2] = (y, x), (-y, -x)
    return to_middle @ matrix @ back


def apply_affine_transform(x: Any, theta: float = 0, tx: float = 0, ty: float = 0, shear: float = 0, zx: float = 1, zy: float = 1, row_axis: int = 0,
                           col_axis: int = 1, channel_axis: int = 2, fill_mode: str = "nearest", cval: float = 0.0, order: int = 1) -> np.ndarray:
    """``tf.keras.preprocessing.image.apply_affine_transform``: rotated by ``theta`` degrees, moved, sheared and scaled."""
    matrix = np.eye(3)
    if theta != 0:
        angle = np.deg2rad(theta)
        matrix = matrix @ np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
    if tx != 0 or ty != 0:
        matrix = matrix @ np.array([[1, 0, tx], [0, 1, ty], [0, 0, 1]])
    if shear != 0:
        angle = np.deg2rad(shear)
        matrix = matrix @ np.array([[1, -np.sin(angle), 0], [0, np.cos(angle), 0], [0, 0, 1]])
    if zx != 1 or zy != 1:
        matrix = matrix @ np.diag([zx, zy, 1.0])
    if np.array_equal(matrix, np.eye(3)):
        return x
    matrix = _centre(matrix, x.shape[row_axis], x.shape[col_axis])
    channels = [ndimage.affine_transform(channel, matrix[:2, :2], matrix[:2, 2], order=order, mode=fill_mode, cval=cval)
                for channel in np.rollaxis(x, channel_axis, 0)]
    return np.rollaxis(np.stack(channels, axis=0), 0, channel_axis + 1)


def random_rotation(x: Any, rg: float, row_axis: int = 1, col_axis: int = 2, channel_axis: int = 0, fill_mode: str = "nearest", cval: float = 0.0,
                    interpolation_order: int = 1) -> np.ndarray:
    """``tf.keras.preprocessing.image.random_rotation``. As in Keras, it turns around the middle of the first two axes whatever ``row_axis`` and
    ``col_axis`` are; ``random_shear`` and ``random_zoom`` do so, too."""
    return apply_affine_transform(x, theta=np.random.uniform(-rg, rg), channel_axis=channel_axis,
                                  fill_mode=fill_mode, cval=cval, order=interpolation_order)


def random_shift(x: Any, wrg: float, hrg: float, row_axis: int = 1, col_axis: int = 2, channel_axis: int = 0, fill_mode: str = "nearest",
                 cval: float = 0.0, interpolation_order: int = 1) -> np.ndarray:
    """``tf.keras.preprocessing.image.random_shift``."""
    tx, ty = np.random.uniform(-hrg, hrg) * x.shape[row_axis], np.random.uniform(-wrg, wrg) * x.shape[col_axis]
    return apply_affine_transform(x, tx=tx, ty=ty, row_axis=row_axis, col_axis=col_axis, channel_axis=channel_axis, fill_mode=fill_mode, cval=cval,
                                  order=interpolation_order)


def random_shear(x: Any, intensity: float, row_axis: int = 1, col_axis: int = 2, channel_axis: int = 0, fill_mode: str = "nearest",
                 cval: float = 0.0, interpolation_order: int = 1) -> np.ndarray:
    """``tf.keras.preprocessing.image.random_shear``."""
    return apply_affine_transform(x, shear=np.random.uniform(-intensity, intensity), channel_axis=channel_axis, fill_mode=fill_mode, cval=cval,
                                  order=interpolation_order)


def random_zoom(x: Any, zoom_range: Any, row_axis: int = 1, col_axis: int = 2, channel_axis: int = 0, fill_mode: str = "nearest", cval: float = 0.0,
                interpolation_order: int = 1) -> np.ndarray:
    """``tf.keras.preprocessing.image.random_zoom``."""
    if len(zoom_range) != 2:
        raise ValueError(f"`zoom_range` should be a tuple or list of two floats. Received: {zoom_range}")
    zx, zy = (1, 1) if tuple(zoom_range) == (1, 1) else np.random.uniform(zoom_range[0], zoom_range[1], 2)
    return apply_affine_transform(x, zx=zx, zy=zy, channel_axis=channel_axis, fill_mode=fill_mode, cval=cval,
                                  order=interpolation_order)


def apply_channel_shift(x: Any, intensity: float, channel_axis: int = 0) -> np.ndarray:
    """``tf.keras.preprocessing.image.apply_channel_shift``: all values plus a number, inside the range that they had."""
    return np.clip(x + intensity, np.min(x), np.max(x))


def random_channel_shift(x: Any, intensity_range: float, channel_axis: int = 0) -> np.ndarray:
    """``tf.keras.preprocessing.image.random_channel_shift``."""
    return apply_channel_shift(x, np.random.uniform(-intensity_range, intensity_range), channel_axis)


def apply_brightness_shift(x: Any, brightness: float) -> np.ndarray:
    """``tf.keras.preprocessing.image.apply_brightness_shift``."""
    return img_to_array(ImageEnhance.Brightness(array_to_img(x)).enhance(brightness))


def random_brightness(x: Any, brightness_range: Any) -> np.ndarray:
    """``tf.keras.preprocessing.image.random_brightness``."""
    if len(brightness_range) != 2:
        raise ValueError(f"`brightness_range should be tuple or list of two floats. Received: {brightness_range}")
    return apply_brightness_shift(x, np.random.uniform(*brightness_range))
