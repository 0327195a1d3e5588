"""Datasets that are made ahead, or several elements at once: prefetch, parallel map, parallel interleave, map_and_batch."""
from __future__ import annotations

from typing import Any

from penstock.errors import invalid_argument
from penstock.graph.attrs import FUNC
from penstock.ops.data.dataset_ahead import Ahead
from penstock.ops.data.dataset_batch import Batch
from penstock.ops.data.dataset_core import (
    ARGUMENTS,
    OUTPUTS,
    UNKNOWN,
    BoundFunction,
    Element,
    Elements,
    Source,
    batches,
    dataset_op,
    integer,
    positive,
)
from penstock.ops.data.dataset_functions import Interleave, mapped
from penstock.platform.cpus import available_cpus

PROCESSORS = available_cpus()
_AUTOTUNE = -1
_AUTOMATIC_BUFFER = 8
_BUFFERED = 4  # results of a parallel map, for each of its calls, before the calls wait
_INPUT = "input_dataset: variant"
_CALLS = f"{_INPUT}, other_arguments: Targuments"
_FUNCTION = {"f": FUNC, **ARGUMENTS, **OUTPUTS}


def _calls(num_parallel_calls: Any) -> int:
    number = integer(num_parallel_calls)
    return PROCESSORS if number == _AUTOTUNE else positive(number, "num_parallel_calls")


@dataset_op("PrefetchDataset", f"{_INPUT}, buffer_size: int64", **OUTPUTS, slack_period=0, legacy_autotune=True)
class PrefetchDataset:
    """The dataset, made up to ``buffer_size`` elements ahead."""

    def _count(input_dataset):
        return input_dataset.cardinality()

    def kernel(input_dataset, buffer_size, ctx):
        size = integer(buffer_size)
        if size < _AUTOTUNE:
            raise invalid_argument("buffer_size must be >= 0 or set buffer_size to be -1 for auto-tuning")
        if size == 0:
            return input_dataset
        return Source(lambda: Ahead(ctx, iter(input_dataset), None, 1, _AUTOMATIC_BUFFER if size == _AUTOTUNE else size))


@dataset_op("ParallelMapDataset", f"{_CALLS}, num_parallel_calls: int32", **_FUNCTION, use_inter_op_parallelism=True, sloppy=False,
            preserve_cardinality=False)
class ParallelMapDataset:
    """The results of a function on each element, several computed at once, in the order of the elements."""

    def _count(input_dataset, preserve_cardinality):
        return input_dataset.cardinality() if preserve_cardinality else UNKNOWN

    def kernel(input_dataset, other_arguments, num_parallel_calls, ctx, f, preserve_cardinality):
        function, calls = BoundFunction(ctx, f, other_arguments), _calls(num_parallel_calls)
        return mapped(input_dataset, function, lambda elements: Ahead(ctx, elements, function, calls, _BUFFERED * calls))


@dataset_op("MapAndBatchDataset", f"{_CALLS}, batch_size: int64, num_parallel_calls: int64, drop_remainder: bool", **_FUNCTION,
            preserve_cardinality=False)
class MapAndBatchDataset:
    """The results of a function on each element, several computed at once, stacked ``batch_size`` at a time."""

    def _count(input_dataset, batch_size, drop_remainder, preserve_cardinality):
        return batches(input_dataset, batch_size, drop_remainder) if preserve_cardinality else UNKNOWN

    def kernel(input_dataset, other_arguments, batch_size, num_parallel_calls, drop_remainder, ctx, f, preserve_cardinality):
        function, size, calls = BoundFunction(ctx, f, other_arguments), positive(batch_size, "batch_size"), _calls(num_parallel_calls)
        threads = min(calls, 4 * PROCESSORS)  # often asked for are batches * size, of which no machine computes all at once
        return Source(lambda: Batch(Ahead(ctx, iter(input_dataset), function, threads, calls), size, bool(drop_remainder)))


class _ParallelInterleave(Interleave):
    """Interleave, each dataset of the cycle read ahead by a thread of its own, unless its elements cost less than a thread."""

    def __init__(self, ctx: Any, elements: Elements, function: BoundFunction, cycle_length: int, block_length: int, ahead: int) -> None:
        super().__init__(elements, function, cycle_length, block_length)
        self._ctx, self._ahead = ctx, ahead

    def _start(self, dataset: Source) -> Elements:
        return iter(dataset) if dataset.lightweight else Ahead(self._ctx, iter(dataset), None, 1, self._ahead, alone=False)


@dataset_op("ParallelInterleaveDatasetV2", f"{_CALLS}, cycle_length: int64, block_length: int64, num_parallel_calls: int64", **_FUNCTION,
            sloppy=False)
class ParallelInterleaveDatasetV2:
    """InterleaveDataset, read ahead in threads; the order is the same."""

    def kernel(input_dataset, other_arguments, cycle_length, block_length, num_parallel_calls, ctx, f):
        function = BoundFunction(ctx, f, other_arguments)
        cycle, block = positive(cycle_length, "cycle_length"), positive(block_length, "block_length")
        _calls(num_parallel_calls)
        return Source(lambda: _ParallelInterleave(ctx, iter(input_dataset), function, cycle, block, block))


class _ReplacingInterleave(_ParallelInterleave):
    """All datasets of the cycle start at the beginning. An ended one is replaced at once; if there is none to replace it, the next one gets what is
    left of its turn. That is TensorFlow's order.
    """

    _begun = False

    def __next__(self) -> Element:
        if not self._begun:
            while self._place < len(self._cycle) and self._open():
                self._place += 1
            self._begun, self._place = True, 0
        return super().__next__()

    def _skip(self) -> None:
        self._place = (self._place + 1) % len(self._cycle)

    def _end_turn(self) -> None:
        self._cycle[self._place] = None
        if self._open():
            self._advance()
        else:
            self._skip()


@dataset_op("ParallelInterleaveDataset",
            f"{_CALLS}, cycle_length: int64, block_length: int64, sloppy: bool, buffer_output_elements: int64, prefetch_input_elements: int64",
            **_FUNCTION)
class ParallelInterleaveDataset:
    """The older parallel interleave. Elements come in the same order on each run, also if that is not asked for (``sloppy``)."""

    def kernel(input_dataset, other_arguments, cycle_length, block_length, sloppy, buffer_output_elements, prefetch_input_elements, ctx, f):
        function = BoundFunction(ctx, f, other_arguments)
        cycle, block = positive(cycle_length, "cycle_length"), positive(block_length, "block_length")
        ahead = positive(buffer_output_elements, "buffer_output_elements")
        return Source(lambda: _ReplacingInterleave(ctx, iter(input_dataset), function, cycle, block, ahead))
