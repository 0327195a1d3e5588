"""Ids of sparse matrices with one entry per row, the form that most categorical features have: they need no sorting."""
from __future__ import annotations

import numpy as np

from penstock.codec.language import native
from penstock.codec.library import functions
from penstock.codec.object_memory import address
from penstock.codec.primitives import load64, store32


@native
def number_rows(indices, values, rows, segments, counts):
    """Stores the number of each row, and 1 as the count of each; 1 if an index (a pair) is not the next row's, or a value is below 0."""
    for row in range(rows):
        if load64(indices + 16 * row) != row or load64(values + 8 * row) < 0:
            return 1
        store32(segments + 4 * row, row)
        store32(counts + 4 * row, 1)
    return 0


EXPORTS = BRIEF = [number_rows]


def single_ids(indices: np.ndarray, values: np.ndarray, rows: int) -> tuple[np.ndarray, np.ndarray] | None:
    """(the row of each value, the number of values in each row), if each of ``rows`` rows has one, and none is below 0. None otherwise, or where this
    is left to NumPy."""
    code = functions("ids")
    if code is None or indices.shape != (rows, 2) or values.dtype != np.int64 or not (indices.flags.c_contiguous and values.flags.c_contiguous):
        return None
    segments, counts = np.empty(rows, np.int32), np.empty(rows, np.int32)
    wrong = code.number_rows_briefly(address(indices), address(values), rows, address(segments), address(counts))
    return None if wrong else (segments, counts)
