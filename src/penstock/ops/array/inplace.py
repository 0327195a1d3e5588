"""``tensorflow.python.ops.inplace_ops``: rows of a tensor replaced, or added to.

TensorFlow writes them into the tensor itself, and forbids any other use of it. Values do not change here: the result is a tensor of its own.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph import dtypes as dt
from penstock.graph.attrs import TYPE
from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.shape import TensorShape, unknown_shape
from penstock.graph.static import constant_value_as_shape
from penstock.ops.array.shape_ops import reshape
from penstock.ops.array.shape_ops import shape as shape_op
from penstock.ops.common import like, shape_text

_SIGNATURE = "x: T, i: int32, v: T -> y: T"


def _rows(x: np.ndarray, i: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The places of the rows, which may count on beyond the end, as TensorFlow has it. InvalidArgumentError if the shapes do not fit."""
    if i.ndim != 1:
        raise invalid_argument(f"i must be a vector. {shape_text(i)}")
    if x.ndim != v.ndim or not x.ndim:
        raise invalid_argument(f"x and v shape doesn't match (ranks differ): {shape_text(x)} vs. {shape_text(v)}")
    if x.shape[1:] != v.shape[1:]:
        raise invalid_argument(f"x and v shape doesn't match: {shape_text(x)} vs. {shape_text(v)}")
    if len(i) != len(v):
        raise invalid_argument(f"i and x shape doesn't match at index 0: {len(i)} vs. {len(v)}")
    return i % max(len(x), 1)


def _writing(write: Callable[[Any, Any, Any], Any]) -> Callable[..., np.ndarray]:
    """The kernel that writes v into rows i of a copy of x."""
    def kernel(x, i, v):
        result = np.array(x)
        write(result, _rows(x, i, v), v)
        return result

    return kernel


@op("InplaceUpdate", _SIGNATURE, T=TYPE)
class InplaceUpdate:
    """x, with rows i replaced by those of v."""

    shape = like("x")
    kernel = _writing(np.ndarray.__setitem__)
    gradient = None


@op("InplaceAdd", _SIGNATURE, T=TYPE)
class InplaceAdd:
    """x, with the rows of v added to rows i."""

    shape = like("x")
    kernel = _writing(np.add.at)
    gradient = None


@op("InplaceSub", _SIGNATURE, T=TYPE)
class InplaceSub:
    """x, with the rows of v subtracted from rows i."""

    shape = like("x")
    kernel = _writing(np.subtract.at)
    gradient = None


@op("Empty", "shape: int32 -> output: dtype", dtype=TYPE, init=False)
class Empty:
    """A tensor of this shape, whose elements may be anything; 0 here, with ``init`` or without it."""

    stateful = True
    ranks = {"shape": 1}
    gradient = None

    def shape(shape):
        known = constant_value_as_shape(shape)
        return known if known.is_fully_defined() else unknown_shape(known.ndims)

    def kernel(shape, dtype):
        if (shape < 0).any():
            raise invalid_argument(f"Dimensions must be >= 0: {shape.tolist()}")
        return np.full(shape, b"" if dtype is dt.string else 0, dtype.np)


@op("DeepCopy", "x: T -> y: T", T=TYPE)
class DeepCopy:
    """The tensor in memory of its own."""

    stateful = True
    shape = like("x")
    gradient = None

    def kernel(x):
        return np.array(x)


def _changed(make: Any, x: Any, i: Any, v: Any) -> Tensor:
    x = to_tensor(x)
    v = to_tensor(v, x.dtype.base_dtype)
    if i is None:  # the whole tensor, as the only row
        return reshape(make(reshape(x, [1, -1]), [0], reshape(v, [1, -1])), shape_op(x))
    i = to_tensor(i, dt.int32)
    if i.shape.ndims == 0:
        return make(x, reshape(i, [1]), reshape(v, TensorShape([1]).concatenate(v.shape)) if v.shape.is_fully_defined() else v[None])
    return make(x, i, v)


def alias_inplace_update(x: Any, i: Any, v: Any) -> Tensor:
    """x[i, :] = v: ``i`` is a number, numbers, or None for all rows."""
    return _changed(InplaceUpdate, x, i, v)


def alias_inplace_add(x: Any, i: Any, v: Any) -> Tensor:
    """x[i, :] += v."""
    return _changed(InplaceAdd, x, i, v)


def alias_inplace_sub(x: Any, i: Any, v: Any) -> Tensor:
    """x[i, :] -= v."""
    return _changed(InplaceSub, x, i, v)


def empty_like(x: Any, init: bool | None = None) -> Tensor:
    """`Empty` with the shape and type of a tensor."""
    x = to_tensor(x)
    return Empty(shape_op(x), dtype=x.dtype.base_dtype, init=bool(init))


def inplace_update(x: Any, i: Any, v: Any) -> Tensor:
    """`alias_inplace_update` of a copy."""
    return alias_inplace_update(DeepCopy(x), i, v)


def inplace_add(x: Any, i: Any, v: Any) -> Tensor:
    """`alias_inplace_add` of a copy."""
    return alias_inplace_add(DeepCopy(x), i, v)


def inplace_sub(x: Any, i: Any, v: Any) -> Tensor:
    """`alias_inplace_sub` of a copy."""
    return alias_inplace_sub(DeepCopy(x), i, v)


def empty(shape: Any, dtype: Any, init: bool = False, name: str | None = None) -> Tensor:
    """A tensor whose elements may be anything."""
    return Empty(shape, dtype=dt.as_dtype(dtype), init=init, name=name)
