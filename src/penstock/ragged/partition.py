"""How values are divided into rows: row_splits, lengths and row numbers, and each made of another."""
from __future__ import annotations

from typing import Any

from penstock.graph import dtypes as dt
from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.array.cast import cast
from penstock.ops.array.gather import gather
from penstock.ops.array.pack import concat
from penstock.ops.array.sequences import range as sequence
from penstock.ops.array.shape_ops import shape, size
from penstock.ops.array.sorting import UpperBound
from penstock.ops.math.counting import bincount
from penstock.ops.math.cumulative import cumsum
from penstock.ops.math.reduce import reduce_max


def partition_tensor(value: Any, name: str, dtype: Any = None) -> Tensor:
    """Row splits, lengths or the like as a tensor of int64, or of int32 if it is one already."""
    wanted = None if dtype is None else dt.as_dtype(dtype)
    if isinstance(value, Tensor) or hasattr(value, "dtype"):
        tensor = to_tensor(value, None, name)
        if tensor.dtype.base_dtype not in (dt.int32, dt.int64):
            raise ValueError(f"{name} must have dtype int32 or int64, not {tensor.dtype.name}.")
        return tensor if wanted is None else cast(tensor, wanted)
    return to_tensor(value, wanted or dt.int64, name)


def lengths_to_splits(lengths: Tensor) -> Tensor:
    """Where rows of these lengths begin and end: [0, l0, l0 + l1, ...]."""
    return concat([to_tensor([0], lengths.dtype.base_dtype), cumsum(lengths)], axis=0)


def row_splits_to_segment_ids(splits: Any, name: str | None = None, out_type: Any = None) -> Tensor:
    """``tf.ragged.row_splits_to_segment_ids``: the number of the row that each value belongs to."""
    with name_scope(name, "RaggedSplitsToSegmentIds", [splits]):
        splits = partition_tensor(splits, "splits")
        splits.shape.assert_has_rank(1)
        if splits.shape.dims[0].value == 0:
            raise ValueError("Invalid row_splits: []")
        dtype = splits.dtype.base_dtype
        ids = UpperBound(splits[1:][None], sequence(splits[-1])[None], out_type=dtype)[0]
        return ids if out_type is None else cast(ids, out_type)


def segment_ids_to_row_splits(segment_ids: Any, num_segments: Any = None, out_type: Any = None, name: str | None = None) -> Tensor:
    """``tf.ragged.segment_ids_to_row_splits``: where the rows begin and end whose values have these (sorted) row numbers."""
    with name_scope(name, "SegmentIdsToRaggedSplits", [segment_ids]):
        given = partition_tensor(segment_ids, "segment_ids")
        given.shape.assert_has_rank(1)
        dtype = given.dtype.base_dtype if out_type is None else dt.as_dtype(out_type)
        count = cast(given, dt.int32)
        wanted = None if num_segments is None else cast(partition_tensor(num_segments, "num_segments"), dt.int32)
        lengths = bincount(count, minlength=wanted, maxlength=wanted, dtype=dtype)
        return lengths_to_splits(lengths)


def positions(splits: Tensor, rowids: Tensor) -> Tensor:
    """The place of each value in its row."""
    return sequence(splits[-1]) - gather(splits, rowids)


def ranges(starts: Tensor, lengths: Tensor, step: Any = 1) -> tuple[Tensor, Tensor]:
    """(starts[i], starts[i] + step, ...) of lengths[i] numbers for each i: their values, and the row_splits."""
    splits = lengths_to_splits(lengths)
    rowids = row_splits_to_segment_ids(splits)
    place = cast(positions(splits, rowids), starts.dtype.base_dtype)
    steps = step if isinstance(step, int) or not step.shape.ndims else gather(step, rowids)
    return gather(starts, rowids) + place * steps, splits


def longest(lengths: Tensor) -> Tensor:
    """The largest of some lengths; 0 if there are none."""
    return reduce_max(concat([lengths, to_tensor([0], lengths.dtype.base_dtype)], axis=0))


def row_count(value: Any, dtype: Any) -> Tensor:
    """The first extent of a tensor."""
    return shape(value, out_type=dtype)[0] if value.shape.ndims != 1 else size(value, out_type=dtype)
