"""Weights as 8-bit numbers, with a scale for each channel: a quarter of the size. ``init`` makes floats of them again, in the model's memory.

After training, without data: the numbers of a channel are multiples, from -127 to 127, of a 127th of its largest one. Steps compute with floats, as
fast as ever; what differs is that each weight is off by at most half of such a multiple. A step takes as much memory as one with floats: it is the
file that is smaller.
"""
from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from penstock.native.calls import Buffer
from penstock.program.ir import Program
from penstock.program.passes.walk import constant_of

LEAST = 1024  # elements: smaller constants (biases, scales) stay as they are
_MOST = 127


@dataclass(frozen=True, eq=False)
class Quantised:
    """A constant as ``scales * numbers``: of each number, the scale at its place among the last ``len(scales)`` ones."""

    numbers: np.ndarray  # int8, in the shape of the constant
    scales: np.ndarray  # float32, for the last axes, flat

    def floats(self) -> np.ndarray:
        """What the numbers stand for."""
        flat = self.numbers.reshape(-1, self.scales.size).astype(np.float32) * self.scales
        return flat.reshape(self.numbers.shape)


def quantise(value: np.ndarray) -> Quantised | None:
    """A constant in 8 bits; None if it is not float32, is small, without channels, or not finite.

    Channels are the last axis; of the filters of depthwise convolutions, (height, width, channels, 1), the last two.
    """
    if value.dtype != np.float32 or value.size < LEAST or value.ndim < 2 or not np.isfinite(value).all():
        return None
    channels = math.prod(value.shape[-2:]) if value.ndim == 4 and value.shape[-1] == 1 else value.shape[-1]
    flat = value.reshape(-1, channels)
    largest = np.abs(flat).max(axis=0)
    scales = np.where(largest > 0, largest / _MOST, 1).astype(np.float32)
    return Quantised(np.rint(flat / scales).clip(-_MOST, _MOST).astype(np.int8).reshape(value.shape), scales)


def quantise_constants(program: Program, known: dict[int, Quantised]) -> None:
    """Gives large constants the values that 8 bits can stand for. ``known``: by the identity of such a value, what it is made of."""
    for node in program.nodes:
        value = constant_of((node, 0))
        made = None if value is None else quantise(value)
        if made is not None:
            floats = made.floats()
            node.attrs = {**node.attrs, "value": floats}
            known[id(floats)] = made


def is_quantised(buffer: Buffer, known: dict[int, Quantised]) -> bool:
    """Is a constant's memory one of these values?"""
    return buffer.kind == "constant" and id(buffer.value) in known
