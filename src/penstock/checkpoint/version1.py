"""Checkpoints of the first version: sorted string tables with everything inside, one per shard."""
from __future__ import annotations

import glob
import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from penstock.checkpoint.protos import SavedTensorSlices
from penstock.checkpoint.publish import write_atomically
from penstock.checkpoint.reader import Checkpoint, StoredTensor
from penstock.checkpoint.slices import TensorSlice, from_proto, slice_key, whole_slice
from penstock.checkpoint.sstable import build_table, read_table
from penstock.errors import DataLossError, InvalidArgumentError
from penstock.graph import dtypes
from penstock.graph.dtypes import DType
from penstock.graph.shape import TensorShape
from penstock.graph.tensor_proto import array_to_values, proto_to_array, value_count

_META_KEY = b""
_Saved = tuple[str, tuple[tuple[int, ...], TensorSlice] | None, np.ndarray, DType]  # name, (shape of the whole, part) or None, values, type


def files_of(path: str) -> list[str]:
    """The files of the checkpoint ``path``, which may be a pattern: a sharded one is saved as ``model-?????-of-00002``."""
    if os.path.isfile(path):
        return [path]
    return sorted(name for name in glob.glob(path) if os.path.isfile(name)) or sorted(glob.glob(glob.escape(path) + "-?????-of-?????"))


class Version1Reader(Checkpoint):
    """A checkpoint that consists of these files, one per shard."""

    def __init__(self, path: str, files: list[str]) -> None:
        self._tables: dict[bytes, tuple[str, bytes]] = {}
        tensors: dict[str, StoredTensor] = {}
        for file in files:
            table = read_table(file)
            for saved in _parse(file, table.pop(_META_KEY, b"")).meta.tensor:
                shape = tuple(dim.size for dim in saved.shape.dim)
                known = tensors.setdefault(saved.name, StoredTensor(dtypes.as_dtype(saved.type), shape, []))
                known.parts.extend(from_proto(part) for part in saved.slice)
            self._tables.update((key, (file, value)) for key, value in table.items())
        if not tensors:
            raise DataLossError(None, None, f"{path} is not a checkpoint: it has no list of tensors")
        super().__init__(path, tensors)
        self._files = files

    def files(self) -> list[str]:
        """One per shard."""
        return self._files

    def _read_part(self, name: str, part: TensorSlice | None) -> np.ndarray:
        stored = self.tensors[name]
        part = part or whole_slice(len(stored.shape))
        file, value = self._tables.get(slice_key(name, part), (self.path, b""))
        proto = _parse(file, value).data.data
        proto.dtype = stored.dtype.as_datatype_enum
        proto.ClearField("tensor_shape")
        for extent in part.shape(stored.shape):
            proto.tensor_shape.dim.add(size=extent)
        count = value_count(proto)
        if not proto.tensor_content and count != math.prod(part.shape(stored.shape)):  # constants may repeat their last value, checkpoints do not
            raise DataLossError(None, None, f"{file}, tensor {name}: {count} elements for the shape {list(part.shape(stored.shape))}")
        try:
            return proto_to_array(proto)
        except ValueError as error:
            raise DataLossError(None, None, f"{file}, tensor {name}: {error}") from None


def _parse(file: str, value: bytes) -> Any:
    try:
        return SavedTensorSlices.FromString(value)
    except DecodeError as error:
        raise DataLossError(None, None, f"{file} is not a checkpoint ({error})") from None


def write_version1(path: str, tensors: Sequence[_Saved]) -> None:
    """Writes a checkpoint file of tensors and parts of tensors."""
    listed: dict[str, Any] = {}
    pairs: dict[bytes, bytes] = {}
    meta = SavedTensorSlices()
    meta.meta.versions.producer = 1
    for name, place, array, dtype in tensors:
        shape, part = place or (np.shape(array), whole_slice(np.ndim(array)))
        if part.shape(shape) != np.shape(array):
            raise InvalidArgumentError(None, None, f"Tensor {name}: a slice of shape {part.shape(shape)} is given an array of {np.shape(array)}")
        if name not in listed:
            listed[name] = meta.meta.tensor.add(name=name, shape=TensorShape(shape).as_proto(), type=dtype.as_datatype_enum)
        listed[name].slice.append(part.to_proto())
        value = SavedTensorSlices()
        value.data.name = name
        value.data.slice.CopyFrom(part.to_proto())
        value.data.data.CopyFrom(array_to_values(np.asarray(array), dtype))
        pairs[slice_key(name, part)] = value.SerializeToString(deterministic=True)
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    write_atomically(path, build_table([(_META_KEY, meta.SerializeToString(deterministic=True)), *sorted(pairs.items())]))
