"""Winograd's convolution: 3x3 windows with strides of 1 take a fourth of the multiplications, in 36 products of matrices.

Images are cut into squares of 4x4 output pixels. A square of 6x6 input pixels and a filter are transformed to 36 numbers each (per channel); in
between, a convolution is a product of matrices for each of the 36. The gradient for the filter is the same, transposed. Squares are worked on in
groups that stay in the cache. Results differ from the direct ones by less than 1e-5 of the largest element.
"""
from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from penstock.native.calls import Array
from penstock.native.contract import winograd_kernel as kernel
from penstock.native.contract.product import PARTS, Epilogue, Product, bits, emit, ranges

if TYPE_CHECKING:
    from penstock.native.emitter import Emitter

PLANES = 36
_CACHE = 12 << 20  # bytes of transformed squares in flight
_LEAST_DEPTH, _LEAST_SQUARES = 32, 48  # below, the transforms cost more than they save
_LINE = 16  # elements after each plane: planes at distances of powers of two would compete for the same lines of the cache


class Squares:
    """The squares of a convolution, in groups."""

    def __init__(self, images: int, size: tuple[int, ...], channels: int) -> None:
        self.down, self.across = (-(-extent // kernel.STEP) for extent in size)
        self.count = images * self.down * self.across
        most = max(_CACHE // (PLANES * 4 * channels), 84)
        self.group = -(-self.count // max(-(-self.count // most), 1))

    def groups(self) -> Iterator[tuple[int, int]]:
        """(first square, number of squares)."""
        for start in range(0, self.count, self.group):
            yield start, min(self.group, self.count - start)


def worthwhile(window: tuple[int, ...], strides: tuple[int, ...], dilations: tuple[int, ...], depths: tuple[int, int], images: int,
               output: tuple[int, ...], dtype: np.dtype) -> bool:
    """Is Winograd's algorithm possible, and faster?"""
    if tuple(window) != (3, 3) or set(strides) != {1} or set(dilations) != {1} or dtype != np.float32 or min(depths) < _LEAST_DEPTH:
        return False
    return images * math.prod(-(-extent // kernel.STEP) for extent in output) >= _LEAST_SQUARES


class Winograd:
    """One convolution of an emitter: ``depth`` channels in, ``outputs`` channels out, over the pixels of ``result_size``."""

    def __init__(self, b: Emitter, images: int, result_size: tuple[int, ...], depth: int, outputs: int,
                 pads: tuple[int, ...]) -> None:
        self.b, self.depth, self.outputs, self.pads = b, depth, outputs, pads
        self.squares = Squares(images, result_size, depth + outputs)
        self.zeros = b.constant(np.zeros(max(depth, outputs), np.float32))
        self.size = 4

    def convolve(self, x: Array, filter: Array, result: Array, epilogue: Epilogue, added_step: int, label: str) -> None:
        """The convolution with a filter (3, 3, depth, outputs)."""
        transformed = self._planes(self.depth, self.outputs)
        row = self.outputs * self.size
        words = {"plane": self.depth * row, "item": row, "out_plane": transformed.strides[0], "out_item": row}
        self._transform("filter", filter, transformed, self.depth, self.outputs, words, label=label)
        for start, count in self.squares.groups():
            seen, products = self._planes(count, self.depth), self._planes(count, self.outputs)
            self._from_image("input", x, seen, start, count, self.pads, label)
            product = self._product(count, self.outputs, self.depth, seen, transformed, products)
            emit(self.b, product, seen, transformed, products, label)
            self._to_image(products, result, start, count, epilogue, added_step, label)

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
        row = self.outputs * self.size
        words = {"plane": total.strides[0], "item": row, "out_plane": self.depth * row, "out_item": row}
        self._transform("filter gradient", total, result, self.depth, self.outputs, words, epilogue, label)

    def _planes(self, rows: int, columns: int) -> Array:
        return self.b.empty((PLANES, rows * columns + _LINE), np.float32)

    def _product(self, m: int, n: int, k: int, a: Array, right: Array, c: Array, transposed: bool = False) -> Product:
        size = self.size
        return Product(m, n, k, (m if transposed else k) * size, n * size, n * size, transposed, batch=PLANES,
                       steps={"a_batch": a.strides[0], "b_batch": right.strides[0], "c_batch": c.strides[0]})

    def _from_image(self, name: str, image: Array, planes: Array, start: int, count: int, pads: tuple[int, ...], label: str) -> None:
        length = image.shape[3]
        words = {"plane": planes.strides[0], "item": length * self.size, **self._image(image, start), "origin_y": pads[0], "origin_x": pads[1]}
        self._transform(name, image, planes, count, length, words, label=label)

    def _to_image(self, planes: Array, image: Array, start: int, count: int, epilogue: Epilogue, added_step: int, label: str) -> None:
        words = {"plane": planes.strides[0], "item": self.outputs * self.size, **self._image(image, start)}
        height, width = image.shape[1:3]
        words |= {"added_pixel": added_step, "added_line": added_step * width, "added_image": added_step * width * height}
        self._transform("output", planes, image, count, self.outputs, words, epilogue, label)

    def _image(self, image: Array, start: int) -> dict[str, int]:
        strides = dict(zip(("image", "line", "pixel"), image.strides))
        squares = {"across": self.squares.across, "down": self.squares.down, "image_start": start}
        return {**squares, "height": image.shape[1], "width": image.shape[2], **strides}

    def _transform(self, name: str, source: Array, target: Array, count: int, length: int, words: dict[str, int], epilogue: Epilogue | None = None,
                   label: str = "") -> None:
        epilogue = epilogue or Epilogue()
        words |= {"length": length, "alpha": bits(epilogue.alpha, target.dtype), "lower_bound": bits(epilogue.lower_bound, target.dtype),
                  "has_added": int(epilogue.added is not None)}
        small = count * length * PLANES < 1 << 15
        parts = []
        for start, stop in ranges(count, 1 if small else min(self.b.threads * PARTS, count), 1):
            values = {**words, "start": start, "stop": stop}
            parts.append([values.get(each, 0) for each in kernel.WORDS])
        added = target if epilogue.added is None else epilogue.added
        accumulates = epilogue.added is not None and added.buffer is target.buffer
        destination = kernel.DESTINATION if kernel.IMAGES[name].to_image and not accumulates else None
        self.b.call(kernel.code(name, self.size), [source, self.zeros, added, target], parts, f"{label}: {name}", 1, destination=destination)
