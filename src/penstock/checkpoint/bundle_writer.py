"""BundleWriter: a new checkpoint of version 2, in one data file; ``merge`` makes one checkpoint of several."""
from __future__ import annotations

import os
from collections.abc import Sequence
from types import TracebackType
from typing import Any

import numpy as np

from penstock.checkpoint import bundle
from penstock.checkpoint.claims import remove_abandoned, remove_if_there, temporary_path
from penstock.checkpoint.data_file import DataFile
from penstock.checkpoint.protos import BundleEntryProto
from penstock.checkpoint.publish import data_path, publish
from penstock.checkpoint.slices import TensorSlice, slice_key
from penstock.checkpoint.tensor_bytes import write_array
from penstock.errors import InvalidArgumentError, UnimplementedError
from penstock.graph import dtypes
from penstock.graph.dtypes import DType
from penstock.graph.shape import TensorShape


class BundleWriter:
    """Use it in a ``with`` block: at its end the checkpoint is there, whole; after an error in the block, nothing has changed.

    Arrays are written while the block goes on: they must not change inside it.

    >>> import numpy as np, tempfile
    >>> from penstock.checkpoint.bundle import BundleReader
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with BundleWriter(folder + "/model") as writer:
    ...         writer.add("w", np.arange(3))
    ...     BundleReader(folder + "/model").read("w")
    array([0, 1, 2])
    """

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._entries: dict[bytes, Any] = {}
        os.makedirs(os.path.dirname(prefix) or ".", exist_ok=True)
        remove_abandoned(prefix)
        self._file = DataFile(temporary_path(data_path(prefix, 0, 1)))

    def add(self, name: str, array: Any, dtype: DType | None = None) -> None:
        """Appends a tensor; ``dtype`` tells a type that NumPy does not know, such as qint8."""
        self._add(name.encode(), name, np.asarray(array), dtype)

    def add_slice(self, name: str, full_shape: Sequence[int], part: TensorSlice, array: Any, dtype: DType | None = None) -> None:
        """Appends a part of the tensor ``name``; parts of one tensor may be in several checkpoints, until ``merge``."""
        array = np.asarray(array)
        if array.shape != part.shape(full_shape):
            raise InvalidArgumentError(None, None, f"Tensor {name}: a slice of shape {part.shape(full_shape)} is given an array of {array.shape}")
        if part.covers(full_shape):
            self.add(name, array, dtype)
            return
        whole = self._entries.setdefault(name.encode(), BundleEntryProto(dtype=_type_of(array, dtype).as_datatype_enum,
                                                                         shape=TensorShape(full_shape).as_proto()))
        whole.slices.append(part.to_proto())
        self._add(slice_key(name, part), name, array, dtype)

    def _add(self, key: bytes, name: str, array: np.ndarray, dtype: DType | None) -> None:
        if key in self._entries:
            raise InvalidArgumentError(None, None, f"Adding duplicate key: {name}")
        dtype = _type_of(array, dtype)
        if not dtype.is_numpy_compatible:
            raise UnimplementedError(None, None, f"A tensor of type {dtype.name} cannot be saved: {name}")
        offset = self._file.size
        crc = write_array(self._file, array, dtype)
        self._entries[key] = BundleEntryProto(dtype=dtype.as_datatype_enum, shape=TensorShape(array.shape).as_proto(),
                                              offset=offset, size=self._file.size - offset, crc32c=crc)

    def __enter__(self) -> BundleWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            if kind is None:
                self._file.finish()
                publish(self._prefix, [self._file.path], self._entries)
        finally:
            self._file.discard()


def _type_of(array: np.ndarray, dtype: DType | None) -> DType:
    return (dtype or dtypes.as_dtype(array.dtype)).base_dtype


def merge(prefixes: Sequence[str], destination: str) -> None:
    """Makes one checkpoint of several, whose data files it takes over; the others are gone then."""
    merged: dict[bytes, Any] = {}
    data: list[str] = []
    os.makedirs(os.path.dirname(destination) or ".", exist_ok=True)
    remove_abandoned(destination)
    for prefix in prefixes:
        shards, entries = bundle.read_index(prefix)
        for key, entry in entries.items():
            if not entry.slices:
                entry.shard_id += len(data)
            _merge_entry(merged, key, entry, prefix)
        data.extend(data_path(prefix, shard, shards) for shard in range(shards))
    publish(destination, data, merged)
    remove_if_there(*(f"{prefix}.index" for prefix in prefixes))


def _merge_entry(merged: dict[bytes, Any], key: bytes, entry: Any, prefix: str) -> None:
    """The parts of a tensor are listed together; anything else can be in one checkpoint only."""
    known = merged.setdefault(key, entry)
    if known is entry:
        return
    if not (known.slices and entry.slices):
        raise InvalidArgumentError(None, None, f"Duplicate tensor keyed by {key.decode(errors='replace')} encountered, when merging prefix: {prefix}")
    if (known.dtype, known.shape) != (entry.dtype, entry.shape):
        raise InvalidArgumentError(None, None, f"The parts of {key.decode(errors='replace')} do not belong together: {known} and {entry}")
    known.slices.extend(entry.slices)
