"""Lines of comma-separated values as columns: fields are cut out, and plain numbers read. Fields that are empty or not plain are left to Python."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.codec.language import native
from penstock.codec.library import functions
from penstock.codec.numerals import read_float, read_integer
from penstock.codec.object_memory import DATA, SIZE, TYPE, address
from penstock.codec.objects import PIECE, strings_of
from penstock.codec.primitives import cell, find, load8, load64, load_float64, store32, store64, store_float32

_STRING, _FLOAT32, _FLOAT64, _INT32, _INT64 = range(5)
_KINDS = {np.dtype(name): kind for name, kind in (
    ("object", _STRING), ("float32", _FLOAT32), ("float64", _FLOAT64), ("int32", _INT32), ("int64", _INT64))}
_INT32_LIMIT = 1 << 31


@native
def quoted_field(at, end, delimiter, piece):
    """Notes the field whose opening quote is at ``at``; returns the address behind it, or 0 if it is not plain: not closed, or with quotes inside."""
    start = at + 1
    close = find(start, b'"', end - start)
    if close == 0:
        return 0
    after = close + 1
    if after < end and load8(after) != delimiter:
        return 0
    store64(piece, start)
    store64(piece + 8, close - start)
    return after


@native
def bare_field(at, end, delimiter, quotes, piece):
    """Notes the field at ``at``; returns the address behind it, or 0 if there is something in it that only a quoted one may have."""
    start = at
    while at < end and load8(at) != delimiter:
        byte = load8(at)
        if quotes and (byte == b'"' or byte == b"\n" or byte == b"\r"):
            return 0
        at += 1
    store64(piece, start)
    store64(piece + 8, at - start)
    return at


@native
def split_line(at, end, delimiter, quotes, wanted, pieces):
    """Notes the first ``wanted`` fields of a line; returns how many there are, or -1 if one is not plain."""
    while end > at and (load8(end - 1) == b"\n" or load8(end - 1) == b"\r"):
        end -= 1
    count = 0
    while 1:
        piece = pieces + PIECE * (count if count < wanted else wanted)
        if quotes and at < end and load8(at) == b'"':
            at = quoted_field(at, end, delimiter, piece)
        else:
            at = bare_field(at, end, delimiter, quotes, piece)
        if at == 0:
            return -1
        count += 1
        if at >= end:
            return count
        at += 1
    return count


@native
def split_lines(objects, rows, bytes_type, delimiter, quotes, wanted, exactly, pieces):
    """Notes the fields of all lines, one place more for each than are wanted; 1 if a line is not plain, or has another number of fields."""
    for row in range(rows):
        item = load64(objects + 8 * row)
        if item == 0 or load64(item + TYPE) != bytes_type:
            return 1
        start = item + DATA
        count = split_line(start, start + load64(item + SIZE), delimiter, quotes, wanted, pieces + row * (wanted + 1) * PIECE)
        if count < wanted or (exactly and count > wanted):
            return 1
    return 0


@native
def same_bytes(at, other, length):
    """Are these bytes equal?"""
    for place in range(length):
        if load8(at + place) != load8(other + place):
            return 0
    return 1


@native
def read_value(at, end, kind, target):
    """Reads one field; 0 if it is not plain."""
    if kind == _STRING:
        store64(target, at)
        store64(target + 8, end - at)
        return 1
    if kind == _FLOAT64:
        return read_float(at, end, target)
    value = cell()
    if kind == _FLOAT32:
        if read_float(at, end, value) == 0:
            return 0
        store_float32(target, load_float64(value))
        return 1
    if read_integer(at, end, value) == 0:
        return 0
    if kind == _INT64:
        store64(target, load64(value))
        return 1
    if load64(value) >= _INT32_LIMIT or load64(value) < -_INT32_LIMIT:
        return 0
    store32(target, load64(value))
    return 1


@native
def read_column(pieces, stride, rows, kind, size, missing, missing_length, target, left):
    """Reads a field of each line; returns how many it left to Python, the numbers of whose lines are stored in ``left``."""
    count = 0
    for row in range(rows):
        at = load64(pieces + row * stride)
        length = load64(pieces + row * stride + 8)
        absent = length == 0 or (length == missing_length and same_bytes(at, missing, length))
        if absent or read_value(at, at + length, kind, target + row * size) == 0:
            if kind == _STRING:
                store64(target + row * size, at)
                store64(target + row * size + 8, 0)
            store64(left + 8 * count, row)
            count += 1
    return count


EXPORTS = [split_lines, read_column]


# --- for Python ---------------------------------------------------------------------------------------------------------------

class Fields:
    """The fields of some lines."""

    def __init__(self, code: Any, lines: np.ndarray, pieces: np.ndarray, missing: bytes) -> None:
        self._code, self._lines, self._pieces, self._missing = code, lines, pieces, missing

    def column(self, index: int, dtype: np.dtype) -> tuple[np.ndarray, list[int]]:
        """The values of a column, and the lines of which the value is still to be put in."""
        rows, kind = len(self._lines), _KINDS[dtype]
        target = np.empty((rows, 2), np.int64) if kind == _STRING else np.empty(rows, dtype)
        left = np.empty(rows, np.int64)
        count = self._code.read_column(address(self._pieces) + PIECE * index, self._pieces.strides[0], rows, kind, target.strides[0],
                                       id(self._missing) + DATA, len(self._missing), address(target), address(left))
        return strings_of(target, (rows,)) if kind == _STRING else target, left[:count].tolist()

    def text(self, row: int, index: int) -> bytes:
        """A field as it is written."""
        at, length = self._pieces[row, index].tolist()
        line = self._lines[row]
        start = at - id(line) - DATA
        return bytes(line[start:start + length])


def fields_of(lines: np.ndarray, delimiter: bytes, quotes: bool, missing: bytes, wanted: int, exactly: bool) -> Fields | None:
    """The fields of lines that have ``wanted`` of them, or at least so many; None where that is not so, or a line is not plain."""
    code = functions("csv")
    if code is None or functions("objects") is None or len(delimiter) != 1:
        return None
    lines = np.ascontiguousarray(lines)
    pieces = np.empty((len(lines), wanted + 1, 2), np.int64)
    if code.split_lines(address(lines), len(lines), id(bytes), delimiter[0], quotes, wanted, exactly, address(pieces)):
        return None
    return Fields(code, lines, pieces, missing)
