"""Strings of arrays as addresses and lengths, and back to strings."""
from __future__ import annotations

import ctypes

import numpy as np

from penstock.codec.language import native
from penstock.codec.library import functions
from penstock.codec.object_memory import DATA, address
from penstock.codec.primitives import call2, load64, store64

MAKE = ctypes.cast(ctypes.pythonapi.PyBytes_FromStringAndSize, ctypes.c_void_p).value
PIECE = 16  # bytes of an entry of a table of pieces: an address, a length


@native
def make_strings(pieces, count, objects, make):
    """Makes a bytes object of each (address, length); returns 0, or 1 if the memory is used up. Not to be called without Python's lock."""
    for index in range(count):
        made = call2(make, load64(pieces + PIECE * index), load64(pieces + PIECE * index + 8))
        if made == 0:
            return 1
        store64(objects + 8 * index, made)
    return 0


EXPORTS = MAKES_OBJECTS = [make_strings]


def strings_of(pieces: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """An array of the strings that these pieces, as (address, length) each, say. What they point to must still be there."""
    made = np.empty(shape, object)
    if made.size and functions("objects").make_strings(address(pieces), made.size, address(made), MAKE):
        raise MemoryError
    return made


def pieces_of(strings: list[bytes]) -> np.ndarray:
    """The (address, length) of strings, which the caller keeps."""
    return np.array([(id(item) + DATA, len(item)) for item in strings], np.int64).reshape(len(strings), 2)
