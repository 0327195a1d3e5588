"""Runs of rows of float32, each reduced to one row: segments that are in order. How many there are is known in the step only.

The compiler's kernels for segments are made for a given number of them, so a region is cut around these. NumPy's ``reduceat`` does the same as what
is here, up to rounding, but goes through each column of each run alone.
"""
from __future__ import annotations

import numpy as np

from penstock.codec.language import native
from penstock.codec.library import functions
from penstock.codec.object_memory import address
from penstock.codec.primitives import load64, load_float32, load_float64, load_single, store_float32, store_float64, store_single

_LEAST = 1 << 14  # elements from which on native code is worth being loaded,
_WIDE = 4  # in rows of so many: NumPy is as fast in narrow ones


@native
def sum_runs(source, width, ends, places, runs, sums, result):
    """Stores the sum of the rows before each end at its place. ``sums`` is memory for a row of float64."""
    row = 0
    for run in range(runs):
        end = load64(ends + 8 * run)
        for column in range(width):
            store_float64(sums + 8 * column, load_float32(source + 4 * (row * width + column)))
        row += 1
        while row < end:
            for column in range(width):
                at = sums + 8 * column
                store_float64(at, load_float64(at) + load_float32(source + 4 * (row * width + column)))
            row += 1
        target = result + 4 * width * load64(places + 8 * run)
        for column in range(width):
            store_float32(target + 4 * column, load_float64(sums + 8 * column))
    return 0


@native
def keep_larger(target, source, width):
    """A row of the larger elements of two; NaN if one is NaN."""
    for column in range(width):
        x = load_single(target + 4 * column)
        y = load_single(source + 4 * column)
        larger = x if y <= x else y
        store_single(target + 4 * column, larger if x == x else x)
    return 0


@native
def keep_smaller(target, source, width):
    """A row of the smaller elements of two; NaN if one is NaN."""
    for column in range(width):
        x = load_single(target + 4 * column)
        y = load_single(source + 4 * column)
        smaller = x if y >= x else y
        store_single(target + 4 * column, smaller if x == x else x)
    return 0


@native
def find_extremes(source, width, ends, places, runs, result, largest):
    """Stores the largest (or else the smallest) elements of the rows before each end at its place."""
    row = 0
    for run in range(runs):
        end = load64(ends + 8 * run)
        target = result + 4 * width * load64(places + 8 * run)
        for column in range(width):
            store_single(target + 4 * column, load_single(source + 4 * (row * width + column)))
        row += 1
        while row < end:
            if largest != 0:
                keep_larger(target, source + 4 * row * width, width)
            else:
                keep_smaller(target, source + 4 * row * width, width)
            row += 1
    return 0


EXPORTS = [sum_runs, find_extremes]
_LARGEST = {np.maximum: 1, np.minimum: 0}


def reduce_runs(ufunc: np.ufunc, data: np.ndarray, firsts: np.ndarray, places: np.ndarray, result: np.ndarray) -> bool:
    """Stores in the rows of ``result`` at ``places`` what the rows of ``data`` from each of ``firsts`` to the next one are reduced to; sums are kept
    as float64. False where this is left to NumPy: few elements, narrow rows, others than float32, or rows that are not there."""
    plain = data.dtype == result.dtype == np.float32 and data.flags.c_contiguous and result.flags.c_contiguous
    if not plain or data.size < max(_LEAST, _WIDE * len(data)) or not (ufunc is np.add or ufunc in _LARGEST):
        return False
    if firsts[-1] >= len(data) or places.min() < 0 or places.max() >= len(result) or data.shape[1:] != result.shape[1:]:
        return False
    code = functions("row_runs")
    if code is None:
        return False
    width = data.size // len(data)
    ends, places = np.append(firsts[1:], len(data)).astype(np.int64), places.astype(np.int64)
    common = address(data), width, address(ends), address(places), len(ends)
    if ufunc is np.add:
        sums = np.empty(width)
        code.sum_runs(*common, address(sums), address(result))
    else:
        code.find_extremes(*common, address(result), _LARGEST[ufunc])
    return True
