"""Datasets in random order, with TensorFlow's own order for the same seeds."""
from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph.dtypes import string
from penstock.graph.opdef import op
from penstock.graph.shape import scalar as scalar_shape
from penstock.ops.data.dataset_batch import stacked, take_batch
from penstock.ops.data.dataset_core import OUTPUTS, Element, Elements, Source, dataset_op, integer, repeated, scalar
from penstock.ops.data.dataset_sources import Slices, random_words

_INPUT = "input_dataset: variant, buffer_size: int64, seed: int64, seed2: int64"
Seeds = tuple[int, int]
_BLOCK = 256  # elements that are read at a time
_NOTHING = object()


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

    def take(self, count: int) -> list[Any]:
        """What ``__next__`` gives, at most ``count`` times: in one loop as long as no epoch begins."""
        taken: list[Any] = []
        while len(taken) < count:
            self._fill()
            if not self._held:
                break
            before = len(taken)
            incoming = itertools.repeat(_NOTHING, self._held) if self._elements is None else self._elements
            self._exchange(itertools.islice(incoming, count - before), taken)
            if len(taken) == before:  # the epoch has ended, which `_fill` sees when there is a place
                taken.append(next(self))
        return taken

    def _exchange(self, incoming: Iterable[Any], taken: list[Any]) -> None:
        """For each that comes in, one that is drawn leaves; its place is filled, unless nothing comes."""
        buffer, size, slices = self._buffer, self._size, self._slices
        for element, number in zip(incoming, self._random):
            while slices[0][0] == slices[0][1]:
                slices.popleft()
            start, end = slices[0]
            first = start % size
            chosen = (start + number % (end - start)) % size
            taken.append(buffer[chosen])
            buffer[chosen] = buffer[first]
            slices[0][0] = start + 1
            if element is _NOTHING:
                buffer[first] = None
                self._held -= 1
            else:
                last = slices[-1]
                buffer[last[1] % size] = element
                last[1] += 1

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
        self._numbers = _Shuffle(range(len(slices.arrays[0])), size, seeds, count)

    def __iter__(self) -> _ShuffledRows:
        return self

    def __next__(self) -> Element:
        number = next(self._numbers)
        return tuple([array[number] if array.dtype != object or array.ndim > 1 else scalar(array[number]) for array in self._arrays])

    def next_batch(self, size: int) -> Element | None:
        """The next rows, gathered."""
        numbers = self._numbers.take(size)
        return tuple([array.take(numbers, axis=0) for array in self._arrays]) if numbers else None


class _InBlocks:
    """The elements of a dataset, read many at a time; strings are plain bytes."""

    def __init__(self, source: Source) -> None:
        self._elements = iter(source)
        self._block: Iterator[Any] = iter(())

    def __iter__(self) -> _InBlocks:
        return self

    def __next__(self) -> Any:
        for row in self._block:
            return row
        block = take_batch(self._elements, _BLOCK)
        if block is None:
            raise StopIteration
        self._block = zip(*[component.tolist() if component.dtype == object and component.ndim == 1 else component for component in block])
        return next(self._block)


class _ShuffledBlocks:
    """The elements of a dataset that are read in blocks, in random order."""

    def __init__(self, source: Source, size: int, seeds: Seeds, count: int) -> None:
        self._rows = _Shuffle(_Epochs(source), size, seeds, count)

    def __iter__(self) -> _ShuffledBlocks:
        return self

    def __next__(self) -> Element:
        return tuple([scalar(value) if isinstance(value, bytes) else value for value in next(self._rows)])

    def next_batch(self, size: int) -> Element | None:
        """The next elements, stacked."""
        group = self._rows.take(size)
        return stacked(group) if group else None


class _Epochs:
    def __init__(self, source: Source) -> None:
        self._source = source

    def __iter__(self) -> _InBlocks:
        return _InBlocks(self._source)


def _shuffle(source: Source, size: int, seeds: Seeds, count: int, uniform: bool) -> Elements:
    if isinstance(source, Slices):
        return _ShuffledRows(source, size, seeds, count)
    # What costs little to read has no functions of the user's in it: no errors of single elements, and none that waits for anything.
    return (_ShuffledBlocks if uniform and source.lightweight else _Shuffle)(source, size, seeds, count)


def _are_uniform(output_types: Any, output_shapes: Any) -> bool:
    """Can elements of these types and shapes be stacked, whichever they are?"""
    return all(dtype.is_numpy_compatible or dtype is string for dtype in output_types) and all(shape.is_fully_defined() for shape in output_shapes)


class Shuffled(Source):
    """A dataset in random order: another one in each epoch if it ``reshuffles``."""

    def __init__(self, source: Source, size: int, seeds: Seeds, reshuffles: bool, uniform: bool) -> None:
        self.source, self.size, self.seeds, self.reshuffles, self.uniform = source, size, seeds, reshuffles, uniform
        self._epoch_seeds = random_words(*seeds)
        super().__init__(lambda: _shuffle(source, size, self._draw() if reshuffles else seeds, 1, uniform))

    def _draw(self) -> Seeds:
        return next(self._epoch_seeds), next(self._epoch_seeds)


class SeedGenerator:
    """The seeds of the epochs of a shuffled dataset. It outlives iterators: what a second one goes over comes in an order of its own."""

    def __init__(self, seeds: Seeds) -> None:
        self._words = random_words(*(seeds if any(seeds) else np.random.SeedSequence().generate_state(2).tolist()))

    def draw(self) -> Seeds:
        """Those of the next epoch."""
        return next(self._words), next(self._words)


class ShuffledAnew(Source):
    """A dataset in random order, with seeds of a generator."""

    def __init__(self, source: Source, size: int, generator: SeedGenerator, uniform: bool) -> None:
        self._generator = generator
        super().__init__(lambda: _shuffle(source, size, generator.draw(), 1, uniform))

    def pass_over(self) -> None:
        """See ``Source``."""
        self._generator.draw()
        super().pass_over()


class ShuffledRepeated(Source):
    """A dataset repeated ``count`` times, each time in another order."""

    def __init__(self, source: Source, size: int, seeds: Seeds, count: int, uniform: bool) -> None:
        super().__init__(lambda: _shuffle(source, size, seeds, count, uniform))


def _size(buffer_size: object) -> int:
    size = integer(buffer_size)
    if size <= 0:
        raise invalid_argument("buffer_size must be greater than zero.")
    return size


@dataset_op("ShuffleDataset", _INPUT, reshuffle_each_iteration=True, **OUTPUTS)
class ShuffleDataset:
    """The elements in random order, each drawn from a buffer of the next ``buffer_size`` ones."""

    def _count(input_dataset):
        return input_dataset.cardinality()

    def kernel(input_dataset, buffer_size, seed, seed2, reshuffle_each_iteration, output_types, output_shapes):
        return Shuffled(input_dataset, _size(buffer_size), (integer(seed), integer(seed2)), reshuffle_each_iteration,
                        _are_uniform(output_types, output_shapes))


@op("AnonymousRandomSeedGenerator", "seed: int64, seed2: int64 -> handle: resource, deleter: variant")
class AnonymousRandomSeedGenerator:
    """What draws the seeds of epochs; it ends when nothing uses it any more, so that the deleter has nothing to do."""

    stateful = True
    gradient = None

    def shape():
        return [scalar_shape(), scalar_shape()]

    def kernel(seed, seed2):
        generator = SeedGenerator((integer(seed), integer(seed2)))
        return generator, generator


@dataset_op("ShuffleDatasetV2", "input_dataset: variant, buffer_size: int64, seed_generator: resource", **OUTPUTS)
class ShuffleDatasetV2:
    """The elements in random order, in another one each time that they are gone through."""

    def _count(input_dataset):
        return input_dataset.cardinality()

    def kernel(input_dataset, buffer_size, seed_generator, output_types, output_shapes):
        return ShuffledAnew(input_dataset, _size(buffer_size), seed_generator, _are_uniform(output_types, output_shapes))


@dataset_op("ShuffleAndRepeatDataset", f"{_INPUT}, count: int64", **OUTPUTS)
class ShuffleAndRepeatDataset:
    """The elements, ``count`` times or without end, each time in another random order."""

    def _count(input_dataset, count):
        return repeated(input_dataset, count)

    def kernel(input_dataset, buffer_size, seed, seed2, count, output_types, output_shapes):
        return ShuffledRepeated(input_dataset, _size(buffer_size), (integer(seed), integer(seed2)), integer(count),
                                _are_uniform(output_types, output_shapes))
