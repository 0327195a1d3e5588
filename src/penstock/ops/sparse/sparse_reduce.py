"""Reductions of sparse tensors: sums and maxima over axes, the softmax of rows."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph import dtypes as dt
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.shape import TensorShape, unknown_shape
from penstock.graph.static import constant_value, constant_value_as_shape
from penstock.ops.array.fill import one_hot
from penstock.ops.array.gather import gather_nd
from penstock.ops.array.shape_ops import reshape, size
from penstock.ops.common import NUMERIC, REAL
from penstock.ops.math.reduce import reduce_max
from penstock.ops.precision import widen
from penstock.ops.sparse.sparse_kernels import check_parts, indices_at, new_sparse, positions, text
from penstock.ops.sparse.sparse_math import SparseDenseCwiseAdd, values_shape

_REDUCED = "input_indices: int64, input_values: T, input_shape: int64, reduction_axes: int32"


def _reduced_shape(input_shape: Tensor, reduction_axes: Tensor, keep_dims: bool) -> TensorShape:
    known, axes = constant_value_as_shape(input_shape), constant_value(reduction_axes)
    if known.ndims is None or axes is None:
        return unknown_shape(known.ndims if keep_dims else None)
    rank = known.ndims
    reduced = {int(axis) % rank for axis in np.ravel(axes)} if np.size(axes) and rank else set(range(rank))
    if keep_dims:
        return TensorShape._of(tuple(1 if axis in reduced else extent for axis, extent in enumerate(known.extents)))
    return TensorShape._of(tuple(extent for axis, extent in enumerate(known.extents) if axis not in reduced))


def _reduce(ufunc: Any, indices: np.ndarray, values: np.ndarray, shape: np.ndarray, axes: np.ndarray,
            keep_dims: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(positions with entries, their reduced values, the shape of the result); no axes means all of them."""
    rank = len(shape)
    if indices.shape != (len(values), rank) or not ((indices >= 0) & (indices < shape)).all():
        raise invalid_argument(f"the indices of {len(values)} entries do not fit into the shape {shape.tolist()}")
    for axis in np.ravel(axes):
        if not -rank <= axis < rank:
            raise invalid_argument(f"Invalid reduction dimension {axis}, for input with {rank} dimensions.")
    reduced = {int(axis) % rank for axis in np.ravel(axes)} or set(range(rank))
    kept = [axis for axis in range(rank) if axis not in reduced]
    where, group = np.unique(positions(indices[:, kept], shape[kept]), return_inverse=True)
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], np.arange(len(where)))
    result = ufunc.reduceat(widen(values[order]), starts).astype(values.dtype) if len(where) else values[:0]
    extents = [1 if axis in reduced else int(extent) for axis, extent in enumerate(shape) if keep_dims or axis not in reduced]
    return where, result, np.array(extents, np.int64)


def _dense_reduction(ufunc: Any, *arguments: Any) -> np.ndarray:
    where, values, extents = _reduce(ufunc, *arguments)
    result = np.zeros(tuple(extents), values.dtype)
    result.reshape(-1)[where] = values
    return result


def _sparse_reduction(ufunc: Any, *arguments: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    where, values, extents = _reduce(ufunc, *arguments)
    return indices_at(where, extents), values, extents


@op("SparseReduceSum", _REDUCED + " -> output: T", keep_dims=False, T=NUMERIC)
class SparseReduceSum:
    """Sums over axes of a sparse tensor, as a dense tensor."""

    ranks = {"input_indices": 2, "input_values": 1, "input_shape": 1}
    shape = _reduced_shape

    def kernel(input_indices, input_values, input_shape, reduction_axes, keep_dims):
        return _dense_reduction(np.add, input_indices, input_values, input_shape, reduction_axes, keep_dims)

    def gradient(op, dy):
        indices, _, dense_shape, axes = op.inputs
        rank = size(dense_shape)
        reduced = reduce_max(one_hot((reshape(axes, [-1]) + rank) % rank, rank, dtype=dt.int64), 0)
        kept = dense_shape * (1 - reduced) + reduced  # the shape with ones in place of the reduced axes
        return [None, gather_nd(reshape(dy, kept), indices * (1 - reduced)), None, None]


@op("SparseReduceMax", _REDUCED + " -> output: T", keep_dims=False, T=REAL)
class SparseReduceMax:
    """The largest entries over axes of a sparse tensor, as a dense tensor; 0 where there is no entry."""

    ranks = {"input_indices": 2, "input_values": 1, "input_shape": 1}
    shape = _reduced_shape

    def kernel(input_indices, input_values, input_shape, reduction_axes, keep_dims):
        return _dense_reduction(np.maximum, input_indices, input_values, input_shape, reduction_axes, keep_dims)

    gradient = None


@op("SparseReduceSumSparse", _REDUCED + " -> output_indices: int64, output_values: T, output_shape: int64", keep_dims=False,
    T=NUMERIC)
class SparseReduceSumSparse:
    """Sums over axes of a sparse tensor, as a sparse tensor."""

    ranks = {"input_indices": 2, "input_values": 1, "input_shape": 1}

    def shape(input_indices):
        return new_sparse(None)

    def kernel(input_indices, input_values, input_shape, reduction_axes, keep_dims):
        return _sparse_reduction(np.add, input_indices, input_values, input_shape, reduction_axes, keep_dims)

    gradient = None


@op("SparseReduceMaxSparse", _REDUCED + " -> output_indices: int64, output_values: T, output_shape: int64", keep_dims=False,
    T=REAL)
class SparseReduceMaxSparse:
    """The largest entries over axes of a sparse tensor, as a sparse tensor."""

    ranks = {"input_indices": 2, "input_values": 1, "input_shape": 1}

    def shape(input_indices):
        return new_sparse(None)

    def kernel(input_indices, input_values, input_shape, reduction_axes, keep_dims):
        return _sparse_reduction(np.maximum, input_indices, input_values, input_shape, reduction_axes, keep_dims)

    gradient = None


def _row_groups(indices: np.ndarray) -> np.ndarray:
    """For each entry the number of its row, that is of its indices without the last one."""
    if not len(indices):
        return np.zeros(0, np.intp)
    _, group = np.unique(indices[:, :-1], axis=0, return_inverse=True)
    return np.ravel(group)


@op("SparseSoftmax", "sp_indices: int64, sp_values: T, sp_shape: int64 -> output: T", T=frozenset([dt.float32, dt.float64]))
class SparseSoftmax:
    """The softmax over the entries of each row; elements without an entry do not count."""

    shape = values_shape

    def kernel(sp_indices, sp_values, sp_shape):
        check_parts(sp_indices, sp_values, sp_shape)
        if len(sp_shape) < 2:
            raise invalid_argument(f"Input should have rank >= 2, but received shape {text(sp_shape)}")
        group = _row_groups(sp_indices)
        count = int(group.max()) + 1 if len(group) else 0
        largest = np.full(count, -np.inf, sp_values.dtype)
        np.maximum.at(largest, group, sp_values)
        weights = np.exp(sp_values - largest[group])
        total = np.zeros(count, sp_values.dtype)
        np.add.at(total, group, weights)
        return weights / total[group]

    def gradient(op, dy):
        indices, _, dense_shape = op.inputs
        result = op.outputs[0]
        weighted = SparseReduceSum(indices, result * dy, dense_shape, [-1], keep_dims=True)
        return [None, result * SparseDenseCwiseAdd(indices, dy, dense_shape, -weighted), None]
