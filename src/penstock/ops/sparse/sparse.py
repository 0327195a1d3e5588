"""Sparse tensors: making them, and ops that move their entries without computing with them."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph.attrs import INT, TYPE, count
from penstock.graph.composite import SparseTensor, SparseTensorValue
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.shape import TensorShape, unknown_shape
from penstock.graph.static import constant_value_as_shape
from penstock.ops.array.gather import gather, gather_nd
from penstock.ops.array.permute import InvertPermutation
from penstock.ops.array.sequences import range as range_op
from penstock.ops.array.shape_ops import expand_dims, size
from penstock.ops.common import INDEX, NUMERIC, at_most
from penstock.ops.math.reduce import reduce_sum
from penstock.ops.sparse.sparse_kernels import (
    check_bounds,
    check_order,
    check_parts,
    entries_shape,
    indices_at,
    new_sparse,
    positions,
    text,
)


def as_sparse(value: Any) -> SparseTensor:
    """A SparseTensor for a SparseTensor or SparseTensorValue; TypeError for anything else."""
    if isinstance(value, SparseTensorValue):
        return SparseTensor.from_value(value)
    if not isinstance(value, SparseTensor):
        raise TypeError("Input must be a SparseTensor.")
    return value


def parts(sparse: SparseTensor) -> tuple[Tensor, Tensor, Tensor]:
    """indices, values, dense_shape: the three inputs that ops take for one sparse tensor."""
    return sparse.indices, sparse.values, sparse.dense_shape


@op("SparseToDense", "sparse_indices: Tindices, output_shape: Tindices, sparse_values: T, default_value: T -> dense: T",
    validate_indices=True, T=TYPE, Tindices=INDEX)
class SparseToDense:
    """A dense tensor with values at indices (a scalar, a vector, or one row per value) and a default everywhere else."""

    ranks = {"sparse_indices": at_most(2), "output_shape": 1}  # those of the values are the kernel's to judge, as in TensorFlow
    rank_words = {"output_shape": (1, "output_shape should be a vector, got shape {shape}")}

    def shape(output_shape):
        return constant_value_as_shape(output_shape)

    def kernel(sparse_indices, output_shape, sparse_values, default_value, validate_indices):
        rows = np.reshape(sparse_indices, (-1, 1)) if np.ndim(sparse_indices) < 2 else sparse_indices
        if rows.shape[1] != len(output_shape):
            raise invalid_argument(f"output_shape has incorrect number of elements: {len(output_shape)} should be: "
                                   f"{rows.shape[1]}")
        if np.ndim(default_value):
            raise invalid_argument("default_value should be a scalar.")
        if np.ndim(sparse_values) and np.shape(sparse_values) != (len(rows),):
            raise invalid_argument(f"sparse_values has incorrect shape {text(np.shape(sparse_values))}, should be [] or "
                                   f"[{len(rows)}]")
        where = positions(rows, output_shape)
        if validate_indices:
            check_order(where, rows)
        dense = np.empty(tuple(output_shape), sparse_values.dtype)
        dense.fill(default_value.item() if dense.dtype == object else default_value)
        dense.reshape(-1)[where] = sparse_values
        return dense

    def native(emit, sparse_indices, output_shape, sparse_values, default_value, validate_indices):
        shape = emit.known(output_shape).tolist()
        return emit.index.sparse_to_dense(sparse_indices, shape, sparse_values, default_value, validate_indices)

    def gradient(op, dy):
        indices, values = op.inputs[0], op.inputs[2]
        if indices.shape.ndims in (0, 1):
            indices = expand_dims(indices, -1)
        grad = gather_nd(dy, indices)
        total = reduce_sum(grad)
        return [None, None, total if values.shape.ndims == 0 and grad.shape.ndims != 0 else grad, reduce_sum(dy) - total]


@op("SparseReorder", "input_indices: int64, input_values: T, input_shape: int64 -> output_indices: int64, output_values: T",
    T=TYPE)
class SparseReorder:
    """The same entries in row-major order."""

    def shape(input_indices, input_values, input_shape):
        entries, rank = entries_shape(input_indices, input_values, input_shape)
        return [TensorShape._of((entries, rank)), TensorShape._of((entries,))]

    def kernel(input_indices, input_values, input_shape):
        check_parts(input_indices, input_values, input_shape)
        inside = ((input_indices >= 0) & (input_indices < input_shape)).all()  # others are left to who uses them, as in TensorFlow
        order = np.argsort(positions(input_indices, input_shape), kind="stable") if inside else np.lexsort(input_indices.T[::-1])
        return input_indices[order], input_values[order]

    def gradient(op, dindices, dvalues):
        indices, values, shape = op.inputs
        _, order = SparseReorder(indices, range_op(size(values)), shape)
        return [None, gather(dvalues, InvertPermutation(order)), None]


def _full_shape(input_shape: np.ndarray, new_shape: np.ndarray) -> np.ndarray:
    """The new shape with its -1 filled in; InvalidArgumentError if the number of elements does not fit."""
    elements = int(np.prod(input_shape))
    shape = new_shape.copy()
    free = np.flatnonzero(shape == -1)
    if len(free) > 1:
        raise invalid_argument(f"only one output dimension may be -1, not both {free[0]} and {free[1]}")
    if len(free):
        known = int(np.prod(shape[shape != -1]))
        if known <= 0:
            raise invalid_argument("reshape cannot infer the missing input size for an empty tensor unless all specified "
                                   "input sizes are non-zero")
        if elements % known:
            raise invalid_argument(f"Input to reshape is a SparseTensor with {elements} dense values, but the requested "
                                   f"shape requires a multiple of {known}. input_shape={text(input_shape)} "
                                   f"output_shape={text(new_shape)}")
        shape[free[0]] = elements // known
    if int(np.prod(shape)) != elements:
        raise invalid_argument(f"Input to reshape is a tensor with {elements} dense values, but the requested shape has "
                               f"{int(np.prod(shape))}. input_shape={text(input_shape)} output_shape={text(shape)}")
    return shape


@op("SparseReshape", "input_indices: int64, input_shape: int64, new_shape: int64 -> output_indices: int64, output_shape: int64")
class SparseReshape:
    """The indices of the same entries in a tensor of another shape, of which one extent may be -1."""

    def shape(input_indices, input_shape, new_shape):
        entries, _ = entries_shape(input_indices, None, input_shape)
        rank = new_shape.shape.with_rank(1).extents[0]
        return [TensorShape._of((entries, rank)), TensorShape._of((rank,))]

    def kernel(input_indices, input_shape, new_shape):
        shape = _full_shape(input_shape, new_shape)
        return indices_at(positions(input_indices, input_shape), shape), shape

    gradient = None


@op("SparseConcat", "indices: N * int64, values: N * T, shapes: N * int64 -> output_indices: int64, output_values: T, "
    "output_shape: int64", concat_dim=INT, N=count(2), T=TYPE)
class SparseConcat:
    """Sparse tensors put one after the other along a dimension."""

    def shape(indices, values, shapes):
        known = [entries_shape(*one) for one in zip(indices, values, shapes)]
        ranks = {rank for _, rank in known} - {None}
        if len(ranks) > 1:
            raise ValueError(f"Shapes must be equal rank, but are {' and '.join(map(str, sorted(ranks)))}")
        entries = [number for number, _ in known]
        return new_sparse(ranks.pop() if ranks else None, None if None in entries else sum(entries))

    def kernel(indices, values, shapes, concat_dim):
        rank = len(shapes[0])
        axis = concat_dim + rank if concat_dim < 0 else concat_dim
        if not 0 <= axis < rank:
            raise invalid_argument(f"Concat dimension must be in range [{-rank}, {rank}), got {concat_dim}")
        shape, shifted, start = shapes[0].copy(), [], 0
        for number, (rows, its_shape) in enumerate(zip(indices, shapes)):
            if len(its_shape) != rank or (np.delete(its_shape, axis) != np.delete(shape, axis)).any():
                raise invalid_argument(f"Input shapes must match: expected {text(shape)} for all dimensions but {axis}, got "
                                       f"{text(its_shape)} at position {number}")
            moved = rows.copy()
            moved[:, axis] += start
            shifted.append(moved)
            start += its_shape[axis]
        shape[axis] = start
        together = np.concatenate(shifted)
        order = np.argsort(positions(together, shape), kind="stable")
        return together[order], np.concatenate(values)[order], shape

    gradient = None


@op("SparseSplit", "split_dim: int64, indices: int64, values: T, shape: int64 -> output_indices: num_split * int64, "
    "output_values: num_split * T, output_shape: num_split * int64", num_split=count(1), T=TYPE)
class SparseSplit:
    """A sparse tensor cut along a dimension; the first parts are longer by one if it does not divide evenly."""

    ranks = {"split_dim": 0}

    def shape(indices, values, shape, num_split):
        _, rank = entries_shape(indices, values, shape)
        one, values_shape, dense = new_sparse(rank)
        return [one] * num_split + [values_shape] * num_split + [dense] * num_split

    def kernel(split_dim, indices, values, shape, num_split):
        axis, rank = int(split_dim), len(shape)
        axis = axis + rank if axis < 0 else axis
        if not 0 <= axis < rank:
            raise invalid_argument(f"Input split_dim should be between {-rank} and {rank - 1}, got {int(split_dim)}")
        extent = int(shape[axis])
        if not 1 <= num_split <= extent:
            raise invalid_argument(f"Input num_split should be between 1 and the splitting dimension size ({extent}), "
                                   f"got {num_split}")
        least, longer = divmod(extent, num_split)
        ends = np.cumsum([least + (part < longer) for part in range(num_split)])
        results: tuple[list, list, list] = ([], [], [])
        for start, end in zip([0, *ends[:-1]], ends):
            inside = (indices[:, axis] >= start) & (indices[:, axis] < end)
            rows, its_shape = indices[inside], shape.copy()
            rows[:, axis] -= start
            its_shape[axis] = end - start
            for part, result in zip((rows, values[inside], its_shape), results):
                result.append(part)
        return (*results[0], *results[1], *results[2])

    gradient = None


def _window(indices: np.ndarray, start: np.ndarray, size: np.ndarray) -> np.ndarray:
    return ((indices >= start) & (indices < start + size)).all(axis=1)


@op("SparseSlice", "indices: int64, values: T, shape: int64, start: int64, size: int64 -> output_indices: int64, "
    "output_values: T, output_shape: int64", T=TYPE)
class SparseSlice:
    """The entries inside a box, as a sparse tensor of the box's size."""

    ranks = {"start": 1, "size": 1}

    def shape(indices, values, shape):
        return new_sparse(entries_shape(indices, values, shape)[1])

    def kernel(indices, values, shape, start, size):
        if not len(start) == len(size) == len(shape):
            raise invalid_argument(f"Expected start and size to have {len(shape)} elements, got {len(start)} and {len(size)}")
        inside = _window(indices, start, size)
        return indices[inside] - start, values[inside], np.clip(shape - start, 0, size)

    def gradient(op, dindices, dvalues, dshape):
        indices, _, _, start, _ = op.inputs
        return [None, SparseSliceGrad(dvalues, indices, start, op.outputs[0]), None, None, None]


@op("SparseSliceGrad", "backprop_val_grad: T, input_indices: int64, input_start: int64, output_indices: int64 -> val_grad: T",
    T=NUMERIC)
class SparseSliceGrad:
    """The gradient of SparseSlice: that of each entry which is in the slice, zero for the others."""

    ranks = {"backprop_val_grad": 1, "input_indices": 2, "input_start": 1, "output_indices": 2}

    def shape(backprop_val_grad, input_indices, input_start, output_indices):
        count, rank = entries_shape(input_indices, dense_shape=input_start)
        entries_shape(output_indices, backprop_val_grad)
        output_indices.shape.assert_is_compatible_with([None, rank])
        return TensorShape._of((count,))

    def kernel(backprop_val_grad, input_indices, input_start, output_indices):
        shifted = input_indices - input_start
        grad = np.zeros(len(input_indices), backprop_val_grad.dtype)
        if len(output_indices):
            shape = np.maximum(np.abs(shifted).max(axis=0), output_indices.max(axis=0)) + 1
            candidates = np.flatnonzero((shifted >= 0).all(axis=1))
            inside = np.isin(positions(shifted[candidates], shape), positions(output_indices, shape))
            if inside.sum() != len(output_indices):
                raise invalid_argument("the entries of the slice are not those of the input, moved by its start")
            grad[candidates[inside]] = backprop_val_grad
        return grad

    gradient = None


@op("SparseFillEmptyRows", "indices: int64, values: T, dense_shape: int64, default_value: T -> output_indices: int64, "
    "output_values: T, empty_row_indicator: bool, reverse_index_map: int64", T=TYPE)
class SparseFillEmptyRows:
    """A default entry in column 0 of each row without entries; which rows those were; where each old entry went."""

    def shape(indices, values, dense_shape, default_value):
        if default_value.shape.ndims not in (0, None):
            raise ValueError(f"Shape must be rank 0 but is rank {default_value.shape.ndims}")
        entries, rank = entries_shape(indices, values, dense_shape)
        known = constant_value_as_shape(dense_shape)
        rows = known.extents[0] if known.extents else None
        return [TensorShape._of((None, rank)), unknown_shape(1), TensorShape._of((rows,)), TensorShape._of((entries,))]

    def kernel(indices, values, dense_shape, default_value):
        check_parts(indices, values, dense_shape)
        rows, rank = int(dense_shape[0]), len(dense_shape)
        bad = (indices[:, 0] < 0) | (indices[:, 0] >= rows)
        if bad.any():
            entry = int(np.argmax(bad))
            raise invalid_argument(f"indices({entry}, 0) is invalid: {indices[entry, 0]} >= {rows}")
        empty = np.bincount(indices[:, 0], minlength=rows) == 0
        added = np.zeros((int(empty.sum()), rank), np.int64)
        added[:, 0] = np.flatnonzero(empty)
        together = np.concatenate([indices, added])
        order = np.argsort(together[:, 0], kind="stable")
        filler = np.empty(len(added), values.dtype)
        filler[...] = default_value  # not fill(), which would put the array of a string into each place
        back = np.empty(len(order), np.int64)
        back[order] = np.arange(len(order))
        return together[order], np.concatenate([values, filler])[order], empty, back[:len(indices)]

    def gradient(op, dindices, dvalues, dempty, dmap):
        values, default = SparseFillEmptyRowsGrad(op.outputs[3], dvalues)
        return [None, values, None, default]


@op("SparseFillEmptyRowsGrad", "reverse_index_map: int64, grad_values: T -> d_values: T, d_default_value: T", T=TYPE)
class SparseFillEmptyRowsGrad:
    """The gradients of the entries, and, summed, of the default value of SparseFillEmptyRows."""

    ranks = {"reverse_index_map": 1, "grad_values": 1}

    def shape(reverse_index_map):
        return [reverse_index_map.shape, []]

    def kernel(reverse_index_map, grad_values):
        check_bounds(reverse_index_map[:, None], np.array([len(grad_values)]))
        filled = np.ones(len(grad_values), bool)
        filled[reverse_index_map] = False
        return grad_values[reverse_index_map], np.asarray(grad_values[filled].sum(), grad_values.dtype)

    gradient = None
