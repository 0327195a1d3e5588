"""Sums, products, extremes and means of ragged tensors, over segments and over axes.

An axis that is ragged is reduced as segments of the values: rows (axis 1), or places in the rows (axis 0).
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.graph import dtypes as dt
from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.graph.scopes import name_scope
from penstock.graph.static import constant_value
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import ones_like
from penstock.ops.array.gather import gather
from penstock.ops.math import reduce as dense
from penstock.ops.math.elementwise import maximum
from penstock.ops.math.powers import sqrt
from penstock.ops.math.segment import unsorted_segment_max, unsorted_segment_min, unsorted_segment_prod, unsorted_segment_sum
from penstock.ragged.partition import lengths_to_splits, longest, positions
from penstock.ragged.tensor import RaggedTensor, as_values

Segments = Callable[[Any, Any, Any], Any]


def _aggregate(operation: Segments, data: Any, segment_ids: Any, num_segments: Any) -> Any:
    """Rows with the same segment id become one, value by value; it is as long as the longest of them."""
    if not isinstance(data, RaggedTensor):
        return operation(data, segment_ids, num_segments)
    dtype = data.row_splits.dtype.base_dtype
    lengths = maximum(unsorted_segment_max(data.row_lengths(), segment_ids, num_segments), to_tensor(0, dtype))
    splits = lengths_to_splits(lengths)
    rowids = data.value_rowids()
    targets = gather(splits, gather(segment_ids, rowids)) + positions(data.row_splits, rowids)
    return RaggedTensor(_aggregate(operation, data.values, targets, splits[-1]), splits, internal=True)


def _segments(operation: Segments, name: str) -> Callable[..., Any]:
    def function(data: Any, segment_ids: Any, num_segments: Any, name: str | None = name) -> Any:
        with name_scope(name, None, [data, segment_ids, num_segments]):
            data, segment_ids = as_values(data), as_values(segment_ids)
            if isinstance(segment_ids, RaggedTensor):
                if not isinstance(data, RaggedTensor):
                    raise ValueError("when segment_ids is a RaggedTensor, data must be one, too.")
                return function(data.values, segment_ids.values, num_segments)
            return _aggregate(operation, data, segment_ids, num_segments)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``tf.math.unsorted_{name}`` of ragged data."
    return function


segment_sum = _segments(unsorted_segment_sum, "segment_sum")
segment_prod = _segments(unsorted_segment_prod, "segment_prod")
segment_min = _segments(unsorted_segment_min, "segment_min")
segment_max = _segments(unsorted_segment_max, "segment_max")


def segment_mean(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Any:
    """``tf.math.unsorted_segment_mean`` of ragged data."""
    return _mean(data, lambda values: segment_sum(values, segment_ids, num_segments), name or "segment_mean")


def segment_sqrt_n(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Any:
    """``tf.math.unsorted_segment_sqrt_n`` of ragged data."""
    return _mean(data, lambda values: segment_sum(values, segment_ids, num_segments), name or "segment_sqrt_n", sqrt)


def _mean(data: Any, total: Callable[[Any], Any], name: str, root: Callable[[Any], Any] = lambda count: count) -> Any:
    """The sum by the number of what was added up, or by its ``root``."""
    with name_scope(name):
        data = as_values(data)
        sums = total(data)
        counts = total(data.with_flat_values(ones_like(data.flat_values)) if isinstance(data, RaggedTensor) else ones_like(data))
        if isinstance(sums, RaggedTensor):
            return sums.with_flat_values(sums.flat_values / root(counts.flat_values))
        return sums / root(counts)


def _reduce(operation: Segments, reduce_dense: Callable[..., Any], value: Any, axis: Any, keepdims: bool) -> Any:
    value = as_values(value)
    if not isinstance(value, RaggedTensor):
        return reduce_dense(value, axis, keepdims=keepdims)
    if axis is None:
        if keepdims:
            raise ValueError("keepdims=True with axis=None is not supported for RaggedTensors.")
        return reduce_dense(value.flat_values, None)
    axes = _axes(axis, value)
    if len(axes) > 1:  # the innermost first: what it leaves has the outer axes where they were
        for own in sorted(axes, reverse=True):
            value = _reduce(operation, reduce_dense, value, own, keepdims)
        return value
    own = axes[0]
    if own == 0:
        places = positions(value.row_splits, value.value_rowids())
        result = _aggregate(operation, value.values, places, longest(value.row_lengths()))
        return _with_axis(result, 0) if keepdims else result
    if own == 1:
        result = _aggregate(operation, value.values, value.value_rowids(), value.nrows())
        return _with_axis(result, 1) if keepdims else result
    return value.with_values(_reduce(operation, reduce_dense, value.values, own - 1, keepdims))


def _with_axis(result: Any, axis: int) -> Any:
    return result[None] if axis == 0 else result[:, None]


def _axes(axis: Any, value: RaggedTensor) -> list[int]:
    if isinstance(axis, Tensor):
        axis = constant_value(axis)
        if axis is None:
            raise ValueError("axis must be known at graph construction time.")
        axis = axis.tolist()
    given = list(axis) if isinstance(axis, (list, tuple)) else [axis]
    ndims = value.shape.ndims
    if any(own < 0 for own in given) and ndims is None:
        raise ValueError("a negative axis needs a RaggedTensor whose rank is known.")
    axes = [own + ndims if own < 0 else own for own in given]  # type: ignore[operator]
    if len(set(axes)) != len(axes):
        raise ValueError(f"axes {given} have an axis twice.")
    if any(own < 0 or (ndims is not None and own >= ndims) for own in axes):
        raise ValueError(f"axis {given} out of range of a RaggedTensor of rank {ndims}.")
    return axes


def reduce_sum(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None) -> Any:
    """``tf.reduce_sum`` of a ragged tensor."""
    with name_scope(name, "RaggedReduceSum"):
        return _reduce(unsorted_segment_sum, dense.reduce_sum, input_tensor, axis, bool(keepdims))


def reduce_prod(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None) -> Any:
    """``tf.reduce_prod`` of a ragged tensor."""
    with name_scope(name, "RaggedReduceProd"):
        return _reduce(unsorted_segment_prod, dense.reduce_prod, input_tensor, axis, bool(keepdims))


def reduce_min(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None) -> Any:
    """``tf.reduce_min`` of a ragged tensor."""
    with name_scope(name, "RaggedReduceMin"):
        return _reduce(unsorted_segment_min, dense.reduce_min, input_tensor, axis, bool(keepdims))


def reduce_max(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None) -> Any:
    """``tf.reduce_max`` of a ragged tensor."""
    with name_scope(name, "RaggedReduceMax"):
        return _reduce(unsorted_segment_max, dense.reduce_max, input_tensor, axis, bool(keepdims))


def reduce_mean(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None) -> Any:
    """``tf.reduce_mean`` of a ragged tensor: the mean of the values that are there."""
    return _mean(input_tensor, lambda values: reduce_sum(values, axis, keepdims), name or "RaggedReduceMean")


def reduce_all(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None) -> Any:
    """``tf.reduce_all`` of a ragged tensor."""
    return _truth(reduce_prod, input_tensor, axis, keepdims, name or "RaggedReduceAll")


def reduce_any(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None) -> Any:
    """``tf.reduce_any`` of a ragged tensor."""
    return _truth(reduce_sum, input_tensor, axis, keepdims, name or "RaggedReduceAny")


def _truth(reduction: Callable[..., Any], value: Any, axis: Any, keepdims: bool, name: str) -> Any:
    with name_scope(name):
        value = as_values(value)
        numbers = value.with_flat_values(cast(value.flat_values, dt.int32)) if isinstance(value, RaggedTensor) else cast(value, dt.int32)
        result = reduction(numbers, axis, keepdims)
        return result.with_flat_values(cast(result.flat_values, dt.bool_)) if isinstance(result, RaggedTensor) else cast(result, dt.bool_)
