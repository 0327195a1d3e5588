"""Rows that are divided among several arrays by the number of each, and put together again: what a lookup in a table of several parts does."""
from __future__ import annotations

import numpy as np

from penstock.codec.language import native
from penstock.codec.library import functions
from penstock.codec.object_memory import address
from penstock.codec.primitives import copy, load32, load64, store32, store64

_LONG = 1 << 16  # bytes from which on other threads may run meanwhile


@native
def move_row(target, source, size):
    """Copies a row; most are numbers, or vectors."""
    if size == 4:
        store32(target, load32(source))
    elif size == 8:
        store64(target, load64(source))
    else:
        copy(target, source, size)
    return 0


@native
def count_rows(parts, rows, number, counts):
    """Counts the rows of each part; 1 if there is no such part."""
    for row in range(rows):
        part = load32(parts + 4 * row)  # (a negative one is larger than any)
        if part >= number:
            return 1
        store64(counts + 8 * part, load64(counts + 8 * part) + 1)
    return 0


@native
def divide_rows(source, parts, rows, size, places):
    """Copies each row behind the last one of its part; ``places`` are the addresses of the next ones."""
    for row in range(rows):
        next_place = places + 8 * load32(parts + 4 * row)
        place = load64(next_place)
        move_row(place, source + size * row, size)
        store64(next_place, place + size)
    return 0


@native
def count_places(indices, rows, most):
    """One more than the largest index, and at least ``most``; -1 if one is negative."""
    for row in range(rows):
        index = load32(indices + 4 * row)
        if index >> 31:
            return -1
        most = index + 1 if index >= most else most
    return most


@native
def place_rows(source, indices, rows, size, target):
    """Copies each row to its place."""
    for row in range(rows):
        move_row(target + size * load32(indices + 4 * row), source + size * row, size)
    return 0


EXPORTS = BRIEF = [count_rows, divide_rows, count_places, place_rows]


def divide(data: np.ndarray, parts: np.ndarray, number: int) -> list[np.ndarray] | None:
    """The rows of each part, in their order; None where this is left to NumPy: other kinds of elements, or a part that is not there."""
    code = functions("row_division")
    if code is None or data.dtype.hasobject or parts.dtype != np.int32 or not (data.flags.c_contiguous and parts.flags.c_contiguous):
        return None
    rest, rows, counts = data.shape[parts.ndim:], parts.size, np.zeros(number, np.int64)
    if code.count_rows_briefly(address(parts), rows, number, address(counts)):
        return None
    results = [np.empty((count, *rest), data.dtype) for count in counts.tolist()]
    places = np.array([address(each) for each in results], np.int64)
    divide = code.divide_rows_briefly if data.nbytes < _LONG else code.divide_rows
    if rows:
        divide(address(data), address(parts), rows, data.nbytes // rows, address(places))
    return results


def put_together(indices: list[np.ndarray], data: list[np.ndarray]) -> np.ndarray | None:
    """An array with each row of ``data`` at the place that ``indices`` say, the last of several that have the same one, and zeros where none is; None
    where this is left to NumPy. Shapes fit together."""
    code = functions("row_division")
    plain = code is not None and not data[0].dtype.hasobject and all(each.dtype == np.int32 and each.flags.c_contiguous for each in indices)
    if not plain or not all(each.flags.c_contiguous for each in data):
        return None
    count = 0
    for each in indices:
        count = code.count_places_briefly(address(each), each.size, count)
        if count < 0:
            return None
    rest = data[0].shape[indices[0].ndim:]
    result = np.zeros((count, *rest), data[0].dtype)
    place = code.place_rows_briefly if result.nbytes < _LONG else code.place_rows
    for places, entries in zip(indices, data):
        if entries.size:
            place(address(entries), address(places), places.size, entries.nbytes // places.size, address(result))
    return result
