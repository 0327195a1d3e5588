"""A value as plain numbers for a page: a corner of it, its range, a histogram, and an image where it looks like one."""
from __future__ import annotations

import base64
from typing import Any

import numpy as np

_SHOWN = 8  # rows and columns of a value
_BINS = 40
_MOST = 4_000_000  # elements of which a histogram is made
_LEAST_SIDE, _MOST_SIDE, _IMAGES = 6, 256, 6  # of images, in pixels and in number


def corner(value: Any) -> dict[str, Any]:
    """The first rows and columns, how many elements are not finite, and the range of the others."""
    if value.dtype.kind not in "fiub":
        return {"note": f"{value.dtype}", "shape": list(value.shape)} if value.dtype.kind == "V" else _texts(value)
    numbers = value.astype(np.float64) if value.dtype.kind in "fb" else value
    rows = np.atleast_2d(value.reshape(value.shape[0], -1) if value.ndim > 2 and value.size else value)
    finite = numbers[np.isfinite(numbers)]
    return {"shape": list(value.shape), "broken": int(numbers.size - finite.size),
            "range": [float(finite.min()), float(finite.mean()), float(finite.max())] if finite.size else None,
            "rows": [[f"{number:.4g}" if value.dtype.kind == "f" else str(number) for number in row[:_SHOWN]] for row in rows[:_SHOWN]],
            "more": bool(rows.shape[0] > _SHOWN or rows.shape[1] > _SHOWN)}


def _texts(value: Any) -> dict[str, Any]:
    """Strings, and whatever else has no order."""
    rows = np.atleast_2d(value.reshape(value.shape[0], -1) if value.ndim > 2 and value.size else value)
    return {"shape": list(value.shape), "broken": 0, "range": None, "more": bool(rows.shape[0] > _SHOWN or rows.shape[1] > _SHOWN),
            "rows": [[(each.decode("utf-8", "replace") if isinstance(each, bytes) else str(each))[:60] for each in row[:_SHOWN]]
                     for row in rows[:_SHOWN]]}


def described(value: Any) -> dict[str, Any]:
    """``corner``, with counts, a histogram, and images."""
    value = np.asarray(value)
    told = {**corner(value), "dtype": str(value.dtype)}
    if value.dtype.kind not in "fiub" or not value.size:
        return told
    numbers = value.astype(np.float64).ravel()[:_MOST]
    finite = numbers[np.isfinite(numbers)]
    told["counts"] = {"nan": int(np.isnan(numbers).sum()), "+inf": int(np.isposinf(numbers).sum()), "-inf": int(np.isneginf(numbers).sum()),
                      "zero": int((numbers == 0).sum()), "negative": int((finite < 0).sum()), "positive": int((finite > 0).sum())}
    if finite.size > 1:
        counts, edges = np.histogram(finite, min(_BINS, max(2, finite.size)))
        told["histogram"] = {"counts": counts.tolist(), "low": float(edges[0]), "high": float(edges[-1])}
    told["images"] = _images(value)
    return told


def _images(value: Any) -> list[dict[str, Any]]:
    """The images that a value may be: [height, width], with 1, 3 or 4 channels, or a batch of these."""
    if value.ndim == 2:
        planes = value[None, :, :, None]
    elif value.ndim == 3:
        planes = value[None] if value.shape[2] in (1, 3, 4) else value[..., None]
    elif value.ndim == 4 and value.shape[3] in (1, 3, 4):
        planes = value
    else:
        return []
    height, width = planes.shape[1:3]
    if not (_LEAST_SIDE <= height <= _MOST_SIDE and _LEAST_SIDE <= width <= _MOST_SIDE):
        return []
    return [_image(plane) for plane in planes[:_IMAGES]]


def _image(plane: Any) -> dict[str, Any]:
    """Four bytes per pixel, from the smallest value to the largest; what is not finite is red."""
    numbers = plane.astype(np.float64)
    finite = np.isfinite(numbers)
    low, high = (numbers[finite].min(), numbers[finite].max()) if finite.any() else (0.0, 1.0)
    shades = (np.where(finite, numbers, low) - low) / ((high - low) or 1.0) * 255
    pixels = np.full((*plane.shape[:2], 4), 255, np.uint8)
    pixels[..., :3] = shades[..., :3] if plane.shape[2] >= 3 else shades[..., :1]
    pixels[~finite.all(axis=2)] = (198, 47, 59, 255)
    return {"width": plane.shape[1], "height": plane.shape[0], "pixels": base64.b64encode(pixels.tobytes()).decode()}
