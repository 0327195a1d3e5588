"""Data formats: which axis of an image batch holds the channels, which ones are spatial."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def channels_first(data_format: str) -> bool:
    """True for NCHW and its like."""
    return data_format.startswith("NC")


def spatial(values: Sequence[Any], data_format: str) -> tuple[Any, ...]:
    """The entries of a shape, of strides, ... that belong to the spatial axes.

    >>> spatial([10, 3, 28, 29], "NCHW")
    (28, 29)
    """
    return tuple(values[2:]) if channels_first(data_format) else tuple(values[1:-1])


def channels(values: Sequence[Any], data_format: str) -> Any:
    """The entry that belongs to the channels."""
    return values[1] if channels_first(data_format) else values[-1]


def arrange(batch: Any, inner: Sequence[Any], channel: Any, data_format: str) -> list[Any]:
    """One list from its three parts, in the order of the format."""
    return [batch, channel, *inner] if channels_first(data_format) else [batch, *inner, channel]


def channels_last(x: np.ndarray, data_format: str) -> np.ndarray:
    """The array with its channels last, as a view."""
    return np.moveaxis(x, 1, -1) if channels_first(data_format) else x


def from_channels_last(x: np.ndarray, data_format: str) -> np.ndarray:
    """An array with its channels last, brought into the format."""
    return np.ascontiguousarray(np.moveaxis(x, -1, 1) if channels_first(data_format) else x)
