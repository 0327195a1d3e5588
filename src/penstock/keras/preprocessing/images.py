"""Images as arrays, and files as images: functions of ``tf.keras.preprocessing.image``."""
from __future__ import annotations

import io
from typing import Any

import numpy as np
from PIL import Image

from penstock.layers import settings

_INTERPOLATIONS = {"nearest": Image.Resampling.NEAREST, "bilinear": Image.Resampling.BILINEAR, "bicubic": Image.Resampling.BICUBIC,
                   "hamming": Image.Resampling.HAMMING, "box": Image.Resampling.BOX, "lanczos": Image.Resampling.LANCZOS}
_MODES = {"grayscale": ("L", "I;16", "I"), "rgb": ("RGB",), "rgba": ("RGBA",)}


def _format(data_format: str | None) -> str:
    data_format = settings.image_data_format() if data_format is None else data_format
    if data_format not in ("channels_first", "channels_last"):
        raise ValueError(f"Unknown data_format: {data_format}")
    return data_format


def img_to_array(img: Any, data_format: str | None = None, dtype: Any = None) -> np.ndarray:
    """``tf.keras.preprocessing.image.img_to_array``: an image as an array with an axis of channels."""
    first = _format(data_format) == "channels_first"
    array = np.asarray(img, dtype=dtype or settings.floatx())
    if array.ndim == 2:
        return array[None] if first else array[..., None]
    if array.ndim != 3:
        raise ValueError(f"Unsupported image shape: {array.shape}")
    return array.transpose(2, 0, 1) if first else array


def array_to_img(x: Any, data_format: str | None = None, scale: bool = True, dtype: Any = None) -> Image.Image:
    """``tf.keras.preprocessing.image.array_to_img``: an array as an image; ``scale`` spreads its values over 0 to 255."""
    array = np.asarray(x, dtype=dtype or settings.floatx())
    if array.ndim != 3:
        raise ValueError(f"Expected image array to have rank 3 (single image). Got array with shape: {array.shape}")
    if _format(data_format) == "channels_first":
        array = array.transpose(1, 2, 0)
    if scale:
        array = array - np.min(array)
        largest = np.max(array)
        array = array / largest * 255 if largest != 0 else array
    if array.shape[2] == 4:
        return Image.fromarray(array.astype("uint8"), "RGBA")
    if array.shape[2] == 3:
        return Image.fromarray(array.astype("uint8"), "RGB")
    if array.shape[2] == 1:
        deep = np.max(array) > 255  # more than 8 bits hold
        return Image.fromarray(array[:, :, 0].astype("int32" if deep else "uint8"), "I" if deep else "L")
    raise ValueError(f"Unsupported channel number: {array.shape[2]}")


def save_img(path: Any, x: Any, data_format: str | None = None, file_format: str | None = None, scale: bool = True, **kwargs: Any) -> None:
    """``tf.keras.preprocessing.image.save_img``."""
    image = array_to_img(x, data_format=data_format, scale=scale)
    if image.mode == "RGBA" and file_format in ("jpg", "jpeg"):
        image = image.convert("RGB")
    image.save(path, format="jpeg" if file_format == "jpg" else file_format, **kwargs)


def load_img(path: Any, grayscale: bool = False, color_mode: str = "rgb", target_size: Any = None, interpolation: str = "nearest") -> Image.Image:
    """``tf.keras.preprocessing.image.load_img``."""
    color_mode = "grayscale" if grayscale else color_mode
    if color_mode not in _MODES:
        raise ValueError('color_mode must be "grayscale", "rgb", or "rgba"')
    with open(path, "rb") as file:
        image: Image.Image = Image.open(io.BytesIO(file.read()))
    if image.mode not in _MODES[color_mode]:
        image = image.convert(_MODES[color_mode][0])
    if target_size is not None and image.size != (target_size[1], target_size[0]):
        if interpolation not in _INTERPOLATIONS:
            raise ValueError(f"Invalid interpolation method {interpolation} specified. Supported methods are {', '.join(_INTERPOLATIONS)}")
        image = image.resize((target_size[1], target_size[0]), _INTERPOLATIONS[interpolation])
    return image
