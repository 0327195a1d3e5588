"""Where a call writes to, told by its words: rows that lie further apart, or a call that stays where it is."""
from __future__ import annotations

import struct

import numpy as np
import pytest

from penstock.native.calls import Array, Buffer, KernelCall, row_major
from penstock.native.destinations import FixedDestination, Pitch, RowDestination

WORDS = ("start", "stop", "step", "other")
ROWS = RowDestination.among(WORDS, width="stop", steps=("step",), start="start")
FLOAT = np.dtype(np.float32)


def contiguous(*shape):
    return Array(Buffer("arena", 4 * int(np.prod(shape))), FLOAT, shape, row_major(shape, 4))


def joined(*shape, width):
    """An array of this shape, as a part of one whose last axis is longer."""
    return Array(Buffer("arena", 0), FLOAT, shape, row_major((*shape[:-1], width), 4))


def call(*words):
    return KernelCall(None, [contiguous(5, 8)], [struct.pack("4q", *words)], "some kernel", destination=ROWS)


def moved(words, array, home):
    (part,) = ROWS.moved_parts(call(*words), Pitch.between(array, home), home)
    return struct.unpack("4q", part)


def test_rows_begin_further_apart():
    array, home = contiguous(5, 8), joined(5, 8, width=20)
    assert moved((0, 8, 32, 7), array, home) == (0, 8, 80, 7)
    assert moved((3 * 32 + 16, 4, 2 * 32, 7), array, home) == (3 * 80 + 16, 4, 2 * 80, 7)  # from the middle of the fourth row on


def test_several_axes_are_one_row():
    array = contiguous(4, 3, 2)
    home = Array(Buffer("arena", 0), FLOAT, (4, 3, 2), (100, 8, 4))
    assert Pitch.between(array, home) == Pitch(24, 100, 4)


@pytest.mark.parametrize("words", [(0, 9, 32, 0), (4, 8, 32, 0), (0, 8, 16, 0)], ids=["too wide", "reaches into the next row", "half a row"])
def test_what_does_not_fit_in_rows_stays(words):
    with pytest.raises(FixedDestination):
        moved(words, contiguous(5, 8), joined(5, 8, width=20))


def test_one_row_may_hold_anything():
    array = contiguous(1, 8)
    assert moved((4, 8, 16, 1), array, joined(1, 8, width=20)) == (4, 8, 16, 1)


def test_steps_in_elements():
    rows = RowDestination.among(WORDS, width="stop", steps=("step",), in_elements=True)
    home = joined(5, 8, width=20)
    (part,) = rows.moved_parts(call(99, 8, 8, 7), Pitch.between(contiguous(5, 8), home), home)
    assert struct.unpack("4q", part) == (99, 8, 20, 7)
