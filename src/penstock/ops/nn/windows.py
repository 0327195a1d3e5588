"""Sliding windows: where they lie under a padding rule, and arrays seen through them. For convolutions and pooling."""
from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph.shape import Extent

Ints = tuple[int, ...]


@dataclass(frozen=True)
class Windows:
    """Windows along some consecutive axes of an array; each field has one entry per axis."""

    size: Ints  # the extent of the array
    window: Ints
    strides: Ints
    dilations: Ints
    before: Ints  # padding
    after: Ints
    output: Ints  # how many windows fit

    def pad(self, x: np.ndarray, first: int, fill: Any = 0) -> np.ndarray:
        """``x`` with its padding, along the axes that start at ``first``; ``x`` itself if there is none."""
        if not any(self.before) and not any(self.after):
            return x
        result = np.full(self._padded_shape(x.shape, first), fill, x.dtype)
        self.inner(result, first)[...] = x
        return result

    def padded_zeros(self, shape: Ints, first: int, dtype: Any) -> np.ndarray:
        """Zeros in the shape that an array of this shape has with its padding."""
        return np.zeros(self._padded_shape(shape, first), dtype)

    def _padded_shape(self, shape: Ints, first: int) -> Ints:
        padded = tuple(b + s + a for b, s, a in zip(self.before, self.size, self.after))
        return (*shape[:first], *padded, *shape[first + len(padded):])

    def inner(self, x: np.ndarray, first: int) -> np.ndarray:
        """A padded array without its padding, as a view."""
        return x[(slice(None),) * first + tuple(slice(b, b + s) for b, s in zip(self.before, self.size))]

    def view(self, padded: np.ndarray, first: int) -> np.ndarray:
        """The windows of a padded array, without a copy: (leading axes, output, window, trailing axes).

        Windows overlap, so a caller writes to the view for one position within the window at a time.
        """
        last = first + len(self.size)
        if padded.shape[first:last] != self._padded_shape(padded.shape, first)[first:last]:  # else it would see foreign memory
            raise invalid_argument(f"windows over {list(self.size)} do not fit an array of shape {list(padded.shape)}")
        steps = padded.strides[first:last]
        shape = (*padded.shape[:first], *self.output, *self.window, *padded.shape[last:])
        strides = (*padded.strides[:first], *(s * k for s, k in zip(steps, self.strides)),
                   *(s * k for s, k in zip(steps, self.dilations)), *padded.strides[last:])
        return np.lib.stride_tricks.as_strided(padded, shape, strides)


@functools.lru_cache(maxsize=1024)
def windows(size: Ints, window: Ints, strides: Ints, dilations: Ints, padding: str,
            explicit: tuple[Ints, ...] = ()) -> Windows:
    """The windows over an array of this size; KernelError if not even one output extent is left.

    >>> windows((5,), (3,), (2,), (1,), "SAME").output
    (3,)
    """
    output, before, after = [], [], []
    for axis, (extent, width, stride, dilation) in enumerate(zip(size, window, strides, dilations)):
        pair = explicit[axis] if explicit else (0, 0)
        _check_window(extent, width, stride, dilation)
        reach = (width - 1) * dilation + 1
        count = -(-extent // stride) if padding == "SAME" else (extent + sum(pair) - reach + stride) // stride
        if count < 0:
            raise invalid_argument(f"Computed output size would be negative: {count} [input_size: {extent}, "
                                   f"effective_filter_size: {reach}, stride: {stride}]")
        if padding == "SAME":
            missing = max((count - 1) * stride + reach - extent, 0)
            pair = (missing // 2, missing - missing // 2)
        output.append(count)
        before.append(pair[0])
        after.append(pair[1])
    return Windows(size, window, strides, dilations, tuple(before), tuple(after), tuple(output))


def _check_window(extent: int, width: int, stride: int, dilation: int) -> None:
    if extent < 0 or width < 0:
        raise invalid_argument(f"Extents must not be negative, but are {extent} for the input and {width} for the window")
    if stride <= 0 or dilation <= 0:
        raise invalid_argument(f"Stride and dilation rate must be > 0, but got {stride} and {dilation}")


def output_extent(size: Extent, window: Extent, stride: int, dilation: int, padding: str,
                  pair: Sequence[int] = (0, 0)) -> Extent:
    """How many windows fit along an axis, as far as it is known while building; ValueError if none can."""
    if stride <= 0:
        raise ValueError(f"Stride must be > 0, but got {stride}")
    if dilation <= 0:
        raise ValueError(f"Dilation rate must be > 0, but got {dilation}")
    if size is None:
        return None
    if padding == "SAME":
        return -(-size // stride)
    if window is None:
        return None
    reach, available = (window - 1) * dilation + 1, size + sum(pair)
    if available < reach:
        raise ValueError(f"Negative dimension size caused by subtracting {reach} from {available}")
    return (available - reach) // stride + 1
