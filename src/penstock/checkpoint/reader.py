"""Checkpoint: what checkpoints of both versions can do."""
from __future__ import annotations

import difflib
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penstock.checkpoint.slices import TensorSlice, whole_slice
from penstock.errors import DataLossError, InvalidArgumentError, NotFoundError
from penstock.graph.dtypes import DType

_SMALL, _FACTOR = 64 << 20, 1000  # bytes that a tensor in parts may take, whatever its files' size; and times that size


@dataclass
class StoredTensor:
    """A tensor in a checkpoint: its type, its shape, and the parts it is stored in (none if it is stored as a whole)."""

    dtype: DType
    shape: tuple[int, ...]
    parts: list[TensorSlice]


class Checkpoint:
    """The tensors of a checkpoint. ``path`` is the name that it was saved under."""

    def __init__(self, path: str, tensors: dict[str, StoredTensor]) -> None:
        self.path, self.tensors = path, tensors

    def _read_part(self, name: str, part: TensorSlice | None) -> np.ndarray:
        """One of the stored parts of a tensor, or with None the tensor that is stored as a whole; a fresh array."""
        raise NotImplementedError

    def stored(self, name: str) -> StoredTensor:
        """What is known of a tensor; NotFoundError, with names that look alike, if it is not here."""
        tensor = self.tensors.get(name)
        if tensor is None:
            raise NotFoundError(None, None, f"Key {name} not found in checkpoint {self.path}{self._suggestion(name)}")
        return tensor

    def _suggestion(self, name: str) -> str:
        """Names with the same ending or a similar spelling; without any, how many tensors there are."""
        leaf = name.rpartition("/")[2]
        alike = difflib.get_close_matches(name, self.tensors, 5) or [other for other in self.tensors if other.rpartition("/")[2] == leaf][:5]
        if alike:
            return f". It has: {', '.join(alike)}"
        first = sorted(self.tensors)[:5]
        more = len(self.tensors) - len(first)
        return f". It has {', '.join(first)}{f' and {more} more' if more > 0 else ''}" if first else ", which is empty"

    def read(self, name: str) -> np.ndarray:
        """A whole tensor."""
        stored = self.stored(name)
        return self._read_part(name, None) if not stored.parts else self._collect(name, stored, whole_slice(len(stored.shape)))

    def read_slice(self, name: str, full_shape: Sequence[int], part: TensorSlice) -> np.ndarray:
        """A part of a tensor, however it is stored; InvalidArgumentError if the tensor does not have ``full_shape``."""
        stored = self.stored(name)
        if stored.shape != tuple(full_shape):
            raise InvalidArgumentError(None, None, f"Tensor {name} in {self.path} has shape {list(stored.shape)}, which does not match the shape "
                                                   f"in the shape and slice specification, {list(full_shape)}")
        if part in stored.parts:
            return self._read_part(name, part)
        if stored.parts:
            return self._collect(name, stored, part)
        whole = self._read_part(name, None)
        return whole if part.covers(full_shape) else whole[part.place()].copy()

    def _collect(self, name: str, stored: StoredTensor, wanted: TensorSlice) -> np.ndarray:
        """``wanted``, put together from the parts that have some of it. Nothing is allocated before it is known that they have all of it."""
        shape = wanted.shape(stored.shape)
        size = math.prod(shape)
        pieces = {part: common for part in stored.parts if (common := part.intersection(wanted)) is not None}
        missing = size - sum(math.prod(common.shape(stored.shape)) for common in pieces.values())
        if missing or not all(part.fits(stored.shape) for part in pieces):
            raise DataLossError(None, None, f"Tensor {name} in {self.path} is incomplete: {max(missing, 0)} of its {size} elements are in no part"
                                if missing > 0 else f"Tensor {name} in {self.path}: its parts overlap, or go beyond it")
        if size * stored.dtype.np.itemsize > max(_SMALL, _FACTOR * sum(map(_size_of, self.files()))):
            raise DataLossError(None, None, f"Tensor {name} in {self.path} has shape {list(shape)}: too large for the files that hold its parts")
        result = np.empty(shape, stored.dtype.np)
        for part, common in pieces.items():
            result[common.within(wanted).place()] = self._read_part(name, part)[common.within(part).place()]
        return result

    def files(self) -> list[str]:
        """The files that hold values."""
        raise NotImplementedError


def _size_of(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0  # reading it will say so
