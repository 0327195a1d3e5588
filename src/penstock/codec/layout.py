"""How Python keeps byte strings in memory. Native code reads them there, and an array of strings is an array of their addresses."""
from __future__ import annotations

import ctypes

SIZE = object.__basicsize__  # where a bytes object has its length,
DATA = bytes.__basicsize__ - 1  # and its first byte
TYPE = SIZE - 8  # where any object has its type


def strings_are_as_expected() -> bool:
    """Is this Python one whose objects have the layout that is said here?"""
    sample = bytes(range(65, 91))
    at = id(sample)
    return (ctypes.c_int64.from_address(at + TYPE).value == id(bytes) and ctypes.c_int64.from_address(at + SIZE).value == len(sample)
            and ctypes.string_at(at + DATA, len(sample)) == sample)
