"""The features of serialized Examples as arrays.

First all examples are gone through once: ``locate`` notes where the values of each wanted feature are (``FOUND``). Then each feature is read, column
by column. Examples are taken as they are usually written: anything else about them (unknown fields, a feature in two parts, a missing one without
default, another type or number of values) is left to protobuf and the Python code, which are told by None.
"""
from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from penstock.codec.language import native
from penstock.codec.library import functions
from penstock.codec.object_memory import DATA, SIZE, TYPE, address
from penstock.codec.objects import PIECE, pieces_of, strings_of
from penstock.codec.primitives import cell, copy, load8, load64, store64
from penstock.codec.proto_wire import float_values, integer_values, span, string_values

FOUND = 24  # bytes of an entry: the kind of the values, where they begin, where they end
_BYTES, _FLOATS, _INTEGERS = 0x0A, 0x12, 0x1A  # the tags of a Feature's kinds; 0: there is none
_KEY, _VALUE = 0x0A, 0x12  # of an entry of the map
_GUESSES = 64  # entries of a map whose features are remembered: examples of one file have them in one order
_KINDS = {"O": _BYTES, "f": _FLOATS, "i": _INTEGERS}
_SIZES = {"O": PIECE, "f": 4, "i": 8}


@native
def is_key(at, length, keys, index):
    """Is this the key with this number?"""
    if load64(keys + PIECE * index + 8) != length:
        return 0
    other = load64(keys + PIECE * index)
    for place in range(length):
        if load8(at + place) != load8(other + place):
            return 0
    return 1


@native
def key_number(at, length, keys, key_count, guesses, entry):
    """Which of the wanted keys this is; ``key_count`` if none. The entry with this number, in the example before, had the one that is tried first."""
    guess = load64(guesses + 8 * (entry & (_GUESSES - 1)))
    if guess >= 0 and guess < key_count and is_key(at, length, keys, guess):
        return guess
    for index in range(key_count):
        if is_key(at, length, keys, index):
            store64(guesses + 8 * (entry & (_GUESSES - 1)), index)
            return index
    return key_count


@native
def is_ascii(at, end):
    """Are all bytes below 128?"""
    while at < end:
        if load8(at) > 127:
            return 0
        at += 1
    return 1


@native
def locate_values(at, end, place):
    """Notes what the Feature at ``at`` holds; 1 if it is not one list of values."""
    inner = cell()
    kind = 0
    if at < end:
        kind = load8(at)
        at = span(at + 1, end, inner)
        if at == 0 or load64(inner) != end or (kind != _BYTES and kind != _FLOATS and kind != _INTEGERS):
            return 1
    store64(place, kind)
    store64(place + 8, at)
    store64(place + 16, end)
    return 0


@native
def locate_entry(at, end, keys, key_count, guesses, entry, spans):
    """Notes where the values of one entry of the map are, if its key is wanted; 1 if it is not plain."""
    inner = cell()
    if at >= end or load8(at) != _KEY:
        return 1
    key = span(at + 1, end, inner)
    if key == 0:
        return 1
    at = load64(inner)
    if is_ascii(key, at) == 0 or at >= end or load8(at) != _VALUE:
        return 1
    value = span(at + 1, end, inner)
    if value == 0 or load64(inner) != end:
        return 1
    index = key_number(key, at - key, keys, key_count, guesses, entry)
    place = spans + FOUND * index
    if index < key_count and load64(place) != 0:
        return 1
    if index < key_count:
        return locate_values(value, end, place)
    if locate_values(value, end, place):
        return 1
    return load64(place) != 0 and values_of(load64(place), load64(place + 8), end, 0, 0) < 0


@native
def locate_features(at, end, keys, key_count, guesses, spans):
    """Notes where the features of one example are; 1 if it is not plain. One place behind ``found`` is for those that are not wanted."""
    outer = cell()
    inner = cell()
    entry = 0
    while at < end:
        if load8(at) != 0x0A:
            return 1
        at = span(at + 1, end, outer)
        if at == 0:
            return 1
        after = load64(outer)
        while at < after:
            if load8(at) != 0x0A:
                return 1
            at = span(at + 1, after, inner)
            if at == 0:
                return 1
            if locate_entry(at, load64(inner), keys, key_count, guesses, entry, spans):
                return 1
            at = load64(inner)
            entry += 1
    return 0


@native
def locate(objects, rows, bytes_type, keys, key_count, guesses, spans):
    """Notes where the features of all examples are; 0, or 1 if one of them is not plain."""
    for row in range(rows):
        item = load64(objects + 8 * row)
        if item == 0 or load64(item + TYPE) != bytes_type:
            return 1
        place = spans + row * (key_count + 1) * FOUND
        for index in range(key_count):
            store64(place + index * FOUND, 0)
        if locate_features(item + DATA, item + DATA + load64(item + SIZE), keys, key_count, guesses, place):
            return 1
    return 0


@native
def values_of(kind, at, end, target, most):
    """Stores the values of one list; how many there are, or -1."""
    if kind == _FLOATS:
        return float_values(at, end, target, most)
    if kind == _INTEGERS:
        return integer_values(at, end, target, most)
    return string_values(at, end, target, most)


@native
def fixed_column(spans, stride, rows, kind, size, width, default, target):
    """Stores the values of a feature that has ``width`` in each example, or the default; 1 if that is not so."""
    for row in range(rows):
        here = load64(spans + row * stride)
        place = target + row * width * size
        if here == kind:
            if values_of(kind, load64(spans + row * stride + 8), load64(spans + row * stride + 16), place, width) != width:
                return 1
        elif here == 0 and default != 0:
            copy(place, default, width * size)
        else:
            return 1
    return 0


@native
def count_column(spans, stride, rows, kind, counts):
    """Stores how many values each example has of a feature; 1 if they are of another kind."""
    for row in range(rows):
        here = load64(spans + row * stride)
        count = 0
        if here == kind:
            count = values_of(kind, load64(spans + row * stride + 8), load64(spans + row * stride + 16), 0, 0)
        elif here != 0:
            return 1
        if count < 0:
            return 1
        store64(counts + 8 * row, count)
    return 0


@native
def ragged_column(spans, stride, rows, kind, size, counts, pitch, target):
    """Stores the values of a feature: those of an example ``pitch`` after those before, or right behind them if it is 0."""
    for row in range(rows):
        count = load64(counts + 8 * row)
        if count > 0 and values_of(kind, load64(spans + row * stride + 8), load64(spans + row * stride + 16), target, count) != count:
            return 1
        target += (pitch if pitch > 0 else count) * size
    return 0


EXPORTS = [locate, fixed_column, count_column, ragged_column]


# --- for Python ---------------------------------------------------------------------------------------------------------------

class DenseFeature(NamedTuple):
    """A feature with an array per example: its key, type, default values (empty for none), and shape; of a variable one, None is the first extent."""

    key: bytes
    dtype: np.dtype
    default: np.ndarray
    shape: tuple[int | None, ...]


class Sparse(NamedTuple):
    """A feature with any number of values."""

    key: bytes
    dtype: np.dtype


Ragged = tuple[np.ndarray, np.ndarray]  # values, and how many of them each example has


@functools.lru_cache(256)
def _keys(keys: tuple[bytes, ...]) -> tuple[tuple[bytes, ...], np.ndarray, np.ndarray]:
    """The keys, where they are, and what is remembered of their order."""
    return keys, pieces_of(list(keys)), np.full(_GUESSES, -1, np.int64)


class Located:
    """Where the features of some examples are."""

    def __init__(self, code: Any, strings: np.ndarray, keys: tuple[bytes, ...], spans: np.ndarray) -> None:
        self._code, self._strings, self._keys, self._found = code, strings, keys, spans
        self._rows, self._stride = len(strings), FOUND * (len(keys) + 1)

    def _column(self, key: bytes) -> tuple[int, int, int]:
        return address(self._found) + FOUND * self._keys.index(key), self._stride, self._rows

    def fixed(self, feature: DenseFeature) -> np.ndarray | None:
        """A feature with the same number of values in each example; None where that is not so."""
        kind, shape = feature.dtype.kind, (self._rows, *feature.shape)
        width = math.prod(feature.shape)  # type: ignore[arg-type]
        default: Any = feature.default
        if kind == "O" and len(default):
            if any(type(item) is not bytes for item in default):
                return None
            default = pieces_of(list(default))
        target = np.empty((self._rows * width, 2), np.int64) if kind == "O" else np.empty(shape, feature.dtype)
        fallback = address(default) if width and len(default) == width else 0
        if self._code.fixed_column(*self._column(feature.key), _KINDS[kind], _SIZES[kind], width, fallback, address(target)):
            return None
        return strings_of(target, shape) if kind == "O" else target

    def counts(self, feature: DenseFeature | Sparse) -> np.ndarray | None:
        """How many values each example has; None if they are of another type."""
        counts = np.empty(self._rows, np.int64)
        wrong = self._code.count_column(*self._column(feature.key), _KINDS[feature.dtype.kind], address(counts))
        return None if wrong else counts

    def ragged(self, feature: Sparse) -> Ragged | None:
        """All values of a feature."""
        counts = self.counts(feature)
        values = None if counts is None else self._values(feature.key, feature.dtype.kind, counts, 0, np.empty(int(counts.sum()), feature.dtype))
        return None if counts is None or values is None else (values, counts)

    def padded(self, feature: DenseFeature) -> np.ndarray | None:
        """A feature whose first extent differs, filled up with the default; None if the numbers of values do not fit the other extents."""
        counts, inner = self.counts(feature), feature.shape[1:]
        width = int(np.prod(inner, dtype=np.int64))
        if counts is None or feature.dtype.kind == "O" or not width or (counts % width).any():
            return None
        longest = int(counts.max(initial=0))
        target = np.full((self._rows, longest), feature.default[0] if len(feature.default) else 0, feature.dtype)
        values = self._values(feature.key, feature.dtype.kind, counts, longest, target)
        return None if values is None else values.reshape(self._rows, longest // width, *inner)

    def _values(self, key: bytes, kind: str, counts: np.ndarray, pitch: int, target: np.ndarray) -> np.ndarray | None:
        raw = np.empty((target.size, 2), np.int64) if kind == "O" else target
        if target.size and self._code.ragged_column(*self._column(key), _KINDS[kind], _SIZES[kind], address(counts), pitch, address(raw)):
            return None
        return strings_of(raw, target.shape) if kind == "O" else target


def located(serialized: np.ndarray, keys: tuple[bytes, ...]) -> Located | None:
    """Where these features are in some serialized Examples; None where one is not plain, or there is no native code."""
    code = functions("examples")
    if code is None or functions("objects") is None:
        return None
    keys, pieces, guesses = _keys(keys)
    strings = np.ascontiguousarray(serialized)
    spans = np.empty((len(strings), len(keys) + 1, 3), np.int64)
    if code.locate(address(strings), len(strings), id(bytes), address(pieces), len(keys), address(guesses), address(spans)):
        return None
    return Located(code, strings, keys, spans)
