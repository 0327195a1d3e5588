"""Data movement: views where no element has to move, else copies. What ``emit.move`` is."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock.native.calls import Array, Code, row_major
from penstock.native.kernels.axes import broadcast_strides, collapse, split_work
from penstock.native.kernels.copying import LARGE, CopyDestination, accumulate_module, copy_code, plan_copy
from penstock.native.kernels.views import reshaped_strides, view_through
from penstock.native.unsupported import Unsupported
from penstock.native.vector.writer import element

_SMALL = 1 << 16  # bytes: padding is written together with everything else, and the inside again


class Moves:
    """The methods are named after what they do to their first argument."""

    def __init__(self, emit: Any) -> None:
        self.emit = emit

    # --- views -------------------------------------------------------------------------------------------------------

    def view(self, function: Callable[..., Any], array: Array, *arguments: Any) -> Any:
        """What a NumPy function that returns views makes of the array; Arrays among the arguments have to be known."""
        plain = [self.emit.known(each) if isinstance(each, Array) else each for each in arguments]
        return view_through(array, lambda shadow: function(shadow, *plain))

    def reshape(self, array: Array, shape: Sequence[int]) -> Array:
        """The same elements in another shape: a view if that is possible."""
        shape = [int(extent) for extent in shape]
        if -1 in shape:
            rest = -math.prod(shape)
            shape[shape.index(-1)] = array.size // rest if rest > 0 else -1
        if min(shape, default=0) < 0 or math.prod(shape) != array.size:
            self.emit.unsupported(f"{list(array.shape)} cannot be reshaped to {shape}")
        strides = reshaped_strides(array, shape) if array.size else None
        return self.emit.view(array if strides is not None else self.emit.contiguous(array), shape, strides)

    def broadcast(self, array: Array, shape: Sequence[int]) -> Array:
        """Repeated along missing axes and axes of extent 1."""
        shape = tuple(int(extent) for extent in shape)
        try:
            strides = broadcast_strides(array.shape, array.strides, shape)
        except ValueError as error:
            raise Unsupported(str(error)) from error
        return self.emit.view(array, shape, strides)

    def full(self, shape: Sequence[int], value: Any, dtype: np.dtype) -> Array:
        """One value everywhere: a constant of one element, seen many times."""
        return self.broadcast(self.emit.constant(np.array(value, dtype)), shape)

    # --- copies ------------------------------------------------------------------------------------------------------

    def copy(self, source: Array, target: Array, label: str = "copy") -> None:
        """Copies elements; both may be views, the source is broadcast to the target's shape."""
        if source.dtype.hasobject or source.dtype.itemsize != target.dtype.itemsize:
            self.emit.unsupported(f"elements of type {source.dtype} cannot be copied natively")
        strides = broadcast_strides(source.shape, source.strides, target.shape)
        if not target.size:
            return
        size = target.dtype.itemsize
        kind, parts = plan_copy(list(zip(target.shape, strides, target.strides)), size, self.emit.threads)
        self.emit.call(copy_code(kind, size), [source, target], parts, label, destination=CopyDestination(self.emit.threads))

    def copy_of(self, array: Array, label: str = "copy") -> Array:
        """A copy, contiguous."""
        result = self.emit.empty(array.shape, array.dtype)
        self.copy(array, result, label)
        return result

    def zeros(self, shape: Sequence[int], dtype: np.dtype) -> Array:
        """New memory, full of zeros, to be written to."""
        return self.copy_of(self.full(shape, 0, dtype), "zeros")

    def rearrange(self, array: Array, split: Sequence[int], order: Sequence[int], shape: Sequence[int], label: str) -> Array:
        """Reshaped to ``split``, transposed to ``order``, reshaped to ``shape``."""
        parts = self.reshape(array, split)
        moved = self.emit.view(parts, [parts.shape[axis] for axis in order], [parts.strides[axis] for axis in order])
        return self.reshape(self.copy_of(moved, label), shape)

    def concat(self, arrays: Sequence[Array], axis: int, into: Array | None = None, label: str = "concat") -> Array:
        """Joined along an axis: a new array, or ``into``, in which some of them may be in their place already."""
        first = arrays[0]
        if not -first.rank <= axis < first.rank or any(_without_axis(each.shape, axis) != _without_axis(first.shape, axis) for each in arrays):
            self.emit.unsupported("the shapes cannot be joined")
        axis %= first.rank
        extents = [each.shape[axis] for each in arrays]
        result = self.emit.empty([*first.shape[:axis], sum(extents), *first.shape[axis + 1:]], first.dtype) if into is None else into
        start = 0
        for each, extent in zip(arrays, extents):
            place = self.emit.view(result, each.shape, result.strides, start * result.strides[axis])
            if each.buffer is not place.buffer or each.offset != place.offset:
                self.copy(each, place, label)
            start += extent
        return result

    def pack(self, arrays: Sequence[Array], axis: int, into: Array | None = None) -> Array:
        """Joined along a new axis."""
        if not -arrays[0].rank - 1 <= axis <= arrays[0].rank or any(each.shape != arrays[0].shape for each in arrays):
            self.emit.unsupported("the shapes cannot be stacked")
        return self.concat([self.view(np.expand_dims, each, axis) for each in arrays], axis, into, "pack")

    def pad(self, array: Array, pairs: np.ndarray, value: Array) -> Array:
        """``value`` around the array: (before, after) per axis."""
        if pairs.shape != (array.rank, 2) or (pairs < 0).any():
            self.emit.unsupported("the paddings do not fit")
        widths = [(int(before), int(after)) for before, after in pairs]
        result = self.emit.empty([extent + sum(pair) for extent, pair in zip(array.shape, widths)], array.dtype)
        inside = self.view(_interior, result, widths)
        if any(map(sum, widths)):
            for border in [result] if result.nbytes < _SMALL else [border for border in self.view(_borders, result, widths) if border.size]:
                self.copy(value, border, "pad")
        self.copy(array, inside, "pad")
        return result

    def place_in_zeros(self, shape: Sequence[int], array: Array, where: Callable[[np.ndarray], np.ndarray], label: str) -> Array:
        """Zeros, with the array in the view that ``where`` takes of them."""
        result = self.emit.empty(shape, array.dtype)
        inside = self.view(where, result)
        if inside.shape != array.shape:
            self.emit.unsupported(f"an array of shape {list(array.shape)} is to be put into {list(inside.shape)}")
        if inside.size != result.size:
            self.copy(self.full((), 0, array.dtype), result, label)
        self.copy(array, inside, label)
        return result

    def diagonal(self, array: Array) -> Array:
        """An array of rank 2k with this one of rank k on its diagonal."""
        matrix = self.place_in_zeros((array.size, array.size), self.reshape(array, [-1] if array.size else [0]), np.diagonal, "diagonal")
        return self.reshape(matrix, [*array.shape, *array.shape])

    def diagonal_part(self, array: Array) -> Array:
        """The diagonal of an array of rank 2k."""
        half = array.rank // 2
        if array.rank % 2 or array.shape[:half] != array.shape[half:]:
            self.emit.unsupported("the two halves of the shape are not the same")
        count = math.prod(array.shape[:half])
        return self.reshape(self.view(np.diagonal, self.reshape(array, [count, count])), array.shape[:half])

    def mirror_pad(self, array: Array, pairs: np.ndarray, edge: int) -> Array:
        """Mirror images around the array, without (``edge`` 1) or with (0) the edge itself. Later axes mirror what is there by then."""
        widths = [(int(before), int(after)) for before, after in pairs]
        if pairs.shape != (array.rank, 2) or any(not 0 <= width <= extent - edge for extent, pair in zip(array.shape, widths) for width in pair):
            self.emit.unsupported("the paddings do not fit")
        result = self.emit.empty([extent + sum(pair) for extent, pair in zip(array.shape, widths)], array.dtype)
        self.copy(array, self.view(_interior, result, widths), "mirror_pad")
        for axis in range(array.rank):
            for side in range(2):
                if widths[axis][side]:
                    original, image = self.view(_images, result, widths, axis, side, edge)
                    self.copy(original, image, "mirror_pad")
        return result

    def mirror_pad_gradient(self, array: Array, pairs: np.ndarray, edge: int) -> Array:
        """What lies in mirror images added to what it is an image of, axis by axis."""
        widths = [(int(before), int(after)) for before, after in pairs]
        fits = [0 <= width <= extent - sum(pair) - edge for extent, pair in zip(array.shape, widths) for width in pair]
        if pairs.shape != (array.rank, 2) or not all(fits):
            self.emit.unsupported("the paddings do not fit")
        for axis, (before, after) in enumerate(widths):
            if before or after:
                inside, *images = self.view(_mirror, array, axis, before, after)
                array = self.copy_of(inside, "mirror_pad")
                for image, place in zip(images, self.view(_originals, array, axis, before, after, edge)):
                    self.accumulate(image, place, "mirror_pad")
        return array

    def accumulate(self, source: Array, target: Array, label: str) -> None:
        """Adds elements to others; both may be views of one shape, the target one in which no element is seen twice."""
        kind = element(target.dtype)
        if target.size:
            axes = [(extent, *steps) for extent, steps in collapse(list(zip(target.shape, zip(source.strides, target.strides))))] or [(1, 0, 0)]
            plain = axes[-1][1:] == (target.dtype.itemsize,) * 2
            inner, outer = axes[-1], axes[:-1]
            extent, *steps = outer[0] if outer else inner
            parts = []
            for start, stop in split_work(extent, self.emit.threads, target.nbytes, LARGE, grain=64):  # the first axis is cut
                axes = [(stop - start, *steps), *outer[1:], *([inner] if outer else [])]
                parts.append([start * steps[0], start * steps[1], *axes[-1], len(outer), *[number for axis in axes[:-1] for number in axis]])
            code = Code.of(f"accumulate {target.dtype} {plain}", lambda: accumulate_module(kind, plain))
            self.emit.call(code, [source, target], parts, label, flops=target.size)

    def bitcast(self, array: Array, dtype: np.dtype) -> Array:
        """The same bytes as elements of another type; the last axis appears or goes if sizes differ."""
        old, new = array.dtype.itemsize, dtype.itemsize
        if old == new:
            return Array(array.buffer, dtype, array.shape, array.strides, array.offset)
        if old < new and array.shape[-1:] != (new // old,):
            self.emit.unsupported(f"the last axis does not hold {new} bytes")
        array = self.emit.contiguous(array)
        shape = array.shape[:-1] if old < new else (*array.shape, old // new)
        return Array(array.buffer, dtype, shape, row_major(shape, new), array.offset)

    def roll(self, array: Array, shifts: np.ndarray, axes: np.ndarray) -> Array:
        """Shifted along axes, around the ends."""
        if not array.rank or np.size(shifts) != np.size(axes) or any(not -array.rank <= axis < array.rank for axis in np.ravel(axes)):
            self.emit.unsupported("the shifts do not fit")
        for shift, axis in zip(np.ravel(shifts).tolist(), np.ravel(axes).tolist()):
            extent = array.shape[axis]
            if extent and shift % extent:
                array = self.concat(self.view(np.split, array, [extent - shift % extent], axis)[::-1], axis, label="roll")
        return array

    def tile(self, array: Array, multiples: Sequence[int]) -> Array:
        """Repeated along each axis: an axis becomes two, of which the first is broadcast."""
        times = [int(factor) for factor in multiples]
        if len(times) != array.rank or min(times, default=0) < 0:
            self.emit.unsupported("the multiples do not fit")
        shape = [part for factor, extent in zip(times, array.shape) for part in (factor, extent)]
        strides = [part for stride in array.strides for part in (0, stride)]
        result = self.copy_of(self.emit.view(array, shape, strides), "tile")
        return self.emit.view(result, [factor * extent for factor, extent in zip(times, array.shape)])


def _without_axis(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    axis %= max(len(shape), 1)
    return (*shape[:axis], *shape[axis + 1:])


def _interior(array: np.ndarray, widths: Sequence[tuple[int, int]]) -> np.ndarray:
    return array[tuple(slice(before, extent - after) for extent, (before, after) in zip(array.shape, widths))]


def _borders(array: np.ndarray, widths: Sequence[tuple[int, int]]) -> list[np.ndarray]:
    """Boxes that together are all but the inside, each element in one of them."""
    result = []
    for axis, (before, after) in enumerate(widths):
        front = np.moveaxis(array, axis, 0)
        result += [front[:before], front[len(front) - after:]]
        array = np.moveaxis(front[before:len(front) - after], 0, axis)
    return result


def _mirror(array: np.ndarray, axis: int, before: int, after: int) -> list[np.ndarray]:
    """What is inside of the padding of one axis, and the images on both sides, the right way round."""
    front = np.moveaxis(array, axis, 0)
    stop = len(front) - after
    return [np.moveaxis(each, 0, axis) for each in (front[before:stop], front[:before][::-1], front[stop:][::-1])]


def _originals(array: np.ndarray, axis: int, before: int, after: int, edge: int) -> list[np.ndarray]:
    """What they are images of."""
    front = np.moveaxis(array, axis, 0)
    return [np.moveaxis(each, 0, axis) for each in (front[edge:edge + before], front[len(front) - edge - after:len(front) - edge])]


def _images(array: np.ndarray, widths: Sequence[tuple[int, int]], axis: int, side: int, edge: int) -> list[np.ndarray]:
    """What is mirrored at one end of an axis, and where it goes: complete along the axes before, without padding along those behind."""
    inner = array[tuple(slice(None) if k <= axis else slice(before, extent - after)
                        for k, (extent, (before, after)) in enumerate(zip(array.shape, widths)))]
    front = np.moveaxis(inner, axis, 0)
    before, after = widths[axis]
    stop = len(front) - after
    if side == 0:
        return [front[before + edge:2 * before + edge][::-1], front[:before]]
    return [front[stop - edge - after:stop - edge][::-1], front[stop:]]
