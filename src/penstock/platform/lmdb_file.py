"""Reads LMDB databases, without the library: the entries of the main table, in the order of their keys.

A database is a file of pages, which form a tree. The first two pages are *meta* pages; that with the higher transaction number tells the root.
A page begins with 16 bytes: its number, a word that is not used, flags, and the bounds of its free space. Offsets of its nodes follow, two bytes
each.
A node of a branch has the number of a child; one of a leaf has a key and a value, or the first of the *overflow* pages that a large value lies in.
Numbers are little-endian, as on all machines that LMDB is commonly used on.

Files may be broken, or made to do harm: no number of theirs is used before it is known to lie within the file, and no page is read more often than
there are pages.
"""
from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from typing import IO

from penstock.errors import DataLossError, UnimplementedError
from penstock.platform import gfile

_MAGIC, _VERSION = 0xBEEFC0DE, 1
_HEADER = 16  # bytes at the beginning of a page
_BRANCH, _LEAF = 0x01, 0x02  # flags of pages
_BIG, _DUPLICATES = 0x01, 0x04  # flags of nodes
_NO_PAGE = 2**64 - 1
_LARGEST_PAGE = 1 << 16
_DEEPEST = 32  # levels of a tree that the library itself follows
_META = struct.Struct("<II8x8x48s48s8xQ")  # magic, version, the two tables (free pages, main), transaction
_TABLE = struct.Struct("<I2xH32xQ")  # size of pages (in the first table), depth, root
_NODE = struct.Struct("<HHHH")  # size of the value (or number of the child) in two halves, flags, length of the key
_LONGEST_META = _HEADER + _META.size


def open_database(path: str | bytes) -> IO[bytes]:
    """The file of the database at ``path``, which may be its folder."""
    name = os.fsdecode(path)
    return gfile.open_file(os.path.join(name, "data.mdb") if gfile.IsDirectory(name) else name, "rb")


def entries(file: IO[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """(key, value) of each entry. DataLossError for a broken file, or one of another kind."""
    size, depth, root = _main_table(file)
    if root != _NO_PAGE:
        yield from _Pages(file, size).below(root, depth)


def _main_table(file: IO[bytes]) -> tuple[int, int, int]:
    """(size of a page, depth, page of the root) of the main table."""
    first = _meta(file, 0)
    if first is None:
        raise DataLossError(None, None, f"not an LMDB database: {getattr(file, 'name', 'file')}")
    size = first[1][0]
    second = _meta(file, size)
    _, (size, _, _), (_, depth, root) = first if second is None else max(first, second)
    if not _LONGEST_META <= size <= _LARGEST_PAGE or size & (size - 1) or depth > _DEEPEST:
        raise DataLossError(None, None, f"an LMDB database with pages of {size} bytes, {depth} levels deep")
    return size, depth, root


def _meta(file: IO[bytes], offset: int) -> tuple[int, tuple[int, ...], tuple[int, ...]] | None:
    """(transaction, free pages, main table) of a meta page; None if there is none."""
    file.seek(offset + _HEADER)
    data = file.read(_META.size)
    if len(data) < _META.size:
        return None
    magic, version, free, main, transaction = _META.unpack(data)
    if (magic, version) != (_MAGIC, _VERSION):
        return None
    return transaction, _TABLE.unpack(free), _TABLE.unpack(main)


class _Pages:
    """The pages of a database, each of which is read once."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file, self._size = file, size
        self._bytes = file.seek(0, os.SEEK_END)
        self._left = self._bytes // size  # how many may still be read

    def below(self, number: int, depth: int) -> Iterator[tuple[bytes, bytes]]:
        """The entries below a page, which is ``depth`` levels above the ground."""
        if depth < 1 or self._left < 1:
            raise DataLossError(None, None, f"page {number} of an LMDB database is in the wrong place")
        self._left -= 1
        page = self._read(number * self._size, self._size)
        flags, lower = struct.unpack_from("<HH", page, 10)
        if not flags & (_BRANCH | _LEAF):
            raise DataLossError(None, None, f"page {number} of an LMDB database is neither a branch nor a leaf")
        count = (min(lower, self._size) - _HEADER) // 2
        for offset in struct.unpack_from(f"<{max(count, 0)}H", page, _HEADER):
            low, high, node_flags, key_length = _NODE.unpack(_part(page, offset, _NODE.size))
            start = offset + _NODE.size
            if flags & _BRANCH:
                yield from self.below(low | high << 16 | node_flags << 32, depth - 1)
            else:
                yield _part(page, start, key_length), self._value(page, node_flags, start + key_length, low | high << 16)

    def _value(self, page: bytes, flags: int, start: int, length: int) -> bytes:
        if flags & _DUPLICATES:
            raise UnimplementedError(None, None, "an LMDB database with several values for a key is not supported")
        if not flags & _BIG:
            return _part(page, start, length)
        (number,) = struct.unpack("<Q", _part(page, start, 8))
        return self._read(number * self._size + _HEADER, length)

    def _read(self, start: int, length: int) -> bytes:
        if start + length > self._bytes:
            raise DataLossError(None, None, "an LMDB database refers to bytes behind its end")
        self._file.seek(start)
        return _part(self._file.read(length), 0, length)  # (the file may have been cut meanwhile)


def _part(data: bytes, start: int, length: int) -> bytes:
    if start + length > len(data):
        raise DataLossError(None, None, "an LMDB database refers to bytes behind the end of a page")
    return data[start:start + length]
