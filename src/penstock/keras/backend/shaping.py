"""Shapes and indices: functions of ``tf.keras.backend``."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.graph import dtypes
from penstock.keras.backend.values import is_sparse
from penstock.ops.array import fill, pack, permute, sequences, shape_ops
from penstock.ops.array import gather as gathering
from penstock.ops.array.cast import cast
from penstock.ops.sparse.sparse_functions import sparse_concat


def reshape(x: Any, shape: Any) -> Any:
    """``tf.keras.backend.reshape``."""
    return shape_ops.reshape(x, shape)


def permute_dimensions(x: Any, pattern: Any) -> Any:
    """``tf.keras.backend.permute_dimensions``."""
    return permute.transpose(x, perm=pattern)


def transpose(x: Any) -> Any:
    """``tf.keras.backend.transpose``."""
    return permute.transpose(x)


def expand_dims(x: Any, axis: int = -1) -> Any:
    """``tf.keras.backend.expand_dims``."""
    return shape_ops.expand_dims(x, axis)


def squeeze(x: Any, axis: Any) -> Any:
    """``tf.keras.backend.squeeze``."""
    return shape_ops.squeeze(x, [axis] if isinstance(axis, int) else axis)


def flatten(x: Any) -> Any:
    """``tf.keras.backend.flatten``."""
    return shape_ops.reshape(x, [-1])


def batch_flatten(x: Any) -> Any:
    """``tf.keras.backend.batch_flatten``: samples as vectors."""
    extents = x.shape.as_list()[1:]
    size = int(np.prod(extents)) if None not in extents else None
    made = shape_ops.reshape(x, pack.stack([-1, -1 if size is None and x.shape.ndims == 2 else _product(x)]))
    made.set_shape([x.shape.as_list()[0], size])
    return made


def _product(x: Any) -> Any:
    total = 1
    for axis in range(1, x.shape.ndims):
        total = total * shape_ops.shape(x)[axis]
    return total


def concatenate(tensors: Any, axis: int = -1) -> Any:
    """``tf.keras.backend.concatenate``."""
    if axis < 0:
        rank = tensors[0].shape.ndims
        axis = axis % rank if rank else 0
    if all(is_sparse(tensor) for tensor in tensors):
        return sparse_concat(axis, tensors)
    return pack.concat(list(tensors), axis)


def stack(x: Any, axis: int = 0) -> Any:
    """``tf.keras.backend.stack``."""
    return pack.stack(x, axis=axis)


def tile(x: Any, n: Any) -> Any:
    """``tf.keras.backend.tile``."""
    return permute.tile(x, [n] if isinstance(n, int) else n)


def reverse(x: Any, axes: Any) -> Any:
    """``tf.keras.backend.reverse``."""
    return permute.reverse(x, [axes] if isinstance(axes, int) else axes)


def gather(reference: Any, indices: Any) -> Any:
    """``tf.keras.backend.gather``."""
    return gathering.gather(reference, indices)


def one_hot(indices: Any, num_classes: int) -> Any:
    """``tf.keras.backend.one_hot``."""
    return fill.one_hot(indices, depth=num_classes, axis=-1)


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = "int32") -> Any:
    """``tf.keras.backend.arange``."""
    if stop is None and isinstance(start, int) and start < 0:
        start = 0
    made = sequences.range(start, limit=stop, delta=step, name="arange") if stop is not None else sequences.range(start, name="arange")
    return made if dtype == "int32" else cast(made, dtypes.as_dtype(dtype))
