"""Winograd's convolution: windows with strides of 1 take a fourth (3x3) or about a third (5x5) of the multiplications, in 36 products of matrices.

Images are cut into squares of 4x4 output pixels, or of 2x2 for 5x5 windows. A square of 6x6 input pixels and a filter are transformed to 36 numbers
each (per channel); in between, a convolution is a product of matrices for each of the 36. The gradient for the filter is the same, transposed.
Squares are worked on in groups that stay in the cache.

Over normal data and the layers of VGG, the largest error is 0.1 to 2 times that of PyTorch's sums of products for convolutions and gradients for
inputs, and up to 3.9 times for gradients for filters, where PyTorch's is a few units in the last place (``benchmarks/NUMBERS.md``): sums of gradients
are kept short for that. Those of 5x5 windows round alike, which is up to 5 times PyTorch's error.
Squares where it would be larger, since an outlier stands beside much smaller pixels, and those with elements that are huge or no numbers, are
computed as sums of products (``winograd_guard``). ``PENSTOCK_WINOGRAD=off`` leaves all convolutions to these.
"""
from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from penstock.native.calls import Array
from penstock.native.config import config
from penstock.native.contract import winograd_kernel as kernel
from penstock.native.contract.product import PARTS, Epilogue, Product, emit, ranges
from penstock.native.contract.winograd_guard import list_code
from penstock.native.contract.winograd_matrices import SCHEMES, SIDE, Scheme

if TYPE_CHECKING:
    from penstock.native.emitter import Emitter

PLANES = SIDE * SIDE
_CACHE = 6 << 20  # bytes of transformed squares in flight
_LEAST_DEPTH, _LEAST_SQUARES = 16, 48  # below, the transforms cost more than they save
_LEAST_SUMMED = {3: _LEAST_SQUARES, 5: 512}  # by a gradient for a filter: products sum fewer so exactly that the transforms' rounding would show
GRADIENT_TERMS = 32  # of a sum in registers, for gradients: longer ones round more (128: 6 times PyTorch's error), shorter ones cost time
_LINE = 16  # elements after each plane: planes at distances of powers of two would compete for the same lines of the cache


class Squares:
    """The squares of a convolution, in groups."""

    def __init__(self, images: int, size: tuple[int, ...], step: int, channels: int) -> None:
        self.down, self.across = (-(-extent // step) for extent in size)
        self.count = images * self.down * self.across
        most = max(_CACHE // (PLANES * 4 * channels), 84)
        self.group = -(-self.count // max(-(-self.count // most), 1))

    def groups(self) -> Iterator[tuple[int, int]]:
        """(first square, number of squares)."""
        for start in range(0, self.count, self.group):
            yield start, min(self.group, self.count - start)


def scheme_for(window: tuple[int, ...], strides: tuple[int, ...], dilations: tuple[int, ...], depths: tuple[int, int], images: int,
               output: tuple[int, ...], dtype: np.dtype, filter_gradient: bool = False) -> Scheme | None:
    """How Winograd's algorithm is done, if it is allowed, possible, and faster."""
    scheme = SCHEMES.get(window[0])
    if scheme is None or not config.winograd or window[0] != window[1]:
        return None
    if set(strides) != {1} or set(dilations) != {1} or dtype != np.float32 or min(depths) < _LEAST_DEPTH:
        return None
    least = _LEAST_SUMMED[scheme.taps] if filter_gradient else _LEAST_SQUARES
    return scheme if images * math.prod(-(-extent // scheme.step) for extent in output) >= least else None


class Winograd:
    """One convolution of an emitter: ``depth`` channels in, ``outputs`` channels out, over the pixels of ``result_size``."""

    def __init__(self, b: Emitter, scheme: Scheme, images: int, result_size: tuple[int, ...], depth: int, outputs: int,
                 pads: tuple[int, ...], terms: int | None = None) -> None:
        self.b, self.scheme, self.depth, self.outputs, self.pads, self.result_size = b, scheme, depth, outputs, pads, result_size
        self.squares = Squares(images, result_size, scheme.step, depth + outputs)
        self.zeros = b.constant(np.zeros(max(depth, outputs), np.float32))
        self.unsafe = b.empty((self.squares.count,), np.int8)  # which squares are left to sums of products
        self.size, self.terms = 4, terms

    def convolve(self, x: Array, filter: Array, result: Array, epilogue: Epilogue, added_step: int, label: str) -> None:
        """The convolution with a filter (taps, taps, depth, outputs)."""
        transformed = self._planes(self.depth, self.outputs)
        row = self.outputs * self.size
        words = {"plane": self.depth * row, "item": row, "out_plane": transformed.strides[0], "out_item": row}
        parts = self._parts(self.depth, self.outputs)
        energies = self.b.empty((len(parts), self.scheme.taps ** 2), np.float32)
        self._transform("filter", {"source": filter, "target": transformed, "energies": energies}, self.depth, self.outputs, words, label)
        for start, count in self.squares.groups():
            seen, products = self._planes(count, self.depth), self._planes(count, self.outputs)
            self._from_image("input", x, seen, start, count, self.pads, label)
            product = self._product(count, self.outputs, self.depth, seen, transformed, products)
            emit(self.b, product, seen, transformed, products, label)
            arrays = {"source": products, "x": x, "filter": filter, "energies": energies, "target": result}
            self._to_image(arrays, start, count, epilogue, added_step, {"parts": len(parts)}, label)

    def filter_gradient(self, x: Array, dy: Array, result: Array, epilogue: Epilogue, label: str) -> None:
        """The gradient for the filter."""
        total = self._planes(self.depth, self.outputs)
        for start, count in self.squares.groups():
            seen, wanted = self._planes(count, self.depth), self._planes(count, self.outputs)
            self._from_image("input", x, seen, start, count, self.pads, label)
            self._from_image("output gradient", dy, wanted, start, count, (0, 0), label)
            product = self._product(self.depth, self.outputs, count, seen, wanted, total, transposed=True)
            product.steps |= {"added_batch": total.strides[0], "added_step": self.outputs * self.size}
            emit(self.b, product, seen, wanted, total, label, Epilogue(total) if start else None)
        unsafe = self.b.empty((self.squares.count + 1,), np.int32)
        self.b.call(list_code(), [self.unsafe, unsafe], [[self.squares.count]], f"{label}: unsafe squares")
        row = self.outputs * self.size
        words = {"plane": total.strides[0], "item": row, "out_plane": self.depth * row, "out_item": row, **self._image(dy, 0), **self._input(x)}
        arrays = {"source": total, "x": x, "dy": dy, "list": unsafe, "target": result}
        self._transform("filter gradient", arrays, self.depth, self.outputs, words, label, epilogue)

    def _planes(self, rows: int, columns: int) -> Array:
        return self.b.empty((PLANES, rows * columns + _LINE), np.float32)

    def _product(self, m: int, n: int, k: int, a: Array, right: Array, c: Array, transposed: bool = False) -> Product:
        size, terms = self.size, {} if self.terms is None else {"terms": self.terms}
        return Product(m, n, k, (m if transposed else k) * size, n * size, n * size, transposed, batch=PLANES,
                       steps={"a_batch": a.strides[0], "b_batch": right.strides[0], "c_batch": c.strides[0], **terms})

    def _from_image(self, name: str, image: Array, planes: Array, start: int, count: int, pads: tuple[int, ...], label: str) -> None:
        length = image.shape[3]
        words = {"plane": planes.strides[0], "item": length * self.size, **self._image(image, start), "origin_y": pads[0], "origin_x": pads[1],
                 "rows": self.result_size[0], "columns": self.result_size[1]}
        self._transform(name, {"source": image, "target": planes}, count, length, words, label)

    def _to_image(self, arrays: dict[str, Array], start: int, count: int, epilogue: Epilogue, added_step: int, words: dict[str, int],
                  label: str) -> None:
        image = arrays["target"]
        height, width = image.shape[1:3]
        words |= {"plane": arrays["source"].strides[0], "item": self.outputs * self.size, **self._image(image, start), **self._input(arrays["x"])}
        words |= {"added_pixel": added_step, "added_line": added_step * width, "added_image": added_step * width * height}
        self._transform("output", arrays, count, self.outputs, words, label, epilogue)

    def _image(self, image: Array, start: int) -> dict[str, int]:
        strides = dict(zip(("image", "line", "pixel"), image.strides))
        squares = {"across": self.squares.across, "down": self.squares.down, "image_start": start}
        return {**squares, "height": image.shape[1], "width": image.shape[2], **strides}

    def _input(self, x: Array) -> dict[str, int]:
        """The words that transforms of results need for squares that are unsafe."""
        strides = dict(zip(("x_image", "x_line", "x_pixel"), x.strides))
        return {**strides, "x_height": x.shape[1], "x_width": x.shape[2], "depth": self.depth, "origin_y": self.pads[0], "origin_x": self.pads[1]}

    def _parts(self, count: int, length: int) -> list[tuple[int, int]]:
        """The ranges of squares that run at the same time."""
        small = count * length * PLANES < 1 << 15
        return list(ranges(count, 1 if small else min(self.b.threads * PARTS, count), 1))

    def _transform(self, name: str, arrays: dict[str, Array], count: int, length: int, words: dict[str, int], label: str,
                   epilogue: Epilogue | None = None) -> None:
        epilogue, target, kind = epilogue or Epilogue(), arrays["target"], kernel.IMAGES[name]
        words |= {"length": length, **epilogue.words(target.dtype)}
        parts = []
        for index, (start, stop) in enumerate(self._parts(count, length)):
            values = {**words, "start": start, "stop": stop, "part": index}
            parts.append([values.get(each, 0) for each in kernel.WORDS])
        added = target if epilogue.added is None else epilogue.added
        accumulates = epilogue.added is not None and added.buffer is target.buffer
        destination = kernel.DESTINATION if kind.to_image and not accumulates else None
        rate = target if epilogue.rate is None else epilogue.rate
        arrays = {**arrays, "zeros": self.zeros, "added": added, "rate": rate, "unsafe": self.unsafe}
        self.b.call(kernel.code(name, self.size, self.scheme), [arrays[each] for each in kind.operands], parts, f"{label}: {name}", kind.writes,
                    destination=destination)
