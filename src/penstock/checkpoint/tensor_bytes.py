"""Arrays as bytes on disk, and back: in pieces, so that neither way makes a second copy of a large array.

Numbers are their little-endian bytes. A tensor of strings is the lengths as varints, a masked crc of the lengths, and the strings; the lengths go
into the crcs as four bytes each (eight for a giant). The crc of an entry covers all of it.
"""
from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import BinaryIO

import google_crc32c
import numpy as np

from penstock.checkpoint.data_file import DataFile
from penstock.graph import dtypes
from penstock.graph.dtypes import DType
from penstock.platform.records import mask
from penstock.platform.varints import read_varint, varint

PIECE = 1 << 20  # bytes between two looks at the crc: they are still in the cache when they are checked
_WRITTEN = 8 << 20  # bytes that are written at once, while the crc of the next ones is computed


class DamagedData(Exception):
    """Bytes are missing or are not what was written; the message says what is wrong with them."""


def write_array(file: DataFile, array: np.ndarray, dtype: DType) -> int:
    """Appends an array; returns the masked crc."""
    return _write_strings(file, array) if dtype is dtypes.string else _write_numbers(file, array)


def _write_numbers(file: DataFile, array: np.ndarray) -> int:
    data = as_bytes(np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"), copy=False)))
    crc = 0
    for start in range(0, len(data), _WRITTEN):
        piece = data[start:start + _WRITTEN]
        file.write(piece)
        crc = google_crc32c.extend(crc, piece)
    return mask(crc)


def _write_strings(file: DataFile, array: np.ndarray) -> int:
    items: list[bytes] = list(array.reshape(-1))
    lengths = b"".join(varint(len(item)) for item in items)
    crc = google_crc32c.value(_packed_lengths([len(item) for item in items]))
    checked = struct.pack("<I", mask(crc))
    crc = google_crc32c.extend(crc, checked)
    file.write(lengths + checked)
    for item in items:
        crc = google_crc32c.extend(crc, item)
        file.write(item)
    return mask(crc)


def _packed_lengths(lengths: Sequence[int]) -> bytes:
    return b"".join(struct.pack("<I" if length < 1 << 32 else "<Q", length) for length in lengths)


def as_bytes(array: np.ndarray) -> np.ndarray:
    """The memory of a contiguous array, as bytes."""
    return array.reshape(-1).view(np.uint8)


def read_numbers(file: BinaryIO, into: np.ndarray, crc_wanted: int) -> None:
    """Fills a contiguous array from where ``file`` stands."""
    data = as_bytes(into)
    crc = 0
    for start in range(0, len(data), PIECE):
        piece = data[start:start + PIECE]
        got = file.readinto(piece)  # type: ignore[attr-defined]
        if got != len(piece):
            raise DamagedData(f"the file ends {len(data) - start - (got or 0)} bytes too early")
        crc = google_crc32c.extend(crc, piece)
    _compare(crc, crc_wanted)


def read_strings(data: bytes, shape: tuple[int, ...], crc_wanted: int) -> np.ndarray:
    """The strings that ``data``, the bytes of an entry, holds."""
    result = np.empty(shape, object)
    flat, lengths, position = result.reshape(-1), [], 0
    try:
        for _ in range(flat.size):
            length, position = read_varint(data, position)
            lengths.append(length)
    except (IndexError, ValueError) as error:
        raise DamagedData(f"the lengths of the strings cannot be read ({error})") from None
    crc = google_crc32c.value(_packed_lengths(lengths))
    checked = data[position:position + 4]
    if checked != struct.pack("<I", mask(crc)):
        raise DamagedData("the checksum of the lengths of the strings does not match")
    position += 4
    if position + sum(lengths) != len(data):
        raise DamagedData(f"strings of {sum(lengths)} bytes do not fill the {len(data) - position} bytes of the entry")
    crc = google_crc32c.extend(crc, data[position - 4:])
    _compare(crc, crc_wanted)
    for index, length in enumerate(lengths):
        flat[index] = data[position:position + length]
        position += length
    return result


def _compare(crc: int, wanted: int) -> None:
    if mask(crc) != wanted:
        raise DamagedData(f"Checksum does not match: stored {wanted:08x} vs. calculated on the restored bytes {mask(crc):08x}")
