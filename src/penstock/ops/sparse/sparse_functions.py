"""The ``tf.sparse_*`` functions: the same ops, on SparseTensors instead of their three parts."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.graph import dtypes as dt
from penstock.graph.composite import IndexedSlices, SparseTensor, SparseTensorValue
from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.graph.scopes import name_scope
from penstock.graph.shape import as_shape
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import ones, ones_like, zeros
from penstock.ops.array.gather import gather, gather_nd
from penstock.ops.array.pack import concat, stack
from penstock.ops.array.select import where
from penstock.ops.array.sequences import range as range_op
from penstock.ops.array.shape_ops import expand_dims, reshape, size
from penstock.ops.array.shape_ops import shape as shape_op
from penstock.ops.array.unique import setdiff1d
from penstock.ops.constant import constant, identity, placeholder
from penstock.ops.linalg.linalg import adjoint
from penstock.ops.math.compare import not_equal
from penstock.ops.math.division import operands_of_true_division
from penstock.ops.math.elementwise import maximum
from penstock.ops.math.reduce import reduce_max
from penstock.ops.sparse.sparse import (
    SparseConcat,
    SparseFillEmptyRows,
    SparseReorder,
    SparseReshape,
    SparseSlice,
    SparseSplit,
    SparseToDense,
    as_sparse,
    parts,
)
from penstock.ops.sparse.sparse_math import (
    SparseAdd,
    SparseDenseCwiseDiv,
    SparseDenseCwiseMul,
    SparseSparseMaximum,
    SparseSparseMinimum,
    SparseTensorDenseAdd,
    SparseTensorDenseMatMul,
)
from penstock.ops.sparse.sparse_reduce import SparseReduceMax, SparseReduceMaxSparse, SparseReduceSum, SparseReduceSumSparse, SparseSoftmax
from penstock.platform.deprecation import older_argument

# --- making and converting -------------------------------------------------------------------------------------------

def sparse_placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> SparseTensor:
    """``tf.sparse_placeholder``: a SparseTensor that must be fed; a fully known shape need not be."""
    part = lambda what: None if name is None else f"{name}/{what}"
    if isinstance(shape, (list, tuple)):
        shape = [None if isinstance(extent, int) and extent == -1 else extent for extent in shape]
    known = as_shape(shape) if not isinstance(shape, Tensor) else None
    rank = known.ndims if known is not None else shape.shape.as_list()[0]
    if isinstance(shape, Tensor):
        dense_shape = cast(shape, dt.int64)
    elif known is not None and known.is_fully_defined():
        dense_shape = constant(np.array(known.as_list(), np.int64), name=part("shape") or "Const")
    else:
        dense_shape = placeholder(dt.int64, [rank], part("shape"))
    values = placeholder(dtype, [None], part("values"))
    return SparseTensor(placeholder(dt.int64, [None, rank], part("indices")), values, dense_shape)


def sparse_to_dense(sparse_indices: Any, output_shape: Any, sparse_values: Any, default_value: Any = 0,
                    validate_indices: bool = True, name: str | None = None) -> Tensor:
    """``tf.sparse_to_dense``: a dense tensor with values at indices and a default everywhere else."""
    values = to_tensor(sparse_values)
    if not isinstance(default_value, Tensor):
        default_value = to_tensor(default_value, values.dtype.base_dtype)
    return SparseToDense(sparse_indices, output_shape, values, default_value, validate_indices=validate_indices, name=name)


def sparse_tensor_to_dense(sp_input: Any, default_value: Any = None, validate_indices: bool = True,
                           name: str | None = None) -> Tensor:
    """``tf.sparse_tensor_to_dense``: the dense tensor, with ``default_value`` where there is no entry."""
    sparse = as_sparse(sp_input)
    if default_value is None:
        default_value = zeros([], sparse.dtype.base_dtype)
    return sparse_to_dense(sparse.indices, sparse.dense_shape, sparse.values, default_value, validate_indices, name)


def sparse_to_indicator(sp_input: Any, vocab_size: Any, name: str | None = None) -> Tensor:
    """``tf.sparse_to_indicator``: a bool tensor that is True at the ids of each row."""
    sparse = as_sparse(sp_input)
    with name_scope(name, "SparseToIndicator", [sparse.values]) as scope:
        ids = SparseTensor(sparse.indices, ones_like(sparse.values, dtype=dt.bool_), sparse.dense_shape)
        merged = sparse_merge(sparse, ids, vocab_size)
        return sparse_tensor_to_dense(merged, False, validate_indices=False, name=scope)


def from_dense(tensor: Any, name: str | None = None) -> SparseTensor:
    """``tf.sparse.from_dense``: the elements that are not zero."""
    with name_scope(name, "dense_to_sparse", [tensor]):
        tensor = to_tensor(tensor)
        zero = b"" if tensor.dtype.base_dtype is dt.string else 0
        indices = where(not_equal(tensor, to_tensor(zero, tensor.dtype.base_dtype)))
        return SparseTensor(indices, gather_nd(tensor, indices), shape_op(tensor, out_type=dt.int64))


def sparse_eye(num_rows: Any, num_columns: Any = None, dtype: Any = dt.float32, name: str | None = None) -> SparseTensor:
    """``tf.sparse.eye``: an identity matrix."""
    with name_scope(name, "eye", [num_rows, num_columns]):
        rows = cast(num_rows, dt.int64)
        columns = rows if num_columns is None else cast(num_columns, dt.int64)
        diagonal = range_op(-maximum(-rows, -columns), dtype=dt.int64)
        values = ones(shape_op(diagonal), dtype)
        return SparseTensor(stack([diagonal, diagonal], axis=1), values, [rows, columns])


# --- moving entries --------------------------------------------------------------------------------------------------

def sparse_reorder(sp_input: Any, name: str | None = None) -> SparseTensor:
    """``tf.sparse_reorder``: the entries in row-major order."""
    sparse = as_sparse(sp_input)
    indices, values = SparseReorder(*parts(sparse), name=name)
    return SparseTensor(indices, values, _known_shape(sparse))


def _known_shape(sparse: SparseTensor) -> Any:
    """The dense shape: as a constant where it is known while building."""
    known = sparse.shape
    return np.array(known.as_list(), np.int64) if known.is_fully_defined() else identity(sparse.dense_shape)


def sparse_reshape(sp_input: Any, shape: Any, name: str | None = None) -> SparseTensor:
    """``tf.sparse_reshape``: the same entries in row-major order, in a tensor of another shape."""
    sparse = as_sparse(sp_input)
    new_shape = cast(to_tensor(shape), dt.int64)
    with name_scope(name, "SparseReshape", [sparse.indices]) as scope:
        indices, dense_shape = SparseReshape(sparse.indices, sparse.dense_shape, new_shape, name=scope)
        return SparseTensor(indices, identity(sparse.values), _reshaped_shape(sparse, shape, dense_shape))


def _reshaped_shape(sparse: SparseTensor, shape: Any, dense_shape: Tensor) -> Any:
    """The new dense shape: a constant where both shapes are known while building."""
    old, given = sparse.shape.num_elements(), list(shape) if isinstance(shape, (list, tuple)) else None
    if old is None or given is None or any(isinstance(extent, Tensor) for extent in given):
        return dense_shape
    wanted = [int(extent) for extent in given]
    if wanted.count(-1) > 1:
        raise ValueError(f"At most one dimension can be inferred (-1). Found: {wanted}")
    known = int(np.prod([extent for extent in wanted if extent != -1]))
    if -1 in wanted and known and old % known == 0:
        wanted[wanted.index(-1)] = old // known
    if int(np.prod(wanted)) != old:
        raise ValueError(f"Cannot reshape a tensor with {old} elements to shape {wanted} ({int(np.prod(wanted))} elements).")
    return constant(np.array(wanted, np.int64))


def sparse_concat(axis: Any = None, sp_inputs: Any = None, name: str | None = None, expand_nonconcat_dim: bool = False,
                  concat_dim: Any = None, expand_nonconcat_dims: Any = None) -> SparseTensor:
    """``tf.sparse_concat``: sparse tensors one after the other; with ``expand_nonconcat_dim`` shorter ones are padded."""
    axis = older_argument("axis", axis, "concat_dim", concat_dim)
    inputs = [as_sparse(sparse) for sparse in sp_inputs]
    if len(inputs) == 1:
        return inputs[0]
    shapes = [sparse.dense_shape for sparse in inputs]
    expand = expand_nonconcat_dim or expand_nonconcat_dims
    if expand:
        largest = reduce_max(stack(shapes), 0)
        rank = inputs[0].shape.ndims
        mask = np.eye(rank, dtype=np.int64)[axis]
        shapes = [shape * mask + largest * (1 - mask) for shape in shapes]
    indices, values, dense_shape = SparseConcat([sparse.indices for sparse in inputs], [sparse.values for sparse in inputs], shapes,
                                                concat_dim=axis, name=name)
    known = [sparse.shape for sparse in inputs]
    if not expand and all(shape.is_fully_defined() and shape.ndims == known[0].ndims for shape in known):
        total = known[0].as_list()
        total[axis] = sum(shape.as_list()[axis] for shape in known)
        dense_shape = constant(np.array(total, np.int64))
    return SparseTensor(indices, values, dense_shape)


def sparse_split(keyword_required: Any = None, sp_input: Any = None, num_split: int | None = None, axis: Any = None,
                 name: str | None = None, split_dim: Any = None) -> list[SparseTensor]:
    """``tf.sparse_split``: parts along an axis, the first ones longer by one if it does not divide evenly."""
    if keyword_required is not None:
        raise ValueError("Keyword arguments are required for this function.")
    for argument, value in (("sp_input", sp_input), ("num_split", num_split)):
        if value is None:
            raise ValueError(f"{argument} is required")
    axis = older_argument("axis", axis, "split_dim", split_dim)
    if axis is None:
        raise ValueError("axis is required")
    indices, values, shapes = SparseSplit(axis, *parts(as_sparse(sp_input)), num_split=num_split, name=name)
    return [SparseTensor(*one) for one in zip(indices, values, shapes)]


def sparse_slice(sp_input: Any, start: Any, size: Any, name: str | None = None) -> SparseTensor:
    """``tf.sparse_slice``: the entries inside a box."""
    start, size = to_tensor(start, dt.int64), to_tensor(size, dt.int64)
    with name_scope(name, "SparseSlice", [sp_input.indices]) as scope:
        return SparseTensor(*SparseSlice(*parts(as_sparse(sp_input)), start, size, name=scope))


def sparse_fill_empty_rows(sp_input: Any, default_value: Any, name: str | None = None) -> tuple[SparseTensor, Tensor]:
    """``tf.sparse_fill_empty_rows``: (with a default entry in each empty row, which rows were empty)."""
    sparse = as_sparse(sp_input)
    with name_scope(name, "SparseFillEmptyRows", [sparse.indices]):
        default_value = to_tensor(default_value, sparse.dtype.base_dtype)
        indices, values, empty, _ = SparseFillEmptyRows(*parts(sparse), default_value)
        return SparseTensor(indices, values, sparse.dense_shape), empty


def sparse_retain(sp_input: Any, to_retain: Any) -> SparseTensor:
    """``tf.sparse_retain``: the entries where a bool vector is True."""
    sparse = as_sparse(sp_input)
    to_retain = to_tensor(to_retain)
    sparse.values.shape[0].merge_with(to_retain.shape.with_rank(1)[0])
    kept = reshape(where(to_retain), [-1])
    return SparseTensor(gather(sparse.indices, kept), gather(sparse.values, kept), identity(sparse.dense_shape))


def sparse_merge(sp_ids: Any, sp_values: Any, vocab_size: Any, name: str | None = None,
                 already_sorted: bool = False) -> SparseTensor:
    """``tf.sparse_merge``: values at the ids of each row: the last index is replaced by the id."""
    several = isinstance(sp_ids, (list, tuple)) and not isinstance(sp_ids, SparseTensorValue)
    ids = [as_sparse(one) for one in (sp_ids if several else [sp_ids])]
    sizes = list(vocab_size) if isinstance(vocab_size, (list, tuple)) else [vocab_size]
    if len(ids) != len(sizes):
        raise ValueError(f"sp_ids and vocab_size have to have equal lengths, got {len(ids)} and {len(sizes)}.")
    values = as_sparse(sp_values)
    with name_scope(name, "SparseMerge", [ids[0].values, values.values]):
        columns = [expand_dims(cast(one.values, dt.int64), 1) for one in ids]
        extents = [cast(to_tensor(extent), dt.int64) for extent in sizes]
        indices = concat([ids[0].indices[:, :-1], *columns], 1)
        dense_shape = concat([ids[0].dense_shape[:-1], stack(extents)], 0)
        result = SparseTensor(indices, values.values, dense_shape)
        if already_sorted:
            return result
        ordered = sparse_reorder(result)
        return SparseTensor(ordered.indices, ordered.values, dense_shape)


def sparse_transpose(sp_input: Any, perm: Any = None, name: str | None = None) -> SparseTensor:
    """``tf.sparse_transpose``: the axes in another order, reversed without ``perm``."""
    sparse = as_sparse(sp_input)
    with name_scope(name, "SparseTranspose", [sparse.indices]):
        if perm is None:
            rank = size(sparse.dense_shape)
            perm = rank - 1 - range_op(rank)
        moved = SparseTensor(gather(sparse.indices, perm, axis=1), sparse.values, gather(sparse.dense_shape, perm))
        return sparse_reorder(moved)


def sparse_expand_dims(sp_input: Any, axis: Any = None, name: str | None = None) -> SparseTensor:
    """``tf.sparse.expand_dims``: with an axis of extent 1 more."""
    sparse = as_sparse(sp_input)
    rank = sparse.dense_shape.shape.as_list()[0]
    axis = -1 if axis is None else axis
    axis = axis + rank + 1 if axis < 0 else axis
    with name_scope(name, "expand_dims", [sparse.indices]):
        column = expand_dims(sparse.indices[:, 0] * 0, 1) if rank else zeros([1, 1], dt.int64)
        indices = concat([sparse.indices[:, :axis], column, sparse.indices[:, axis:]], 1)
        dense_shape = concat([sparse.dense_shape[:axis], np.ones(1, np.int64), sparse.dense_shape[axis:]], 0)
        return SparseTensor(indices, sparse.values, dense_shape)


def sparse_mask(a: IndexedSlices, mask_indices: Any, name: str | None = None) -> IndexedSlices:
    """``tf.sparse_mask``: IndexedSlices without the slices at ``mask_indices``."""
    with name_scope(name, "sparse_mask", [a.values, mask_indices]) as scope:
        kept, where_kept = setdiff1d(a.indices, mask_indices)
        return IndexedSlices(gather(a.values, where_kept, name=scope), kept, a.dense_shape)


# --- arithmetic ------------------------------------------------------------------------------------------------------

def sparse_tensor_dense_matmul(sp_a: Any, b: Any, adjoint_a: bool = False, adjoint_b: bool = False,
                               name: str | None = None) -> Tensor:
    """``tf.sparse_tensor_dense_matmul``: a sparse times a dense matrix; also dense times sparse."""
    if isinstance(b, SparseTensor) or hasattr(b, "dense_shape"):
        sparse = as_sparse(b)
        with name_scope(name, "SparseTensorDenseMatMul", [sparse.indices, sp_a]):
            product = SparseTensorDenseMatMul(*parts(sparse), sp_a, adjoint_a=not adjoint_b, adjoint_b=not adjoint_a)
            return adjoint(product)
    sparse = as_sparse(sp_a)
    with name_scope(name, "SparseTensorDenseMatMul", [sparse.indices, b]):
        b = to_tensor(b, sparse.dtype.base_dtype, "b")
        return SparseTensorDenseMatMul(*parts(sparse), b, adjoint_a=adjoint_a, adjoint_b=adjoint_b)


def sparse_add(a: Any, b: Any, threshold: Any = None, thresh: Any = None) -> Any:
    """``tf.sparse_add``: the sum of two sparse tensors (a SparseTensor), or of a sparse and a dense one (a Tensor)."""
    sparse = [hasattr(value, "dense_shape") for value in (a, b)]
    if not any(sparse):
        raise TypeError("At least one input should be SparseTensor; do you mean to use tf.add()?")
    if not all(sparse):
        one, dense = (as_sparse(a), b) if sparse[0] else (as_sparse(b), a)
        return SparseTensorDenseAdd(*parts(one), dense)
    threshold = thresh if threshold is None else threshold
    a, b = as_sparse(a), as_sparse(b)
    limit = to_tensor(0 if threshold is None else threshold, a.dtype.real_dtype.base_dtype, "threshold")
    indices, values, dense_shape = SparseAdd(*parts(a), *parts(b), limit)
    known = a.shape
    known.assert_is_compatible_with(b.shape)
    return SparseTensor(indices, values, np.array(known.as_list(), np.int64) if known.is_fully_defined() else dense_shape)


def _keep(keepdims: Any, keep_dims: Any) -> bool:
    return bool(older_argument("keepdims", keepdims, "keep_dims", keep_dims))


def _axes(sparse: SparseTensor, axis: Any, reduction_axes: Any) -> Any:
    axis = older_argument("axis", axis, "reduction_axes", reduction_axes)
    if axis is not None:
        return axis
    rank = sparse.dense_shape.shape.extents[0]
    return range_op(size(sparse.dense_shape)) if rank is None else np.arange(rank, dtype=np.int32)


def sparse_reduce_sum(sp_input: Any, axis: Any = None, keepdims: Any = None, reduction_axes: Any = None,
                      keep_dims: Any = None) -> Tensor:
    """``tf.sparse_reduce_sum``: sums over axes, as a dense tensor."""
    sparse = as_sparse(sp_input)
    return SparseReduceSum(*parts(sparse), _axes(sparse, axis, reduction_axes), keep_dims=_keep(keepdims, keep_dims))


def sparse_reduce_max(sp_input: Any, axis: Any = None, keepdims: Any = None, reduction_axes: Any = None,
                      keep_dims: Any = None) -> Tensor:
    """``tf.sparse_reduce_max``: the largest entries over axes, as a dense tensor."""
    sparse = as_sparse(sp_input)
    return SparseReduceMax(*parts(sparse), _axes(sparse, axis, reduction_axes), keep_dims=_keep(keepdims, keep_dims))


def sparse_reduce_sum_sparse(sp_input: Any, axis: Any = None, keepdims: Any = None, reduction_axes: Any = None,
                             keep_dims: Any = None) -> SparseTensor:
    """``tf.sparse_reduce_sum_sparse``: sums over axes, as a SparseTensor."""
    sparse = as_sparse(sp_input)
    return SparseTensor(*SparseReduceSumSparse(*parts(sparse), _axes(sparse, axis, reduction_axes),
                                               keep_dims=_keep(keepdims, keep_dims)))


def sparse_reduce_max_sparse(sp_input: Any, axis: Any = None, keepdims: Any = None, reduction_axes: Any = None,
                             keep_dims: Any = None) -> SparseTensor:
    """``tf.sparse_reduce_max_sparse``: the largest entries over axes, as a SparseTensor."""
    sparse = as_sparse(sp_input)
    return SparseTensor(*SparseReduceMaxSparse(*parts(sparse), _axes(sparse, axis, reduction_axes),
                                               keep_dims=_keep(keepdims, keep_dims)))


def sparse_softmax(sp_input: Any, name: str | None = None) -> SparseTensor:
    """``tf.sparse_softmax``: the softmax over the entries of each row."""
    sparse = as_sparse(sp_input)
    with name_scope(name, "SparseSoftmax", [sparse.indices, sparse.values]):
        return SparseTensor(sparse.indices, SparseSoftmax(*parts(sparse)), sparse.dense_shape)


def sparse_maximum(sp_a: Any, sp_b: Any, name: str | None = None) -> SparseTensor:
    """``tf.sparse_maximum``: the larger elements of two sparse tensors."""
    a, b = as_sparse(sp_a), as_sparse(sp_b)
    return SparseTensor(*SparseSparseMaximum(*parts(a), *parts(b), name=name or "SparseSparseMaximum"), a.dense_shape)


def sparse_minimum(sp_a: Any, sp_b: Any, name: str | None = None) -> SparseTensor:
    """``tf.sparse_minimum``: the smaller elements of two sparse tensors."""
    a, b = as_sparse(sp_a), as_sparse(sp_b)
    return SparseTensor(*SparseSparseMinimum(*parts(a), *parts(b), name=name or "SparseSparseMinimum"), a.dense_shape)


def _cwise(definition: Any, default_name: str) -> Any:
    def operator(sparse: SparseTensor, dense: Any) -> SparseTensor:
        dense = to_tensor(dense, sparse.dtype.base_dtype, "y")
        return SparseTensor(sparse.indices, definition(*parts(sparse), dense, name=default_name), sparse.dense_shape)
    return operator


def _true_division(sparse: SparseTensor, dense: Any) -> SparseTensor:
    """Integers are divided as floats."""
    dense = to_tensor(dense, sparse.dtype.base_dtype, "y")
    with name_scope(None, "truediv", [*parts(sparse), dense]) as name:
        values, dense = operands_of_true_division(sparse.values, dense)
        quotients = SparseDenseCwiseDiv(sparse.indices, values, sparse.dense_shape, dense, name=name)
    return SparseTensor(sparse.indices, quotients, sparse.dense_shape)


SparseTensor.__mul__ = _cwise(SparseDenseCwiseMul, "mul")  # type: ignore[attr-defined]
SparseTensor.__div__ = _cwise(SparseDenseCwiseDiv, "div")  # type: ignore[attr-defined]
SparseTensor.__truediv__ = _true_division  # type: ignore[attr-defined]
