"""Ragged tensors from padded and sparse ones, and back."""
from __future__ import annotations

from typing import Any

from penstock.graph import dtypes as dt
from penstock.graph.composite import SparseTensor
from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.array.array import sequence_mask
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import zeros
from penstock.ops.array.gather import boolean_mask, gather
from penstock.ops.array.pack import concat, stack
from penstock.ops.array.permute import broadcast_to
from penstock.ops.array.select import where
from penstock.ops.array.sequences import range as sequence
from penstock.ops.array.shape_ops import expand_dims, reshape, shape
from penstock.ops.flow.checks import assert_equal
from penstock.ops.flow.misc import with_dependencies
from penstock.ops.math.compare import not_equal
from penstock.ops.math.reduce import reduce_all, reduce_any, reduce_max, reduce_prod
from penstock.ragged.partition import lengths_to_splits, longest, positions
from penstock.ragged.tensor import RaggedTensor, as_values


def from_tensor(tensor: Any, lengths: Any = None, padding: Any = None, ragged_rank: int = 1, name: str | None = None,
                row_splits_dtype: Any = dt.int64) -> RaggedTensor:
    """The rows of a tensor, without what follows their ``lengths``, or without ``padding`` at their ends."""
    if lengths is not None and padding is not None:
        raise ValueError("Specify lengths or padding, but not both")
    if not isinstance(ragged_rank, int) or ragged_rank <= 0:
        raise ValueError(f"ragged_rank must be an int greater than 0; got {ragged_rank}")
    dtype = dt.as_dtype(row_splits_dtype)
    with name_scope(name, "RaggedFromTensor", [tensor, lengths, padding]):
        tensor = to_tensor(tensor, None, "tensor")
        tensor.shape.with_rank_at_least(ragged_rank + 1)
        if isinstance(lengths, (list, tuple)) and any(isinstance(item, (list, tuple, Tensor)) and _is_vector(item) for item in lengths):
            return RaggedTensor.from_nested_row_lengths(*_trim_nested(tensor, lengths, dtype), validate=False)
        extents = shape(tensor, out_type=dtype)
        if ragged_rank > 1:
            inner = reshape(tensor, concat([reduce_prod(extents[:ragged_rank], keepdims=True), extents[ragged_rank:]], axis=0))
            result: Any = from_tensor(inner, lengths, padding, 1, row_splits_dtype=dtype)
            for axis in reversed(range(1, ragged_rank)):
                result = RaggedTensor.from_row_splits(result, sequence(reduce_prod(extents[:axis]) + 1) * extents[axis], validate=False)
            return result
        if lengths is None and padding is None:
            values = reshape(tensor, concat([reduce_prod(extents[:2], keepdims=True), extents[2:]], axis=0))
            return RaggedTensor.from_row_splits(values, sequence(extents[0] + 1) * extents[1], validate=False)
        row_lengths = _lengths_without(tensor, padding, extents) if lengths is None else cast(to_tensor(lengths, None, "lengths"), dtype)
        kept = sequence_mask(row_lengths, extents[1])
        return RaggedTensor.from_row_splits(boolean_mask(tensor, kept), lengths_to_splits(_at_most(row_lengths, extents[1])), validate=False)


def _at_most(lengths: Tensor, limit: Tensor) -> Tensor:
    return where(lengths > limit, limit + lengths * 0, where(lengths < 0, lengths * 0, lengths))


def _is_vector(item: Any) -> bool:
    return isinstance(item, (list, tuple)) or item.shape.ndims == 1


def _trim_nested(tensor: Tensor, nested_lengths: Any, dtype: Any) -> tuple[Tensor, list[Tensor]]:
    """Flat values and lengths of a tensor that is cut to its length at each of several dimensions."""
    lengths = [cast(to_tensor(item), dtype) for item in nested_lengths]
    for own in lengths:
        tensor = from_tensor(tensor, lengths=own, row_splits_dtype=dtype).values
    return tensor, lengths


def _lengths_without(tensor: Tensor, padding: Any, extents: Tensor) -> Tensor:
    """The length of each row without the padding at its end."""
    padding = to_tensor(padding, tensor.dtype.base_dtype, "padding")
    differs = not_equal(tensor, padding)
    if tensor.shape.ndims is None or tensor.shape.ndims > 2:
        differs = reduce_any(reshape(differs, concat([extents[:2], [-1]], axis=0)), axis=2)
    return reduce_max(where(differs, broadcast_to(sequence(extents[1]) + 1, extents[:2]), zeros(extents[:2], extents.dtype)), axis=1)


def to_dense(value: RaggedTensor, default_value: Any = None, name: str | None = None) -> Tensor:
    """The rows as a tensor; shorter ones are filled up with ``default_value``."""
    with name_scope(name, "RaggedToTensor"):
        if default_value is not None:
            default_value = to_tensor(default_value, value.dtype.base_dtype, "default_value")
        values = to_dense(value.values, default_value) if isinstance(value.values, RaggedTensor) else value.values
        lengths, count = value.row_lengths(), value.bounding_shape(1)
        inner = shape(values)[1:]
        empty = zeros([], value.dtype.base_dtype) if default_value is None else default_value
        padded = concat([values, expand_dims(broadcast_to(empty, inner), 0)], axis=0)
        last = cast(shape(values)[0], lengths.dtype.base_dtype)
        places = value.row_starts()[:, None] + sequence(count)[None, :]
        result = gather(padded, where(sequence_mask(lengths, count), places, last + places * 0))
        result.set_shape(value.shape)
        return result


def from_sparse(st_input: Any, name: str | None = None, row_splits_dtype: Any = dt.int64) -> RaggedTensor:
    """The entries of a SparseTensor of two dimensions whose rows have no gaps."""
    if not isinstance(st_input, SparseTensor) and not hasattr(st_input, "dense_shape"):
        raise TypeError(f"Expected SparseTensor, got {type(st_input).__name__}")
    dtype = dt.as_dtype(row_splits_dtype)
    with name_scope(name, "RaggedFromSparse"):
        sparse = st_input if isinstance(st_input, SparseTensor) else SparseTensor.from_value(st_input)
        if sparse.shape.ndims not in (None, 2):
            raise ValueError(f"rank(st_input) must be 2: it is {sparse.shape.ndims}")
        rows = cast(sparse.indices[:, 0], dtype)
        result = RaggedTensor.from_value_rowids(sparse.values, rows, cast(sparse.dense_shape[0], dtype), validate=False)
        places = cast(positions(result.row_splits, rows), dt.int64)
        check = assert_equal(reduce_all(_same(places, sparse.indices[:, 1])), to_tensor(True),
                             message="SparseTensor is not right-ragged: a row has an entry behind a gap")
        return result.with_values(with_dependencies([check], sparse.values))


def _same(x: Tensor, y: Tensor) -> Tensor:
    return (x <= y) & (x >= y)


def to_sparse(value: Any, name: str | None = None) -> SparseTensor:
    """All values with their places, as a SparseTensor."""
    with name_scope(name, "RaggedToSparse"):
        value = as_values(value)
        if not isinstance(value, RaggedTensor):
            extents = shape(value, out_type=dt.int64)
            indices = where(zeros(extents, dt.int32) < 1)
            return SparseTensor(indices, reshape(value, [-1]), extents)
        inner = to_sparse(value.values)
        outer = cast(inner.indices[:, 0], value.row_splits.dtype.base_dtype)
        rows = gather(value.value_rowids(), outer)
        columns = outer - gather(value.row_starts(), rows)
        indices = concat([cast(stack([rows, columns], axis=1), dt.int64), inner.indices[:, 1:]], axis=1)
        extents = cast(stack([value.nrows(), longest(value.row_lengths())]), dt.int64)
        return SparseTensor(indices, inner.values, concat([extents, inner.dense_shape[1:]], axis=0))
