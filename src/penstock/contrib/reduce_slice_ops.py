"""``tf.contrib.reduce_slice_ops``: sums, products and extremes of slices of a dimension."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.contrib import prelude as tf
from penstock.ops.math.segment import unsorted_segment_max, unsorted_segment_min, unsorted_segment_prod, unsorted_segment_sum


def _reduced(reduce: Callable[..., Any], neutral: Any, data: Any, indices: Any, axis: Any, name: str | None, default: str) -> Any:
    """Reduces ``data[begin:end]`` for each row (begin, end) of ``indices``; a vector has the ends of slices side by side."""
    with tf.name_scope(name, default, [data, indices]):
        data, indices = tf.convert_to_tensor(data, name="data"), tf.convert_to_tensor(indices, name="indices")
        axis = tf.convert_to_tensor(axis, name="axis", dtype=tf.int64)
        _check(data, indices, axis)
        places = tf.range(tf.rank(data))
        axis = tf.cast(axis, tf.int32)
        order = tf.concat([[axis], places[:axis], places[axis + 1:]], 0)
        first = tf.transpose(data, order)
        extent, others = tf.shape(first)[:1], tf.shape(first)[1:]
        starts, lengths = _starts_and_lengths(indices, tf.cast(extent[0], indices.dtype))
        # The rows of all slices, one slice after the other: (its number, the place in it).
        numbers, offsets = tf.unstack(tf.where(tf.sequence_mask(lengths)), axis=1)
        rows = tf.gather(tf.reshape(first, [extent[0], tf.reduce_prod(others)]), tf.cast(tf.gather(starts, numbers), tf.int64) + offsets)
        reduced = reduce(rows, numbers, tf.size(starts))
        is_empty = tf.equal(lengths, 0)[:, None]
        reduced = tf.where_v2(is_empty, neutral(data.dtype), reduced)  # which is infinite, where a segment's is the least number
        result = tf.transpose(tf.reshape(reduced, tf.concat([tf.shape(starts), others], 0)), tf.invert_permutation(order))
        result.set_shape(_shape(data.shape, starts.shape, tf.constant_value(axis)))
        return result


def _check(data: Any, indices: Any, axis: Any) -> None:
    columns = indices.shape[1].value if indices.shape.ndims == 2 else 2
    if indices.shape.ndims not in (1, 2) or columns not in (None, 2):
        raise ValueError(f"indices are rows (begin, end) of the shape [slices, 2], or a vector of ends, got {indices}.")
    if axis.shape.ndims not in (None, 0):
        raise ValueError(f"axis is one number, got {axis}.")
    number = tf.constant_value(axis)
    if number is not None and data.shape.ndims is not None and not 0 <= number < data.shape.ndims:
        raise ValueError(f"axis {number} is out of range: the data have {data.shape.ndims} dimensions, counted from 0 ({data}).")


def _starts_and_lengths(indices: Any, extent: Any) -> tuple[Any, Any]:
    """Where slices begin, and how long they are; those that end before they begin are empty."""
    begins, ends = (indices[:-1], indices[1:]) if indices.shape.ndims == 1 else (indices[:, 0], indices[:, 1])
    with tf.control_dependencies([tf.assert_non_negative(begins, message="A slice begins at 0 or later.")]):
        begins = tf.identity(begins)
    return begins, tf.maximum(tf.minimum(ends, extent) - begins, 0)


def _shape(data: Any, slices: Any, axis: Any) -> Any:
    if data.ndims is None or axis is None:
        return tf.TensorShape(None)
    return data[:int(axis)].concatenate(slices).concatenate(data[int(axis) + 1:])


def _constant(value: float) -> Callable[[Any], Any]:
    return lambda dtype: tf.constant(value, dtype)


def _least(dtype: Any) -> Any:
    return tf.constant(-float("inf") if dtype.is_floating else dtype.min, dtype)


def _largest(dtype: Any) -> Any:
    return tf.constant(float("inf") if dtype.is_floating else dtype.max, dtype)


def reduce_slice_sum(data: Any, indices: Any, axis: Any, name: str | None = None) -> Any:
    """The sums of slices; 0 of an empty one."""
    return _reduced(unsorted_segment_sum, _constant(0), data, indices, axis, name, "ReduceSliceSum")


def reduce_slice_prod(data: Any, indices: Any, axis: Any, name: str | None = None) -> Any:
    """The products of slices; 1 of an empty one."""
    return _reduced(unsorted_segment_prod, _constant(1), data, indices, axis, name, "ReduceSliceProd")


def reduce_slice_max(data: Any, indices: Any, axis: Any, name: str | None = None) -> Any:
    """The largest elements of slices; the least number of an empty one."""
    return _reduced(unsorted_segment_max, _least, data, indices, axis, name, "ReduceSliceMax")


def reduce_slice_min(data: Any, indices: Any, axis: Any, name: str | None = None) -> Any:
    """The least elements of slices; the largest number of an empty one."""
    return _reduced(unsorted_segment_min, _largest, data, indices, axis, name, "ReduceSliceMin")
