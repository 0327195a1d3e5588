"""Resizing of images: a sparse matrix applied along one axis, then along the other. What ``emit.images`` is."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir

from penstock.native.calls import Array, Code
from penstock.native.kernels.axes import split_work
from penstock.native.machine import target
from penstock.native.vector.pieces import number
from penstock.native.vector.vectors import I32, I64, IR, LANES
from penstock.native.vector.writer import FLOAT, Writer, of

_TAPS = 16  # of an element: with more of them, few elements have as many
_FEW = 4  # taps that kernels have in a row, without a loop: those of bilinear and bicubic weights


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
        if not result.size:
            return result
        lines, indices = np.nonzero(matrix)
        starts = np.searchsorted(lines, np.arange(len(matrix) + 1)).astype(np.int64)
        weights, taps = matrix[lines, indices].astype(np.float32), np.diff(starts)
        most = int(taps.max())
        few = most if taps.min() > 0 and most <= _FEW else None
        if inner < LANES and taps.min() > 0 and most <= _TAPS:
            tables, code = _picks(starts, indices, weights, inner), Code.of(f"resample short {few}", lambda: _build_short(False, few))
            windows = _windows(tables[0].reshape(len(tables[0]), -1), matrix.shape[1] * inner) if target.has("avx512f") else None
            if windows is not None:
                tables, code = [*tables, *windows], Code.of(f"resample near {few}", lambda: _build_short(True, few))
            parts = [[*part, matrix.shape[1] * inner, len(matrix) * inner, most]
                     for part in split_work(outer, self.emit.threads, result.size)]
        else:
            if few:  # as many for each
                places, shares = _padded(starts, weights)
                starts, indices, weights = np.arange(len(matrix) + 1) * few, indices[places].T.reshape(-1), shares.T.reshape(-1)
            tables, code = [starts, indices.astype(np.int64), weights], Code.of(f"resample {few}", lambda: _build(few))
            parts = [[*part, matrix.shape[1], len(matrix), inner] for part in split_work(outer * len(matrix), self.emit.threads, result.size)]
        self.emit.call(code, [self.emit.contiguous(array), *map(self.emit.constant, tables), result], parts, "resample",
                       flops=2 * outer * inner * len(indices))
        return result


def _padded(starts: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """As many taps for each output, [taps, outputs]: which ones those are, and their weights, 0 for a tap that is there again."""
    taps = np.diff(starts)
    places = starts[:-1] + np.minimum(np.arange(taps.max())[:, None], taps - 1)
    return places, np.where(np.arange(taps.max())[:, None] < taps, weights[places], np.float32(0))


def _picks(starts: np.ndarray, indices: np.ndarray, weights: np.ndarray, inner: int) -> list[np.ndarray]:
    """For each tap, what every element of a row of results takes: the element of the source row, and its weight."""
    places, shares = _padded(starts, weights)
    elements = indices[places][:, :, None] * inner + np.arange(inner)
    return [elements.astype(np.int64), np.repeat(shares[:, :, None], inner, axis=2)]


def _windows(elements: np.ndarray, inputs: int) -> list[np.ndarray] | None:
    """For each tap and vector of results, where two vectors of the source row begin that have all it takes, and which of their elements those are.
    None if there are no such."""
    taps, outputs = elements.shape
    vectors = outputs // LANES
    if inputs < 2 * LANES or not vectors:
        return None
    taken = elements[:, :vectors * LANES].reshape(taps, vectors, LANES)
    starts = np.minimum(taken.min(2), inputs - 2 * LANES)
    picks = taken - starts[:, :, None]
    return [starts, picks.astype(np.int32)] if picks.max() < 2 * LANES else None


def _summed(w: Writer, few: int | None, taps: IR, lanes: int, product: Callable[[IR], IR], start: IR | int = 0) -> IR:
    """The sum of the products of all taps: of ``few`` of them, or from ``start`` to ``taps`` in a loop."""
    if few:
        total = w.splat(FLOAT, 0.0, lanes)
        for tap in range(few):
            total = w.b.fadd(total, product(number(tap)))
        return total
    place = w.variable(of(FLOAT, lanes), w.splat(FLOAT, 0.0, lanes))
    with w.range(taps, start) as tap:
        w.b.store(w.b.fadd(w.b.load(place, typ=of(FLOAT, lanes)), product(tap)), place)
    return w.b.load(place, typ=of(FLOAT, lanes))


def _build_short(near: bool, few: int | None) -> str:
    """Where few elements lie behind each place, such as the channels of an image: elements of a whole row at a time, picked one by one; ``near``: out
    of two vectors, as ``_windows`` says."""
    w = Writer(["source", "elements", "weights", *(["starts", "picks"] if near else []), "result"], ["first", "last", "inputs", "outputs", "taps"])
    b = w.b
    vectors = b.udiv(w.outputs, number(LANES))
    vector, words = of(FLOAT, LANES), of(I32, LANES)

    def from_window(row: IR, tap: IR, at: IR) -> IR:
        index = b.add(b.mul(tap, vectors), b.udiv(at, number(LANES)))
        start = w.load(w.item(w.starts, index, I64), I64)
        low, high = (w.load(w.item(row, b.add(start, number(k)), FLOAT), FLOAT, LANES) for k in (0, LANES))
        picks = w.load(w.item(w.picks, b.mul(index, number(LANES)), I32), I32, LANES)
        return b.call(w.declare("llvm.x86.avx512.vpermi2var.ps.512", vector, [vector, words, vector]), [low, picks, high])

    def one_by_one(row: IR, place: IR, lanes: int) -> IR:
        values = [w.load(w.item(row, w.load(w.item(w.elements, b.add(place, number(k)), I64), I64), FLOAT), FLOAT) for k in range(lanes)]
        if lanes == 1:
            return values[0]
        value = w.splat(FLOAT, 0.0, lanes)
        for k, each in enumerate(values):
            value = b.insert_element(value, each, ir.Constant(I32, k))
        return value

    with w.range(w.last, w.first) as line:
        row, target = w.item(w.source, b.mul(line, w.inputs), FLOAT), w.item(w.result, b.mul(line, w.outputs), FLOAT)

        def strip(at: IR, lanes: int) -> None:
            def product(tap: IR) -> IR:
                place = b.add(b.mul(tap, w.outputs), at)
                value = from_window(row, tap, at) if near and lanes == LANES else one_by_one(row, place, lanes)
                return b.fmul(w.load(w.item(w.weights, place, FLOAT), FLOAT, lanes), value)
            w.store(_summed(w, few, w.taps, lanes, product), w.item(target, at, FLOAT), FLOAT)

        w.strips(w.outputs, strip)
    return w.finish()


def _build(few: int | None) -> str:
    """Along an axis behind which many elements lie: rows of them, each times its weight."""
    w = Writer(["source", "starts", "indices", "weights", "result"], ["first", "last", "inputs", "outputs", "inner"])
    b = w.b

    def tap_of(entry: IR, tap: IR) -> tuple[IR, IR]:
        """The row of the source of a tap, and its weight."""
        row = b.add(b.mul(entry, w.inputs), w.load(w.item(w.indices, tap, I64), I64))
        return w.item(w.source, b.mul(row, w.inner), FLOAT), w.load(w.item(w.weights, tap, FLOAT), FLOAT)

    with w.range(w.last, w.first) as line:
        entry, output = b.udiv(line, w.outputs), b.urem(line, w.outputs)
        start, stop = (w.load(w.item(w.starts, b.add(output, number(k)), I64), I64) for k in range(2))
        target = w.item(w.result, b.mul(line, w.inner), FLOAT)
        known = [tap_of(entry, b.add(start, number(tap))) for tap in range(few or 0)]

        def strip(at: IR, lanes: int) -> None:
            def product(tap: IR) -> IR:
                row, weight = known[tap.constant] if known else tap_of(entry, tap)
                return b.fmul(w.broadcast(weight, lanes), w.load(w.item(row, at, FLOAT), FLOAT, lanes))
            w.store(_summed(w, few, stop, lanes, product, start), w.item(target, at, FLOAT), FLOAT)

        w.strips(w.inner, strip)
    return w.finish()
