"""Small functions on arrays: ``to_categorical`` and ``normalize``."""
from __future__ import annotations

from typing import Any

import numpy as np


def to_categorical(y: Any, num_classes: int | None = None, dtype: str = "float32") -> np.ndarray:
    """``tf.keras.utils.to_categorical``: numbers of classes as rows with one 1."""
    y = np.array(y, dtype="int")
    shape = y.shape[:-1] if y.ndim > 1 and y.shape[-1] == 1 else y.shape
    flat = y.ravel()
    classes = num_classes or int(np.max(flat)) + 1
    categorical = np.zeros((flat.size, classes), dtype=dtype)
    categorical[np.arange(flat.size), flat] = 1
    return categorical.reshape((*shape, classes))


def normalize(x: Any, axis: int = -1, order: int = 2) -> np.ndarray:
    """``tf.keras.utils.normalize``: vectors along ``axis`` of length 1."""
    length = np.atleast_1d(np.linalg.norm(x, order, axis))
    length[length == 0] = 1
    return x / np.expand_dims(length, axis)


def slice_arrays(arrays: Any, start: Any = None, stop: int | None = None) -> Any:
    """The rows from ``start`` to ``stop`` of an array or of each in a list, or those that a list ``start`` names; None stays None."""
    if arrays is None:
        return [None]
    if isinstance(start, list) and stop is not None:
        raise ValueError("The stop argument has to be None if the value of start is a list.")
    if isinstance(arrays, list):
        return [None if array is None else slice_arrays(array if hasattr(array, "shape") else np.asarray(array), start, stop) for array in arrays]
    if hasattr(start, "__len__"):
        return arrays[start.tolist() if hasattr(start, "shape") else start]
    return arrays[start:stop]
