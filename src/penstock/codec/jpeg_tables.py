"""The tables of a JPEG file as native code wants them (``jpeg.py``). Most files have the same ones, so they are kept."""
from __future__ import annotations

import functools

import numpy as np

LANE = 64  # bytes of one coefficient of the blocks of a group
# A table of codes: an entry for each way in which the next bits may go on, 0 for longer codes; for those, by their length, the first code of 16 bits
# beyond them, what to add to a code for the place of its entry, and the entries. An entry says how many bits a code and the value behind it have, how
# many coefficients further that is (8 bits higher), and how many bits the value has (16 bits higher). Behind the last code of a block it is END.
SHORT = 10
BEYOND = 4 << SHORT
PLACES, ENTRIES = BEYOND + 8 * 17, BEYOND + 16 * 17
_TABLE_BYTES = ENTRIES + 4 * 256
END = 128


def _zigzag() -> list[int]:
    """The place in a block of each coefficient, in the order of the file."""
    places = sorted(((row, column) for row in range(8) for column in range(8)),
                    key=lambda place: (sum(place), place[0] if sum(place) % 2 else place[1]))
    return [8 * row + column for row, column in places]


@functools.lru_cache(64)
def scales_of(table: bytes, fast: bool) -> np.ndarray | None:
    """(factor, where the coefficient goes in a group) in the order of the file; None for a table that is too short. What is beyond the last one, like
    the 0 at the end of a block, goes to its place."""
    wide = bool(table[0] >> 4)
    if len(table) != (129 if wide else 65):
        return None
    factors = np.frombuffer(table, ">u2" if wide else np.uint8, 64, 1).astype(np.int64)
    order = np.array(_zigzag())
    if fast:
        axis = np.array([1.0, *(np.cos(index * np.pi / 16) * np.sqrt(2) for index in range(1, 8))])
        shares = np.rint(np.outer(axis, axis) * (1 << 14)).astype(np.int64).reshape(-1)[order]
        factors = factors * shares + (1 << 11) >> 12
    scales = np.stack([factors, order * LANE], 1).astype(np.int32)
    return np.concatenate([scales, np.repeat(scales[-1:], END, 0)])


@functools.lru_cache(64)
def codes_of(table: bytes, largest: int = 255) -> np.ndarray | None:
    """A table of codes; None if its codes contradict each other, or stand for symbols beyond the largest."""
    if len(table) < 16 or len(table) != 16 + sum(table[:16]) or len(table) > 16 + 256 or max(table[16:], default=0) > largest:
        return None
    memory = np.zeros(_TABLE_BYTES, np.uint8)
    short, entries = memory[:BEYOND].view(np.uint32), memory[ENTRIES:].view(np.uint32)
    beyond, places = memory[BEYOND:PLACES].view(np.int64), memory[PLACES:ENTRIES].view(np.int64)
    code = index = 0
    for length, count in enumerate(table[:16], 1):
        code <<= 1
        places[length] = index - code
        for _ in range(count):
            if code >= (1 << length) - 1:  # (a code of ones only is never used)
                return None
            entries[index] = _entry(length, table[16 + index])
            if length <= SHORT:
                first = code << (SHORT - length)
                short[first:first + (1 << SHORT - length)] = entries[index]
            code, index = code + 1, index + 1
        beyond[length] = code << (16 - length)
    return memory


def _entry(length: int, symbol: int) -> int:
    """The entry of a code: see above. A symbol says how many coefficients of 0 go before a value, and how many bits that has."""
    zeros, size = symbol >> 4, symbol & 15
    return length + size | (zeros + 1 if size or zeros == 15 else END) << 8 | size << 16
