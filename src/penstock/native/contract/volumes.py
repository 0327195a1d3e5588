"""Convolutions of volumes, as sums of convolutions of images. What ``emit.volumes`` is.

For each plane of the filter, the planes of an output volume and the planes of the input volume that it meets are two batches of images. Every volume
of the batch is done by itself: its planes are at equal distances, also where some of them are skipped by a stride.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.errors import KernelError
from penstock.native.calls import Array
from penstock.native.contract.product import Epilogue
from penstock.ops.nn import data_formats
from penstock.ops.nn.conv_shape import conv_windows
from penstock.ops.nn.windows import Windows

Ints = tuple[int, ...]


@dataclass(frozen=True)
class _Meeting:
    """One plane of the filter: output planes from ``first`` on meet input planes from ``start`` on, ``count`` of each; the latter at ``step``."""

    tap: int
    first: int
    count: int
    start: int
    step: int


class Volumes:
    """``conv3d`` and its two gradients."""

    def __init__(self, emit: Any) -> None:
        self.emit = emit

    def conv3d(self, input: Array, filter: Array, strides: Ints, padding: str, data_format: str, dilations: Ints) -> Array:
        """The convolution of volumes with filters."""
        w = self._windows(input.shape, filter.shape, strides, dilations, padding, data_format)
        x, filter = self._channels_last(input, data_format), self.emit.contiguous(filter)
        result = self.emit.move.zeros([x.shape[0], *w.output, filter.shape[4]], x.dtype)
        attrs = _flat_attrs(strides, dilations, w, data_format)
        for meeting in _meetings(w):
            for volume in range(x.shape[0]):
                products = self.emit.convolve.conv2d(self._inputs(x, volume, meeting), self._tap(filter, meeting), **attrs)
                self.emit.move.accumulate(products, self._outputs(result, volume, meeting), "conv3d")
        return self._back(result, data_format)

    def conv3d_backprop_input(self, input_sizes: Array, filter: Array, out_backprop: Array, strides: Ints, padding: str, data_format: str,
                              dilations: Ints) -> Array:
        """The gradient for the input."""
        sizes = tuple(int(extent) for extent in self.emit.known(input_sizes))
        w = self._windows(sizes, filter.shape, strides, dilations, padding, data_format)
        dy, filter = self._gradient(out_backprop, data_format, (sizes[0], *w.output, filter.shape[4])), self.emit.contiguous(filter)
        result = self.emit.move.zeros([sizes[0], *w.size, data_formats.channels(sizes, data_format)], dy.dtype)
        attrs = _flat_attrs(strides, dilations, w, data_format)
        for meeting in _meetings(w):
            images = self.emit.constant(np.array([meeting.count, *result.shape[2:]], np.int32))
            for volume in range(sizes[0]):
                gradients = self.emit.convolve.conv2d_backprop_input(images, self._tap(filter, meeting), self._outputs(dy, volume, meeting), **attrs)
                self.emit.move.accumulate(gradients, self._inputs(result, volume, meeting), "conv3d input gradient")
        return self._back(result, data_format)

    def conv3d_backprop_filter(self, input: Array, filter_sizes: Array, out_backprop: Array, strides: Ints, padding: str, data_format: str,
                               dilations: Ints) -> Array:
        """The gradient for the filter."""
        shape = tuple(int(extent) for extent in self.emit.known(filter_sizes))
        w = self._windows(input.shape, shape, strides, dilations, padding, data_format)
        x = self._channels_last(input, data_format)
        dy = self._gradient(out_backprop, data_format, (x.shape[0], *w.output, shape[4]))
        result = self.emit.move.zeros(shape, x.dtype)
        attrs = _flat_attrs(strides, dilations, w, data_format)
        taps = self.emit.constant(np.array(shape[1:], np.int32))
        for meeting in _meetings(w):
            place = self._tap(result, meeting)
            for volume in range(x.shape[0]):
                images, grads = self._inputs(x, volume, meeting), self._outputs(dy, volume, meeting)
                self.emit.convolve.conv2d_backprop_filter(images, taps, grads, **attrs, epilogue=Epilogue(added=place), into=place)
        return result

    def _windows(self, shape: Ints, filter_shape: Ints, strides: Ints, dilations: Ints, padding: str, data_format: str) -> Windows:
        try:
            w = conv_windows(shape, filter_shape, strides, dilations, padding, data_format)
        except KernelError as error:
            self.emit.unsupported(str(error))
        if data_formats.channels(shape, data_format) != filter_shape[3]:
            self.emit.unsupported("the filter does not have the input's channels")
        return w

    def _channels_last(self, array: Array, data_format: str) -> Array:
        array = self.emit.move.view(data_formats.channels_last, array, data_format)
        return array if array.strides[4] == array.dtype.itemsize or array.shape[4] == 1 else self.emit.contiguous(array)

    def _back(self, array: Array, data_format: str) -> Array:
        return self.emit.move.view(lambda x: np.moveaxis(x, -1, 1) if data_formats.channels_first(data_format) else x, array)

    def _gradient(self, array: Array, data_format: str, shape: Ints) -> Array:
        array = self._channels_last(array, data_format)
        if array.shape != shape:
            self.emit.unsupported("the output's gradient has another shape than the output")
        return array

    def _tap(self, filter: Array, meeting: _Meeting) -> Array:
        return self.emit.view(filter, filter.shape[1:], filter.strides[1:], meeting.tap * filter.strides[0])

    def _outputs(self, array: Array, volume: int, meeting: _Meeting) -> Array:
        return self._planes(array, volume, meeting.first, meeting.count, 1)

    def _inputs(self, array: Array, volume: int, meeting: _Meeting) -> Array:
        return self._planes(array, volume, meeting.start, meeting.count, meeting.step)

    def _planes(self, array: Array, volume: int, first: int, count: int, step: int) -> Array:
        """Planes of a volume, as a batch of images."""
        whole, plane, *rest = array.strides
        return self.emit.view(array, (count, *array.shape[2:]), (step * plane, *rest), volume * whole + first * plane)


def _meetings(w: Windows) -> Iterator[_Meeting]:
    """The planes of a filter that meet any plane of the input."""
    for tap in range(w.window[0]):
        origin = tap * w.dilations[0] - w.before[0]  # the input plane that the first output plane meets
        step = w.strides[0]
        first = max(-(origin // step), 0)
        stop = min((w.size[0] - 1 - origin) // step + 1, w.output[0])
        if stop > first:
            yield _Meeting(tap, first, stop - first, origin + first * step, step)


def _flat_attrs(strides: Sequence[int], dilations: Sequence[int], w: Windows, data_format: str) -> dict[str, Any]:
    """What the convolutions of the planes are told."""
    (_, *steps), (_, *rates) = data_formats.spatial(strides, data_format), data_formats.spatial(dilations, data_format)
    pads = [(before, max((count - 1) * step + (taps - 1) * rate + 1 - size - before, 0)) for before, count, step, taps, rate, size in
            zip(w.before[1:], w.output[1:], steps, w.window[1:], rates, w.size[1:])]
    return {"strides": (1, *steps, 1), "dilations": (1, *rates, 1), "padding": "EXPLICIT", "data_format": "NHWC",
            "explicit_paddings": (0, 0, *pads[0], *pads[1], 0, 0)}
