"""``tf.contrib.reduce_slice_ops``: sums, products and extremes of slices of a dimension."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.contrib import prelude as tf


def _reduced(reduce: Callable[..., Any], neutral: Any, data: Any, indices: Any, axis: Any, name: str | None, default: str) -> Any:
    """Reduces ``data[begin:end]`` for each row (begin, end) of ``indices``; a vector has the ends of slices side by side."""
    with tf.name_scope(name, default, [data, indices]):
        data, indices = tf.convert_to_tensor(data, name="data"), tf.convert_to_tensor(indices, name="indices")
        if indices.shape.ndims == 1:
            indices = tf.stack([indices[:-1], indices[1:]], 1)
        rank = data.shape.ndims
        axis = int(tf.constant_value(tf.convert_to_tensor(axis))) % rank
        order = [axis, *(each for each in range(rank) if each != axis)]
        first = tf.transpose(data, order)
        places = tf.range(tf.shape(first)[0], dtype=indices.dtype)
        is_in = tf.logical_and(places[None] >= indices[:, :1], places[None] < indices[:, 1:])  # [slices, places]
        is_in = tf.reshape(is_in, tf.concat([tf.shape(is_in), tf.ones([rank - 1], tf.int32)], 0))
        chosen = tf.where_v2(is_in, first[None] + tf.zeros_like(first)[None], neutral(data.dtype))
        return tf.transpose(reduce(chosen, axis=1), [order.index(each) for each in range(rank)])


def _constant(value: float) -> Callable[[Any], Any]:
    return lambda dtype: tf.constant(value, dtype)


def _least(dtype: Any) -> Any:
    return tf.constant(-float("inf") if dtype.is_floating else dtype.min, dtype)


def _largest(dtype: Any) -> Any:
    return tf.constant(float("inf") if dtype.is_floating else dtype.max, dtype)


def reduce_slice_sum(data: Any, indices: Any, axis: Any, name: str | None = None) -> Any:
    """The sums of slices; 0 of an empty one."""
    return _reduced(tf.reduce_sum, _constant(0), data, indices, axis, name, "ReduceSliceSum")


def reduce_slice_prod(data: Any, indices: Any, axis: Any, name: str | None = None) -> Any:
    """The products of slices; 1 of an empty one."""
    return _reduced(tf.reduce_prod, _constant(1), data, indices, axis, name, "ReduceSliceProd")


def reduce_slice_max(data: Any, indices: Any, axis: Any, name: str | None = None) -> Any:
    """The largest elements of slices; the least number of an empty one."""
    return _reduced(tf.reduce_max, _least, data, indices, axis, name, "ReduceSliceMax")


def reduce_slice_min(data: Any, indices: Any, axis: Any, name: str | None = None) -> Any:
    """The least elements of slices; the largest number of an empty one."""
    return _reduced(tf.reduce_min, _largest, data, indices, axis, name, "ReduceSliceMin")
