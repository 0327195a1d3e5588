"""Resizing of images: a sparse matrix applied along one axis, then along the other. What ``emit.images`` is."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from penstock.native.calls import Array, Code
from penstock.native.kernels.axes import split_work
from penstock.native.vector.pieces import number
from penstock.native.vector.vectors import I64, IR
from penstock.native.vector.writer import FLOAT, Writer, of


class Resampling:
    """Batches of images, [n, height, width, channels], of float32."""

    def __init__(self, emit: Any) -> None:
        self.emit = emit

    def resample(self, images: Array, rows: np.ndarray, columns: np.ndarray) -> Array:
        """``rows @ image @ columns.T`` for each image: matrices [outputs, inputs] with few elements that are not 0."""
        if images.dtype != np.float32 or images.rank != 4:
            self.emit.unsupported(f"resizing of {images.dtype} of rank {images.rank}")
        return self._along(self._along(images, 1, rows), 2, columns)

    def pick_pixels(self, images: Array, rows: np.ndarray, columns: np.ndarray) -> Array:
        """The elements at these rows and columns."""
        for axis, places in ((1, rows), (2, columns)):
            images = self.emit.index.gather(images, self.emit.constant(places), axis)
        return images

    def _along(self, array: Array, axis: int, matrix: np.ndarray) -> Array:
        outer, inner = math.prod(array.shape[:axis]), math.prod(array.shape[axis + 1:])
        result = self.emit.empty([*array.shape[:axis], len(matrix), *array.shape[axis + 1:]], array.dtype)
        lines, indices = np.nonzero(matrix)
        starts = np.searchsorted(lines, np.arange(len(matrix) + 1)).astype(np.int64)
        tables = [starts, indices.astype(np.int64), matrix[lines, indices].astype(np.float32)]
        if result.size:
            parts = [[*part, matrix.shape[1], len(matrix), inner] for part in split_work(outer * len(matrix), self.emit.threads, result.size)]
            self.emit.call(Code.of("resample", _build), [self.emit.contiguous(array), *map(self.emit.constant, tables), result], parts, "resample",
                           flops=2 * outer * inner * len(indices))
        return result


def _build() -> str:
    w = Writer(["source", "starts", "indices", "weights", "result"], ["first", "last", "inputs", "outputs", "inner"])
    b = w.b
    with w.range(w.last, w.first) as line:
        entry, output = b.udiv(line, w.outputs), b.urem(line, w.outputs)
        start, stop = (w.load(w.item(w.starts, b.add(output, number(k)), I64), I64) for k in range(2))

        def strip(at: IR, lanes: int) -> None:
            total = w.variable(of(FLOAT, lanes), w.splat(FLOAT, 0.0, lanes))
            with w.range(stop, start) as tap:
                row = b.add(b.mul(entry, w.inputs), w.load(w.item(w.indices, tap, I64), I64))
                value = w.load(w.item(w.source, b.add(b.mul(row, w.inner), at), FLOAT), FLOAT, lanes)
                weight = w.broadcast(w.load(w.item(w.weights, tap, FLOAT), FLOAT), lanes)
                b.store(b.fadd(b.load(total, typ=of(FLOAT, lanes)), b.fmul(weight, value)), total)
            w.store(b.load(total, typ=of(FLOAT, lanes)), w.item(w.result, b.add(b.mul(line, w.inner), at), FLOAT), FLOAT)

        w.strips(w.inner, strip)
    return w.finish()
