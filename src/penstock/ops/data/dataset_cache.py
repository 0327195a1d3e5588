"""Datasets that keep their elements after the first epoch, in memory or in a file."""
from __future__ import annotations

import os
from typing import Any

import numpy as np
from tensorboard.compat.proto.tensor_pb2 import TensorProto

from penstock.errors import AlreadyExistsError, KernelError
from penstock.graph.tensor_proto import array_to_proto, proto_to_array
from penstock.ops.data.dataset_core import OUTPUTS, Element, Elements, Source, dataset_op, text
from penstock.ops.text.files import file_error
from penstock.platform.records import RecordReader, frame


class _Remembering:
    """Passes elements on and keeps them; at the end, all of them become the cache of the dataset."""

    def __init__(self, elements: Elements, cache: Any) -> None:
        self._elements, self._cache = elements, cache
        self._kept: list[Element] = []

    def __iter__(self) -> _Remembering:
        return self

    def __next__(self) -> Element:
        try:
            element = next(self._elements)
        except StopIteration:
            self._cache.elements = self._kept
            raise
        self._kept.append(element)
        return element


class _MemoryCache(Source):
    def __init__(self, source: Source) -> None:
        self.elements: list[Element] | None = None  # complete, or None
        super().__init__(lambda: iter(self.elements) if self.elements is not None else _Remembering(iter(source), self))


class _Writing:
    """Passes elements on and writes them to a file that gets its name when it is complete. A lock file keeps others from writing the same."""

    def __init__(self, elements: Elements, path: str) -> None:
        self._elements, self._path, self._lock = elements, path, path + ".lockfile"
        try:
            os.close(os.open(self._lock, os.O_CREAT | os.O_EXCL))
            self._file: Any = open(path + ".partial", "wb")  # noqa: SIM115 (closed at the end of the data)
        except FileExistsError:
            self._file = None
            raise KernelError(AlreadyExistsError, f"There appears to be a concurrent caching iterator running - cache lockfile already exists "
                              f"('{self._lock}').", "if no other process writes this cache, delete the lock file") from None
        except OSError as error:
            raise file_error(error, path) from error

    def __iter__(self) -> _Writing:
        return self

    def __next__(self) -> Element:
        if self._file is None:
            raise StopIteration
        try:
            element = next(self._elements)
        except StopIteration:
            self._complete()
            raise
        self._file.write(frame(len(element).to_bytes(4, "little")))
        for component in element:
            self._file.write(frame(array_to_proto(np.asarray(component)).SerializeToString()))
        return element

    def _complete(self) -> None:
        self._file.close()
        self._file = None
        os.replace(self._path + ".partial", self._path)
        os.remove(self._lock)

    def __del__(self) -> None:
        if getattr(self, "_file", None) is not None:  # given up before the end: what is there is of no use
            self._file.close()
            os.remove(self._path + ".partial")
            os.remove(self._lock)


def _read(path: str) -> Elements:
    with open(path, "rb") as file:
        records = iter(RecordReader(file))
        for header in records:
            yield tuple([proto_to_array(TensorProto.FromString(next(records))) for _ in range(int.from_bytes(header, "little"))])


@dataset_op("CacheDataset", "input_dataset: variant, filename: string", **OUTPUTS)
class CacheDataset:
    """The dataset; from its second epoch on, or from the second program on if there is a file, its elements come from the cache."""

    touches = "files"
    def kernel(input_dataset, filename):
        path = text(filename)
        if not path:
            return _MemoryCache(input_dataset)
        return Source(lambda: _read(path) if os.path.exists(path) else _Writing(iter(input_dataset), path))
