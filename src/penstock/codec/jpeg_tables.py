"""The tables of a JPEG file as native code wants them (``jpeg.py``). Most files have the same ones, so they are kept."""
from __future__ import annotations

import functools

import numpy as np

LANE = 64  # bytes of one coefficient of the blocks of a group
# A table of codes: an entry (length, and the symbol 8 bits higher) for each way in which the next 10 bits may go on, 0 for longer codes; for those,
# by their length, the first code of 16 bits beyond them, what to add to a code for the place of its symbol, and the symbols. Last, where 10 bits hold
# a code and the coefficient behind it: their length, how many coefficients of 0 go before it (8 bits higher), and the coefficient (16 bits higher);
# otherwise 0.
SHORT = 10
BEYOND, PLACES, SYMBOLS, WHOLE = 4096, 4096 + 8 * 17, 4096 + 16 * 17, 4096 + 16 * 17 + 256
_TABLE_BYTES = WHOLE + 4096


def _zigzag() -> list[int]:
    """The place in a block of each coefficient, in the order of the file."""
    places = sorted(((row, column) for row in range(8) for column in range(8)),
                    key=lambda place: (sum(place), place[0] if sum(place) % 2 else place[1]))
    return [8 * row + column for row, column in places]


@functools.lru_cache(64)
def scales_of(table: bytes, fast: bool) -> np.ndarray | None:
    """(factor, where the coefficient goes in a group) in the order of the file; None for a table that is too short."""
    wide = bool(table[0] >> 4)
    if len(table) != (129 if wide else 65):
        return None
    factors = np.frombuffer(table, ">u2" if wide else np.uint8, 64, 1).astype(np.int64)
    order = np.array(_zigzag())
    if fast:
        axis = np.array([1.0, *(np.cos(index * np.pi / 16) * np.sqrt(2) for index in range(1, 8))])
        shares = np.rint(np.outer(axis, axis) * (1 << 14)).astype(np.int64).reshape(-1)[order]
        factors = factors * shares + (1 << 11) >> 12
    return np.stack([factors, order * LANE], 1).astype(np.int32)


@functools.lru_cache(64)
def codes_of(table: bytes, largest: int = 255) -> np.ndarray | None:
    """A table of codes; None if its codes contradict each other, or stand for symbols beyond the largest."""
    if len(table) < 16 or len(table) != 16 + sum(table[:16]) or len(table) > 16 + 256 or max(table[16:], default=0) > largest:
        return None
    memory = np.zeros(_TABLE_BYTES, np.uint8)
    short, beyond, places = memory[:4096].view(np.uint32), memory[BEYOND:PLACES].view(np.int64), memory[PLACES:SYMBOLS].view(np.int64)
    memory[SYMBOLS:SYMBOLS + len(table) - 16] = np.frombuffer(table, np.uint8, offset=16)
    code = index = 0
    for length, count in enumerate(table[:16], 1):
        code <<= 1
        places[length] = index - code
        for _ in range(count):
            if code >= (1 << length) - 1:  # (a code of ones only is never used)
                return None
            if length <= SHORT:
                first = code << (SHORT - length)
                short[first:first + (1 << SHORT - length)] = length | table[16 + index] << 8
            code, index = code + 1, index + 1
        beyond[length] = code << (16 - length)
    memory[WHOLE:].view(np.uint32)[:] = _whole_coefficients(short)
    return memory


def _whole_coefficients(short: np.ndarray) -> np.ndarray:
    """The last part of a table: see above."""
    following, length, symbol = np.arange(1 << SHORT), (short & 31).astype(np.int64), (short >> 8).astype(np.int64)
    size = symbol & 15
    value = following >> np.maximum(SHORT - length - size, 0) & (1 << size) - 1
    value += np.where(value < 1 << np.maximum(size - 1, 0), 1 - (1 << size), 0)
    is_whole = (length > 0) & (size > 0) & (length + size <= SHORT)
    return np.where(is_whole, (value & 0xFFFF) << 16 | symbol >> 4 << 8 | length + size, 0).astype(np.uint32)
