"""Shapes that are known while the graph is built, or only when it runs: one function for both."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.contrib import prelude as tf


def static_or_tensor(x: Any) -> Any:
    """The value of a tensor if it is known, else the tensor."""
    static = tf.constant_value(x)
    return x if static is None else static


def rank_of(x: Any) -> Any:
    """The rank: a number if it is known."""
    return static_or_tensor(tf.rank(x))


def dimension_size(x: tf.Tensor, axis: int) -> Any:
    """The extent of an axis: a number if it is known."""
    extent = tf.dimension_value(x.shape.with_rank_at_least(abs(axis))[axis])
    return tf.shape(x)[axis] if extent is None else extent


def pick_vector(cond: Any, true_vector: Any, false_vector: Any, name: str = "pick_vector") -> Any:
    """One of two vectors, which may differ in length."""
    with tf.name_scope(name, values=(cond, true_vector, false_vector)):
        cond = tf.convert_to_tensor(cond, name="cond")
        if cond.dtype != tf.bool_:
            raise TypeError(f"{cond}.dtype={cond.dtype} which is not {tf.bool_}")
        static = tf.constant_value(cond)
        if static is not None:
            return true_vector if static else false_vector
        true_vector = tf.convert_to_tensor(true_vector, name="true_vector")
        false_vector = tf.convert_to_tensor(false_vector, name="false_vector")
        if true_vector.dtype != false_vector.dtype:
            raise TypeError(f"{true_vector}.dtype={true_vector.dtype} does not match {false_vector}.dtype={false_vector.dtype}")
        length = tf.shape(true_vector)[0]
        both = tf.concat([true_vector, false_vector], 0)
        return tf.slice_(both, [tf.where_v2(cond, 0, length)], [tf.where(cond, length, -1)])


def rotate_transpose(x: Any, shift: Any, name: str = "rotate_transpose") -> Any:
    """``x`` with its axes moved ``shift`` places to the right, the last ones coming first."""
    with tf.name_scope(name, values=[x, shift]):
        x = tf.convert_to_tensor(x, name="x")
        shift = tf.convert_to_tensor(shift, name="shift")
        tf.assert_integer(shift)
        static, ndims = tf.constant_value(shift), x.shape.ndims
        if ndims is None or static is None:
            ndims = tf.rank(x)
            shift = tf.where_v2(tf.less(shift, 0), tf.mod(-shift, ndims), ndims - tf.mod(shift, ndims))
            first, last = tf.range(0, shift), tf.range(shift, ndims)
            return tf.transpose(x, perm=tf.concat([last, first], 0))
        if ndims < 2 or abs(static) % ndims == 0:
            return x
        return tf.transpose(x, perm=np.roll(np.arange(ndims), np.sign(static) * (abs(static) % ndims)))


def broadcast_shape(shape1: Any, shape2: Any, name: str = "prefer_static_broadcast_shape") -> Any:
    """Two shapes, broadcast: a TensorShape if both are known, else a tensor."""
    with tf.name_scope(name, values=[shape1, shape2]):
        def as_tensor(x: Any) -> Any:
            return tf.convert_to_tensor(x, name="shape", dtype=tf.int32)

        def as_static(x: Any) -> Any:
            if isinstance(x, tf.TensorShape):
                return x
            value = tf.constant_value(as_tensor(x))
            return None if value is None else tf.TensorShape(value)

        static = as_static(shape1), as_static(shape2)
        if None not in static:
            return tf.broadcast_static_shape(*static)
        return tf.broadcast_dynamic_shape(as_tensor(shape1), as_tensor(shape2))


def broadcast_shape_of(*tensors: tf.Tensor) -> Any:
    """The shape of all tensors together: a list if it is known, else a tensor."""
    static = tensors[0].shape
    for tensor in tensors[1:]:
        static = tf.broadcast_static_shape(static, tensor.shape)
    if static.is_fully_defined():
        return static.as_list()
    dynamic = tf.shape(tensors[0])
    for tensor in tensors[1:]:
        dynamic = tf.broadcast_dynamic_shape(dynamic, tf.shape(tensor))
    return dynamic


def pad(x: Any, axis: Any, front: bool = False, back: bool = False, value: Any = 0, count: Any = 1, name: str | None = None) -> tf.Tensor:
    """``x`` with ``count`` times ``value`` before and behind the elements of an axis."""
    with tf.name_scope(name, "pad", [x, value, count]):
        x = tf.convert_to_tensor(x, name="x")
        value = tf.convert_to_tensor(value, dtype=x.dtype, name="value")
        count = tf.convert_to_tensor(count, name="count")
        if not count.dtype.is_integer:
            raise TypeError(f"`count.dtype` (`{count.dtype.name}`) must be `int`-like.")
        if not front and not back:
            raise ValueError("At least one of `front`, `back` must be `True`.")
        ndims = x.shape.ndims if x.shape.ndims is not None else tf.rank(x, name="ndims")
        axis = tf.convert_to_tensor(axis, name="axis")
        static_axis, static_count = tf.constant_value(axis), tf.constant_value(count)
        if static_axis is None:
            axis = tf.where_v2(axis < 0, ndims + axis, axis)
        else:
            axis = ndims + static_axis if static_axis < 0 else static_axis
        sides = tf.stack([axis if front else -1, axis if back else -1])
        padded = tf.pad(x, paddings=tf.one_hot(sides, depth=ndims, axis=0, on_value=count, dtype=tf.int32), constant_values=value)
        if static_axis is not None and x.shape.ndims is not None:
            extents = x.shape.as_list()
            known = extents[axis] is not None and static_count is not None
            extents[axis] = extents[axis] + int(static_count) * (front + back) if known else None
            padded.set_shape(extents)
        return padded
