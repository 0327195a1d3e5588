"""The image functions of ``scipy.misc``, gone since SciPy 1.3, on Pillow; and the functions that have moved to ``scipy.special``.

Images are scaled to bytes as SciPy did it: the smallest value of an array becomes 0 and the largest 255, unless it holds bytes already.
"""
from __future__ import annotations

from typing import Any

import numpy as np
from PIL import Image
from scipy.special import comb, factorial, logsumexp

__all__ = ["bytescale", "comb", "factorial", "fromimage", "imread", "imresize", "imrotate", "imsave", "logsumexp", "toimage"]

_RESAMPLING = {"nearest": Image.Resampling.NEAREST, "lanczos": Image.Resampling.LANCZOS, "bilinear": Image.Resampling.BILINEAR,
               "bicubic": Image.Resampling.BICUBIC, "cubic": Image.Resampling.BICUBIC}


def bytescale(data: Any, cmin: float | None = None, cmax: float | None = None, high: int = 255, low: int = 0) -> np.ndarray:
    """``data`` as bytes, with ``cmin..cmax`` (by default its range) mapped to ``low..high``."""
    data = np.asarray(data)
    if data.dtype == np.uint8:
        return data
    if not 0 <= low <= high <= 255:
        raise ValueError(f"low and high must be within 0..255 and in order, not {low} and {high}")
    bottom, top = data.min() if cmin is None else cmin, data.max() if cmax is None else cmax
    if top < bottom:
        raise ValueError("cmax must not be below cmin")
    scaled = (data - bottom) * (float(high - low) / ((top - bottom) or 1)) + low
    return (np.clip(scaled, low, high) + 0.5).astype(np.uint8)


def fromimage(im: Image.Image, flatten: bool = False, mode: str | None = None) -> np.ndarray:
    """The pixels of an image, in its own mode or in ``mode``; ``flatten`` gives gray floats."""
    if mode is not None and mode != im.mode:
        im = im.convert(mode)
    elif mode is None and im.mode == "P":
        im = im.convert("RGBA" if "transparency" in im.info else "RGB")
    if flatten:
        im = im.convert("F")
    elif im.mode == "1":
        im = im.convert("L")  # a bitmap has no byte array
    return np.array(im)


def toimage(arr: Any, high: int = 255, low: int = 0, cmin: float | None = None, cmax: float | None = None, pal: Any = None, mode: str | None = None,
            channel_axis: int | None = None) -> Image.Image:
    """An image of an array: (height, width), or with an axis of 3 (RGB) or 4 (RGBA) channels."""
    data = np.asarray(arr)
    if data.ndim == 2:
        if mode in ("F", "I"):
            return Image.fromarray(data.astype(np.float32 if mode == "F" else np.int32))
        image = Image.fromarray(bytescale(data, cmin, cmax, high, low))
        if pal is not None:
            image.putpalette(np.asarray(pal, np.uint8).tobytes())
        return image if mode in (None, "L", "P") else image.convert(mode)
    if data.ndim != 3 or not {3, 4} & set(data.shape):
        raise ValueError(f"an image has the shape (height, width), or three axes of which one is 3 or 4, not {data.shape}")
    if channel_axis is None:
        channel_axis = data.shape.index(3 if 3 in data.shape else 4)
    return Image.fromarray(np.ascontiguousarray(np.moveaxis(bytescale(data, cmin, cmax, high, low), channel_axis, 2)), mode=None)


def imread(name: Any, flatten: bool = False, mode: str | None = None) -> np.ndarray:
    """The pixels of an image file."""
    with Image.open(name) as image:
        return fromimage(image, flatten, mode)


def imsave(name: Any, arr: Any, format: str | None = None) -> None:
    """Writes an array as an image file."""
    toimage(arr, channel_axis=2 if np.ndim(arr) == 3 else None).save(name, format=format)


def imresize(arr: Any, size: Any, interp: str = "bilinear", mode: str | None = None) -> np.ndarray:
    """An image in another size: percent as an int, a factor as a float, or (height, width)."""
    image = toimage(arr, mode=mode)
    if isinstance(size, (int, np.integer)):
        size = size / 100.0
    if isinstance(size, (float, np.floating)):
        width, height = (int(extent * size) for extent in image.size)
    else:
        height, width = (int(extent) for extent in size[:2])
    return fromimage(image.resize((width, height), _RESAMPLING[interp]))


def imrotate(arr: Any, angle: float, interp: str = "bilinear") -> np.ndarray:
    """An image rotated counter-clockwise by ``angle`` degrees."""
    return fromimage(toimage(arr).rotate(angle, _RESAMPLING[interp]))
