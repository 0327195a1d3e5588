"""Convolutions of volumes, as convolutions of images. What ``emit.volumes`` is.

An output plane is computed from as many input planes as the filter has. These are copied side by side, as the channels of one *thick* image, so
that the sum over planes is a part of one product, too, and what is quick for images (Winograd's algorithm, few channels) is so for volumes. The
gradient for the input is such a convolution of the output's gradient, one for each residue of the stride. Thick images are as many times larger as
the filter has planes, so large volumes are done in pieces.
"""
from __future__ import annotations

import math
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
_MOST_BYTES = 1 << 25  # of thick images at a time


@dataclass(frozen=True)
class _Planes:
    """Which plane of a volume stands in a slot of the thick image ``j``: ``j * step + origins[slot]``, if there is one."""

    step: int
    origins: Ints


@dataclass(frozen=True)
class _Piece:
    """Thick images that are computed together: those of some planes of some volumes."""

    volume: int
    volumes: int
    first: int
    count: int

    @property
    def images(self) -> int:
        """How many."""
        return self.volumes * self.count


class Volumes:
    """``conv3d`` and its two gradients."""

    def __init__(self, emit: Any) -> None:
        self.emit = emit

    def conv3d(self, input: Array, filter: Array, strides: Ints, padding: str, data_format: str, dilations: Ints) -> Array:
        """The convolution of volumes with filters."""
        w = self._windows(input.shape, filter.shape, strides, dilations, padding, data_format)
        x, planes = self._channels_last(input, data_format), _seen_planes(w)
        result = self.emit.empty([x.shape[0], *w.output, filter.shape[4]], x.dtype)
        thick, attrs = self._thick_filter(filter), _flat_attrs(strides, dilations, w, data_format)
        for piece in _pieces(x, w.output[0], planes):
            images = self.emit.convolve.conv2d(self._thick(x, piece, planes), thick, **attrs)
            result = self._placed(images, result, piece, 0, 1)
        return self._back(result, data_format)

    def conv3d_backprop_input(self, input_sizes: Array, filter: Array, out_backprop: Array, strides: Ints, padding: str, data_format: str,
                              dilations: Ints) -> Array:
        """The gradient for the input."""
        sizes = tuple(int(extent) for extent in self.emit.known(input_sizes))
        w = self._windows(sizes, filter.shape, strides, dilations, padding, data_format)
        dy = self._gradient(out_backprop, data_format, (sizes[0], *w.output, filter.shape[4]))
        result = self.emit.empty([sizes[0], *w.size, data_formats.channels(sizes, data_format)], dy.dtype)
        attrs, step = _flat_attrs(strides, dilations, w, data_format), w.strides[0]
        for residue in range(min(step, w.size[0])):
            taps = [tap for tap in range(w.window[0]) if (residue + w.before[0] - tap * w.dilations[0]) % step == 0]
            planes = _Planes(1, tuple((residue + w.before[0] - tap * w.dilations[0]) // step for tap in taps))
            thick = self._filter_of_gradient(filter, taps)
            for piece in _pieces(dy, len(range(residue, w.size[0], step)), planes):
                if not taps:
                    self._fill(self._place(result, piece, residue, step))
                    continue
                extents = self.emit.constant(np.array([piece.images, *result.shape[2:]], np.int32))
                images = self.emit.convolve.conv2d_backprop_input(extents, thick, self._thick(dy, piece, planes), **attrs)
                result = self._placed(images, result, piece, residue, step)
        return self._back(result, data_format)

    def conv3d_backprop_filter(self, input: Array, filter_sizes: Array, out_backprop: Array, strides: Ints, padding: str, data_format: str,
                               dilations: Ints) -> Array:
        """The gradient for the filter."""
        shape = tuple(int(extent) for extent in self.emit.known(filter_sizes))
        w = self._windows(input.shape, shape, strides, dilations, padding, data_format)
        x, planes = self._channels_last(input, data_format), _seen_planes(w)
        dy = self.emit.contiguous(self._gradient(out_backprop, data_format, (x.shape[0], *w.output, shape[4])))
        taps, height, width, depth, outputs = shape
        total = self.emit.move.zeros((height, width, taps * depth, outputs), x.dtype)
        attrs, sizes = _flat_attrs(strides, dilations, w, data_format), self.emit.constant(np.array(total.shape, np.int32))
        for piece in _pieces(x, w.output[0], planes):
            place = self._place(dy, piece, 0, 1)
            grads = self.emit.view(place, (piece.images, *dy.shape[2:]), dy.strides[1:])
            thick = self._thick(x, piece, planes)
            self.emit.convolve.conv2d_backprop_filter(thick, sizes, grads, **attrs, epilogue=Epilogue(added=total), into=total)
        parts = self.emit.view(total, (height, width, taps, depth, outputs))
        return self.emit.contiguous(_ordered(self.emit, parts, (2, 0, 1, 3, 4)))

    def _windows(self, shape: Ints, filter_shape: Ints, strides: Ints, dilations: Ints, padding: str, data_format: str) -> Windows:
        try:
            w = conv_windows(shape, filter_shape, strides, dilations, padding, data_format)
        except KernelError as error:
            self.emit.unsupported(str(error))
        if data_formats.channels(shape, data_format) != filter_shape[3]:
            self.emit.unsupported("the filter does not have the input's channels")
        return w

    def _channels_last(self, array: Array, data_format: str) -> Array:
        viewed: Array = self.emit.move.view(data_formats.channels_last, array, data_format)
        return viewed

    def _back(self, array: Array, data_format: str) -> Array:
        return self.emit.move.view(lambda x: np.moveaxis(x, -1, 1) if data_formats.channels_first(data_format) else x, array)

    def _gradient(self, array: Array, data_format: str, shape: Ints) -> Array:
        array = self._channels_last(array, data_format)
        if array.shape != shape:
            self.emit.unsupported("the output's gradient has another shape than the output")
        return array

    # --- thick images and their filters ----------------------------------------------------------------------------------------------------

    def _thick(self, array: Array, piece: _Piece, planes: _Planes) -> Array:
        """The thick images of a piece: planes that are not there are zeros."""
        slots, rest, depth = len(planes.origins), array.shape[2:4], array.shape[4]
        shape = (piece.images, *rest, slots * depth)
        if planes == _Planes(1, (0,)) and array.contiguous:
            return self.emit.view(self._place(array, piece, 0, 1), shape, array.strides[1:])
        result = self.emit.empty((piece.volumes, piece.count, *rest, slots, depth), array.dtype)
        first, last = piece.first, piece.first + piece.count
        for slot, origin in enumerate(planes.origins):
            # The first thick image that has such a plane, and the first that has none any more.
            start = min(max(-(origin // planes.step), first), last)
            stop = max(min((array.shape[1] - 1 - origin) // planes.step + 1, last), start)
            for before, after in ((first, start), (stop, last)):
                if after > before:
                    self._fill(self._slot(result, slot, before - first, after - before))
            if stop > start:
                whole, plane, *steps = array.strides
                at = piece.volume * whole + (start * planes.step + origin) * plane
                seen = self.emit.view(array, (piece.volumes, stop - start, *rest, depth), (whole, planes.step * plane, *steps), at)
                self.emit.copy(seen, self._slot(result, slot, start - first, stop - start))
        return self.emit.view(result, shape)

    def _slot(self, thick: Array, slot: int, first: int, count: int) -> Array:
        """One slot of some thick images."""
        volumes, _, height, width, _, depth = thick.shape
        strides = (*thick.strides[:4], thick.strides[5])
        return self.emit.view(thick, (volumes, count, height, width, depth), strides, first * strides[1] + slot * thick.strides[4])

    def _fill(self, place: Array) -> None:
        """Zeros in a place."""
        self.emit.copy(self.emit.constant(np.zeros((), place.dtype)), place)

    def _thick_filter(self, filter: Array) -> Array:
        taps, height, width, depth, outputs = filter.shape
        return self.emit.view(self.emit.contiguous(_ordered(self.emit, filter, (1, 2, 0, 3, 4))), (height, width, taps * depth, outputs))

    def _filter_of_gradient(self, filter: Array, taps: Sequence[int]) -> Array:
        """A filter whose outputs are those of some taps, side by side."""
        _, height, width, depth, outputs = filter.shape
        result = self.emit.empty((height, width, depth, len(taps), outputs), filter.dtype)
        for slot, tap in enumerate(taps):
            source = self.emit.view(filter, filter.shape[1:], filter.strides[1:], tap * filter.strides[0])
            place = self.emit.view(result, filter.shape[1:], (*result.strides[:3], result.strides[4]), slot * result.strides[3])
            self.emit.copy(source, place)
        return self.emit.view(result, (height, width, depth, len(taps) * outputs))

    # --- pieces ------------------------------------------------------------------------------------------------------------------------------

    def _place(self, volumes: Array, piece: _Piece, residue: int, step: int) -> Array:
        """Where the planes of a piece lie; the first of them is ``residue``, the others follow at ``step``."""
        whole, plane, *rest = volumes.strides
        at = piece.volume * whole + (residue + piece.first * step) * plane
        return self.emit.view(volumes, (piece.volumes, piece.count, *volumes.shape[2:]), (whole, step * plane, *rest), at)

    def _placed(self, images: Array, result: Array, piece: _Piece, residue: int, step: int) -> Array:
        """The result with the images of a piece in their place: these images themselves, if they are all."""
        if math.prod(images.shape) == math.prod(result.shape):
            return self.emit.view(images, result.shape)
        place = self._place(result, piece, residue, step)
        self.emit.copy(self.emit.view(images, place.shape), place)
        return result


def _ordered(emit: Any, array: Array, order: Sequence[int]) -> Array:
    return emit.view(array, [array.shape[axis] for axis in order], [array.strides[axis] for axis in order])


def _seen_planes(w: Windows) -> _Planes:
    """The planes of the input that an output plane is computed from."""
    return _Planes(w.strides[0], tuple(tap * w.dilations[0] - w.before[0] for tap in range(w.window[0])))


def _pieces(array: Array, count: int, planes: _Planes) -> Iterator[_Piece]:
    """All ``count`` thick images of each volume, in pieces that are not too large."""
    volumes, each = array.shape[0], max(math.prod(array.shape[2:]) * len(planes.origins) * array.dtype.itemsize, 1)
    most = max(_MOST_BYTES // each, 1)
    if most >= count:
        together = max(most // max(count, 1), 1)
        for volume in range(0, volumes if count else 0, together):
            yield _Piece(volume, min(together, volumes - volume), 0, count)
        return
    for volume in range(volumes):
        for first in range(0, count, most):
            yield _Piece(volume, 1, first, min(most, count - first))


def _flat_attrs(strides: Sequence[int], dilations: Sequence[int], w: Windows, data_format: str) -> dict[str, Any]:
    """What the convolutions of thick images are told."""
    (_, *steps), (_, *rates) = data_formats.spatial(strides, data_format), data_formats.spatial(dilations, data_format)
    pads = [(before, max((count - 1) * step + (taps - 1) * rate + 1 - size - before, 0)) for before, count, step, taps, rate, size in
            zip(w.before[1:], w.output[1:], steps, w.window[1:], rates, w.size[1:])]
    return {"strides": (1, *steps, 1), "dilations": (1, *rates, 1), "padding": "EXPLICIT", "data_format": "NHWC",
            "explicit_paddings": (0, 0, *pads[0], *pads[1], 0, 0)}
