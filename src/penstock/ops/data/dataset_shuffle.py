"""Datasets in random order, with TensorFlow's own order for the same seeds."""
from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable
from typing import Any

from penstock.errors import invalid_argument
from penstock.ops.data.dataset_core import OUTPUTS, Element, Elements, Source, dataset_op, integer, scalar
from penstock.ops.data.dataset_sources import Slices, random_words

_INPUT = "input_dataset: variant, buffer_size: int64, seed: int64, seed2: int64"
Seeds = tuple[int, int]


class _Shuffle:
    """Draws from a buffer of ``size`` elements that is refilled as they leave.

    The buffer is a ring: places count up without end. ``_slices`` are the stretches [start, end) of it that hold one epoch each, so that the
    next epoch can fill the buffer while the one before still leaves, and the two do not mix.
    """

    def __init__(self, source: Iterable[Any], size: int, seeds: Seeds, count: int) -> None:
        self._source, self._size, self._epochs_left = source, size, count
        self._random = random_words(*seeds)
        self._elements: Elements | None = None
        self._buffer: list[Element | None] = []  # grows to ``size``
        self._held = 0
        self._slices: deque[list[int]] = deque([[0, 0]])

    def __iter__(self) -> _Shuffle:
        return self

    def __next__(self) -> Element:
        self._fill()
        if not self._held:
            raise StopIteration
        while self._slices[0][0] == self._slices[0][1]:
            self._slices.popleft()
        piece = self._slices[0]
        start, end = piece
        first, chosen = start % self._size, (start + next(self._random) % (end - start)) % self._size
        element = self._buffer[chosen]
        self._buffer[chosen], self._buffer[first] = self._buffer[first], None
        piece[0] += 1
        self._held -= 1
        assert element is not None
        return element

    def _fill(self) -> None:
        while self._held < self._size:
            if self._elements is None and not self._next_epoch():
                return
            assert self._elements is not None
            try:
                element = next(self._elements)
            except StopIteration:
                if self._slices[-1][1] == self._epoch_start:
                    self._epochs_left = 0  # an empty input does not get longer when it is repeated
                self._elements = None
                continue
            piece = self._slices[-1]
            place = piece[1] % self._size
            self._buffer[place:place + 1] = [element]  # at its end, this appends
            piece[1] += 1
            self._held += 1

    def _next_epoch(self) -> bool:
        if self._epochs_left == 0:
            return False
        self._epochs_left -= self._epochs_left > 0
        self._epoch_start = self._slices[-1][1]
        if self._epoch_start:
            self._slices.append([self._epoch_start, self._epoch_start])
        self._elements = iter(self._source)
        return True


class _ShuffledRows:
    """The rows of arrays in random order: their numbers are shuffled, and a batch is gathered at once."""

    def __init__(self, slices: Slices, size: int, seeds: Seeds, count: int) -> None:
        self._arrays = slices.arrays
        self._numbers: Any = _Shuffle(range(len(slices.arrays[0])), size, seeds, count)

    def __iter__(self) -> _ShuffledRows:
        return self

    def __next__(self) -> Element:
        number = next(self._numbers)
        return tuple([array[number] if array.dtype != object or array.ndim > 1 else scalar(array[number]) for array in self._arrays])

    def next_batch(self, size: int) -> Element | None:
        """The next rows, gathered."""
        numbers = list(itertools.islice(self._numbers, size))
        return tuple([array.take(numbers, axis=0) for array in self._arrays]) if numbers else None


def _shuffle(source: Source, size: int, seeds: Seeds, count: int) -> Elements:
    return _ShuffledRows(source, size, seeds, count) if isinstance(source, Slices) else _Shuffle(source, size, seeds, count)


class Shuffled(Source):
    """A dataset in random order: another one in each epoch if it ``reshuffles``."""

    def __init__(self, source: Source, size: int, seeds: Seeds, reshuffles: bool) -> None:
        self.source, self.size, self.seeds, self.reshuffles = source, size, seeds, reshuffles
        self._epoch_seeds = random_words(*seeds)
        super().__init__(lambda: _shuffle(source, size, self._draw() if reshuffles else seeds, 1))

    def _draw(self) -> Seeds:
        return next(self._epoch_seeds), next(self._epoch_seeds)


class ShuffledRepeated(Source):
    """A dataset repeated ``count`` times, each time in another order."""

    def __init__(self, source: Source, size: int, seeds: Seeds, count: int) -> None:
        super().__init__(lambda: _shuffle(source, size, seeds, count))


def _size(buffer_size: object) -> int:
    size = integer(buffer_size)
    if size <= 0:
        raise invalid_argument("buffer_size must be greater than zero.")
    return size


@dataset_op("ShuffleDataset", _INPUT, reshuffle_each_iteration=True, **OUTPUTS)
class ShuffleDataset:
    """The elements in random order, each drawn from a buffer of the next ``buffer_size`` ones."""

    def kernel(input_dataset, buffer_size, seed, seed2, reshuffle_each_iteration):
        return Shuffled(input_dataset, _size(buffer_size), (integer(seed), integer(seed2)), reshuffle_each_iteration)


@dataset_op("ShuffleAndRepeatDataset", f"{_INPUT}, count: int64", **OUTPUTS)
class ShuffleAndRepeatDataset:
    """The elements, ``count`` times or without end, each time in another random order."""

    def kernel(input_dataset, buffer_size, seed, seed2, count):
        return ShuffledRepeated(input_dataset, _size(buffer_size), (integer(seed), integer(seed2)), integer(count))
