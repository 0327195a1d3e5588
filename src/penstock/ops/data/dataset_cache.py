"""Datasets that keep their elements after the first epoch, in memory or in a file."""
from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from penstock.errors import AlreadyExistsError, KernelError
from penstock.ops.data.cache_file import read_blocks, write_block
from penstock.ops.data.dataset_batch import joined, stacked, take_batch
from penstock.ops.data.dataset_core import OUTPUTS, Element, Elements, Source, dataset_op, rows, text
from penstock.ops.text.files import file_error

_BLOCK = 256  # elements that are written together


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

    def again(self, seeds: Iterator[int]) -> Source:
        """The dataset itself, if it has kept the elements that these seeds give."""
        own = self.all_seeds()
        wanted = [next(seeds) for _ in own]
        return self if self.elements is not None and wanted == own else super().again(iter(wanted))


class _Writing:
    """Passes elements on and writes them to a file that gets its name when it is complete. A lock file keeps others from writing the same."""

    def __init__(self, elements: Elements, path: str) -> None:
        self._elements, self._path, self._lock = elements, path, path + ".lockfile"
        self._block: list[Element] = []  # elements of the same shapes that are not written yet
        self._file: Any = None  # while nothing has been asked for, and when all is written
        self._waiting = True

    def _open(self) -> None:
        """Takes the lock: with the first element, as another iterator may be made, but not used, in the meantime."""
        self._waiting = False
        try:
            os.close(os.open(self._lock, os.O_CREAT | os.O_EXCL))
            self._file = open(self._path + ".partial", "wb")  # noqa: SIM115 (closed at the end of the data)
        except FileExistsError:
            raise KernelError(AlreadyExistsError, f"There appears to be a concurrent caching iterator running - cache lockfile already exists "
                              f"('{self._lock}').", "if no other process writes this cache, delete the lock file") from None
        except OSError as error:
            raise file_error(error, self._path) from error

    def __iter__(self) -> _Writing:
        return self

    def __next__(self) -> Element:
        if self._waiting:
            self._open()
        if self._file is None:
            raise StopIteration
        try:
            element = next(self._elements)
        except StopIteration:
            self._complete()
            raise
        if self._block and (len(self._block) == _BLOCK or list(map(np.shape, element)) != list(map(np.shape, self._block[0]))):
            self._flush()
        self._block.append(element)
        return element

    def next_batch(self, size: int) -> Element | None:
        """The next elements, which are a block of the file."""
        if self._waiting:
            self._open()
        batch = None if self._file is None else take_batch(self._elements, size)
        if batch is not None:
            self._flush()
            write_block(self._file, batch)
        elif self._file is not None:
            self._complete()
        return batch

    def _flush(self) -> None:
        if self._block:
            write_block(self._file, stacked(self._block))
            self._block = []

    def _complete(self) -> None:
        self._flush()
        self._file.close()
        self._file = None
        os.replace(self._path + ".partial", self._path)
        os.remove(self._lock)

    def __del__(self) -> None:
        if getattr(self, "_file", None) is not None:  # given up before the end: what is there is of no use
            self._file.close()
            os.remove(self._path + ".partial")
            os.remove(self._lock)


class _Reading:
    """The elements of a file."""

    def __init__(self, path: str) -> None:
        self._blocks = read_blocks(path)
        self._block: Element = ()
        self._left: Elements = iter(())  # of the block, if elements are asked for one by one
        self._start, self._stop = 0, 0  # what is left of it otherwise

    def __iter__(self) -> _Reading:
        return self

    def __next__(self) -> Element:
        for element in self._left:
            self._start += 1
            return element
        if self._start == self._stop:
            self._load(next(self._blocks))
        self._left = rows([component[self._start:] for component in self._block])
        return next(self)

    def _load(self, block: Element) -> None:
        self._block, self._start, self._stop = block, 0, len(block[0])

    def next_batch(self, size: int) -> Element | None:
        """The next elements, stacked: parts of blocks."""
        parts: list[Element] = []
        self._left = iter(())
        while size:
            if self._start == self._stop:
                block = next(self._blocks, None)
                if block is None:
                    break
                self._load(block)
            stop = min(self._start + size, self._stop)
            parts.append(tuple([component[self._start:stop] for component in self._block]))
            size, self._start = size - (stop - self._start), stop
        return joined(parts)


@dataset_op("CacheDataset", "input_dataset: variant, filename: string", **OUTPUTS)
class CacheDataset:
    """The dataset; from its second epoch on, or from the second program on if there is a file, its elements come from the cache."""

    touches = "files"

    def _count(input_dataset):
        return input_dataset.cardinality()

    def kernel(input_dataset, filename):
        path = text(filename)
        if not path:
            return _MemoryCache(input_dataset)
        return Source(lambda: _Reading(path) if os.path.exists(path) else _Writing(iter(input_dataset), path))
