"""Changes of type: casts, bit casts, and the parts of complex numbers."""
from __future__ import annotations

import functools
from typing import Any

import numpy as np

from penstock.errors import invalid_argument, unimplemented
from penstock.graph import dtypes
from penstock.graph.attrs import TYPE
from penstock.graph.composite import IndexedSlices, SparseTensor
from penstock.graph.convert import to_tensor
from penstock.graph.dtypes import DType
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.scopes import name_scope
from penstock.ops.common import INEXACT, NUMERIC, like


@op("Cast", "x: SrcT -> y: DstT", SrcT=TYPE, DstT=TYPE, Truncate=False)
class Cast:
    """``x`` as another type: floats are cut off towards zero, complex numbers lose their imaginary part."""

    elementwise = True
    shape = like("x")

    def forwards(SrcT, DstT):
        return SrcT is DstT and not SrcT.np.hasobject

    def kernel(x, SrcT, DstT, Truncate):
        if SrcT.np.hasobject or DstT.np.hasobject:
            raise unimplemented(f"Cast {SrcT.name} to {DstT.name} is not supported")
        x = np.asarray(x)
        return cast_array(_truncate_bits(x, DstT.np) if Truncate else x, DstT.np)

    def lower(b, x, DstT, Truncate):
        if Truncate and DstT.is_floating:
            raise NotImplementedError("there is no vocabulary for a cast that cuts off bits instead of rounding")
        return b.cast(x, DstT)

    def gradient(op, dy):
        source = op.inputs[0].dtype.base_dtype
        return Cast(dy, DstT=source) if source in INEXACT and dy.dtype.base_dtype in INEXACT else None


def _truncate_bits(x: np.ndarray, target: np.dtype) -> np.ndarray:
    """Floats without the last bits of their fractions, which the target type cannot hold: they are then not rounded."""
    bits = {"float64": 52, "float32": 23, "float16": 10, "bfloat16": 7}
    surplus = bits.get(x.dtype.name, 0) - bits.get(target.name, 52)
    if surplus <= 0:
        return x
    word = np.dtype(f"u{x.dtype.itemsize}")
    return (x.view(word) & ~word.type(2 ** surplus - 1)).view(x.dtype)


def cast_array(x: np.ndarray, target: np.dtype) -> np.ndarray:
    """``x`` as another type, without warnings; what an integer type cannot hold is what x86 machines give, on all machines."""
    with np.errstate(all="ignore"):
        if x.dtype.kind == "c" and target.kind not in "cb":
            x = x.real
        if target.kind in "iu" and x.dtype.kind not in "iub" and (target.itemsize < 4 or not _like_x86()):
            x = _whole(x, target)
        return x.astype(target)


def _whole(x: np.ndarray, target: np.dtype) -> np.ndarray:
    """Floats as integers of 32 or 64 bits, the smallest one for all that are out of range: by way of these others are made."""
    wide = np.dtype(np.int64 if target.itemsize == 8 or target == np.uint32 else np.int32)
    if _like_x86():
        return x.astype(wide)
    x = np.asarray(x, np.float64)
    limit = 2.0 ** (8 * wide.itemsize - 1)
    inside = (x > -limit - 1 if wide == np.int32 else x >= -limit) & (x < limit)
    result = np.where(inside, np.where(inside, x, 0).astype(wide), np.iinfo(wide).min)
    if target != np.uint64:
        return result
    large = (x >= limit) & (x < 2 * limit)
    return np.where(large, np.where(large, x, 0).astype(np.uint64), result.astype(np.uint64))


@functools.cache
def _like_x86() -> bool:
    """Is what NumPy makes of floats that are out of range the smallest integer? The instructions of others give the nearest one, and 0 for NaN."""
    return bool((np.array([np.nan, 3e9, -3e9], np.float32).astype(np.int32) == np.iinfo(np.int32).min).all())


def cast(x: Any, dtype: Any, name: str | None = None) -> Any:
    """``tf.cast``: ``x`` as another type; a SparseTensor or IndexedSlices keeps its indices.

    >>> import penstock as tf
    >>> tf.cast([1.8, -2.2], tf.int32).dtype
    tf.int32
    """
    base = dtypes.as_dtype(dtype).base_dtype
    if (isinstance(x, Tensor) or hasattr(x, "_as_graph_element")) and x.dtype is base:  # a resource variable stays one; a reference has another type
        return x
    with name_scope(name, "Cast", [x]) as scope:
        if isinstance(x, SparseTensor):
            return SparseTensor(x.indices, cast(x.values, base, scope), x.dense_shape)
        if isinstance(x, IndexedSlices):
            return IndexedSlices(cast(x.values, base, scope), x.indices, x.dense_shape)
        x = to_tensor(x, None, "x")
        return x if x.dtype.base_dtype is base else Cast(x, DstT=base, name=scope)


def _to(target: DType, node_name: str):
    def convert(x: Any, name: str = node_name) -> Any:
        return cast(x, target, name)
    convert.__name__ = convert.__qualname__ = f"to_{target.name}"
    convert.__doc__ = f"``x`` cast to {target.name}."
    return convert


to_float = _to(dtypes.float32, "ToFloat")
to_double = _to(dtypes.float64, "ToDouble")
to_int32 = _to(dtypes.int32, "ToInt32")
to_int64 = _to(dtypes.int64, "ToInt64")
to_bfloat16 = _to(dtypes.bfloat16, "ToBFloat16")
to_complex64 = _to(dtypes.complex64, "ToComplex64")
to_complex128 = _to(dtypes.complex128, "ToComplex128")


@op("Bitcast", "input: T -> output: type", T=NUMERIC | dtypes.QUANTIZED_DTYPES, type=NUMERIC | dtypes.QUANTIZED_DTYPES)
class Bitcast:
    """The same bytes read as another type: the last axis is added, removed or stays, as the sizes demand."""

    aliases = True

    def shape(input, T, type):
        if input.shape.ndims is None:
            return None
        extents = input.shape.as_list()
        if T.size > type.size:
            return [*extents, T.size // type.size]
        if T.size == type.size:
            return extents
        if not extents or extents[-1] not in (None, type.size // T.size):
            raise ValueError(f"Cannot bitcast due to shape: the last dimension must be {type.size // T.size}")
        return extents[:-1]

    def kernel(input, type):
        x, target = np.ascontiguousarray(input).reshape(np.shape(input)), type.np
        if x.dtype.itemsize == target.itemsize:
            return x.view(target)
        if x.dtype.itemsize > target.itemsize:
            return x.reshape(*x.shape, 1).view(target)
        ratio = target.itemsize // x.dtype.itemsize
        if x.ndim == 0 or x.shape[-1] != ratio:
            raise invalid_argument(f"Cannot bitcast from {x.dtype.name} to {type.name} with shape {list(x.shape)}: "
                                   f"the last dimension must be {ratio}")
        return x.view(target).reshape(x.shape[:-1])

    def native(emit, input, type):
        return emit.move.bitcast(input, type.np)

    gradient = None


def bitcast(input: Any, type: Any, name: str | None = None) -> Tensor:
    """``tf.bitcast``: the same bytes read as another type."""
    return Bitcast(input, type=type, name=name)
