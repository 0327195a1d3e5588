"""Weights as 8-bit numbers, with a scale for each channel: a quarter of the size. ``init`` makes floats of them again, in the model's memory.

After training, without data: the numbers of a channel are multiples, from -127 to 127, of a 127th of its largest one. Steps compute with floats, as
fast as ever; what differs is that each weight is off by at most half of such a multiple.
"""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

LEAST = 1024  # elements: smaller constants (biases, scales) stay as they are
_MOST = 127


@dataclass(frozen=True, eq=False)
class Quantised:
    """A constant as ``scales[channel] * numbers``; channels are the last axis."""

    numbers: np.ndarray  # int8
    scales: np.ndarray  # float32, one per channel

    def floats(self) -> np.ndarray:
        """What the numbers stand for."""
        return self.numbers.astype(np.float32) * self.scales


def quantise(value: np.ndarray, channels_axis: int = -1) -> Quantised | None:
    """A constant in 8 bits; None if it is no float32, small, without channels, or has no finite largest number."""
    if value.dtype != np.float32 or value.size < LEAST or value.ndim < 2:
        return None
    value = np.moveaxis(value, channels_axis, -1)
    largest = np.abs(value).max(axis=tuple(range(value.ndim - 1)))
    if not np.isfinite(largest).all():
        return None
    scales = np.where(largest > 0, largest / _MOST, 1).astype(np.float32)
    return Quantised(np.rint(value / scales).clip(-_MOST, _MOST).astype(np.int8), scales)
