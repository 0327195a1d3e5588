"""Arithmetic with sparse tensors: sums, products with dense tensors, the larger and smaller of two."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph import dtypes as dt
from penstock.graph.attrs import TYPE, types
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.shape import TensorShape, unknown_shape
from penstock.graph.static import constant_value_as_shape
from penstock.ops.array.broadcast_gradient import reduce_to
from penstock.ops.array.gather import gather, gather_nd
from penstock.ops.array.scatter_nd import scatter_nd
from penstock.ops.common import INDEX, NUMERIC, REAL
from penstock.ops.linalg.linalg import adjoint
from penstock.ops.math.complex import conj
from penstock.ops.math.reduce import reduce_sum
from penstock.ops.precision import widen
from penstock.ops.sparse.sparse_kernels import (
    check_bounds,
    check_parts,
    entries_shape,
    indices_at,
    new_sparse,
    positions,
    text,
    union,
)

_SPARSE_PAIR = "a_indices: int64, a_values: T, a_shape: int64, b_indices: int64, b_values: T, b_shape: int64"


# --- products with a dense matrix ------------------------------------------------------------------------------------

@op("SparseTensorDenseMatMul", "a_indices: Tindices, a_values: T, a_shape: int64, b: T -> product: T", T=TYPE,
    Tindices=types(dt.int32, dt.int64, default=dt.int64), adjoint_a=False, adjoint_b=False)
class SparseTensorDenseMatMul:
    """The product of a sparse and a dense matrix."""

    ranks = {"a_shape": 1}

    def shape(a_indices, a_values, a_shape, b, adjoint_a, adjoint_b):
        entries_shape(a_indices, a_values)
        rows, inner = constant_value_as_shape(a_shape).with_rank(2).extents
        left, columns = b.shape.with_rank(2).extents
        if adjoint_a:
            rows, inner = inner, rows
        if adjoint_b:
            left, columns = columns, left
        if inner is not None and left is not None and inner != left:
            raise ValueError(f"Dimensions must be equal, but are {inner} and {left}")
        return TensorShape._of((rows, columns))

    def kernel(a_indices, a_values, a_shape, b, adjoint_a, adjoint_b):
        from scipy.sparse import csr_array  # slow to import
        check_parts(a_indices, a_values, a_shape)
        if len(a_shape) != 2 or b.ndim != 2:
            raise invalid_argument(f"Tensors 'a_shape' and 'b' must describe matrices, got {text(a_shape)} and {text(b.shape)}")
        inner, left = a_shape[0 if adjoint_a else 1], b.shape[1 if adjoint_b else 0]
        if inner != left:
            raise invalid_argument(f"Cannot multiply A and B because inner dimension does not match: {inner} vs. {left}.  Did "
                                   "you forget a transpose?  Dimensions of A: "
                                   f"[{a_shape[0]}, {a_shape[1]}).  Dimensions of B: {text(b.shape)}")
        for column, letter in enumerate("km" if adjoint_a else "mk"):
            bad = (a_indices[:, column] < 0) | (a_indices[:, column] >= a_shape[column])
            if bad.any():
                entry = int(np.argmax(bad))
                raise invalid_argument(f"{letter} ({a_indices[entry, column]}) from index[{entry},{column}] out of bounds "
                                       f"(>={a_shape[column]})")
        matrix = csr_array((widen(a_values), (a_indices[:, 0], a_indices[:, 1])), shape=tuple(map(int, a_shape)))
        matrix, dense = matrix.conj().T if adjoint_a else matrix, np.conj(b.T) if adjoint_b else b
        return np.ascontiguousarray(matrix @ widen(dense)).astype(b.dtype, copy=False)

    def native(emit, a_indices, a_values, a_shape, b, adjoint_a, adjoint_b):
        dense = emit.move.view(np.transpose, b) if adjoint_b else b
        return emit.index.sparse_product(a_indices, a_values, emit.known(a_shape).tolist(), dense, adjoint_a)

    def gradient(op, dy):
        indices, values, dense_shape, b = op.inputs
        adjoint_a, adjoint_b = op.attrs["adjoint_a"], op.attrs["adjoint_b"]
        grad_b = SparseTensorDenseMatMul(indices, values, dense_shape, dy, adjoint_a=not adjoint_a)
        grad_b = adjoint(grad_b) if adjoint_b else grad_b
        rows, columns = indices[:, 0], indices[:, 1]
        right = adjoint(b) if adjoint_b else b
        left = gather(dy, columns if adjoint_a else rows)
        right = conj(gather(right, rows if adjoint_a else columns))
        grad = reduce_sum(left * right, 1)
        return [None, conj(grad) if adjoint_a else grad, None, grad_b]


# --- sums ------------------------------------------------------------------------------------------------------------

@op("SparseAdd", _SPARSE_PAIR + ", thresh: Treal -> sum_indices: int64, sum_values: T, sum_shape: int64", T=NUMERIC, Treal=REAL)
class SparseAdd:
    """The sum of two sparse tensors; where both have an entry, sums that are smaller than ``thresh`` are left out."""

    ranks = {"thresh": 0}

    def shape(a_indices, a_values, a_shape, b_indices, b_values, b_shape):
        rank = entries_shape(a_indices, a_values, a_shape)[1]
        other = entries_shape(b_indices, b_values, b_shape)[1]
        return new_sparse(other if rank is None else rank)

    def kernel(a_indices, a_values, a_shape, b_indices, b_values, b_shape, thresh):
        _check_same_shape(a_shape, b_shape)
        together, to_a, to_b = union(positions(a_indices, a_shape), positions(b_indices, b_shape))
        total = np.zeros(len(together), a_values.dtype)
        total[to_a] = a_values
        total[to_b] += b_values
        kept = np.ones(len(together), bool)
        both = np.intersect1d(to_a, to_b)  # single entries stay, however small they are
        kept[both] = np.abs(total[both]) >= thresh
        return indices_at(together[kept], a_shape), total[kept], a_shape.copy()

    def gradient(op, dindices, dvalues, dshape):
        a, b = SparseAddGrad(dvalues, op.inputs[0], op.inputs[3], op.outputs[0])
        return [None, a, None, None, b, None, None]


def _check_same_shape(a: np.ndarray, b: np.ndarray) -> None:
    if len(a) != len(b):
        raise invalid_argument(f"Ranks of input tensors must match, but saw ranks: {len(a)} and {len(b)}")
    if (a != b).any():
        axis = int(np.argmax(a != b))
        raise invalid_argument(f"Input shapes must match: got {a[axis]} and {b[axis]} for dimension {axis}")


@op("SparseAddGrad", "backprop_val_grad: T, a_indices: int64, b_indices: int64, sum_indices: int64 -> a_val_grad: T, "
    "b_val_grad: T", T=NUMERIC)
class SparseAddGrad:
    """The gradients of the entries of both operands of SparseAdd."""

    ranks = {"backprop_val_grad": 1, "a_indices": 2, "b_indices": 2, "sum_indices": 2}

    def shape(backprop_val_grad, a_indices, b_indices, sum_indices):
        entries_shape(sum_indices, backprop_val_grad)
        rank = a_indices.shape[1].merge_with(b_indices.shape[1])
        rank.merge_with(sum_indices.shape[1])
        return [TensorShape._of((entries_shape(indices)[0],)) for indices in (a_indices, b_indices)]

    def kernel(backprop_val_grad, a_indices, b_indices, sum_indices):
        extent = np.concatenate([a_indices, b_indices, sum_indices, np.zeros((1, a_indices.shape[1]), np.int64)]).max(axis=0) + 1
        total = positions(sum_indices, extent)
        return tuple(_values_at(positions(rows, extent), total, backprop_val_grad) for rows in (a_indices, b_indices))

    gradient = None


def _values_at(wanted: np.ndarray, keys: np.ndarray, values: np.ndarray) -> np.ndarray:
    """``values`` at the positions that are among the sorted ``keys``, zeros at the others."""
    result = np.zeros(len(wanted), values.dtype)
    if len(keys):
        slot = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        hit = keys[slot] == wanted
        result[hit] = values[slot[hit]]
    return result


@op("SparseTensorDenseAdd", "a_indices: Tindices, a_values: T, a_shape: Tindices, b: T -> output: T", T=NUMERIC, Tindices=INDEX)
class SparseTensorDenseAdd:
    """The sum of a sparse and a dense tensor of the same shape."""

    def shape(a_indices, a_values, a_shape, b):
        entries_shape(a_indices, a_values, a_shape)
        return b.shape.merge_with(constant_value_as_shape(a_shape))

    def kernel(a_indices, a_values, a_shape, b):
        _check_same_shape(np.asarray(a_shape), np.array(b.shape, np.asarray(a_shape).dtype))
        result = b.copy()
        np.add.at(result.reshape(-1), positions(a_indices, a_shape), a_values)
        return result

    def gradient(op, dy):
        return [None, gather_nd(dy, op.inputs[0]), None, dy]


# --- sparse with dense, elementwise ----------------------------------------------------------------------------------

def _dense_at_entries(sp_indices: np.ndarray, sp_values: np.ndarray, sp_shape: np.ndarray, dense: np.ndarray) -> np.ndarray:
    """The elements of ``dense``, broadcast to the shape of the sparse tensor, at its entries."""
    check_parts(sp_indices, sp_values, sp_shape)
    check_bounds(sp_indices, sp_shape)
    target = tuple(int(extent) for extent in sp_shape)
    try:
        spread = np.broadcast_to(dense, target)
    except ValueError:
        raise invalid_argument("SparseDenseBinaryOpShared broadcasts dense to sparse only; got incompatible shapes: "
                               f"{text(target)} vs. {text(np.shape(dense))}") from None
    return spread[tuple(sp_indices.T)]


_CWISE = "sp_indices: int64, sp_values: T, sp_shape: int64, dense: T -> output: T"


def _dense_gradient(op: Any, entries: Tensor) -> Tensor:
    """Gradients at the entries of the sparse operand, gathered into the (broadcast) dense operand."""
    indices, _, sp_shape, dense = op.inputs
    full = scatter_nd(indices, entries, sp_shape)
    full.set_shape(constant_value_as_shape(sp_shape))
    return reduce_to(full, dense)


def values_shape(sp_indices: Tensor, sp_values: Tensor, sp_shape: Tensor) -> TensorShape:
    """A shape function: one element per entry of the sparse operand."""
    return TensorShape._of((entries_shape(sp_indices, sp_values, sp_shape)[0],))


@op("SparseDenseCwiseMul", _CWISE, T=NUMERIC)
class SparseDenseCwiseMul:
    """The entries of a sparse tensor times the elements of a dense one, which is broadcast to it."""

    shape = values_shape

    def kernel(sp_indices, sp_values, sp_shape, dense):
        return sp_values * _dense_at_entries(sp_indices, sp_values, sp_shape, dense)

    def gradient(op, dy):
        indices, values, sp_shape, dense = op.inputs
        return [None, SparseDenseCwiseMul(indices, dy, sp_shape, dense), None, _dense_gradient(op, dy * values)]


@op("SparseDenseCwiseDiv", _CWISE, T=NUMERIC)
class SparseDenseCwiseDiv:
    """The entries of a sparse tensor divided by the elements of a dense one, which is broadcast to it."""

    shape = values_shape

    def kernel(sp_indices, sp_values, sp_shape, dense):
        divisor = _dense_at_entries(sp_indices, sp_values, sp_shape, dense)
        if np.issubdtype(sp_values.dtype, np.integer):
            if not divisor.all():
                raise invalid_argument("Integer division by zero")
            return (sp_values / divisor).astype(sp_values.dtype)
        with np.errstate(all="ignore"):
            return sp_values / divisor

    def gradient(op, dy):
        indices, values, sp_shape, dense = op.inputs
        grad = SparseDenseCwiseDiv(indices, dy, sp_shape, dense)
        quotient = SparseDenseCwiseDiv(indices, values, sp_shape, dense)
        return [None, grad, None, _dense_gradient(op, -grad * quotient)]


@op("SparseDenseCwiseAdd", _CWISE, T=NUMERIC)
class SparseDenseCwiseAdd:
    """The entries of a sparse tensor plus the elements of a dense one, which is broadcast to it."""

    shape = values_shape

    def kernel(sp_indices, sp_values, sp_shape, dense):
        return sp_values + _dense_at_entries(sp_indices, sp_values, sp_shape, dense)

    def gradient(op, dy):
        return [None, dy, None, _dense_gradient(op, dy)]


# --- the larger, the smaller of two ----------------------------------------------------------------------------------

def _pair_shape(a_indices: Tensor, a_values: Tensor, a_shape: Tensor, b_indices: Tensor, b_values: Tensor, b_shape: Tensor) -> list[TensorShape]:
    entries_shape(a_indices, a_values, a_shape)
    entries_shape(b_indices, b_values, b_shape)
    return [unknown_shape(2), unknown_shape(1)]


def _pairwise(ufunc: Any, a_indices: Any, a_values: Any, a_shape: Any, b_indices: Any, b_values: Any, b_shape: Any) -> Any:
    """``ufunc`` of two sparse tensors, a missing entry being 0; the result has the entries of both."""
    if len(a_shape) != len(b_shape):
        raise invalid_argument(f"Operands do not have the same ranks; got shapes: {' '.join(map(str, a_shape))} and {' '.join(map(str, b_shape))}")
    for axis in np.flatnonzero(a_shape != b_shape):
        raise invalid_argument(f"Operands' shapes do not match: got {a_shape[axis]} and {b_shape[axis]} for dimension {axis}")
    together, to_a, to_b = union(positions(a_indices, a_shape), positions(b_indices, b_shape))
    left, right = np.zeros(len(together), a_values.dtype), np.zeros(len(together), a_values.dtype)
    left[to_a], right[to_b] = a_values, b_values
    return indices_at(together, a_shape), ufunc(left, right)


@op("SparseSparseMaximum", _SPARSE_PAIR + " -> output_indices: int64, output_values: T", T=REAL)
class SparseSparseMaximum:
    """The larger of the elements of two sparse tensors."""

    ranks = {"b_indices": 2, "b_values": 1, "b_shape": 1}
    shape = _pair_shape

    def kernel(a_indices, a_values, a_shape, b_indices, b_values, b_shape):
        return _pairwise(np.maximum, a_indices, a_values, a_shape, b_indices, b_values, b_shape)

    gradient = None


@op("SparseSparseMinimum", _SPARSE_PAIR + " -> output_indices: int64, output_values: T", T=NUMERIC)
class SparseSparseMinimum:
    """The smaller of the elements of two sparse tensors."""

    ranks = {"b_indices": 2, "b_values": 1, "b_shape": 1}
    shape = _pair_shape

    def kernel(a_indices, a_values, a_shape, b_indices, b_values, b_shape):
        return _pairwise(np.minimum, a_indices, a_values, a_shape, b_indices, b_values, b_shape)

    gradient = None
