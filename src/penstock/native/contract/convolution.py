"""Convolutions of the emitter: forward, and the gradients for input and filter, as products with a matrix of windows that is never made.

Arrays have their channels last; of other formats a copy is made, and the result is a view with its axes in the format's order.
"""
from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from penstock.errors import KernelError
from penstock.native.calls import Array, row_major
from penstock.native.contract.product import Epilogue, Product, Taps, emit
from penstock.native.contract.products import check_dtype
from penstock.native.contract.winograd import GRADIENT_TERMS, Winograd, scheme_for
from penstock.native.contract.winograd_matrices import Scheme
from penstock.ops.nn import data_formats
from penstock.ops.nn.conv_shape import conv_windows
from penstock.ops.nn.windows import Windows

if TYPE_CHECKING:
    from penstock.native.emitter import Emitter

Ints = tuple[int, ...]
_MOST_PHASES = 1 << 12  # products of a gradient for the input


def channels_last(array: Array, data_format: str) -> Array:
    """The array seen with its channels last."""
    array = _reorder(array, (0, 2, 3, 1)) if data_formats.channels_first(data_format) else array
    if array.contiguous:  # then the strides of axes with one element can be anything
        return Array(array.buffer, array.dtype, array.shape, row_major(array.shape, array.dtype.itemsize), array.offset)
    return array


def from_channels_last(array: Array, data_format: str) -> Array:
    """An array with its channels last, seen in the format."""
    return _reorder(array, (0, 3, 1, 2)) if data_formats.channels_first(data_format) else array


def _reorder(array: Array, order: Sequence[int]) -> Array:
    shape, strides = (tuple(values[axis] for axis in order) for values in (array.shape, array.strides))
    return Array(array.buffer, array.dtype, shape, strides, array.offset)


@dataclass(frozen=True)
class Grid:
    """Windows over one axis of an image: ``count`` windows of ``taps`` pixels; the first begins ``pad`` pixels before the image."""

    count: int
    extent: int
    taps: int
    stride: int
    dilation: int
    pad: int


def grids(w: Windows) -> tuple[Grid, Grid]:
    """The windows of a convolution, axis by axis."""
    down, across = (Grid(w.output[i], w.size[i], w.window[i], w.strides[i], w.dilations[i], w.before[i]) for i in (0, 1))
    return down, across


def patch_words(image: Array, depth: int, down: Grid, across: Grid) -> Ints:
    """The words of ``packing.PATCH_WORDS``: windows over an image with its channels last. A row of a window is one segment if it is contiguous."""
    together = across.dilation == 1 and image.strides[2] == depth * image.dtype.itemsize
    segments, length = (1, across.taps * depth) if together else (across.taps, depth)
    return (max(across.count, 1), max(down.count, 1), *image.strides[:3], down.extent, across.extent, depth, down.stride, across.stride, down.pad,
            across.pad, down.dilation, across.dilation, max(segments, 1), max(length, 1))  # what the kernel divides by is never 0


class Convolutions:
    """``conv2d`` and its two gradients."""

    b: Emitter

    def conv2d(self, input: Array, filter: Array, strides: Ints, padding: str, data_format: str, dilations: Ints, explicit_paddings: Ints = (),
               epilogue: Epilogue | None = None) -> Array:
        """The convolution of images with filters. What the epilogue adds has its channels last, or is a vector with an element per channel."""
        check_dtype(self.b, input)
        w = self.windows(input.shape, filter.shape, strides, dilations, padding, data_format, explicit_paddings)
        x = self.image(input, data_format)
        kernel, groups = self.b.contiguous(filter), self._groups(x.shape[3], filter.shape)
        result = self.b.empty((x.shape[0], *w.output, filter.shape[3]), x.dtype)
        scheme = self._winograd(w, x, filter.shape, groups)
        if scheme is not None:
            added, step = self._with_added(epilogue, result.shape)
            winograd = Winograd(self.b, scheme, x.shape[0], w.output, filter.shape[2], filter.shape[3], w.before)
            winograd.convolve(x, kernel, result, added, step, "conv2d")
        else:
            self._convolve(x, kernel, result, grids(w), groups, epilogue)
        return from_channels_last(result, data_format)

    def conv2d_backprop_input(self, input_sizes: Array, filter: Array, out_backprop: Array, strides: Ints, padding: str, data_format: str,
                              dilations: Ints, explicit_paddings: Ints = ()) -> Array:
        """The gradient for the input: the pixels of each residue of the stride are a convolution of the output's gradient with some of the taps."""
        check_dtype(self.b, filter)
        sizes = tuple(int(extent) for extent in self.b.known(input_sizes))
        w = self.windows(sizes, filter.shape, strides, dilations, padding, data_format, explicit_paddings)
        depth, groups = data_formats.channels(sizes, data_format), self._groups(data_formats.channels(sizes, data_format), filter.shape)
        dy = self._gradient(out_backprop, data_format, (sizes[0], *w.output, filter.shape[3]))
        result = self.b.empty((sizes[0], *w.size, depth), dy.dtype)
        down, across = grids(w)
        scheme = self._winograd(w, dy, filter.shape, groups)
        if scheme is not None:
            transposed = self._turned(filter)
            pads = tuple(scheme.taps - 1 - before for before in w.before)
            winograd = Winograd(self.b, scheme, sizes[0], w.size, filter.shape[3], filter.shape[2], pads, GRADIENT_TERMS)
            winograd.convolve(dy, transposed, result, Epilogue(), 0, "conv2d input gradient")
            return from_channels_last(result, data_format)
        filter, image = self.b.contiguous(filter), result
        if groups == 1 and _is_whole(across):
            filter, image, down, across = _taps_as_channels(filter, result, down)
        if down.stride * across.stride > _MOST_PHASES:
            self.b.unsupported(f"strides of {down.stride} and {across.stride} mean too many products")
        for y, rows in _phases(down):
            for x, columns in _phases(across):
                self._phase(dy, filter, image, (y, rows, down), (x, columns, across), groups)
        return from_channels_last(result, data_format)

    def conv2d_backprop_filter(self, input: Array, filter_sizes: Array, out_backprop: Array, strides: Ints, padding: str, data_format: str,
                               dilations: Ints, explicit_paddings: Ints = (), epilogue: Epilogue | None = None, into: Array | None = None) -> Array:
        """The gradient for the filter: the windows, transposed, times the output's gradient. A new array, or in ``into``."""
        check_dtype(self.b, input)
        shape = tuple(int(extent) for extent in self.b.known(filter_sizes))
        w = self.windows(input.shape, shape, strides, dilations, padding, data_format, explicit_paddings)
        x = self.image(input, data_format)
        groups = self._groups(x.shape[3], shape)
        dy = self._gradient(out_backprop, data_format, (x.shape[0], *w.output, shape[3]))
        result = self.b.empty(shape, x.dtype) if into is None else into
        epilogue, step = self._with_added(epilogue, shape)
        size, (down, across) = x.dtype.itemsize, grids(w)
        scheme = self._winograd(w, x, shape, groups, filter_gradient=True)
        if scheme is not None and result.contiguous:
            winograd = Winograd(self.b, scheme, x.shape[0], w.output, shape[2], shape[3], w.before, GRADIENT_TERMS)
            winograd.filter_gradient(x, dy, result, epilogue, "conv2d filter gradient")
            return result
        pixels, columns = x.shape[0] * math.prod(w.output), shape[3] // groups
        for group in range(groups):
            at = group * columns * size
            words = {"a_at": group * shape[2] * size, "b_at": at, "c_at": at, "added_at": at, "added_step": step, "terms": GRADIENT_TERMS}
            product = Product(math.prod(shape[:3]), columns, pixels, _pixel_step(x), dy.strides[2], shape[3] * size, a_transposed=True, steps=words,
                              patches=() if _plain(x, down, across) else patch_words(x, shape[2], down, across))
            emit(self.b, product, x, dy, result, "conv2d filter gradient", epilogue)
        return result

    def windows(self, shape: Ints, filter_shape: Ints, strides: Ints, dilations: Ints, padding: str, data_format: str,
                explicit: Ints = ()) -> Windows:
        """Where the windows lie; Unsupported if the kernel would find fault with the shapes."""
        try:
            return conv_windows(shape, filter_shape, strides, dilations, padding, data_format, explicit)
        except KernelError as error:
            self.b.unsupported(str(error))

    def image(self, array: Array, data_format: str) -> Array:
        """Images with their channels last and contiguous."""
        array = channels_last(array, data_format)
        return array if array.strides[3] == array.dtype.itemsize or array.shape[3] == 1 else self.b.contiguous(array)

    def _winograd(self, w: Windows, x: Array, filter_shape: Ints, groups: int, filter_gradient: bool = False) -> Scheme | None:
        if groups > 1 or not self.b.winograd:
            return None
        return scheme_for(w.window, w.strides, w.dilations, (filter_shape[2], filter_shape[3]), x.shape[0], w.output, x.dtype, filter_gradient)

    def _gradient(self, array: Array, data_format: str, shape: Ints) -> Array:
        """The output's gradient with its channels last: all pixels at equal distances."""
        array = channels_last(array, data_format)
        if array.shape != shape:
            self.b.unsupported("the output's gradient has another shape than the output")
        return array if _uniform(array) and (array.strides[3] == array.dtype.itemsize or shape[3] == 1) else self.b.contiguous(array)

    def _groups(self, depth: int, filter_shape: Ints) -> int:
        if filter_shape[2] == 0 or depth % filter_shape[2] or filter_shape[3] % (depth // filter_shape[2] or 1) or depth == 0:
            self.b.unsupported("the filter does not fit the input's channels")
        return depth // filter_shape[2]

    def integers(self, x: Array, kernel: Array, result: Array, w: Windows, packed: int, epilogue: Epilogue | None = None) -> None:
        """The convolution of words of ``packed`` integers, with channels last."""
        self._convolve(x, kernel, result, grids(w), 1, epilogue, packed)

    def _convolve(self, x: Array, kernel: Array, result: Array, windows: tuple[Grid, Grid], groups: int, epilogue: Epilogue | None,
                  packed: int = 1) -> None:
        epilogue, step = self._with_added(epilogue, result.shape)
        size, (down, across) = x.dtype.itemsize, windows
        depth, outputs = kernel.shape[2], kernel.shape[3]
        columns, rows = outputs // groups, x.shape[0] * down.count * across.count
        for group in range(groups):
            words = {"a_at": group * depth * size, "b_at": group * columns * size, "c_at": group * columns * size, "added_at": group * columns * size,
                     "added_step": step}
            product = Product(rows, columns, math.prod(kernel.shape[:3]), _pixel_step(x), outputs * size, outputs * size, steps=words,
                              patches=() if _plain(x, down, across) else patch_words(x, depth, down, across), packed=packed)
            emit(self.b, product, x, kernel, result, "conv2d", epilogue)

    def _with_added(self, epilogue: Epilogue | None, shape: Ints) -> tuple[Epilogue, int]:
        """The epilogue, and the bytes between the rows of what it adds: an array of this shape, or a vector along its last axis."""
        if epilogue is None or epilogue.added is None:
            return epilogue or Epilogue(), 0
        added = self.b.contiguous(epilogue.added)
        return replace(epilogue, added=added), 0 if added.rank == 1 else shape[-1] * added.dtype.itemsize

    def _turned(self, filter: Array) -> Array:
        """A filter with its taps in reverse order, and its channels exchanged."""
        height, width, depth, outputs = filter.shape
        sy, sx, si, so = filter.strides
        result = self.b.empty((height, width, outputs, depth), filter.dtype)
        self.b.copy(self.b.view(filter, result.shape, (-sy, -sx, so, si), (height - 1) * sy + (width - 1) * sx), result)
        return result

    def _phase(self, dy: Array, filter: Array, result: Array, vertical: tuple[int, Grid, Grid], horizontal: tuple[int, Grid, Grid],
               groups: int) -> None:
        """The pixels whose coordinates have the given remainders when divided by the strides."""
        (y, rows, down), (x, columns, across) = vertical, horizontal
        size, (depth, outputs) = dy.dtype.itemsize, filter.shape[2:]
        each = outputs // groups
        first, taps = _taps(filter, each, (_first_tap(y, down), _tap_step(down), rows.taps), (_first_tap(x, across), _tap_step(across), columns.taps))
        line, pixel = result.strides[1], result.strides[2]
        scattered = down.stride > 1 or across.stride > 1
        for group in range(groups):
            words = {"a_at": group * each * size, "b_at": first + group * each * size, "c_at": y * line + x * pixel + group * depth * size}
            if scattered:
                words |= {"c_width": columns.count, "c_height": rows.count, "c_line": line * down.stride, "c_image": result.strides[0]}
            plain = _plain(dy, rows, columns)
            product = Product(dy.shape[0] * rows.count * columns.count, depth, rows.taps * columns.taps * each, dy.strides[2], filter.strides[2],
                              pixel * across.stride, b_transposed=True, taps=taps, steps=words,
                              patches=() if plain else patch_words(dy, each, rows, columns))
            emit(self.b, product, dy, filter, result, "conv2d input gradient")


def _taps(filter: Array, each: int, vertical: Ints, horizontal: Ints) -> tuple[int, Taps]:
    """Every ``step``-th tap of a filter from ``first`` on, in reverse order, as rows of a transposed matrix: where the first one begins, and how the
    others follow it."""
    (y, y_step, rows), (x, x_step, columns) = vertical, horizontal
    sy, sx, _, _ = filter.strides
    return (y + (rows - 1) * y_step) * sy + (x + (columns - 1) * x_step) * sx, Taps(each, columns, -x_step * sx, -y_step * sy)


_ONE_PIXEL = Grid(1, 1, 1, 1, 1, 0)


def _is_whole(grid: Grid) -> bool:
    """True if there is one window, and it is the whole axis."""
    return grid.count == 1 and grid.taps == grid.extent and grid.pad == 0 and grid.dilation == 1


def _taps_as_channels(filter: Array, image: Array, down: Grid) -> tuple[Array, Array, Grid, Grid]:
    """A filter as wide as the image: each tap of a row meets one pixel, so both are seen as channels of one pixel; if it is as high, too, all are.

    Otherwise each pixel would be computed from all taps, all but one of which lie beyond the output's gradient: sentences, and images of which a
    convolution makes a vector.
    """
    rows, columns, depth, outputs = filter.shape
    images, height, width, _ = image.shape
    if _is_whole(down):
        return (_reshape(filter, (1, 1, rows * columns * depth, outputs)), _reshape(image, (images, 1, 1, height * width * depth)),
                _ONE_PIXEL, _ONE_PIXEL)
    return _reshape(filter, (rows, 1, columns * depth, outputs)), _reshape(image, (images, height, 1, width * depth)), down, _ONE_PIXEL


def _reshape(array: Array, shape: Ints) -> Array:
    return Array(array.buffer, array.dtype, shape, row_major(shape, array.dtype.itemsize), array.offset)


def _phases(grid: Grid) -> Iterator[tuple[int, Grid]]:
    """For each remainder of the stride the windows over the output's gradient that give its pixels."""
    spread = grid.dilation // math.gcd(grid.stride, grid.dilation)
    for remainder in range(min(grid.stride, grid.extent)):
        first, step = _first_tap(remainder, grid), _tap_step(grid)
        taps = len(range(first, grid.taps, step))
        origin = (remainder + grid.pad - first * grid.dilation) // grid.stride if taps else 0
        yield remainder, Grid(len(range(remainder, grid.extent, grid.stride)), grid.count, taps, 1, spread, (taps - 1) * spread - origin)


def _tap_step(grid: Grid) -> int:
    return grid.stride // math.gcd(grid.stride, grid.dilation)


def _first_tap(remainder: int, grid: Grid) -> int:
    """The first tap that leads from some output pixel to input pixels with this remainder; beyond the last one if none does."""
    return next((tap for tap in range(min(grid.taps, grid.stride)) if (remainder + grid.pad - tap * grid.dilation) % grid.stride == 0), grid.taps)


def _pixel_step(x: Array) -> int:
    return x.strides[2]


def _uniform(x: Array) -> bool:
    """True if all pixels are at equal distances in memory."""
    images, height, width, _ = x.shape
    return (height == 1 or x.strides[1] == width * x.strides[2]) and (images == 1 or x.strides[0] == height * width * x.strides[2])


def _plain(x: Array, down: Grid, across: Grid) -> bool:
    """True if the matrix of windows is the image itself."""
    return all(g.taps == 1 and g.stride == 1 and g.pad == 0 and g.count == g.extent for g in (down, across)) and _uniform(x)

