"""Datasets whose elements are made of several elements of another, or of parts of one: batch, padded_batch, unbatch, window."""
from __future__ import annotations

import itertools
from collections import deque
from typing import Any

import numpy as np

from penstock.errors import DataLossError, KernelError, invalid_argument
from penstock.graph.attrs import Attr, type_list
from penstock.graph.attrs import count as length_attr
from penstock.graph.shape import brackets
from penstock.ops.common import strings
from penstock.ops.data.dataset_core import OUTPUTS, Element, Elements, Source, batches, dataset_op, integer, positive, rows, scalar
from penstock.state.result_memory import LARGE, RESULTS

_INPUT = "input_dataset: variant"
_PADDED = f"{_INPUT}, batch_size: int64, padded_shapes: N * int64, padding_values: Toutput_types"
_PADDED_ATTRS = {"Toutput_types": type_list(1), "output_shapes": Attr("list(shape)", minimum=1), "N": length_attr(1)}


# --- batches ---------------------------------------------------------------------------------------------------------

def _array(value: Any) -> np.ndarray:
    return np.asarray(value) if isinstance(value, (np.ndarray, np.generic)) else scalar(value)


def stacked(elements: list[Element]) -> Element:
    """The components of several elements, each stacked along a new first axis."""
    return tuple([_stack(index, values) for index, values in enumerate(zip(*elements))])


def _stack(index: int, values: tuple[Any, ...]) -> np.ndarray:
    if isinstance(values[0], np.generic):
        return np.array(values, values[0].dtype)
    if isinstance(values[0], bytes):
        return strings(values)
    arrays = [value if type(value) is np.ndarray else _array(value) for value in values]
    shape = arrays[0].shape
    for number, array in enumerate(arrays):
        if array.shape != shape:
            raise invalid_argument(f"Cannot batch tensors with different shapes in component {index}. First element had shape {brackets(shape)} "
                                   f"and element {number} had shape {brackets(array.shape)}.", "padded_batch() makes them as long as the longest")
    if not shape:
        return np.stack(arrays)
    if len(arrays) * arrays[0].nbytes < LARGE or any(array.dtype != arrays[0].dtype for array in arrays):
        return np.concatenate(arrays).reshape(len(arrays), *shape)  # without an axis more for each: twice as fast
    batch = RESULTS.empty((len(arrays), *shape), arrays[0].dtype)
    np.concatenate(arrays, out=batch.reshape(-1, *shape[1:]))
    return batch  # sessions keep it when they hand it out


def take_batch(elements: Elements, size: int) -> Element | None:
    """The next elements, at most ``size``, stacked; None at the end."""
    next_batch = getattr(elements, "next_batch", None)
    if next_batch is not None:
        return next_batch(size)
    group = take_elements(elements, size)
    return stacked(group) if group else None


def take_elements(elements: Elements, size: int) -> list[Element]:
    """The next elements, at most ``size``."""
    next_elements = getattr(elements, "next_elements", None)
    return list(itertools.islice(elements, size)) if next_elements is None else next_elements(size)


def joined(parts: list[Element]) -> Element | None:
    """Batches, one after the other, as one; None if there are none."""
    if len(parts) <= 1:
        return parts[0] if parts else None
    return tuple([_join(index, arrays) for index, arrays in enumerate(zip(*parts))])


def _join(index: int, arrays: tuple[np.ndarray, ...]) -> np.ndarray:
    if len({array.shape[1:] for array in arrays}) > 1:
        return _stack(index, tuple([row for array in arrays for row in array]))  # which says what is wrong
    return np.concatenate(arrays)


class Batch:
    """Groups of ``size`` elements, stacked; a last smaller one unless ``drop_remainder``."""

    def __init__(self, elements: Elements, size: int, drop_remainder: bool) -> None:
        self._elements, self._size, self._drop = elements, size, drop_remainder

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Element:
        batch = self._take()
        if batch is None or (self._drop and len(batch[0]) < self._size):
            raise StopIteration
        return batch

    def _take(self) -> Element | None:
        return take_batch(self._elements, self._size)


@dataset_op("BatchDatasetV2", f"{_INPUT}, batch_size: int64, drop_remainder: bool", parallel_copy=False, **OUTPUTS)
class BatchDatasetV2:
    """Elements stacked, ``batch_size`` at a time."""

    def _count(input_dataset, batch_size, drop_remainder):
        return batches(input_dataset, batch_size, drop_remainder)

    def kernel(input_dataset, batch_size, drop_remainder):
        size = positive(batch_size, "Batch size")
        return Source(lambda: Batch(iter(input_dataset), size, bool(drop_remainder)))


@dataset_op("BatchDataset", f"{_INPUT}, batch_size: int64", **OUTPUTS)
class BatchDataset:
    """Elements stacked, ``batch_size`` at a time, the last ones as many as there are."""

    def _count(input_dataset, batch_size):
        return batches(input_dataset, batch_size)

    def kernel(input_dataset, batch_size):
        size = positive(batch_size, "Batch size")
        return Source(lambda: Batch(iter(input_dataset), size, False))


class _PaddedBatch(Batch):
    def __init__(self, elements: Elements, size: int, drop_remainder: bool, shapes: list[np.ndarray], padding: list[Any]) -> None:
        super().__init__(elements, size, drop_remainder)
        self._shapes, self._padding = shapes, padding

    def _take(self) -> Element | None:
        group = take_elements(self._elements, self._size)
        components = zip(zip(*group), self._shapes, self._padding)
        return tuple([_stack_padded(index, [_array(value) for value in values], shape, fill)
                      for index, (values, shape, fill) in enumerate(components)]) if group else None


def _stack_padded(index: int, arrays: list[np.ndarray], shape: np.ndarray, fill: Any) -> np.ndarray:
    for array in arrays:
        if array.ndim != len(shape):
            raise invalid_argument(f"All elements in a batch must have the same rank as the padded shape for component {index}: expected rank "
                                   f"{len(shape)} but got element with rank {array.ndim}")
    longest = np.max([array.shape for array in arrays], axis=0) if len(shape) else np.zeros(0, np.int64)
    extents = np.where(shape < 0, longest, shape).astype(int)
    if (longest > extents).any():
        raise KernelError(DataLossError, "Attempted to pad to a smaller size than the input element.",
                          f"component {index} has elements as large as {longest.tolist()}, but is padded to {extents.tolist()}")
    batch = np.full((len(arrays), *extents), np.asarray(fill)[()], arrays[0].dtype)
    for number, array in enumerate(arrays):
        batch[(number, *map(slice, array.shape), ...)] = array  # the string itself, where it is one, not an array that holds it
    return batch


def _padded_source(source: Source, size: Any, shapes: list[Any], values: list[Any], drop_remainder: bool) -> Source:
    number = positive(size, "Batch size")
    extents = [np.asarray(shape) for shape in shapes]
    if any((shape < -1).any() for shape in extents):
        raise invalid_argument("All component shapes must be non-negative, or -1 for the longest.")
    return Source(lambda: _PaddedBatch(iter(source), number, drop_remainder, extents, values))


@dataset_op("PaddedBatchDatasetV2", f"{_PADDED}, drop_remainder: bool", parallel_copy=False, **_PADDED_ATTRS)
class PaddedBatchDatasetV2:
    """Elements stacked, ``batch_size`` at a time, after each has been padded to the given shape, or to the longest in the batch."""

    def _count(input_dataset, batch_size, drop_remainder):
        return batches(input_dataset, batch_size, drop_remainder)

    def kernel(input_dataset, batch_size, padded_shapes, padding_values, drop_remainder):
        return _padded_source(input_dataset, batch_size, padded_shapes, padding_values, bool(integer(drop_remainder)))


@dataset_op("PaddedBatchDataset", _PADDED, **_PADDED_ATTRS)
class PaddedBatchDataset:
    """As PaddedBatchDatasetV2; the last batch has as many elements as there are."""

    def _count(input_dataset, batch_size):
        return batches(input_dataset, batch_size)

    def kernel(input_dataset, batch_size, padded_shapes, padding_values):
        return _padded_source(input_dataset, batch_size, padded_shapes, padding_values, False)


class _SparseBatch(Batch):
    """Dense elements of different shapes as one sparse tensor, whose rows have a given shape; -1 there is the longest of a batch."""

    def __init__(self, elements: Elements, size: int, row_shape: tuple[int, ...]) -> None:
        super().__init__(elements, size, False)
        self._row_shape = row_shape

    def __next__(self) -> Element:
        group = [np.asarray(component) for (component,) in take_elements(self._elements, self._size)]
        if not group:
            raise StopIteration
        wanted = self._row_shape
        for array in group:
            if array.ndim != len(wanted):
                raise invalid_argument(f"Input element had shape ({brackets(array.shape)}) that is incompatible with the row shape "
                                       f"({brackets([None if extent < 0 else extent for extent in wanted])}).")
            if any(0 <= most < extent for most, extent in zip(wanted, array.shape)):
                raise KernelError(DataLossError, f"Input element had shape ({brackets(array.shape)}) that is larger than the row shape "
                                                 f"({brackets([None if extent < 0 else extent for extent in wanted])}).")
        longest = np.max([array.shape for array in group], axis=0) if wanted else np.zeros(0, np.int64)
        extents = [int(most if known < 0 else known) for known, most in zip(wanted, longest)]
        indices = [np.insert(np.argwhere(np.ones(array.shape, bool)), 0, number, axis=1) for number, array in enumerate(group)]
        encoded = np.empty(3, object)
        encoded[0] = np.concatenate(indices).astype(np.int64).reshape(-1, 1 + len(wanted))
        encoded[1] = np.concatenate([array.reshape(-1) for array in group])
        encoded[2] = np.array([len(group), *extents], np.int64)
        return (encoded,)

    next_batch = None


@dataset_op("DenseToSparseBatchDataset", f"{_INPUT}, batch_size: int64, row_shape: int64", **OUTPUTS)
class DenseToSparseBatchDataset:
    """Batches of dense elements of different shapes as sparse tensors."""

    def kernel(input_dataset, batch_size, row_shape):
        size, extents = positive(batch_size, "batch_size"), tuple(np.asarray(row_shape).reshape(-1).tolist())
        for extent in extents:
            if extent < -1:
                raise invalid_argument(f"Dimension {extent} must be >= -1")
        return Source(lambda: _SparseBatch(iter(input_dataset), size, extents))


class _Unbatch:
    def __init__(self, elements: Elements) -> None:
        self._elements = elements
        self._rows: Elements = iter(())

    def __iter__(self) -> _Unbatch:
        return self

    def __next__(self) -> Element:
        while True:
            for element in self._rows:
                return element
            self._rows = self._rows_of(next(self._elements))

    @staticmethod
    def _rows_of(element: Element) -> Elements:
        arrays = [np.asarray(component) for component in element]
        if any(array.ndim == 0 for array in arrays):
            raise invalid_argument("Input element must have a non-scalar value in each component.")
        lengths = {len(array) for array in arrays}
        if len(lengths) > 1:
            raise invalid_argument(f"Input element must have the same batch size in each component, not {sorted(lengths)}")
        return rows(arrays)


@dataset_op("UnbatchDataset", _INPUT, **OUTPUTS)
class UnbatchDataset:
    """The slices of the elements along their first axis."""

    def kernel(input_dataset):
        return Source(lambda: _Unbatch(iter(input_dataset)))


# --- datasets of datasets --------------------------------------------------------------------------------------------

def in_memory(elements: list[Element]) -> Source:
    """A dataset of these elements."""
    return Source(lambda: iter(elements))


def _columns(elements: list[Element], components: int) -> Element:
    """One dataset per component."""
    return tuple([in_memory([(element[index],) for element in elements]) for index in range(components)])


class _Window:
    def __init__(self, elements: Elements, components: int, size: int, shift: int, stride: int, drop_remainder: bool) -> None:
        self._elements, self._components = elements, components
        self._size, self._shift, self._stride, self._drop = size, shift, stride, drop_remainder
        self._buffer: deque[Element] = deque()
        self._gap = 0  # elements to pass over before the next window starts

    def __iter__(self) -> _Window:
        return self

    def __next__(self) -> Element:
        span = (self._size - 1) * self._stride + 1
        while self._gap:
            next(self._elements)
            self._gap -= 1
        self._buffer.extend(itertools.islice(self._elements, span - len(self._buffer)))
        if not self._buffer or (self._drop and len(self._buffer) < span):
            raise StopIteration
        window = list(itertools.islice(self._buffer, 0, None, self._stride))
        for _ in range(min(self._shift, len(self._buffer))):
            self._buffer.popleft()
        self._gap = max(self._shift - span, 0)
        return _columns(window, self._components)


@dataset_op("WindowDataset", f"{_INPUT}, size: int64, shift: int64, stride: int64, drop_remainder: bool", **OUTPUTS)
class WindowDataset:
    """Datasets of ``size`` elements, every ``stride``-th; each starts ``shift`` elements after the one before."""

    def _count(input_dataset, size, shift, stride, drop_remainder):
        count, step = input_dataset.cardinality(), integer(shift)
        if count < 0 or not drop_remainder:
            return count if count < 0 else -(-count // step)
        span = (integer(size) - 1) * integer(stride) + 1
        return max(0, (count - span) // step + 1)

    def kernel(input_dataset, size, shift, stride, drop_remainder, output_types):
        numbers = [positive(value, f"Window {name}") for name, value in (("size", size), ("shift", shift), ("stride", stride))]
        return Source(lambda: _Window(iter(input_dataset), len(output_types), *numbers, bool(drop_remainder)))
