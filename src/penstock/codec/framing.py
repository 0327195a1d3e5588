"""The records of a TFRecord file, many at a time. One that is damaged, cut off or very long is left to ``RecordReader``, which knows the errors."""
from __future__ import annotations

from typing import IO, Any

import numpy as np

from penstock.codec.language import native
from penstock.codec.library import functions
from penstock.codec.object_memory import DATA, address
from penstock.codec.objects import PIECE, strings_of
from penstock.codec.primitives import crc8, crc64, load8, load32, load64, store64
from penstock.platform.records import RecordReader

NEEDS = ("sse4.2",)  # a checksum is an instruction
_MASK_DELTA = 0xA282EAD8
_ONES = 0xFFFFFFFF
_HEADER, _FOOTER = 12, 4  # bytes before and after the data of a record
_CHUNK = 1 << 18  # bytes read at a time


@native
def masked_crc(at, count):
    """The masked CRC-32C of some bytes."""
    crc = _ONES
    end = at + count
    while at + 8 <= end:
        crc = crc64(crc, load64(at))
        at += 8
    while at < end:
        crc = crc8(crc, load8(at))
        at += 1
    crc = crc ^ _ONES
    return (((crc >> 15) | (crc << 17)) + _MASK_DELTA) & _ONES


@native
def scan(at, end, most, pieces, used):
    """Puts the data of up to ``most`` whole, sound records into ``pieces``, and the bytes that they take into ``used``; returns their number."""
    start = at
    count = 0
    while count < most and end - at >= _HEADER + _FOOTER:
        length = load64(at)
        if length < 0 or length > end - at - _HEADER - _FOOTER or masked_crc(at, 8) != load32(at + 8):
            break
        data = at + _HEADER
        if masked_crc(data, length) != load32(data + length):
            break
        store64(pieces + PIECE * count, data)
        store64(pieces + PIECE * count + 8, length)
        count += 1
        at = data + length + _FOOTER
    store64(used, at - start)
    return count


EXPORTS = [scan]


class RecordBlocks(RecordReader):
    """The records of an open file, ``take(most)`` at a time; ``next`` gives one."""

    def __init__(self, file: IO[bytes], compression: str = "") -> None:
        super().__init__(file, compression)
        self._native = functions("framing")
        self._data, self._place = b"", 0  # what was read, and how much of it has been used
        self._read_file, self._read = self._read, self._read_some

    def take(self, most: int) -> np.ndarray:
        """The next records, at most so many; none at the end. DataLossError if the first of them is damaged or cut off."""
        while True:
            records = self._scan(most)
            if len(records):
                return records
            if not self._refill():
                one = self.next()
                return strings_from([] if one is None else [one])

    def _refill(self) -> bool:
        """Reads on, if that may help: what is left is less than a piece, and the file goes on."""
        left = len(self._data) - self._place
        more = self._read_file(_CHUNK) if self._native is not None and left < _CHUNK else b""
        self._data, self._place = (self._data[self._place:] + more, 0) if more else (self._data, self._place)
        return bool(more)

    def _scan(self, most: int) -> np.ndarray:
        if self._native is None or self._place == len(self._data):
            return strings_from([])
        pieces, used = np.empty((min(most, len(self._data) // (_HEADER + _FOOTER) + 1), 2), np.int64), np.zeros(1, np.int64)
        start = id(self._data) + DATA
        count = self._native.scan(start + self._place, start + len(self._data), len(pieces), address(pieces), address(used))
        records = strings_of(pieces, (count,))
        self._place += int(used[0])
        self.offset += int(used[0])
        return records

    def _read_some(self, count: int) -> Any:
        """As the file's own ``read``, beginning with what has been read already."""
        taken = self._data[self._place:self._place + count]
        self._place += len(taken)
        return taken if len(taken) == count else taken + self._read_file(count - len(taken))


def strings_from(items: list[bytes]) -> np.ndarray:
    """An array of strings."""
    array = np.empty(len(items), object)
    array[:] = items
    return array
