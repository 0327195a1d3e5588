"""Rows of ragged tensors by their numbers: gather and its kin, on which indexing, repetition and concatenation rest."""
from __future__ import annotations

from typing import Any

from penstock.graph import dtypes as dt
from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import fill
from penstock.ops.array.gather import batch_gather as dense_batch_gather
from penstock.ops.array.gather import gather as dense_gather
from penstock.ops.array.gather import gather_nd as dense_gather_nd
from penstock.ops.array.pack import concat
from penstock.ops.array.shape_ops import reshape, shape
from penstock.ops.math.reduce import reduce_prod
from penstock.ragged.conversion import from_tensor
from penstock.ragged.partition import ranges
from penstock.ragged.tensor import RaggedTensor, as_values


def rows(params: Any, indices: Tensor) -> Any:
    """The rows of ``params`` with the numbers of a vector, in that order."""
    if not isinstance(params, RaggedTensor):
        return dense_gather(params, indices)
    starts = dense_gather(params.row_starts(), indices)
    return row_pieces(params.values, starts, dense_gather(params.row_lengths(), indices))


def row_pieces(values: Any, starts: Tensor, lengths: Tensor, step: Any = 1) -> RaggedTensor:
    """A RaggedTensor whose row i is ``values[starts[i]]``, ``values[starts[i] + step]``, ... of ``lengths[i]`` values."""
    places, splits = ranges(starts, lengths, step)
    return RaggedTensor(rows(values, places), splits, internal=True)


def gather(params: Any, indices: Any, validate_indices: Any = None, axis: Any = 0, batch_dims: int = 0, name: str | None = None) -> Any:
    """``tf.gather`` of ragged params or indices; of the first axis, or of one below it in each row (``batch_dims``)."""
    with name_scope(name, "RaggedGather"):
        params, indices = as_values(params), as_values(indices)
        axis = batch_dims if axis is None else axis
        if batch_dims == 1 and axis == 1:
            return batch_gather(params, indices)
        if axis != 0 or batch_dims != 0:
            raise ValueError("tf.gather of ragged tensors supports axis=0, and axis=1 with batch_dims=1; "
                             f"not axis={axis} with batch_dims={batch_dims}.")
        if isinstance(indices, RaggedTensor):
            return indices.with_values(gather(params, indices.values))
        if not isinstance(params, RaggedTensor):
            return dense_gather(params, indices)
        indices = cast(indices, params.row_splits.dtype.base_dtype)
        ndims = indices.shape.ndims
        if ndims is None:
            raise ValueError("indices.shape.ndims must be known statically")
        if ndims == 0:
            return rows(params, reshape(indices, [1]))[0]
        if ndims == 1:
            return rows(params, indices)
        nested = from_tensor(indices, ragged_rank=ndims - 1, row_splits_dtype=params.row_splits.dtype.base_dtype)
        return gather(params, nested)


def batch_gather(params: Any, indices: Any, name: str | None = None) -> Any:
    """``tf.batch_gather`` of ragged params or indices: from row i of ``params`` what row i of ``indices`` names."""
    with name_scope(name, "RaggedBatchGather"):
        params, indices = as_values(params), as_values(indices)
        if not isinstance(params, RaggedTensor) and not isinstance(indices, RaggedTensor):
            return dense_batch_gather(params, indices)
        if isinstance(indices, RaggedTensor) and isinstance(indices.values, RaggedTensor) and isinstance(params, RaggedTensor) \
                and isinstance(params.values, RaggedTensor):
            return params.with_values(batch_gather(params.values, indices.values))
        if not isinstance(indices, RaggedTensor):
            if indices.shape.ndims == 1:  # one place of each row
                places = cast(indices, params.row_splits.dtype.base_dtype) + params.row_starts()
                return gather(params.values, places)
            indices = from_tensor(indices, row_splits_dtype=params.row_splits.dtype.base_dtype)
        dtype = indices.row_splits.dtype.base_dtype
        if not isinstance(params, RaggedTensor):
            params = from_tensor(params, row_splits_dtype=dtype)
        starts = dense_gather(params.row_starts(), indices.value_rowids())
        flat = indices.values
        if isinstance(flat, RaggedTensor):
            raise ValueError("tf.batch_gather: indices have more ragged dimensions than params.")
        return indices.with_values(gather(params.values, cast(flat, dtype) + starts))


def gather_nd(params: Any, indices: Any, batch_dims: int = 0, name: str | None = None) -> Any:
    """``tf.gather_nd`` of ragged params: one value or row for each row of ``indices``."""
    if batch_dims != 0:
        raise ValueError("batch_dims != 0 is not supported for ragged gather yet.")
    with name_scope(name, "RaggedGatherNd"):
        params, indices = as_values(params), as_values(indices)
        if isinstance(indices, RaggedTensor):
            return indices.with_values(gather_nd(params, indices.values))
        if not isinstance(params, RaggedTensor):
            return dense_gather_nd(params, indices)
        ndims, size = indices.shape.ndims, indices.shape.as_list()[-1] if indices.shape.ndims else None
        if ndims is None or size is None:
            raise ValueError("indices.shape.ndims and its last extent must be known statically")
        if ndims > 2:
            extents = shape(indices, out_type=dt.int64)
            flat = gather_nd(params, reshape(indices, [-1, size]))
            result: Any = flat
            for axis in reversed(range(1, ndims - 1)):
                result = RaggedTensor.from_row_lengths(result, _repeat(extents, axis), validate=False)
            return result
        indices = cast(indices, params.row_splits.dtype.base_dtype)
        flat_indices = indices if ndims == 2 else indices[None, :]
        result, place = params, None
        for column in range(size):
            own = flat_indices[:, column]
            if not isinstance(result, RaggedTensor):
                rest = flat_indices[:, column:]
                gathered = dense_gather_nd(result, rest if place is None else _with_offset(rest, place))
                return gathered if ndims == 2 else gathered[0]
            place = own if place is None else place + own
            if column < size - 1:
                result, place = result.values, dense_gather(result.row_starts(), place)
        gathered = rows(result, to_tensor(place))
        return gathered if ndims == 2 else gathered[0]


def _with_offset(indices: Tensor, offset: Tensor) -> Tensor:
    return concat([indices[:, :1] + offset[:, None], indices[:, 1:]], axis=1)


def _repeat(extents: Tensor, axis: int) -> Tensor:
    return fill(reshape(reduce_prod(extents[:axis]), [1]), extents[axis])
