"""Ragged tensors put together, repeated and reshaped: concat, stack, tile, expand_dims, squeeze, where, masks."""
from __future__ import annotations

from typing import Any

from penstock.graph import dtypes as dt
from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.graph.scopes import name_scope
from penstock.graph.static import constant_value
from penstock.ops.array import fill as dense_fill
from penstock.ops.array import shape_ops as dense_shapes
from penstock.ops.array.cast import cast
from penstock.ops.array.gather import boolean_mask as dense_boolean_mask
from penstock.ops.array.gather import gather
from penstock.ops.array.pack import concat as dense_concat
from penstock.ops.array.pack import stack as dense_stack
from penstock.ops.array.permute import tile as dense_tile
from penstock.ops.array.permute import transpose
from penstock.ops.array.select import where as dense_where
from penstock.ops.array.sequences import range as sequence
from penstock.ops.array.sorting import argsort
from penstock.ops.math.reduce import reduce_prod
from penstock.ragged.conversion import from_tensor
from penstock.ragged.elementwise import broadcast_like, map_flat_values
from penstock.ragged.gathering import rows
from penstock.ragged.indexing import getitem
from penstock.ragged.partition import lengths_to_splits, row_count, segment_ids_to_row_splits
from penstock.ragged.reduction import segment_sum
from penstock.ragged.tensor import RaggedTensor, as_values


def concat(values: Any, axis: Any, name: str | None = None) -> Any:
    """``tf.concat`` of ragged tensors."""
    values = values if isinstance(values, (list, tuple)) else [values]
    with name_scope(name, "RaggedConcat"):
        return _join([as_values(value) for value in values], axis, stacking=False)


def stack(values: Any, axis: Any = 0, name: str | None = None) -> Any:
    """``tf.ragged.stack``: tensors of one rank, ragged or not, along a new axis."""
    values = values if isinstance(values, (list, tuple)) else [values]
    with name_scope(name, "RaggedStack"):
        return _join([as_values(value) for value in values], axis, stacking=True)


def _join(values: list[Any], axis: Any, stacking: bool) -> Any:
    if not values:
        raise ValueError("rt_inputs may not be empty.")
    ndims = next((value.shape.ndims for value in values if value.shape.ndims is not None), None)
    axis = int(constant_value(to_tensor(axis))) if not isinstance(axis, int) else axis  # type: ignore[arg-type]
    if axis < 0:
        if ndims is None:
            raise ValueError("a negative axis needs values whose rank is known.")
        axis += ndims + stacking
    if len(values) == 1:
        return expand_dims(values[0], axis) if stacking else values[0]
    if ndims is not None and any(value.shape.ndims not in (None, ndims) for value in values):
        raise ValueError("Ranks of the values differ: " + ", ".join(str(value.shape.ndims) for value in values))
    ragged = [value for value in values if isinstance(value, RaggedTensor)]
    if not ragged and ndims is not None and axis in (ndims - 1, ndims - 1 + stacking) and _one_shape(values, axis, stacking):
        return dense_stack(values, axis) if stacking else dense_concat(values, axis)
    rank = max([value.ragged_rank for value in ragged] + [0 if ndims == 1 else 1])
    dtype = ragged[0].row_splits.dtype.base_dtype if ragged else dt.int64
    values = [_with_rank(value, rank, dtype) for value in values]
    if axis == 0:
        return _joined_rows(values, stacking, dtype)
    if axis == 1:
        return _joined_in_rows(values, stacking)
    return values[0].with_values(_join([value.values for value in values], axis - 1, stacking))


def _one_shape(values: list[Any], axis: int, stacking: bool) -> bool:
    """Whether tensors can be stacked, or concatenated along an axis, as far as their shapes are known."""
    shapes = [value.shape.as_list() for value in values]
    return all(one is None or other is None or one == other for shape in shapes for place, (one, other) in enumerate(zip(shapes[0], shape))
               if stacking or place != axis)


def _with_rank(value: Any, ragged_rank: int, dtype: Any) -> Any:
    """The value with so many ragged dimensions."""
    if ragged_rank <= 0:
        return value
    if not isinstance(value, RaggedTensor):
        return from_tensor(value, ragged_rank=ragged_rank, row_splits_dtype=dtype)
    value = value.with_row_splits_dtype(dtype)
    return value.with_values(_with_rank(value.values, ragged_rank - 1, dtype))


def _joined_rows(values: list[Any], stacking: bool, dtype: Any) -> Any:
    if stacking:
        counts = dense_stack([value.nrows(dtype) if isinstance(value, RaggedTensor) else row_count(value, dtype) for value in values])
        return RaggedTensor.from_row_lengths(_join(values, 0, stacking=False), counts, validate=False)
    if not isinstance(values[0], RaggedTensor):
        return dense_concat(values, 0)
    lengths = dense_concat([value.row_lengths() for value in values], axis=0)
    return RaggedTensor(_joined_rows([value.values for value in values], False, dtype), lengths_to_splits(lengths), internal=True)


def _joined_in_rows(values: list[Any], stacking: bool) -> Any:
    """Row i of the result has row i of each value: all rows one after the other, taken in that order."""
    count = values[0].nrows()
    together = _joined_rows(values, False, count.dtype.base_dtype)
    numbers = dense_shapes.reshape(sequence(count * len(values)), dense_stack([len(values), cast(count, dt.int32)]))
    order = dense_shapes.reshape(transpose(numbers), [-1])
    mixed = rows(together, order)
    grouped = sequence(count + 1) * len(values)
    if stacking:
        return RaggedTensor(mixed, grouped, internal=True)
    return RaggedTensor(mixed.values, gather(mixed.row_splits, grouped), internal=True)


def tile(input: Any, multiples: Any, name: str | None = None) -> Any:
    """``tf.tile`` of a ragged tensor: each dimension so many times."""
    with name_scope(name, "RaggedTile"):
        value, multiples = as_values(input), to_tensor(multiples, None, "multiples")
        known = constant_value(multiples)
        if not isinstance(value, RaggedTensor):
            return dense_tile(value, multiples)
        if known is None:
            raise ValueError("tf.tile of a RaggedTensor needs multiples that are known when the graph is built.")
        if known.shape[0] != value.shape.ndims:
            raise ValueError(f"multiples has {known.shape[0]} numbers for a RaggedTensor of rank {value.shape.ndims}.")
        return _tile(value, [int(times) for times in known])


def _tile(value: Any, multiples: list[int]) -> Any:
    if not isinstance(value, RaggedTensor):
        return dense_tile(value, multiples)
    inner = value.with_values(_tile(value.values, [1, *multiples[2:]])) if any(times != 1 for times in multiples[2:]) else value
    for axis, times in enumerate(multiples[:2]):
        if times == 0:
            inner = getitem(inner, (slice(None),) * axis + (slice(0, 0),))
        elif times > 1:
            inner = _join([inner] * times, axis, stacking=False)
    return inner


def expand_dims(input: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Any:
    """``tf.expand_dims`` of a ragged tensor."""
    with name_scope(name, "RaggedExpandDims"):
        value = as_values(input)
        axis = dim if axis is None else axis
        if not isinstance(value, RaggedTensor):
            return dense_shapes.expand_dims(value, axis)
        if axis < 0:
            if value.shape.ndims is None:
                raise ValueError("a negative axis needs a RaggedTensor whose rank is known.")
            axis += value.shape.ndims + 1
        return getitem(value, (slice(None),) * axis + (None,)) if axis < 2 else value.with_values(expand_dims(value.values, axis - 1))


def squeeze(input: Any, axis: Any = None, name: str | None = None, squeeze_dims: Any = None) -> Any:
    """``tf.squeeze`` of a ragged tensor: dimensions of one element go; ragged ones must be named."""
    with name_scope(name, "RaggedSqueeze"):
        value = as_values(input)
        axis = squeeze_dims if axis is None else axis
        if not isinstance(value, RaggedTensor):
            return dense_shapes.squeeze(value, axis)
        if axis is None:
            raise ValueError("Ragged.squeeze must have an axis argument.")
        ndims = value.shape.ndims
        for own in sorted({one + ndims if one < 0 else one for one in (axis if isinstance(axis, (list, tuple)) else [axis])}, reverse=True):
            value = _squeeze(value, own)
        return value


def _squeeze(value: Any, axis: int) -> Any:
    if not isinstance(value, RaggedTensor):
        return dense_shapes.squeeze(value, [axis])
    if axis == 0:
        return value[0]
    return value.values if axis == 1 else value.with_values(_squeeze(value.values, axis - 1))


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    """``tf.where`` of ragged tensors: elements of x or y, or, without them, where the condition is True."""
    if (x is None) != (y is None):
        raise ValueError("x and y must be either both None or both non-None")
    with name_scope(name, "RaggedWhere"):
        condition = as_values(condition)
        if x is None:
            return _true_places(condition)
        x, y = as_values(x), as_values(y)
        if isinstance(condition, Tensor) and condition.shape.ndims == 1:  # whole rows
            count = row_count(condition, _row_number_type(x, y))
            both = _join([x, y], 0, stacking=False)
            return rows(both, dense_where(condition, sequence(count), sequence(count) + _row_total(x, count.dtype.base_dtype)))
        target = next(value for value in (condition, x, y) if isinstance(value, RaggedTensor))
        operands = [value if isinstance(value, RaggedTensor) else broadcast_like(value, target) for value in (condition, x, y)]
        return map_flat_values(dense_where, *operands)


def _row_number_type(x: Any, y: Any) -> Any:
    """The type of row numbers that two values go by."""
    return next((value.row_splits.dtype.base_dtype for value in (x, y) if isinstance(value, RaggedTensor)), dt.int64)


def _row_total(value: Any, dtype: Any) -> Tensor:
    return value.nrows(dtype) if isinstance(value, RaggedTensor) else row_count(value, dtype)


def _true_places(condition: Any) -> Tensor:
    if not isinstance(condition, RaggedTensor):
        return dense_where(condition)
    inner = _true_places(condition.values)
    outer = cast(inner[:, 0], condition.row_splits.dtype.base_dtype)
    own = gather(condition.value_rowids(), outer)
    column = outer - gather(condition.row_starts(), own)
    return dense_concat([cast(dense_stack([own, column], axis=1), dt.int64), inner[:, 1:]], axis=1)


def boolean_mask(data: Any, mask: Any, name: str | None = None) -> Any:
    """``tf.ragged.boolean_mask``: what of ``data`` is True in ``mask``; rows stay rows, of what is left."""
    with name_scope(name, "RaggedMask", [data, mask]):
        data, mask = as_values(data), as_values(mask)
        ndims = mask.shape.ndims
        if ndims is None:
            raise ValueError("mask.shape.ndims must be known statically.")
        if ndims == 0:
            raise ValueError("mask cannot be scalar.")
        if ndims == 1:
            return rows(data, dense_shapes.squeeze(dense_where(mask), [1])) if isinstance(data, RaggedTensor) else dense_boolean_mask(data, mask)
        dtype = _row_number_type(data, mask)
        if not isinstance(mask, RaggedTensor):
            mask = from_tensor(mask, ragged_rank=max(1, min(ndims - 1, data.ragged_rank if isinstance(data, RaggedTensor) else ndims - 1)),
                               row_splits_dtype=dtype)
        if not isinstance(data, RaggedTensor):
            data = from_tensor(data, ragged_rank=min(mask.ragged_rank, data.shape.ndims - 1), row_splits_dtype=dtype)
        kept = boolean_mask(data.values, mask.values)
        if mask.values.shape.ndims != 1:  # the rows below stay, masked inside
            return data.with_values(kept)
        lengths = segment_sum(cast(mask.values, dtype), mask.value_rowids(), mask.nrows())
        return RaggedTensor.from_row_lengths(kept, lengths, validate=False)


def one_hot(indices: Any, depth: Any, on_value: Any = None, off_value: Any = None, axis: Any = None, dtype: Any = None,
            name: str | None = None) -> Any:
    """``tf.one_hot`` of ragged indices, along the last axis."""
    if axis not in (None, -1):
        raise ValueError("tf.one_hot of ragged indices adds its axis at the end (axis=-1).")
    return map_flat_values(dense_fill.one_hot, indices, depth, on_value, off_value, -1, dtype, name)


def size(input: Any, name: str | None = None, out_type: Any = dt.int32) -> Tensor:
    """``tf.size``: how many values there are."""
    return dense_shapes.size(as_values(input).flat_values, name, out_type)


def rank(input: Any, name: str | None = None) -> Tensor:
    """``tf.rank``."""
    value = as_values(input)
    with name_scope(name, "RaggedRank"):
        known = value.shape.ndims
        return to_tensor(known, dt.int32) if known is not None else dense_shapes.rank(value.flat_values) + value.ragged_rank


def stack_dynamic_partitions(data: Any, partitions: Any, num_partitions: Any, name: str | None = None) -> RaggedTensor:
    """``tf.ragged.stack_dynamic_partitions``: row i has, in their order, the values whose partition is i."""
    with name_scope(name, "SegmentStack", [data, partitions]):
        data, partitions = as_values(data), as_values(partitions)
        count = to_tensor(num_partitions)
        while isinstance(partitions, RaggedTensor):
            if not isinstance(data, RaggedTensor):
                raise ValueError("data must be ragged where partitions are.")
            data, partitions = data.values, partitions.values
        ndims = partitions.shape.ndims
        if ndims is None:
            raise ValueError("partitions must have known rank.")
        if ndims != 1:
            extents = dense_shapes.shape(partitions)
            inner = dense_shapes.shape(data)[ndims:]
            data = dense_shapes.reshape(data, dense_concat([dense_shapes.reshape(reduce_prod(extents), [1]), inner], axis=0))
            partitions = dense_shapes.reshape(partitions, [-1])
        order = argsort(partitions, stable=True)
        splits = segment_ids_to_row_splits(gather(partitions, order), count, dt.int64)
        return RaggedTensor(rows(data, order), splits, internal=True)


def dynamic_partition(data: Any, partitions: Any, num_partitions: int, name: str | None = None) -> list[Any]:
    """``tf.dynamic_partition`` of ragged data or partitions."""
    if not isinstance(num_partitions, int) or num_partitions < 0:
        raise TypeError("num_partitions must be a non-negative integer")
    result = stack_dynamic_partitions(data, partitions, num_partitions, name)
    return [getitem(result, index) for index in range(num_partitions)]
