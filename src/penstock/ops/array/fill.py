"""Tensors made of one value: fill, zeros, ones, one_hot."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph import dtypes as dt
from penstock.graph import raw_ops
from penstock.graph.attrs import TYPE, types
from penstock.graph.convert import to_tensor
from penstock.graph.dtypes import DType
from penstock.graph.graph import default_graph
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.scopes import name_scope
from penstock.graph.shape import TensorShape
from penstock.graph.tensor_proto import to_array
from penstock.ops.array.sequences import all_axes
from penstock.ops.array.shape_ops import INDEX_32, as_array, known_elements, known_shape, reshape, shape_internal
from penstock.ops.common import NUMERIC, canonical_axis, like
from penstock.ops.constant import constant

_SMALL = 1000  # elements of a zeros or ones that becomes a constant


@op("Fill", "dims: index_type, value: T -> output: T", T=TYPE, index_type=INDEX_32)
class Fill:
    """A tensor with one value everywhere."""

    rank_words = {"dims": (1, "dims must be a vector, got shape {shape}"), "value": (0, "value must be a scalar, got shape {shape}")}
    rearranges = True
    broadcasts = "value"

    def shape(dims, value):
        if value.shape.ndims not in (None, 0):
            raise ValueError(f"Shape must be rank 0 but is rank {value.shape.ndims}")
        return known_shape(dims)

    def kernel(dims, value):
        extents = tuple(np.ravel(dims).tolist())
        if any(extent < 0 for extent in extents):
            raise invalid_argument(f"Dimension {min(extents)} must be >= 0")
        value = as_array(value)
        return np.full(extents, value.reshape(()), value.dtype)

    def native(emit, dims, value):
        return emit.move.broadcast(value, emit.known(dims))

    def gradient(op, dy):
        return [None, raw_ops.Sum(dy, all_axes(dy))]


def fill(dims: Any, value: Any, name: str | None = None) -> Tensor:
    """``tf.fill``: a tensor of shape ``dims`` with ``value`` everywhere."""
    return Fill(dims, value, name=name)


@op("ZerosLike", "x: T -> y: T", T=TYPE)
class ZerosLike:
    """Zeros (empty strings, False) in the shape of ``x``."""

    elementwise = True
    shape = like("x")

    def kernel(x):
        x = as_array(x)
        return np.full(x.shape, b"", object) if x.dtype == object else np.zeros(x.shape, x.dtype)

    def lower(b, x):
        return b.constant(0)

    def native(emit, x):
        return emit.move.full(x.shape, 0, x.dtype)

    gradient = None


@op("OnesLike", "x: T -> y: T", T=NUMERIC - {dt.uint32, dt.uint64} | {dt.bool_})
class OnesLike:
    """Ones in the shape of ``x``."""

    elementwise = True
    shape = like("x")

    def kernel(x):
        return np.ones(np.shape(x), x.dtype)

    def lower(b, x):
        return b.constant(1)

    def native(emit, x):
        return emit.move.full(x.shape, 1, x.dtype)

    gradient = None


def _constant_or_fill(value: int, extents: Any, dtype: Any, name: str | None, default_name: str) -> Tensor:
    """``zeros`` and ``ones``: a constant if it is small and its shape is known, else a Fill. One number as shape is a Fill, as TensorFlow has it."""
    dtype = dt.as_dtype(dtype).base_dtype
    plain = _plain(value, dtype)
    with name_scope(name, default_name, [extents]) as scope:
        if not isinstance(extents, Tensor):
            known = _known_extents(extents)
            if known is not None and known.num_elements() < _SMALL and np.ndim(extents) > 0:
                return constant(np.full(known.as_list(), plain, dtype.np), dtype, name=scope)
            if known is None and isinstance(extents, (list, tuple)):
                default_graph().imply(_product_nodes(extents))
            extents = to_tensor(extents, dt.int32) if known is None else to_tensor(known)
        if extents.shape.ndims != 1:
            extents = reshape(extents, [-1])
        return Fill(extents, constant(plain, dtype), name=scope)


def _product_nodes(extents: Sequence[Any]) -> int:
    """How many nodes TensorFlow leaves behind when it asks whether the product of extents, some of which are tensors, is small."""
    nodes, is_tensor = 2, isinstance(extents[0], Tensor)  # for the comparison
    for extent in extents[1:]:
        if is_tensor or isinstance(extent, Tensor):
            nodes += 1 if is_tensor and isinstance(extent, Tensor) else 2
            is_tensor = True
    return nodes


def _plain(value: int, dtype: DType) -> Any:
    return bool(value) if dtype is dt.bool_ else b"" if dtype is dt.string and not value else value


def _known_extents(extents: Any) -> TensorShape | None:
    """The TensorShape of plain extents; None if there are tensors among them."""
    try:
        known = extents if isinstance(extents, TensorShape) else TensorShape(np.atleast_1d(extents).tolist())
    except (TypeError, ValueError, NotImplementedError):
        return None
    return known if known.is_fully_defined() else None


def zeros(shape: Any, dtype: Any = dt.float32, name: str | None = None) -> Tensor:
    """``tf.zeros``: a tensor of zeros (empty strings, False).

    >>> zeros([2, 3]).op.type
    'Const'
    """
    return _constant_or_fill(0, shape, dtype, name, "zeros")


def ones(shape: Any, dtype: Any = dt.float32, name: str | None = None) -> Tensor:
    """``tf.ones``: a tensor of ones."""
    return _constant_or_fill(1, shape, dtype, name, "ones")


def zeros_like(tensor: Any, dtype: Any = None, name: str | None = None, optimize: bool = True) -> Tensor:
    """``tf.zeros_like``: zeros in the shape of ``tensor``."""
    with name_scope(name, "zeros_like", [tensor]) as scope:
        tensor = to_tensor(tensor, None, "tensor")
        dtype = tensor.dtype.base_dtype if dtype is None else dt.as_dtype(dtype).base_dtype
        if optimize and tensor.shape.is_fully_defined() and dtype not in (dt.variant, dt.resource):
            return zeros(tensor.shape, dtype, scope)
        if dtype is not tensor.dtype.base_dtype and dtype is not dt.variant:
            return zeros(shape_internal(tensor, None, optimize), dtype, scope)
        return ZerosLike(tensor, name=scope)


def ones_like(tensor: Any, dtype: Any = None, name: str | None = None, optimize: bool = True) -> Tensor:
    """``tf.ones_like``: ones in the shape of ``tensor``."""
    with name_scope(name, "ones_like", [tensor]) as scope:
        tensor = to_tensor(tensor, None, "tensor")
        extents = shape_internal(tensor, None, optimize)
        result = ones(extents, tensor.dtype.base_dtype if dtype is None else dtype, scope)
        result.set_shape(tensor.shape)
        return result


@op("OneHot", "indices: TI, depth: int32, on_value: T, off_value: T -> output: T", axis=-1, T=TYPE,
    TI=types(dt.uint8, dt.int32, dt.int64, default=dt.int64))
class OneHot:
    """``on_value`` at the position that the index names along a new axis, ``off_value`` elsewhere."""

    ranks = {"depth": 0, "on_value": 0, "off_value": 0}
    rank_words = {"depth": (0, "depth must be a scalar, but got: {shape}")}

    def shape(indices, depth, axis):
        if indices.shape.extents is None:
            return None
        extents, depths = indices.shape.as_list(), known_elements(depth)
        if depths and depths[0] is not None and depths[0] < 0:
            raise ValueError(f"depth must be non-negative, got: {depths[0]}")
        extents.insert(canonical_axis(axis, len(extents) + 1), depths[0] if depths else None)
        return extents

    def kernel(indices, depth, on_value, off_value, axis):
        if depth < 0:
            raise invalid_argument(f"depth must be non-negative, got: {depth}")
        on_value, off_value = as_array(on_value), as_array(off_value)
        places = np.arange(int(depth), dtype=np.int64)
        rank = np.ndim(indices) + 1
        along = axis % rank
        hot = np.expand_dims(as_array(indices), along) == places.reshape([-1 if i == along else 1 for i in range(rank)])
        return np.where(hot, on_value, off_value)

    def native(emit, indices, depth, on_value, off_value, axis):
        return emit.scans.one_hot(indices, int(emit.known(depth)), on_value, off_value, axis)

    gradient = None


def one_hot(indices: Any, depth: Any, on_value: Any = None, off_value: Any = None, axis: int | None = None, dtype: Any = None,
            name: str | None = None) -> Tensor:
    """``tf.one_hot``: a new axis of extent ``depth`` that is ``on_value`` at the index and ``off_value`` elsewhere."""
    with name_scope(name, "one_hot", [indices, depth, on_value, off_value, axis, dtype]) as scope:
        given = {name: None if value is None else _dtype_of(value) for name, value in (("on_value", on_value), ("off_value", off_value))}
        # TensorFlow makes a constant of what is given to learn its type, and another one to use.
        default_graph().imply(sum(value is not None and not isinstance(value, Tensor) for value in (on_value, off_value)))
        wanted = None if dtype is None else dt.as_dtype(dtype).base_dtype
        for argument, own in given.items():
            if own is not None and wanted is not None and own is not wanted:
                raise TypeError(f"dtype {own} of {argument} does not match dtype parameter {dtype}")
        if wanted is None:
            wanted = next((own for own in given.values() if own is not None), dt.float32)
        on = to_tensor(1 if on_value is None else on_value, wanted if on_value is None else None, "on_value")
        off = to_tensor(0 if off_value is None else off_value, wanted if off_value is None else None, "off_value")
        if on.dtype.base_dtype is not off.dtype.base_dtype:
            raise TypeError(f"dtype {on.dtype.base_dtype} of on_value does not match dtype {off.dtype.base_dtype} of off_value")
        return OneHot(indices, depth, on, off, axis=-1 if axis is None else axis, name=scope)


def _dtype_of(value: Any) -> DType:
    """The type that a tensor has, or that a constant of another value would have."""
    own = getattr(value, "dtype", None)
    return own.base_dtype if isinstance(own, DType) else dt.as_dtype(to_array(value).dtype)
