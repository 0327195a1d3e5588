"""The language of native code: what its functions compute, and what it refuses."""
from __future__ import annotations

import ctypes
import struct

import numpy as np
import pytest

from penstock.codec.language import native
from penstock.codec.primitives import (
    cell,
    clamp_bytes,
    copy,
    find,
    load8,
    load64,
    load_big64,
    load_bytes,
    load_float64,
    load_lanes,
    load_single,
    remainder,
    store8,
    store64,
    store_float32,
    store_float64,
    store_lanes,
    store_pairs,
    store_rows,
    store_single,
    store_triples,
    to_float,
)
from penstock.codec.translation import module_text
from penstock.native.machine import target

pytestmark = pytest.mark.process
LIMIT = 10


@native
def collatz(number):
    """Steps to 1, at most LIMIT ** 3."""
    steps = 0
    while number != 1:
        if steps == LIMIT * LIMIT * LIMIT:
            break
        if number % 2 == 0:
            number = number // 2
        else:
            number = 3 * number + 1
        steps += 1
    return steps


@native
def odd_sum(start, stop):
    """The sum of odd numbers that are not multiples of 5."""
    total = 0
    for number in range(start, stop):
        if not number & 1 or number % 5 == 0:
            continue
        total += number
    return total


@native
def logic(a, b):
    """Conditions as numbers; the second half of each is not computed where the first decides."""
    return (a != 0 and 100 // a > b) + 2 * (a == 0 or 100 // a > 7) + 4 * (a if b > 3 else b)


@native
def two_results(value, place):
    """The square, and the cube in another place."""
    store64(place, value * value * value)
    return value * value


@native
def both(value):
    """A cell takes what a call gives back beside its result."""
    place = cell()
    square = two_results(value, place)
    return square + load64(place)


@native
def bits(value, by):
    """Shifts and unsigned remainders."""
    return remainder(value >> by, 1000) + (~value & 3)


@native
def floats(source, target):
    """Arithmetic in both widths."""
    x = load_float64(source)
    store_float64(target, -(x * 0.5) / to_float(3))
    store_float32(target + 8, x)
    single = load_single(target + 8)
    store_single(target + 12, single + single * single)
    return x > 1.5


@native
def split(source, count, target):
    """Copies what stands before the first comma, in capitals' place a '!'."""
    end = find(source, b",", count)
    if end == 0:
        return -1
    copy(target, source, end - source)
    if load8(target) == b"A":
        store8(target, b"!")
    return end - source


@native
def lanes(source, target):
    """Arithmetic of 16 integers, which are stored as such, in pairs, in triples and in rows of eight."""
    x = load_lanes(source)
    y = (10 - x * 3) >> 1
    store_lanes(target, y)
    store_pairs(target + 64, load_bytes(source), clamp_bytes(y))
    store_triples(target + 96, x, x + 1, x + 2)
    store_rows(target + 144, x, x + 1, x + 2, x + 3, x + 4, x + 5, x + 6, x + 7)
    return load_big64(source)


FUNCTIONS = [collatz, odd_sum, logic, both, bits, floats, split, lanes]


@pytest.fixture(scope="module")
def code():
    library = target.LinkedCode(target.object_code(target.optimised(module_text(FUNCTIONS, target.triple()))),
                             *(f"codec_{function.name}" for function in FUNCTIONS))

    class Code:
        kept = library

    for function in FUNCTIONS:
        kind = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * len(function.parameters))
        setattr(Code, function.name, staticmethod(kind(library.addresses[f"codec_{function.name}"])))
    return Code


def test_loops_and_branches(code):
    assert [code.collatz(number) for number in (1, 2, 3, 27)] == [0, 1, 7, 111]
    assert code.odd_sum(0, 30) == sum(number for number in range(30) if number % 2 and number % 5)
    assert code.odd_sum(5, 5) == 0


def test_conditions(code):
    assert code.logic(0, 5) == 0 + 2 + 4 * 0
    assert code.logic(10, 5) == 1 + 2 + 4 * 10
    assert code.logic(20, 1) == 1 + 0 + 4 * 1


def test_calls_and_cells(code):
    assert code.both(5) == 25 + 125


def test_integers_wrap_and_shift_zeros_in(code):
    assert code.bits(-1, 60) == 15 + 0
    assert code.bits(-2, 0) == (2**64 - 2) % 1000 + 1


def test_floats(code):
    source, result = np.array([2.7]), np.zeros(16, np.uint8)
    assert code.floats(source.ctypes.data, result.ctypes.data) == 1
    half, single, mixed = struct.unpack("<dff", result.tobytes())
    assert half == -(2.7 * 0.5) / 3
    assert single == np.float32(2.7)
    assert mixed == np.float32(2.7) + np.float32(2.7) * np.float32(2.7)


def test_memory(code):
    result = np.zeros(8, np.uint8)
    data = np.frombuffer(b"Abc,d", np.uint8)
    assert code.split(data.ctypes.data, 5, result.ctypes.data) == 3
    assert result.tobytes() == b"!bc\0\0\0\0\0"
    assert code.split(data.ctypes.data, 3, result.ctypes.data) == -1


def test_lanes(code):
    source, result = np.arange(-8, 8, dtype=np.int32) * 100, np.zeros(272, np.uint8)
    assert code.lanes(source.ctypes.data, result.ctypes.data) == int.from_bytes(source.tobytes()[:8], "big", signed=True)
    expected = (10 - source * 3) >> 1
    np.testing.assert_array_equal(result[:64].view(np.int32), expected)
    np.testing.assert_array_equal(result[64:96].reshape(16, 2), np.stack([source.view(np.uint8)[:16], expected.clip(0, 255).astype(np.uint8)], 1))
    for place, count in ((96, 3), (144, 8)):
        np.testing.assert_array_equal(result[place:place + 16 * count].reshape(16, count), (source[:, None] + np.arange(count)).astype(np.uint8))


@native
def unknown_statement(value):
    """``with`` is not a part of it."""
    with value:
        return 1


@native
def changing_type(value):
    """A variable keeps its type."""
    value = 1.5
    return value


@native
def python_call(value):
    """Python's functions cannot be called."""
    return len(value)


@pytest.mark.parametrize("function", [unknown_statement, changing_type, python_call], ids=lambda function: function.name)
def test_what_the_language_lacks_is_a_syntax_error(function):
    with pytest.raises(SyntaxError, match=function.name):
        module_text([function], target.triple())


def test_primitives_are_not_for_python():
    with pytest.raises(TypeError, match="native code"):
        load8(1)
