"""BundleReader: a checkpoint of version 2, an index and data files."""
from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from penstock.checkpoint.protos import BundleEntryProto, BundleHeaderProto
from penstock.checkpoint.publish import HEADER_KEY, data_path, index_path
from penstock.checkpoint.reader import Checkpoint, StoredTensor
from penstock.checkpoint.slices import PREFIX, TensorSlice, from_proto, slice_key
from penstock.checkpoint.sstable import read_table
from penstock.checkpoint.tensor_bytes import DamagedData, read_numbers, read_strings
from penstock.errors import DataLossError, NotFoundError, UnimplementedError
from penstock.graph import dtypes

_LITTLE_ENDIAN = 0


def read_index(prefix: str) -> tuple[int, dict[bytes, Any]]:
    """(number of data files, {key: BundleEntryProto}) of a checkpoint; DataLossError if the index is damaged or no index."""
    path = index_path(prefix)
    try:
        table = read_table(path)
    except FileNotFoundError:
        raise NotFoundError(None, None, f"{path}; No such file or directory") from None
    try:
        header = BundleHeaderProto.FromString(table.pop(HEADER_KEY))
        entries = {key: BundleEntryProto.FromString(value) for key, value in table.items()}
    except (KeyError, DecodeError) as error:
        raise DataLossError(None, None, f"{path} is not the index of a checkpoint ({error})") from None
    if header.num_shards < 1:
        raise DataLossError(None, None, f"{path} is not the index of a checkpoint (it does not know of data files)")
    if header.endianness != _LITTLE_ENDIAN:
        raise UnimplementedError(None, None, f"{path}: a checkpoint written on a big-endian machine cannot be read")
    if header.version.min_consumer > 1:
        raise UnimplementedError(None, None, f"{path} needs a reader of version {header.version.min_consumer}")
    return header.num_shards, entries


class BundleReader(Checkpoint):
    """The checkpoint whose files begin with ``prefix``."""

    def __init__(self, prefix: str) -> None:
        self._shards, self._entries = read_index(prefix)
        super().__init__(prefix, {key.decode(errors="replace"): _describe(prefix, key, entry) for key, entry in self._entries.items()
                                  if not key.startswith(PREFIX)})

    def files(self) -> list[str]:
        """The data files."""
        return [data_path(self.path, shard, self._shards) for shard in {entry.shard_id for entry in self._entries.values()}]

    def _read_part(self, name: str, part: TensorSlice | None) -> np.ndarray:
        entry = self._entries.get(name.encode() if part is None else slice_key(name, part))
        if entry is None:
            raise DataLossError(None, None, f"{index_path(self.path)} lists a part of {name}, {part}, but does not have it")
        path = data_path(self.path, entry.shard_id, self._shards)
        try:
            return self._read_entry(path, entry)
        except FileNotFoundError:
            raise NotFoundError(None, None, f"{path}; No such file or directory (it has the values of {name})") from None
        except DamagedData as error:
            raise DataLossError(None, None, f"{path}, tensor {name}: {error}") from None

    def _read_entry(self, path: str, entry: Any) -> np.ndarray:
        dtype, shape = dtypes.as_dtype(entry.dtype), tuple(dim.size for dim in entry.shape.dim)
        with open(path, "rb", buffering=0) as file:
            length = os.fstat(file.fileno()).st_size
            if entry.offset < 0 or entry.size < 0 or entry.offset + entry.size > length:
                raise DamagedData(f"bytes {entry.offset} to {entry.offset + entry.size} are asked for, and the file has {length}: it is truncated")
            file.seek(entry.offset)
            if dtype is dtypes.string:
                if math.prod(shape) > entry.size:
                    raise DamagedData(f"{entry.size} bytes cannot hold strings of shape {list(shape)}")
                return read_strings(file.read(entry.size), shape, entry.crc32c)
            if math.prod(shape) * dtype.np.itemsize != entry.size:
                raise DamagedData(f"{entry.size} bytes for a tensor of type {dtype.name} and shape {list(shape)}")
            result = np.empty(shape, dtype.np)
            read_numbers(file, result, entry.crc32c)
            return result


def _describe(prefix: str, key: bytes, entry: Any) -> StoredTensor:
    try:
        dtype = dtypes.as_dtype(entry.dtype)
    except TypeError as error:
        raise DataLossError(None, None, f"{index_path(prefix)}: {key!r} has an unknown type ({error})") from None
    return StoredTensor(dtype, tuple(dim.size for dim in entry.shape.dim), [from_proto(part) for part in entry.slices])
