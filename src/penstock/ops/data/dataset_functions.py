"""Datasets that call a function for each element: map, filter, flat_map, interleave, scan, reduce."""
from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.errors import KernelError, OpError, invalid_argument
from penstock.graph.attrs import FUNC, type_list
from penstock.graph.opdef import op
from penstock.ops.common import Ragged
from penstock.ops.data.dataset_batch import joined, stacked, take_batch
from penstock.ops.data.dataset_core import (
    ARGUMENTS,
    OUTPUTS,
    UNKNOWN,
    BoundFunction,
    Element,
    Elements,
    Source,
    check_element,
    dataset_op,
    positive,
    rows,
)
from penstock.ops.flow.functional import is_true
from penstock.state.resources import dereference

_INPUT = "input_dataset: variant, other_arguments: Targuments"
_LONG_BLOCK = 4  # elements of an interleaved dataset that are stacked faster as a block than one by one
_FUNCTION = {"f": FUNC, **ARGUMENTS, **OUTPUTS}


class _Iterator:
    """The iterators of this file: ``next`` is all they add."""

    def __init__(self, elements: Elements, function: BoundFunction) -> None:
        self._elements, self._function = elements, function

    def __iter__(self) -> Any:
        return self


class _Map(_Iterator):
    def __next__(self) -> Element:
        return self._function(*next(self._elements))


class VectorisedMap:
    """The results of a function that has a form for many elements (``vectorised.py``); ``plain`` makes the iterator that calls it for each.

    If the function refuses a batch, its elements are gone through one by one: the error is that of one of them, and the others are not lost.
    """

    def __init__(self, elements: Elements, function: BoundFunction, many: Callable[[Element], Element],
                 plain: Callable[[Elements], Elements]) -> None:
        self._elements, self._function, self._many, self._plain = elements, function, many, plain
        self._refused: Elements = iter(())
        self._one_by_one: Elements | None = None

    def __iter__(self) -> VectorisedMap:
        return self

    def __next__(self) -> Element:
        if self._one_by_one is None:  # a reader of single elements will not ask for batches
            self._one_by_one = self._plain(itertools.chain(self._refused, self._elements))
        return next(self._one_by_one)

    def next_batch(self, size: int) -> Element | None:
        """The results of the next elements."""
        if self._one_by_one is not None:
            return take_batch(self._one_by_one, size)
        done = [self._function(*element) for element in itertools.islice(self._refused, size)]
        parts = [stacked(done)] if done else []
        if len(done) < size:
            rest = self._next_many(size - len(done))
            if isinstance(rest, list) or (rest is not None and any(isinstance(component, Ragged) for component in rest)):
                rest = stacked(_elements(rest))
            parts += [] if rest is None else [rest]
        return joined(parts)

    def next_elements(self, size: int) -> list[Element]:
        """The results of the next elements, one by one: for a reader that wants so many, but not stacked."""
        if self._one_by_one is not None:
            return list(itertools.islice(self._one_by_one, size))
        done = [self._function(*element) for element in itertools.islice(self._refused, size)]
        return done + _elements(self._next_many(size - len(done)) if len(done) < size else None)

    def _next_many(self, size: int) -> Element | list[Element] | None:
        """The results of the next elements: components for all of them, or if they were gone through one by one, a list."""
        batch = take_batch(self._elements, size)
        if batch is None:
            return None
        try:
            return self._many(batch)
        except (KernelError, OpError):
            self._refused = rows([np.asarray(component) for component in batch])
            return [self._function(*element) for element in self._refused]


def _elements(many: Element | list[Element] | None) -> list[Element]:
    """The elements of which these are the components."""
    if many is None or isinstance(many, list):
        return many or []
    columns = [np.split(component.values, np.cumsum(component.lengths)[:-1]) if isinstance(component, Ragged) else rows([component])
               for component in many]
    return list(zip(*[column if isinstance(component, Ragged) else (row for (row,) in column) for column, component in zip(columns, many)]))


def mapped(input_dataset: Source, function: BoundFunction, plain: Callable[[Elements], Elements]) -> Source:
    """The results of a function; ``plain`` makes the iterator that calls it for each element."""
    many = function.vectorised()
    if many is None:
        return Source(lambda: plain(iter(input_dataset)))
    return Source(lambda: VectorisedMap(iter(input_dataset), function, many, plain))


@dataset_op("MapDataset", _INPUT, **_FUNCTION, use_inter_op_parallelism=True, preserve_cardinality=False)
class MapDataset:
    """The results of a function on each element."""

    def _count(input_dataset, preserve_cardinality):
        return input_dataset.cardinality() if preserve_cardinality else UNKNOWN

    def kernel(input_dataset, other_arguments, ctx, f, preserve_cardinality):
        function = BoundFunction(ctx, f, other_arguments)
        return mapped(input_dataset, function, lambda elements: _Map(elements, function))


class _Filter(_Iterator):
    def __next__(self) -> Element:
        while True:
            element = next(self._elements)
            if is_true(self._function(*element)[0]):
                return element


@dataset_op("FilterDataset", _INPUT, predicate=FUNC, **ARGUMENTS, **OUTPUTS)
class FilterDataset:
    """The elements for which a function says true."""

    def kernel(input_dataset, other_arguments, ctx, predicate):
        function = BoundFunction(ctx, predicate, other_arguments)
        return Source(lambda: _Filter(iter(input_dataset), function))


class _TakeWhile(_Iterator):
    _ended = False

    def __next__(self) -> Element:
        if self._ended:
            raise StopIteration
        element = next(self._elements)
        if not is_true(self._function(*element)[0]):
            self._ended = True
            raise StopIteration
        return element


@dataset_op("TakeWhileDataset", _INPUT, predicate=FUNC, **ARGUMENTS, **OUTPUTS)
class TakeWhileDataset:
    """The elements up to the first one for which a function says false."""

    def kernel(input_dataset, other_arguments, ctx, predicate):
        function = BoundFunction(ctx, predicate, other_arguments)
        return Source(lambda: _TakeWhile(iter(input_dataset), function))


class _FlatMap(_Iterator):
    _current: Elements = iter(())

    def __next__(self) -> Element:
        while True:
            try:
                return next(self._current)
            except StopIteration:
                self._current = iter(())  # an error in what follows must not end in this one again
            self._current = self._following(next(self._elements))

    def _following(self, element: Element) -> Elements:
        return iter(dataset_of(self._function(*element)))

    def next_batch(self, size: int) -> Element | None:
        """A batch that may be of several datasets."""
        parts: list[Element] = []
        while (left := size - sum(len(part[0]) for part in parts)) > 0:
            part = take_batch(self._current, left)
            if part is not None:
                parts.append(part)
                continue
            self._current = iter(())
            element = next(self._elements, None)
            if element is None:
                break
            self._current = self._following(element)
        return joined(parts)


def dataset_of(result: Element) -> Source:
    """The dataset that a function returned; one from outside of the function begins with its first order each time."""
    (dataset,) = result
    return (dataset if isinstance(dataset, Source) else dataset[()]).for_dataset()


@dataset_op("FlatMapDataset", _INPUT, **_FUNCTION)
class FlatMapDataset:
    """The elements of the datasets that a function gives, one dataset after the other."""

    def kernel(input_dataset, other_arguments, ctx, f):
        function = BoundFunction(ctx, f, other_arguments)
        made = Source(lambda: _FlatMap(iter(input_dataset), function))
        made.lightweight = input_dataset.lightweight and function.makes_lightweight()
        return made


class Interleave(_Iterator):
    """Takes ``block_length`` elements in turn from ``cycle_length`` datasets at a time; an ended one makes room for the next."""

    def __init__(self, elements: Elements, function: BoundFunction, cycle_length: int, block_length: int) -> None:
        super().__init__(elements, function)
        self._cycle: list[Elements | None] = [None] * cycle_length
        self._block_length = block_length
        self._place = self._taken = 0
        self._ended = False  # of the input

    def __next__(self) -> Element:
        while not self._ended or any(current is not None for current in self._cycle):
            current = self._cycle[self._place]
            if current is None:
                if not self._open():
                    self._skip()
            elif self._taken == self._block_length:
                self._advance()
            else:
                try:
                    element = next(current)
                except StopIteration:
                    self._end_turn()
                else:
                    self._taken += 1
                    return element
        raise StopIteration

    def next_batch(self, size: int) -> Element | None:
        """A batch of blocks."""
        if self._block_length < _LONG_BLOCK:
            elements = list(itertools.islice(self, size))
            return stacked(elements) if elements else None
        parts: list[Element] = []
        while (left := size - sum(len(part[0]) for part in parts)) > 0:
            part = self._next_block(left)
            if part is None:
                break
            parts.append(part)
        return joined(parts)

    def _next_block(self, size: int) -> Element | None:
        """Some elements of the dataset whose turn it is; None at the end."""
        while not self._ended or any(current is not None for current in self._cycle):
            current = self._cycle[self._place]
            if current is None:
                if not self._open():
                    self._skip()
            elif self._taken == self._block_length:
                self._advance()
            else:
                block = take_batch(current, min(size, self._block_length - self._taken))
                if block is not None:
                    self._taken += len(block[0])
                    return block
                self._end_turn()
        return None

    def _advance(self) -> None:
        self._place, self._taken = (self._place + 1) % len(self._cycle), 0

    _skip = _advance  # a place where no dataset is left

    def _end_turn(self) -> None:
        """The dataset whose turn it is has ended."""
        self._cycle[self._place] = None
        self._advance()

    def _open(self) -> bool:
        """Starts the next dataset at this place; False if there is none."""
        if not self._ended:
            try:
                self._cycle[self._place] = self._start(dataset_of(self._function(*next(self._elements))))
            except StopIteration:
                self._ended = True
        return not self._ended

    def _start(self, dataset: Source) -> Elements:
        return iter(dataset)


@dataset_op("InterleaveDataset", f"{_INPUT}, cycle_length: int64, block_length: int64", **_FUNCTION)
class InterleaveDataset:
    """Blocks of elements, in turn, of several of the datasets that a function gives."""

    def kernel(input_dataset, other_arguments, cycle_length, block_length, ctx, f):
        function = BoundFunction(ctx, f, other_arguments)
        cycle, block = positive(cycle_length, "cycle_length"), positive(block_length, "block_length")
        return Source(lambda: Interleave(iter(input_dataset), function, cycle, block))


class _Scan(_Iterator):
    def __init__(self, elements: Elements, function: BoundFunction, state: Element) -> None:
        super().__init__(elements, function)
        self._state = state

    def __next__(self) -> Element:
        results = self._function(*self._state, *next(self._elements))
        self._state = results[:len(self._state)]
        return results[len(self._state):]


@dataset_op("ScanDataset", "input_dataset: variant, initial_state: Tstate, other_arguments: Targuments", **_FUNCTION, Tstate=type_list(1),
            preserve_cardinality=False)
class ScanDataset:
    """The results of a function on a state and each element; it also gives the next state."""

    def kernel(input_dataset, initial_state, other_arguments, ctx, f):
        function = BoundFunction(ctx, f, other_arguments)
        return Source(lambda: _Scan(iter(input_dataset), function, tuple(initial_state)))


@op("ReduceDataset", "input_dataset: variant, initial_state: Tstate, other_arguments: Targuments -> components: output_types", **_FUNCTION,
    Tstate=type_list(1), use_inter_op_parallelism=True)
class ReduceDataset:
    """The state after a function has been called on it and each element of the dataset."""

    stateful = blocking = passes_references = True
    gradient = None

    def shape(output_shapes):
        return list(output_shapes)

    def kernel(input_dataset, initial_state, other_arguments, ctx, f, output_types, output_shapes):
        function = BoundFunction(ctx, f, other_arguments)
        state = tuple(map(dereference, initial_state))
        for element in input_dataset:
            state = function(*state, *element)
        check_element(state, output_types, output_shapes)
        return state


@op("DatasetToSingleElement", "dataset: variant -> components: output_types", **OUTPUTS)
class DatasetToSingleElement:
    """The only element of a dataset."""

    stateful = blocking = True
    gradient = None

    def shape(output_shapes):
        return list(output_shapes)

    def kernel(dataset, output_types, output_shapes):
        elements = iter(dataset)
        element = next(elements, None)
        if element is None:
            raise invalid_argument("Dataset was empty.")
        if next(elements, None) is not None:
            raise invalid_argument("Dataset had more than one element.")
        check_element(element, output_types, output_shapes)
        return element
