"""Sorted string tables: a file of key-value pairs in the order of their keys, as LevelDB lays them out.

    block*        pairs, each key without the prefix that it shares with the key before it; every 16th key is whole (a "restart")
    block         of the meta index, empty here
    block         of the index: a key at least as large as the last of each block, and where that block is
    footer        where the two index blocks are, padded to 40 bytes, and a magic number

Behind each block stand a byte that says how it is compressed and the masked crc of both.
"""
from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator

from penstock.checkpoint.snappy import decompress
from penstock.errors import DataLossError
from penstock.platform.records import masked_crc32c
from penstock.platform.varints import read_varint, varint

_MAGIC = 0xDB4775248B80FB57
_FOOTER = 48
_BLOCK_SIZE = 256 << 10  # bytes of pairs, after which a new block begins
_RESTART_INTERVAL = 16
_PLAIN, _SNAPPY = 0, 1
_SMALL, _FACTOR = 64 << 20, 1000  # bytes that the pairs of any file may take; those of a larger one, times its size


class _Block:
    """Collects the pairs of one block."""

    def __init__(self, restart_interval: int) -> None:
        self._interval = restart_interval
        self._data, self._restarts, self._count, self._last = bytearray(), [0], 0, b""

    def add(self, key: bytes, value: bytes) -> None:
        shared = 0
        if self._count and self._count % self._interval == 0:
            self._restarts.append(len(self._data))
        elif self._count:
            shared = _shared_prefix(self._last, key)
        self._data += varint(shared) + varint(len(key) - shared) + varint(len(value)) + key[shared:] + value
        self._last = key
        self._count += 1

    def __len__(self) -> int:
        return len(self._data) + 4 * (len(self._restarts) + 1)

    def contents(self) -> bytes:
        return bytes(self._data) + struct.pack(f"<{len(self._restarts) + 1}I", *self._restarts, len(self._restarts))


def _shared_prefix(one: bytes, other: bytes) -> int:
    limit = min(len(one), len(other))
    return next((at for at in range(limit) if one[at] != other[at]), limit)


def _separator(last: bytes, following: bytes) -> bytes:
    """A short key that is at least ``last`` and less than ``following``."""
    at = _shared_prefix(last, following)
    if at < min(len(last), len(following)) and last[at] < 0xFF and last[at] + 1 < following[at]:
        return last[:at] + bytes([last[at] + 1])
    return last


def _successor(last: bytes) -> bytes:
    """A short key that is at least ``last``."""
    for at, byte in enumerate(last):
        if byte != 0xFF:
            return last[:at] + bytes([byte + 1])
    return last


def build_table(pairs: Iterable[tuple[bytes, bytes]]) -> bytes:
    """The table of pairs that come in the order of their keys."""
    out, index, block = bytearray(), _Block(1), _Block(_RESTART_INTERVAL)
    last, handle = b"", b""
    for key, value in pairs:
        if handle:
            index.add(_separator(last, key), handle)
            handle = b""
        block.add(key, value)
        last = key
        if len(block) >= _BLOCK_SIZE:
            handle, block = _append(out, block), _Block(_RESTART_INTERVAL)
    if block._count:
        handle = _append(out, block)
    if handle:
        index.add(_successor(last), handle)
    handles = _append(out, _Block(_RESTART_INTERVAL))
    handles += _append(out, index)
    return bytes(out) + handles.ljust(_FOOTER - 8, b"\0") + struct.pack("<Q", _MAGIC)


def _append(out: bytearray, block: _Block) -> bytes:
    """Writes a block; returns where it is."""
    contents = block.contents()
    handle = varint(len(out)) + varint(len(contents))
    out += contents + bytes([_PLAIN]) + struct.pack("<I", masked_crc32c(contents + bytes([_PLAIN])))
    return handle


def read_table(path: str) -> dict[bytes, bytes]:
    """All pairs of the table in a file; DataLossError, naming the file, if it is damaged or something else."""
    with open(path, "rb") as file:
        data = file.read()
    try:
        return dict(_pairs(data))
    except (ValueError, IndexError, struct.error) as error:
        raise DataLossError(None, None, f"{path} is not a checkpoint, or it is damaged: {error}") from None


def _pairs(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    if len(data) < _FOOTER or struct.unpack("<Q", data[-8:])[0] != _MAGIC:
        raise ValueError("not an sstable (bad magic number)")
    footer = data[-_FOOTER:]
    _, position = read_varint(footer, 0)
    _, position = read_varint(footer, position)
    left = max(_SMALL, _FACTOR * len(data))
    for _, handle in _entries(_block(data, footer, position)):
        for key, value in _entries(_block(data, handle, 0)):
            left -= len(key) + len(value)  # keys share their beginnings, and blocks may be listed more than once
            if left < 0:
                raise ValueError(f"pairs of more than {_FACTOR} times its {len(data)} bytes")
            yield key, value


def _block(data: bytes, handle: bytes, position: int) -> bytes:
    """The contents of the block that ``handle`` points at."""
    start, position = read_varint(handle, position)
    size, _ = read_varint(handle, position)
    end = start + size
    if end + 5 > len(data):
        raise ValueError(f"a block of {size} bytes at {start} goes beyond the end, {len(data)}")
    stored = struct.unpack("<I", data[end + 1:end + 5])[0]
    if masked_crc32c(data[start:end + 1]) != stored:
        raise ValueError(f"block checksum mismatch at {start}")
    contents, compression = data[start:end], data[end]
    if compression == _SNAPPY:
        return decompress(contents)
    if compression != _PLAIN:
        raise ValueError(f"a block that is compressed in an unknown way ({compression})")
    return contents


def _entries(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    (restarts,) = struct.unpack("<I", block[-4:])
    end = len(block) - 4 * (restarts + 1)
    position, key = 0, b""
    while position < end:
        shared, position = read_varint(block, position)
        unshared, position = read_varint(block, position)
        length, position = read_varint(block, position)
        if shared > len(key) or position + unshared + length > end:
            raise ValueError("an entry goes beyond its block")
        key = key[:shared] + block[position:position + unshared]
        position += unshared
        yield key, block[position:position + length]
        position += length
