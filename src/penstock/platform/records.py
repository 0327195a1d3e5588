"""The record format of event and TFRecord files: length, masked crc of the length, data, masked crc of the data.

A file may be compressed as a whole, by zlib or gzip. Offsets in errors and keys count bytes of the uncompressed stream.
"""
from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterator
from typing import IO, Any

import google_crc32c

from penstock.errors import DataLossError, OpError

_MASK_DELTA = 0xA282EAD8
_HEADER = struct.Struct("<QI")
_CRC = struct.Struct("<I")
_CHUNK = 1 << 18  # bytes read at a time from a compressed file
_LARGEST_READ = 1 << 24  # bytes asked for at a time: a length that lies must not fill the memory
_WINDOW_BITS = {"ZLIB": zlib.MAX_WBITS, "GZIP": zlib.MAX_WBITS | 16}  # 16: with gzip's header


def mask(crc: int) -> int:
    """A crc, rotated and shifted so that a crc of data that contains crcs stays meaningful."""
    return (((crc >> 15) | (crc << 17)) + _MASK_DELTA) & 0xFFFFFFFF


def masked_crc32c(data: bytes) -> int:
    """The masked crc of ``data``."""
    return mask(google_crc32c.value(data))


def frame(data: bytes) -> bytes:
    """``data`` as one record."""
    length = struct.pack("<Q", len(data))
    return b"".join((length, struct.pack("<I", masked_crc32c(length)), data, struct.pack("<I", masked_crc32c(data))))


def size_of(record: bytes) -> int:
    """The bytes that a record takes in a file."""
    return _HEADER.size + len(record) + _CRC.size


class RecordReader:
    """The records of an open binary file, one after the other; ``offset`` is where the next one starts.

    >>> import io
    >>> list(RecordReader(io.BytesIO(frame(b"one") + frame(b"two"))))
    [b'one', b'two']
    """

    def __init__(self, file: IO[bytes], compression: str = "") -> None:
        self._file = file
        self._read: Any = _InflatedFile(file, compression).read if compression else file.read
        self.offset = 0

    def __iter__(self) -> Iterator[bytes]:
        while (record := self.next()) is not None:
            yield record

    def next(self) -> bytes | None:
        """The next record, None at the end; DataLossError if the file is damaged or ends inside a record."""
        header = self._read(_HEADER.size)
        if not header:
            return None
        if len(header) < _HEADER.size:
            raise self._data_loss("truncated record at", 0)
        length, crc = _HEADER.unpack(header)
        if masked_crc32c(header[:8]) != crc:
            raise self._data_loss("corrupted record at", 0)
        data, end = self._read_exactly(length), self._read_exactly(_CRC.size)
        if masked_crc32c(data) != _CRC.unpack(end)[0]:
            raise self._data_loss("corrupted record at", _HEADER.size)
        self.offset += _HEADER.size + length + _CRC.size
        return data

    def _read_exactly(self, count: int) -> bytes:
        if count <= _LARGEST_READ:
            data = self._read(count)
            if len(data) == count:
                return data
        else:
            data = b""
        whole = io.BytesIO()  # which gives its bytes away without a copy
        while True:
            whole.write(data)
            if whole.tell() == count:
                return whole.getvalue()
            data = self._read(min(count - whole.tell(), _LARGEST_READ))
            if not data:
                raise self._data_loss("truncated record at", 0)

    def _data_loss(self, what: str, distance: int) -> OpError:
        name = getattr(self._file, "name", None)  # a file in memory has none
        return DataLossError(None, None, f"{what} {self.offset + distance}" + (f" of {name}" if isinstance(name, str) else ""))


class _InflatedFile:
    """A compressed file, read as if it were not. What a compressed file that was cut off still holds can be read."""

    def __init__(self, file: IO[bytes], compression: str) -> None:
        self._file, self._bits = file, _WINDOW_BITS[compression]
        self._decoder = zlib.decompressobj(self._bits)
        self._data, self._input, self._ended = b"", b"", False

    def read(self, count: int) -> bytes:
        while len(self._data) < count and not self._ended:
            self._inflate_more(count)
        taken, self._data = self._data[:count], self._data[count:]
        return taken

    def _inflate_more(self, count: int) -> None:
        if self._decoder.eof:  # gzip files may be several in one
            self._input = self._decoder.unused_data
            self._decoder = zlib.decompressobj(self._bits)
        source = self._input or self._file.read(_CHUNK)
        if not source:
            self._ended = True
            return
        try:
            self._data += self._decoder.decompress(source, max(_CHUNK, count))
        except zlib.error as error:
            raise DataLossError(None, None, f"inflate() failed: {error}") from error
        self._input = self._decoder.unconsumed_tail
