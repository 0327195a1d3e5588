"""Datasets of what files hold: lines of text, records, records of a fixed length."""
from __future__ import annotations

import gzip
import io
import itertools
import os
import zlib
from collections.abc import Callable, Iterator
from typing import IO, Any

import numpy as np

from penstock.codec.framing import RecordBlocks
from penstock.errors import DataLossError, KernelError, invalid_argument
from penstock.graph.opdef import op
from penstock.ops.common import nothing, strings
from penstock.ops.data.dataset_batch import joined
from penstock.ops.data.dataset_core import OUTPUTS, Element, Source, dataset_op, integer, scalar, text
from penstock.ops.text.files import file_error
from penstock.platform.lmdb_file import entries, open_database
from penstock.platform.records import frame

_FILES = "filenames: string, compression_type: string, buffer_size: int64"
_FIXED = "filenames: string, header_bytes: int64, record_bytes: int64, footer_bytes: int64, buffer_size: int64"
_COMPRESSIONS = ("", "ZLIB", "GZIP")
_AHEAD = 64  # strings that are made at once if they are asked for one by one


def _paths(filenames: Any) -> list[str]:
    array = np.asarray(filenames, object)
    if array.ndim > 1:
        raise invalid_argument("`filenames` must be a scalar or a vector.")
    return [text(item) for item in array.reshape(-1)]


def _compression(compression_type: Any) -> str:
    name = text(compression_type)
    if name not in _COMPRESSIONS:
        raise invalid_argument("Unsupported compression_type.", f"{name!r} is none of {', '.join(map(repr, _COMPRESSIONS))}")
    return name


def _open(path: str) -> IO[bytes]:
    try:
        return open(path, "rb")
    except OSError as error:
        raise file_error(error, path) from error


def _plain(file: IO[bytes], compression: str) -> IO[bytes]:
    """The contents of a file, without compression."""
    if compression == "ZLIB":
        return io.BytesIO(zlib.decompress(file.read()))
    return gzip.GzipFile(fileobj=file) if compression == "GZIP" else file  # type: ignore[return-value]


Take = Callable[[int], np.ndarray]  # the next strings of a file, at most so many; none at the end


class _Strings:
    """The strings in some files: ``begin`` makes of an open file the function that takes some of them. They are made ``_AHEAD`` at a time."""

    def __init__(self, paths: list[str], begin: Callable[[IO[bytes]], Take]) -> None:
        self._paths, self._begin = iter(paths), begin
        self._path, self._file, self._take = "", io.BytesIO(), _nothing
        self._ready, self._at = _nothing(0), 0  # strings that are there already, and how many of them have been taken

    def __iter__(self) -> _Strings:
        return self

    def __next__(self) -> Element:
        if self._at == len(self._ready):
            block = self._block(_AHEAD)
            if block is None:
                raise StopIteration
            self._ready, self._at = block, 0
        self._at += 1
        return (scalar(self._ready[self._at - 1]),)

    def next_batch(self, size: int) -> Element | None:
        """The next strings, of one file after the other."""
        parts: list[Element] = []
        while size > 0:
            if self._at == len(self._ready):
                block = self._block(max(size, _AHEAD))
                if block is None:
                    break
                self._ready, self._at = block, 0
            part = self._ready[self._at:self._at + size]
            self._at += len(part)
            size -= len(part)
            parts.append((part,))
        return joined(parts)

    def __del__(self) -> None:
        self._file.close()

    def _block(self, size: int) -> np.ndarray | None:
        """Some strings, at least one; None behind the last file."""
        try:
            while not len(block := self._take(size)):
                self._file.close()
                path = next(self._paths, None)
                if path is None:
                    self._take = _nothing
                    return None
                self._path, self._file = path, _open(path)
                self._take = self._begin(self._file)
        except Exception as error:  # no more of this dataset is read
            self._take, self._paths = _nothing, iter(())
            self._file.close()
            if isinstance(error, (zlib.error, gzip.BadGzipFile, EOFError)):
                raise KernelError(DataLossError, f"{self._path}: inflate() failed: {error}") from error
            raise
        return block


def _nothing(size: int) -> np.ndarray:
    return np.empty(0, object)


def _taking(items: Iterator[bytes]) -> Take:
    """What takes some of these."""
    return lambda size: strings(itertools.islice(items, size))


def _lines(file: IO[bytes]) -> Take:
    def take(size: int) -> np.ndarray:
        return strings([line.removesuffix(b"\n").removesuffix(b"\r") for line in itertools.islice(file, size)])
    return take


@dataset_op("TextLineDataset", _FILES)
class TextLineDataset:
    """The lines of text files, without their ends."""

    touches = "files"
    lightweight = True

    def kernel(filenames, compression_type, buffer_size):
        paths, compression = _paths(filenames), _compression(compression_type)
        return Source(lambda: _Strings(paths, lambda file: _lines(_plain(file, compression))))


@dataset_op("TFRecordDataset", _FILES)
class TFRecordDataset:
    """The records of TFRecord files."""

    touches = "files"
    lightweight = True

    def kernel(filenames, compression_type, buffer_size):
        paths, compression = _paths(filenames), _compression(compression_type)
        return Source(lambda: _Strings(paths, lambda file: RecordBlocks(file, compression).take))


def _fixed_records(file: IO[bytes], header: int, length: int, footer: int) -> Iterator[bytes]:
    data = file if hasattr(file, "fileno") and not isinstance(file, gzip.GzipFile) else io.BytesIO(file.read())
    data.seek(0, os.SEEK_END)
    body = data.tell() - header - footer
    if body < 0 or body % length:
        raise invalid_argument(f"Excluding the header ({header} bytes) and footer ({footer} bytes), input file \"{getattr(file, 'name', '')}\" has "
                               f"body length {body} bytes, which is not an exact multiple of the record length ({length} bytes).")
    data.seek(header)
    for _ in range(body // length):
        yield data.read(length)


def _fixed_source(filenames: Any, header_bytes: Any, record_bytes: Any, footer_bytes: Any, compression: str) -> Source:
    paths = _paths(filenames)
    header, length, footer = integer(header_bytes), integer(record_bytes), integer(footer_bytes)
    if header < 0 or length <= 0 or footer < 0:
        raise invalid_argument(f"header_bytes and footer_bytes must be >= 0 and record_bytes > 0, not {header}, {footer} and {length}")
    return Source(lambda: _Strings(paths, lambda file: _taking(_fixed_records(_plain(file, compression), header, length, footer))))


@dataset_op("FixedLengthRecordDatasetV2", f"{_FIXED}, compression_type: string")
class FixedLengthRecordDatasetV2:
    """Pieces of ``record_bytes`` bytes each of files, after a header and before a footer."""

    touches = "files"
    lightweight = True

    def kernel(filenames, header_bytes, record_bytes, footer_bytes, buffer_size, compression_type):
        return _fixed_source(filenames, header_bytes, record_bytes, footer_bytes, _compression(compression_type))


@dataset_op("FixedLengthRecordDataset", _FIXED)
class FixedLengthRecordDataset:
    """As FixedLengthRecordDatasetV2, of files that are not compressed."""

    touches = "files"
    lightweight = True

    def kernel(filenames, header_bytes, record_bytes, footer_bytes, buffer_size):
        return _fixed_source(filenames, header_bytes, record_bytes, footer_bytes, "")


@dataset_op("LMDBDataset", "filenames: string", **OUTPUTS)
class LMDBDataset:
    """(key, value) of each entry of LMDB databases, in the order of the keys."""

    touches = "files"

    def kernel(filenames):
        return _databases(filenames)


@dataset_op("ExperimentalLMDBDataset", "filenames: string", **OUTPUTS)
class ExperimentalLMDBDataset:
    """As LMDBDataset, under the name that graphs of TensorFlow 1.13 and 1.14 have."""

    touches = "files"

    def kernel(filenames):
        return _databases(filenames)


def _databases(filenames: Any) -> Source:
    paths = _paths(filenames)

    def start() -> Iterator[Element]:
        for path in paths:
            with open_database(path) as file:
                for key, value in entries(file):
                    yield scalar(key), scalar(value)
    return Source(start)


@op("DatasetToTFRecord", "input_dataset: variant, filename: string, compression_type: string ->")
class DatasetToTFRecord:
    """Writes a dataset of strings to a TFRecord file."""

    touches = "files"
    stateful = blocking = True
    shape = nothing()
    gradient = None

    def kernel(input_dataset, filename, compression_type):
        path, compression = text(filename), _compression(compression_type)
        pack = {"": lambda data: data, "ZLIB": zlib.compress, "GZIP": gzip.compress}[compression]
        data = b"".join(frame(np.asarray(record, object)[()]) for (record,) in input_dataset)
        try:
            with open(path, "wb") as file:
                file.write(pack(data))
        except OSError as error:
            raise file_error(error, path) from None
        return ()
