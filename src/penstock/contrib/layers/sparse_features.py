"""Sparse tensors as features: of dense ones, of indicators, crossed, in buckets."""
from __future__ import annotations

from typing import Any

from penstock.graph import dtypes
from penstock.graph.composite import SparseTensor
from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import ones_like, zeros_like
from penstock.ops.array.gather import gather_nd
from penstock.ops.array.pack import concat
from penstock.ops.array.select import where
from penstock.ops.array.shape_ops import reshape, shape
from penstock.ops.math.compare import equal, not_equal
from penstock.ops.math.counting import Bucketize
from penstock.ops.math.cumulative import cumsum
from penstock.ops.math.reduce import reduce_max
from penstock.ops.math.segment import unsorted_segment_max
from penstock.ops.sparse import sparse_cross

SPARSE_FEATURE_CROSS_DEFAULT_HASH_KEY = 956888297470


def sparse_feature_cross(inputs: Any, hashed_output: bool = False, num_buckets: int = 0, name: str | None = None,
                         hash_key: int | None = None) -> SparseTensor:
    """Every combination of the features of a row, as text or hashed."""
    if not isinstance(inputs, list):
        raise TypeError("Inputs must be a list")
    if not all(isinstance(each, (SparseTensor, Tensor)) for each in inputs):
        raise TypeError("All inputs must be SparseTensors")
    return sparse_cross.sparse_feature_cross(inputs, hashed_output, num_buckets, name, hash_key)


def bucketize(input_tensor: Any, boundaries: Any, name: str | None = None) -> Any:
    """Between which boundaries each number lies."""
    return Bucketize(input_tensor, boundaries=list(boundaries), name=name)


def _ignore_value(dtype: Any, ignore_value: Any) -> Any:
    if ignore_value is None:
        ignore_value = "" if dtype == dtypes.string else dtype.as_numpy_dtype()
    return cast(ignore_value, dtype, name="ignore_value")


def dense_to_sparse_tensor(dense_tensor: Any, ignore_value: Any = None) -> SparseTensor:
    """The elements that differ from ``ignore_value``: 0, or the empty string."""
    with name_scope("DenseToSparseTensor"):
        dense = to_tensor(dense_tensor)
        indices = where(not_equal(dense, _ignore_value(dense.dtype, ignore_value)), name="indices")
        return SparseTensor(indices, gather_nd(dense, indices, name="values"), shape(dense, out_type=dtypes.int64, name="dense_shape"))


def indicators_to_sparse_ids(indicators: Any, ignore_value: Any = None, dtype: Any = dtypes.int64) -> SparseTensor:
    """For each row the places of the indicators that are set, without gaps."""
    if not dtype.is_integer:
        raise ValueError(f"Invalid dtype {dtype} not integer.")
    with name_scope(None, "indicators_to_sparse_ids", [indicators, ignore_value]):
        indicators = to_tensor(indicators, name="indicators")
        missing = equal(indicators, _ignore_value(indicators.dtype, ignore_value), name="missing")
        zeros = zeros_like(indicators, dtype=dtypes.int64, name="zeros")
        present = where(missing, zeros, ones_like(indicators, dtype=dtypes.int64, name="ones"), name="binary_indicators")
        numbered = where(missing, zeros, cumsum(present, axis=-1), "row_index_indicators")
        longest = reshape(reduce_max(numbered), shape=(1,), name="result_last_dim")
        sparse = dense_to_sparse_tensor(numbered, ignore_value=0)
        return SparseTensor(concat((sparse.indices[:, :-1], reshape(sparse.values - 1, (-1, 1))), axis=1, name="indices"),
                            cast(sparse.indices[:, -1], dtype, name="values"),
                            concat((sparse.dense_shape[0:-1], longest), axis=0, name="dense_shape"))


def sparse_row_envelope(sparse_input: SparseTensor, row_axis: int = 0, col_axis: int = 1, name: str | None = None) -> Tensor:
    """For each row the last column that has an entry, plus 1."""
    if not (isinstance(row_axis, int) and isinstance(col_axis, int)):
        raise ValueError("`row_axis` and `col_axis` must be integers.")
    if row_axis == col_axis:
        raise ValueError("Row and column can not be the same axis.")
    with name_scope(name, "sparse_row_envelope", [sparse_input.indices]):
        indices = sparse_input.indices
        rows = cast(sparse_input.dense_shape[row_axis], dtypes.int32)
        envelope = unsorted_segment_max(indices[:, col_axis] + 1, indices[:, row_axis], rows, name=name)
        zeros = zeros_like(envelope)
        return where(envelope > zeros, envelope, zeros)
