"""Datasets of what files hold: lines of text, records, records of a fixed length."""
from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Iterator
from typing import IO, Any

import numpy as np

from penstock.errors import DataLossError, KernelError, invalid_argument
from penstock.graph.opdef import op
from penstock.ops.common import nothing
from penstock.ops.data.dataset_core import Elements, Source, dataset_op, integer, scalar, text
from penstock.ops.text.files import file_error
from penstock.platform.records import RecordReader, frame

_FILES = "filenames: string, compression_type: string, buffer_size: int64"
_FIXED = "filenames: string, header_bytes: int64, record_bytes: int64, footer_bytes: int64, buffer_size: int64"
_COMPRESSIONS = ("", "ZLIB", "GZIP")


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


def _of_files(paths: list[str], read: Any) -> Elements:
    """What ``read`` gives of each file, one scalar string after the other."""
    for path in paths:
        with _open(path) as file:
            try:
                for item in read(file):
                    yield (scalar(item),)
            except (zlib.error, gzip.BadGzipFile, EOFError) as error:
                raise KernelError(DataLossError, f"{path}: inflate() failed: {error}") from error


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    for line in file:
        line = line[:-1] if line.endswith(b"\n") else line
        yield line[:-1] if line.endswith(b"\r") else line


@dataset_op("TextLineDataset", _FILES)
class TextLineDataset:
    """The lines of text files, without their ends."""

    touches = "files"
    def kernel(filenames, compression_type, buffer_size):
        paths, compression = _paths(filenames), _compression(compression_type)
        return Source(lambda: _of_files(paths, lambda file: _lines(_plain(file, compression))))


@dataset_op("TFRecordDataset", _FILES)
class TFRecordDataset:
    """The records of TFRecord files."""

    touches = "files"
    def kernel(filenames, compression_type, buffer_size):
        paths, compression = _paths(filenames), _compression(compression_type)
        return Source(lambda: _of_files(paths, lambda file: RecordReader(file, compression)))


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
    return Source(lambda: _of_files(paths, lambda file: _fixed_records(_plain(file, compression), header, length, footer)))


@dataset_op("FixedLengthRecordDatasetV2", f"{_FIXED}, compression_type: string")
class FixedLengthRecordDatasetV2:
    """Pieces of ``record_bytes`` bytes each of files, after a header and before a footer."""

    touches = "files"
    def kernel(filenames, header_bytes, record_bytes, footer_bytes, buffer_size, compression_type):
        return _fixed_source(filenames, header_bytes, record_bytes, footer_bytes, _compression(compression_type))


@dataset_op("FixedLengthRecordDataset", _FIXED)
class FixedLengthRecordDataset:
    """As FixedLengthRecordDatasetV2, of files that are not compressed."""

    touches = "files"
    def kernel(filenames, header_bytes, record_bytes, footer_bytes, buffer_size):
        return _fixed_source(filenames, header_bytes, record_bytes, footer_bytes, "")


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
