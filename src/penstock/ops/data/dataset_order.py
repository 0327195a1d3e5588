"""Datasets that choose and order the elements of others: repeat, take, skip, shard, zip, concatenate, ..."""
from __future__ import annotations

import itertools
from typing import Any

from penstock.errors import CancelledError, DeadlineExceededError, KernelError, OpError, invalid_argument
from penstock.graph.attrs import Attr
from penstock.graph.attrs import count as length_attr
from penstock.ops.data.dataset_batch import joined, take_batch
from penstock.ops.data.dataset_core import INFINITE, OUTPUTS, UNKNOWN, Element, Elements, Source, dataset_op, integer, repeated
from penstock.ops.data.dataset_shuffle import Shuffled, ShuffledRepeated

_INPUT = "input_dataset: variant"
_OF_THE_STEP = (CancelledError, DeadlineExceededError)  # errors that are not of an element


class _Repeat:
    def __init__(self, source: Source, count: int) -> None:
        self._source, self._left = source, count
        self._elements: Elements = iter(())
        self._fruitful, self._repeats = True, count > 0

    def __iter__(self) -> _Repeat:
        return self

    def __next__(self) -> Element:
        while True:
            for element in self._elements:
                self._fruitful = True
                return element
            if not self._begin():
                raise StopIteration

    def _begin(self) -> bool:
        """Starts the next epoch, if there is one."""
        if self._left == 0 or (self._left < 0 and not self._fruitful):  # nothing repeated without end is nothing
            self._left = 0
            if self._repeats:  # as TensorFlow does it: when the last epoch is over, another one is begun all the same
                self._source.pass_over()
                self._repeats = False
            return False
        self._left -= self._left > 0
        self._elements, self._fruitful = iter(self._source), False
        return True

    def next_batch(self, size: int) -> Element | None:
        """A batch that may go on into the next epoch."""
        parts: list[Element] = []
        while (left := size - sum(len(part[0]) for part in parts)) > 0:
            part = take_batch(self._elements, left)
            if part is not None:
                self._fruitful = True
                parts.append(part)
            elif not self._begin():
                break
        return joined(parts)


@dataset_op("RepeatDataset", f"{_INPUT}, count: int64", **OUTPUTS)
class RepeatDataset:
    """The dataset, ``count`` times or without end."""

    def _count(input_dataset, count):
        return repeated(input_dataset, count)

    def kernel(input_dataset, count):
        times = integer(count)
        if isinstance(input_dataset, Shuffled) and input_dataset.reshuffles:  # TensorFlow fuses the two, which decides the order
            return ShuffledRepeated(input_dataset.source, input_dataset.size, input_dataset.seeds, times, input_dataset.uniform)
        made = Source(lambda: _Repeat(input_dataset, times))
        made.lightweight = input_dataset.lightweight
        return made


class _Take:
    def __init__(self, elements: Elements, count: int) -> None:
        self._elements, self._left = elements, count

    def __iter__(self) -> _Take:
        return self

    def __next__(self) -> Element:
        if self._left <= 0:
            raise StopIteration
        self._left -= 1
        return next(self._elements)

    def next_batch(self, size: int) -> Element | None:
        """The next elements, as far as they are wanted."""
        size = min(size, self._left)
        self._left -= size
        return take_batch(self._elements, size) if size else None


@dataset_op("TakeDataset", f"{_INPUT}, count: int64", **OUTPUTS)
class TakeDataset:
    """The first ``count`` elements; all, if it is negative."""

    def _count(input_dataset, count):
        known, limit = input_dataset.cardinality(), integer(count)
        return limit if known == INFINITE else min(known, limit)  # (UNKNOWN is less than any limit)

    def kernel(input_dataset, count):
        limit = integer(count)
        if limit < 0:
            return input_dataset
        made = Source(lambda: _Take(iter(input_dataset), limit))
        made.lightweight = input_dataset.lightweight
        return made


class _Skip:
    def __init__(self, elements: Elements, count: int) -> None:
        self._elements, self._count = elements, count

    def __iter__(self) -> _Skip:
        return self

    def __next__(self) -> Element:
        return next(self._behind())

    def next_batch(self, size: int) -> Element | None:
        """The elements that follow those which are skipped."""
        return take_batch(self._behind(), size)

    def _behind(self) -> Elements:
        while self._count:
            self._count -= 1
            if next(self._elements, None) is None:
                self._count = 0
        return self._elements


@dataset_op("SkipDataset", f"{_INPUT}, count: int64", **OUTPUTS)
class SkipDataset:
    """All but the first ``count`` elements; none, if it is negative."""

    def _count(input_dataset, count):
        known, skipped = input_dataset.cardinality(), integer(count)
        return known if known < 0 else 0 if skipped < 0 else max(known - skipped, 0)

    def kernel(input_dataset, count):
        skipped = integer(count)
        return Source(lambda: iter(())) if skipped < 0 else Source(lambda: _Skip(iter(input_dataset), skipped))


@dataset_op("ShardDataset", f"{_INPUT}, num_shards: int64, index: int64", require_non_empty=False, **OUTPUTS)
class ShardDataset:
    """Every ``num_shards``-th element, from number ``index`` on."""

    def _count(input_dataset, num_shards, index):
        known = input_dataset.cardinality()
        return known if known < 0 else len(range(integer(index), known, integer(num_shards)))

    def kernel(input_dataset, num_shards, index, require_non_empty):
        shards, first = integer(num_shards), integer(index)
        if shards <= 0:
            raise invalid_argument(f"Number of shards must be greater than zero (currently num_shards = {shards}).")
        if not 0 <= first < shards:
            raise invalid_argument(f"Index must be between 0 and {shards - 1} (currently index = {first}).")
        return Source(lambda: itertools.islice(input_dataset, first, None, shards))


@dataset_op("ConcatenateDataset", f"{_INPUT}, another_dataset: variant", **OUTPUTS)
class ConcatenateDataset:
    """The elements of one dataset, then those of another."""

    def _count(input_dataset, another_dataset):
        counts = [input_dataset.cardinality(), another_dataset.cardinality()]
        return INFINITE if INFINITE in counts else UNKNOWN if UNKNOWN in counts else sum(counts)

    def kernel(input_dataset, another_dataset):
        return Source(lambda: itertools.chain(input_dataset, another_dataset))


class _Zip:
    def __init__(self, inputs: list[Elements]) -> None:
        self._inputs: list[Elements] = inputs

    def __iter__(self) -> _Zip:
        return self

    def __next__(self) -> Element:
        return tuple([component for element in [next(elements) for elements in self._inputs] for component in element])


@dataset_op("ZipDataset", "input_datasets: N * variant", **OUTPUTS, N=length_attr(1))
class ZipDataset:
    """Elements made of one element of each dataset, until one of them ends."""

    def _count(input_datasets):
        counts = [dataset.cardinality() for dataset in input_datasets]
        return UNKNOWN if UNKNOWN in counts else min((count for count in counts if count != INFINITE), default=INFINITE)

    def kernel(input_datasets):
        return Source(lambda: _Zip([iter(dataset) for dataset in input_datasets]))


class _Directed:
    def __init__(self, selector: Elements, inputs: list[Elements]) -> None:
        self._selector, self._inputs = selector, dict(enumerate(inputs))
        self._count = len(inputs)

    def __iter__(self) -> _Directed:
        return self

    def __next__(self) -> Element:
        while self._inputs:
            chosen = integer(next(self._selector)[0])
            if not 0 <= chosen < self._count:
                raise invalid_argument(f"Selector index out of range: {chosen} >= {self._count}")
            if chosen in self._inputs:
                for element in self._inputs[chosen]:
                    return element
                del self._inputs[chosen]
        raise StopIteration


@dataset_op("DirectedInterleaveDataset", "selector_input_dataset: variant, data_input_datasets: N * variant", **OUTPUTS, N=length_attr(1))
class DirectedInterleaveDataset:
    """Elements of several datasets, in an order that a dataset of their numbers gives; what has ended is passed over."""

    def kernel(selector_input_dataset, data_input_datasets):
        return Source(lambda: _Directed(iter(selector_input_dataset), [iter(dataset) for dataset in data_input_datasets]))


class _IgnoreErrors:
    def __init__(self, elements: Elements) -> None:
        self._elements = elements

    def __iter__(self) -> _IgnoreErrors:
        return self

    def __next__(self) -> Element:
        while True:
            try:
                return next(self._elements)
            except (OpError, KernelError) as error:
                if issubclass(getattr(error, "error_class", type(error)), _OF_THE_STEP):
                    raise


@dataset_op("IgnoreErrorsDataset", _INPUT, **OUTPUTS)
class IgnoreErrorsDataset:
    """The elements that can be made without an error."""

    def kernel(input_dataset):
        return Source(lambda: _IgnoreErrors(iter(input_dataset)))


class _Unique:
    def __init__(self, elements: Elements) -> None:
        self._elements = elements
        self._seen: set[Any] = set()

    def __iter__(self) -> _Unique:
        return self

    def __next__(self) -> Element:
        while True:
            element = next(self._elements)
            key = element[0].item()
            if key not in self._seen:
                self._seen.add(key)
                return element


@dataset_op("UniqueDataset", _INPUT, **OUTPUTS)
class UniqueDataset:
    """The elements, each value only once."""

    def kernel(input_dataset):
        return Source(lambda: _Unique(iter(input_dataset)))


class _Unchanged:
    """Says only how TensorFlow should run a dataset: the elements are the same."""

    def kernel(input_dataset):
        return input_dataset


@dataset_op("ModelDataset", _INPUT, algorithm=0, cpu_budget=0, **OUTPUTS)
class ModelDataset(_Unchanged):
    """The dataset as it is, which TensorFlow would tune."""


@dataset_op("MaxIntraOpParallelismDataset", _INPUT + ", max_intra_op_parallelism: int64", **OUTPUTS)
class MaxIntraOpParallelismDataset(_Unchanged):
    """The dataset as it is, which TensorFlow would run with fewer threads per op."""


@dataset_op("PrivateThreadPoolDataset", _INPUT + ", num_threads: int64", **OUTPUTS)
class PrivateThreadPoolDataset(_Unchanged):
    """The dataset as it is, which TensorFlow would run in threads of its own."""


@dataset_op("NonSerializableDataset", _INPUT, **OUTPUTS)
class NonSerializableDataset(_Unchanged):
    """The dataset as it is, which TensorFlow would not save."""


@dataset_op("OptimizeDataset", _INPUT + ", optimizations: string", optimization_configs=Attr("list(string)", ()), **OUTPUTS)
class OptimizeDataset(_Unchanged):
    """The dataset as it is, which TensorFlow would rewrite."""
