"""Pooling and local response normalization, and their gradients. What ``emit.windows`` is."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.native.calls import Array
from penstock.native.kernels.axes import split_work
from penstock.native.kernels.lrn import lrn, lrn_gradient
from penstock.native.kernels.pooling_kernel import DESTINATION, TAP, pool_code

_MOVABLE = ("max", "mean", "sum", "pick")  # the kernels that know the distance between the results' pixels
_NARROW = 2  # bytes of floats that are computed with as float32


class Pooling:
    """Windows are given as the NumPy kernels have them (``ops/nn/windows.py``): an entry per axis of the array."""

    def __init__(self, emit: Any) -> None:
        self.emit = emit

    def max_pool(self, source: Array, w: Any, data_format: str) -> Array:
        """The largest element of each window."""
        return self._forward("max", source, w, data_format)

    def average(self, source: Array, w: Any, data_format: str) -> Array:
        """The mean of each window, padding not counted."""
        return self._forward("mean", source, w, data_format)

    def max_pool_gradient(self, source: Array, grad: Array, w: Any, data_format: str) -> Array:
        """Each window's gradient at its first maximum: first these are found, then every input collects from the windows it lies in."""
        self._check(grad, w.output)
        if math.prod(w.window) > np.iinfo(np.int16).max:
            self.emit.unsupported("windows are too large")
        source, grad = self._channels_last(source, data_format), self._channels_last(grad, data_format)
        shape, axes = self._axes(w, data_format)
        taps = self.emit.empty(grad.shape, TAP.np)
        self._call("argmax", source.dtype, [source, taps], axes, taps.shape)
        result = self.emit.empty(source.shape, grad.dtype)
        self._call("pick", grad.dtype, [grad, taps, result], _mirror_axes(axes), shape)
        return self._back(result, data_format)

    def average_gradient(self, grad: Array, w: Any, data_format: str) -> Array:
        """Each window's gradient, shared evenly."""
        self._check(grad, w.output)
        grad = self._channels_last(grad, data_format)
        shape, axes = self._axes(w, data_format)
        if grad.dtype.itemsize == _NARROW:
            self.emit.unsupported("the shares are computed in float32")
        share = self.emit.empty(grad.shape, grad.dtype)
        self._call("share", grad.dtype, [grad, share], axes, grad.shape)
        result = self.emit.empty(shape, grad.dtype)
        self._call("sum", grad.dtype, [share, result], _mirror_axes(axes), shape)
        return self._back(result, data_format)

    def lrn(self, source: Array, radius: int, bias: float, alpha: float, beta: float) -> Array:
        """Local response normalization."""
        return lrn(self.emit, source, radius, bias, alpha, beta)

    def lrn_gradient(self, grad: Array, source: Array, output: Array, radius: int, bias: float, alpha: float, beta: float) -> Array:
        """Its gradient."""
        return lrn_gradient(self.emit, grad, source, output, radius, bias, alpha, beta)

    def _forward(self, how: str, source: Array, w: Any, data_format: str) -> Array:
        source = self._channels_last(source, data_format)
        _, axes = self._axes(w, data_format)
        spatial = [axis[4] for axis in axes][-(source.rank - 2):]
        result = self.emit.empty([source.shape[0], *spatial, source.shape[-1]], source.dtype)
        self._call(how, source.dtype, [source, result], axes, result.shape)
        return self._back(result, data_format)

    def _call(self, how: str, dtype: np.dtype, operands: Sequence[Array], axes: Sequence[Sequence[int]], shape: Sequence[int]) -> None:
        batch, channels = shape[0], shape[-1]
        rows = batch * axes[0][4] * axes[1][4]
        taps = math.prod(axis[1] for axis in axes)
        work = math.prod(shape) * taps
        if not math.prod(shape):
            return
        flat = [channels, channels, *[number for axis in axes for number in axis]]
        parts = [[*part, *flat] for part in split_work(rows, self.emit.threads, work, each=4)]
        self.emit.call(pool_code(how, dtype), operands, parts, f"pool {how}", flops=work, destination=DESTINATION if how in _MOVABLE else None)

    def _check(self, grad: Array, shape: Sequence[int]) -> None:
        if grad.shape != tuple(shape):
            self.emit.unsupported("the gradient does not have the shape of the pooled array")

    def _axes(self, w: Any, data_format: str) -> tuple[tuple[int, ...], list[list[int]]]:
        """The shape of the source, channels last, and the numbers of three spatial axes."""
        rank = len(w.size)
        order = [0, *range(2, rank), 1] if data_format.startswith("NC") else list(range(rank))
        rows = [[w.size[a], w.window[a], w.strides[a], w.before[a], w.output[a]] for a in order]
        if any(row[1] != 1 or row[2] != 1 for row in (rows[0], rows[-1])):
            self.emit.unsupported("windows over the batch or the channels")
        spatial = [[1, 1, 1, 0, 1]] * (5 - rank) + rows[1:-1]
        return tuple(row[0] for row in rows), spatial

    def _channels_last(self, array: Array, data_format: str) -> Array:
        if data_format.startswith("NC"):
            array = self.emit.move.view(lambda x: np.moveaxis(x, 1, -1), array)
        return self.emit.contiguous(array)

    def _back(self, array: Array, data_format: str) -> Array:
        return self.emit.move.view(lambda x: np.moveaxis(x, -1, 1), array) if data_format.startswith("NC") else array


def _mirror_axes(axes: Sequence[Sequence[int]]) -> list[list[int]]:
    """The numbers for the way back: what was counted is the source now."""
    return [[count, window, stride, before, size] for size, window, stride, before, count in axes]
