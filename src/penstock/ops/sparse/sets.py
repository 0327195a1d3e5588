"""Operations on sets: each row of a tensor (all indices but the last) is a set, its elements the entries of the row."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph import dtypes as dt
from penstock.graph.attrs import STRING
from penstock.graph.composite import SparseTensor, SparseTensorValue
from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.ops.common import at_least, strings
from penstock.ops.sparse.sparse import as_sparse, parts
from penstock.ops.sparse.sparse_kernels import check_bounds, check_order, entries_shape, new_sparse, positions

_ELEMENTS = frozenset([dt.int8, dt.int16, dt.int32, dt.int64, dt.uint8, dt.uint16, dt.string])
_RESULT = "result_indices: int64, result_values: T, result_shape: int64"
_COMBINE = {"a-b": lambda a, b: a - b, "b-a": lambda a, b: b - a, "intersection": lambda a, b: a & b, "union": lambda a, b: a | b}

Sets = dict[tuple[int, ...], set]


def _dense_sets(array: np.ndarray) -> tuple[Sets, tuple[int, ...]]:
    """The sets in a dense tensor, by row, and the shape of the rows."""
    if array.ndim < 2:
        raise invalid_argument(f"Input tensor must have rank >= 2, but has rank {array.ndim}")
    groups = array.shape[:-1]
    return {row: set(array[row].tolist()) for row in np.ndindex(*groups)}, groups


def _sparse_sets(indices: np.ndarray, values: np.ndarray, shape: np.ndarray, validate: bool) -> tuple[Sets, tuple[int, ...]]:
    """The sets in a sparse tensor, by row, and the shape of the rows."""
    if validate:
        check_order(positions(indices, shape), indices)
    else:
        check_bounds(indices, shape)
    sets: Sets = {}
    for row, element in zip(map(tuple, indices[:, :-1].tolist()), values.tolist()):
        sets.setdefault(row, set()).add(element)
    return sets, tuple(int(extent) for extent in shape[:-1])


def _combine_sets(first: tuple[Sets, tuple], second: tuple[Sets, tuple], set_operation: str, dtype: np.dtype) -> Any:
    """The sparse tensor of the sets that result, each in sorted order."""
    combine = _COMBINE.get(set_operation)
    if combine is None:
        raise invalid_argument(f"Invalid set_operation {set_operation}.")
    if first[1] != second[1]:
        raise invalid_argument(f"Mismatched group shapes: {list(first[1])} and {list(second[1])}")
    indices: list[tuple[int, ...]] = []
    values: list[Any] = []
    longest = 0
    for row in sorted(first[0].keys() | second[0].keys()):
        elements = sorted(combine(first[0].get(row, set()), second[0].get(row, set())))
        indices.extend((*row, place) for place in range(len(elements)))
        values.extend(elements)
        longest = max(longest, len(elements))
    rank = len(first[1]) + 1
    array = strings(values) if dtype.kind == "O" else np.array(values, dtype)
    return np.array(indices, np.int64).reshape(-1, rank), array, np.array([*first[1], longest], np.int64)


def _dense_rank(tensor: Tensor) -> int | None:
    return tensor.shape.ndims


@op("DenseToDenseSetOperation", f"set1: T, set2: T -> {_RESULT}", set_operation=STRING, validate_indices=True, T=_ELEMENTS)
class DenseToDenseSetOperation:
    """A set operation between the rows of two dense tensors."""

    ranks = {"set1": at_least(2), "set2": at_least(2)}
    gradient = None

    def shape(set1, set2):
        rank = _dense_rank(set1)
        return new_sparse(_dense_rank(set2) if rank is None else rank)

    def kernel(set1, set2, set_operation):
        return _combine_sets(_dense_sets(set1), _dense_sets(set2), set_operation, set1.dtype)


@op("DenseToSparseSetOperation", f"set1: T, set2_indices: int64, set2_values: T, set2_shape: int64 -> {_RESULT}",
    set_operation=STRING, validate_indices=True, T=_ELEMENTS)
class DenseToSparseSetOperation:
    """A set operation between the rows of a dense and a sparse tensor."""

    ranks = {"set1": at_least(2)}
    gradient = None

    def shape(set1, set2_indices, set2_values, set2_shape):
        rank = entries_shape(set2_indices, set2_values, set2_shape)[1]
        return new_sparse(_dense_rank(set1) if rank is None else rank)

    def kernel(set1, set2_indices, set2_values, set2_shape, set_operation, validate_indices):
        second = _sparse_sets(set2_indices, set2_values, set2_shape, validate_indices)
        return _combine_sets(_dense_sets(set1), second, set_operation, set1.dtype)


@op("SparseToSparseSetOperation", "set1_indices: int64, set1_values: T, set1_shape: int64, set2_indices: int64, set2_values: T, "
    f"set2_shape: int64 -> {_RESULT}", set_operation=STRING, validate_indices=True, T=_ELEMENTS)
class SparseToSparseSetOperation:
    """A set operation between the rows of two sparse tensors."""

    gradient = None

    def shape(set1_indices, set1_values, set1_shape, set2_indices, set2_values, set2_shape):
        rank = entries_shape(set1_indices, set1_values, set1_shape)[1]
        other = entries_shape(set2_indices, set2_values, set2_shape)[1]
        return new_sparse(other if rank is None else rank)

    def kernel(set1_indices, set1_values, set1_shape, set2_indices, set2_values, set2_shape, set_operation, validate_indices):
        first = _sparse_sets(set1_indices, set1_values, set1_shape, validate_indices)
        second = _sparse_sets(set2_indices, set2_values, set2_shape, validate_indices)
        return _combine_sets(first, second, set_operation, set1_values.dtype)


@op("SetSize", "set_indices: int64, set_values: T, set_shape: int64 -> size: int32", validate_indices=True, T=_ELEMENTS)
class SetSize:
    """How many different elements each row holds."""

    gradient = None

    def shape(set_indices, set_values, set_shape):
        entries_shape(set_indices, set_values, set_shape)

    def kernel(set_indices, set_values, set_shape, validate_indices):
        sets, groups = _sparse_sets(set_indices, set_values, set_shape, validate_indices)
        sizes = np.zeros(groups, np.int32)
        for row, elements in sets.items():
            sizes[row] = len(elements)
        return sizes


def _operation(a: Any, b: Any, set_operation: str, validate_indices: bool) -> SparseTensor:
    a, b = (as_sparse(one) if isinstance(one, (SparseTensor, SparseTensorValue)) else to_tensor(one) for one in (a, b))
    if isinstance(a, SparseTensor) and isinstance(b, Tensor):  # there is no op for this order: swap the operands
        a, b = b, a
        set_operation = {"a-b": "b-a", "b-a": "a-b"}.get(set_operation, set_operation)
    keywords = {"set_operation": set_operation, "validate_indices": validate_indices}
    if isinstance(a, SparseTensor):
        return SparseTensor(*SparseToSparseSetOperation(*parts(a), *parts(b), **keywords))
    if isinstance(b, SparseTensor):
        return SparseTensor(*DenseToSparseSetOperation(a, *parts(b), **keywords))
    return SparseTensor(*DenseToDenseSetOperation(a, b, **keywords))


def set_intersection(a: Any, b: Any, validate_indices: bool = True) -> SparseTensor:
    """``tf.sets.set_intersection``: the elements that are in both."""
    return _operation(a, b, "intersection", validate_indices)


def set_difference(a: Any, b: Any, aminusb: bool = True, validate_indices: bool = True) -> SparseTensor:
    """``tf.sets.set_difference``: the elements of a that are not in b, or the other way round."""
    return _operation(a, b, "a-b" if aminusb else "b-a", validate_indices)


def set_union(a: Any, b: Any, validate_indices: bool = True) -> SparseTensor:
    """``tf.sets.set_union``: the elements that are in either."""
    return _operation(a, b, "union", validate_indices)


def set_size(a: Any, validate_indices: bool = True) -> Tensor:
    """``tf.sets.set_size``: the number of different elements of each row of a sparse tensor."""
    return SetSize(*parts(as_sparse(a)), validate_indices=validate_indices)
