"""How Python keeps byte strings, and NumPy arrays, in memory. Native code reads strings there: an array of them is an array of their addresses."""
from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

SIZE = object.__basicsize__  # where a bytes object has its length,
DATA = bytes.__basicsize__ - 1  # and its first byte
TYPE = SIZE - 8  # where any object has its type


_at = ctypes.c_int64.from_address


def address(array: Any) -> int:
    """Where the elements of a NumPy array begin: what ``array.ctypes.data`` says, in a fifth of the time."""
    return _at(id(array) + SIZE).value


def strings_are_as_expected() -> bool:
    """Is this Python one whose objects have the layout that is said here?"""
    sample = bytes(range(65, 91))
    at = id(sample)
    array = np.arange(3)
    return (_at(at + TYPE).value == id(bytes) and _at(at + SIZE).value == len(sample) and ctypes.string_at(at + DATA, len(sample)) == sample
            and address(array) == array.ctypes.data)
