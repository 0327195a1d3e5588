"""Sets of values: unique elements, differences, edit distances."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph import dtypes as dt
from penstock.graph.attrs import TYPE
from penstock.graph.composite import SparseTensor, SparseTensorValue
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.ops.array.shape_ops import INDEX_32, INDEX_64, as_array, known_elements


def _distinct(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(where each distinct element of a vector, or row, comes first; which of them each element is; how often each comes)."""
    if x.ndim > 1 or x.dtype == object:
        return _distinct_rows(x)
    keys = x.astype(np.float32) if x.dtype == dt.bfloat16.np else x
    _, first, which, counts = np.unique(keys, return_index=True, return_inverse=True, return_counts=True, equal_nan=False)
    order = np.argsort(first, kind="stable")  # np.unique sorts by value: back to the order of appearance
    new_place = np.empty_like(order)
    new_place[order] = np.arange(len(order))
    return first[order], new_place[which], counts[order]


def _distinct_rows(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    places: dict[Any, int] = {}
    first, which = [], []
    for index, row in enumerate(x):
        key = tuple(np.ravel(row).tolist()) if isinstance(row, np.ndarray) else row
        if key not in places:
            places[key] = len(first)
            first.append(index)
        which.append(places[key])
    numbers = np.array(which, np.int64)
    return np.array(first, np.int64), numbers, np.bincount(numbers, minlength=len(first)) if len(numbers) else np.array([], np.int64)


def _unique_shapes(x: Tensor) -> list[Any]:
    x.shape.with_rank(1)
    return [[None], x.shape.with_rank(1), [None]]


def _unique_axis_shapes(x: Tensor, axis: Tensor) -> list[Any]:
    axes = known_elements(axis)
    if x.shape.extents is None or axes is None or None in axes:
        return [None, [None], [None]]
    if not axes:
        return _unique_shapes(x)
    extents = x.shape.as_list()
    where = axes[0] + len(extents) if axes[0] < 0 else axes[0]
    if not 0 <= where < len(extents):
        raise ValueError(f"axis expected to be in the range [{-len(extents)}, {len(extents)}), got {axes[0]}")
    length, extents[where] = extents[where], None
    return [extents, [length], [None]]


def _unique_along(x: Any, axis: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    x = as_array(x)
    if axis.size > 1:
        raise invalid_argument("axis does not support input tensors larger than 1 elements")
    if not axis.size and x.ndim != 1:
        raise invalid_argument("unique expects a 1D vector.")
    where = int(axis.ravel()[0]) if axis.size else 0
    if not -x.ndim <= where < x.ndim:
        raise invalid_argument(f"axis should be between 0 and {x.ndim}")
    first, which, counts = _distinct(np.moveaxis(x, where, 0))
    return x.take(first, where), which, counts


@op("Unique", "x: T -> y: T, idx: out_idx", T=TYPE, out_idx=INDEX_32)
class Unique:
    """The distinct elements of a vector in the order they appear, and which of them each element is."""

    dynamic_shape = distinct = True

    def shape(x):
        return _unique_shapes(x)[:2]

    def kernel(x, out_idx):
        first, which, _ = _distinct(x)
        return x[first], which.astype(out_idx.np)

    gradient = None


@op("UniqueV2", "x: T, axis: Taxis -> y: T, idx: out_idx", T=TYPE, Taxis=INDEX_64, out_idx=INDEX_32)
class UniqueV2:
    """The distinct slices along an axis."""

    dynamic_shape = True

    def shape(x, axis):
        return _unique_axis_shapes(x, axis)[:2]

    def kernel(x, axis, out_idx):
        y, which, _ = _unique_along(x, axis)
        return y, which.astype(out_idx.np)

    gradient = None


@op("UniqueWithCounts", "x: T -> y: T, idx: out_idx, count: out_idx", T=TYPE, out_idx=INDEX_32)
class UniqueWithCounts:
    """The distinct elements of a vector, which of them each element is, and how often each appears."""

    dynamic_shape = True

    def shape(x):
        return _unique_shapes(x)

    def kernel(x, out_idx):
        first, which, counts = _distinct(x)
        return x[first], which.astype(out_idx.np), counts.astype(out_idx.np)

    gradient = None


@op("UniqueWithCountsV2", "x: T, axis: Taxis -> y: T, idx: out_idx, count: out_idx", T=TYPE, Taxis=INDEX_64, out_idx=INDEX_32)
class UniqueWithCountsV2:
    """The distinct slices along an axis, and how often each appears."""

    dynamic_shape = True

    def shape(x, axis):
        return _unique_axis_shapes(x, axis)

    def kernel(x, axis, out_idx):
        y, which, counts = _unique_along(x, axis)
        return y, which.astype(out_idx.np), counts.astype(out_idx.np)

    gradient = None




def unique(x: Any, out_idx: Any = dt.int32, name: str | None = None) -> Any:
    """``tf.unique``: (y, idx), the distinct elements in the order they appear, and which of them each element is."""
    return Unique(x, out_idx=out_idx, name=name)


def unique_with_counts(x: Any, out_idx: Any = dt.int32, name: str | None = None) -> Any:
    """``tf.unique_with_counts``: (y, idx, count)."""
    return UniqueWithCounts(x, out_idx=out_idx, name=name)


@op("ListDiff", "x: T, y: T -> out: T, idx: out_idx", T=TYPE, out_idx=INDEX_32)
class ListDiff:
    """The elements of x that are not in y, and where they stood."""

    dynamic_shape = True
    ranks = {"x": 1, "y": 1}

    def shape(x, y):
        return [[None], [None]]

    def kernel(x, y, out_idx):
        if x.dtype == object:
            dropped = set(y.tolist())
            keep = np.array([value not in dropped for value in x.tolist()], bool)
        else:
            keep = ~np.isin(x, y)
        places = np.flatnonzero(keep)
        return x[places], places.astype(out_idx.np)

    gradient = None


def setdiff1d(x: Any, y: Any, index_dtype: Any = dt.int32, name: str | None = None) -> Any:
    """``tf.setdiff1d``: (out, idx), the elements of ``x`` that are not in ``y``."""
    return ListDiff(x, y, out_idx=index_dtype, name=name)


def listdiff(x: Any, y: Any, out_idx: Any = None, name: str | None = None) -> Any:
    """``tf.listdiff``, the old name of ``setdiff1d``."""
    return setdiff1d(x, y, out_idx or dt.int32, name)


# --- edit distance ---------------------------------------------------------------------------------------------------

@op("EditDistance", "hypothesis_indices: int64, hypothesis_values: T, hypothesis_shape: int64, truth_indices: int64, truth_values: T, "
                    "truth_shape: int64 -> output: float32", normalize=True, T=TYPE)
class EditDistance:
    """Per pair of sequences, how many elements must be inserted, deleted or replaced to make one the other."""

    ranks = {"hypothesis_indices": 2, "hypothesis_values": 1, "hypothesis_shape": 1, "truth_indices": 2, "truth_values": 1, "truth_shape": 1}

    def shape(hypothesis_shape, truth_shape):
        mine, theirs = known_elements(hypothesis_shape), known_elements(truth_shape)
        if mine is None or theirs is None or len(mine) != len(theirs):
            return None
        return [None if None in pair else max(pair) for pair in zip(mine, theirs)][:-1]

    def kernel(hypothesis_indices, hypothesis_values, hypothesis_shape, truth_indices, truth_values, truth_shape, normalize):
        if len(hypothesis_shape) != len(truth_shape):
            raise invalid_argument(f"truth_shape and hypothesis_shape must have the same number of elements: {len(truth_shape)} vs. "
                                   f"{len(hypothesis_shape)}")
        extents = tuple(np.maximum(hypothesis_shape, truth_shape)[:-1].tolist())
        for indices in (hypothesis_indices, truth_indices):
            if indices.size and not ((indices[:, :-1] >= 0) & (indices[:, :-1] < extents)).all():
                raise invalid_argument(f"indices are out of range for the shape {list(extents)} of the sequences")
        result = np.zeros(extents, np.float32)
        mine, theirs = _sequences(hypothesis_indices, hypothesis_values), _sequences(truth_indices, truth_values)
        for place in mine.keys() | theirs.keys():
            first, second = mine.get(place, []), theirs.get(place, [])
            distance: float = _levenshtein(first, second)
            if normalize:
                distance = distance / len(second) if second else (float("inf") if first else 0.0)
            result[place] = distance
        return result

    gradient = None


def _sequences(indices: np.ndarray, values: np.ndarray) -> dict[tuple[int, ...], list[Any]]:
    sequences: dict[tuple[int, ...], list[Any]] = {}
    for place, value in zip(indices.tolist(), values.tolist()):
        sequences.setdefault(tuple(place[:-1]), []).append(value)
    return sequences


def _levenshtein(first: list[Any], second: list[Any]) -> int:
    row = list(range(len(second) + 1))
    for i, a in enumerate(first):
        above, row = row, [i + 1]
        for j, b in enumerate(second):
            row.append(min(above[j] + (a != b), above[j + 1] + 1, row[j] + 1))
    return row[-1]


def edit_distance(hypothesis: Any, truth: Any, normalize: bool = True, name: str = "edit_distance") -> Tensor:
    """``tf.edit_distance``: the Levenshtein distance of each pair of sequences, divided by the length of the true one if ``normalize``."""
    for value, what in ((hypothesis, "Hypothesis"), (truth, "Truth")):
        if not isinstance(value, (SparseTensor, SparseTensorValue)):
            raise TypeError(f"{what} must be a SparseTensor.")
    return EditDistance(hypothesis.indices, hypothesis.values, hypothesis.dense_shape, truth.indices, truth.values, truth.dense_shape,
                        normalize=normalize, name=name)
