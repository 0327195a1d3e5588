"""Changes of type: casts, bit casts, and the parts of complex numbers."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.errors import invalid_argument, unimplemented
from penstock.graph import dtypes
from penstock.graph.attrs import TYPE, types
from penstock.graph.composite import IndexedSlices, SparseTensor
from penstock.graph.convert import to_tensor
from penstock.graph.dtypes import DType, complex64, complex128, float32, float64, variant
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.scopes import name_scope
from penstock.ops.array.fill import zeros_like
from penstock.ops.common import INEXACT, NUMERIC, broadcasting, like
from penstock.ops.public import function


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
        return cast_array(_cut(x, DstT.np) if Truncate else x, DstT.np)

    def lower(b, x, DstT, Truncate):
        if Truncate and DstT.is_floating:
            raise NotImplementedError("there is no vocabulary for a cast that cuts off bits instead of rounding")
        return b.cast(x, DstT)

    def gradient(op, dy):
        source = op.inputs[0].dtype.base_dtype
        return Cast(dy, DstT=source) if source in INEXACT and dy.dtype.base_dtype in INEXACT else None


def _cut(x: np.ndarray, target: np.dtype) -> np.ndarray:
    """Floats without the last bits of their fractions, which the target type cannot hold: they are then not rounded."""
    bits = {"float64": 52, "float32": 23, "float16": 10, "bfloat16": 7}
    surplus = bits.get(x.dtype.name, 0) - bits.get(target.name, 52)
    if surplus <= 0:
        return x
    word = np.dtype(f"u{x.dtype.itemsize}")
    return (x.view(word) & ~word.type(2 ** surplus - 1)).view(x.dtype)


def cast_array(x: np.ndarray, target: np.dtype) -> np.ndarray:
    """``x`` as another type, without warnings; what an integer type cannot hold wraps as on x86 machines."""
    with np.errstate(all="ignore"):
        if x.dtype.kind == "c" and target.kind not in "cb":
            x = x.real
        if target.kind in "iu" and x.dtype.kind not in "iub" and target.itemsize < 4:
            x = x.astype(np.int32)  # the rule for small integers: by way of int32
        return x.astype(target)


def cast(x: Any, dtype: Any, name: str | None = None) -> Any:
    """``tf.cast``: ``x`` as another type; a SparseTensor or IndexedSlices keeps its indices.

    >>> import penstock as tf
    >>> tf.cast([1.8, -2.2], tf.int32).dtype
    tf.int32
    """
    base = dtypes.as_dtype(dtype).base_dtype
    if isinstance(x, Tensor) and x.dtype is base:
        return x
    with name_scope(name, "Cast", [x]) as scope:
        if isinstance(x, SparseTensor):
            return SparseTensor(x.indices, cast(x.values, base, scope), x.dense_shape)
        if isinstance(x, IndexedSlices):
            return IndexedSlices(cast(x.values, base, scope), x.indices, x.dense_shape)
        x = to_tensor(x, None, "x")
        return x if x.dtype.base_dtype is base else Cast(x, DstT=base, name=scope)


def saturate_cast(value: Any, dtype: Any, name: str | None = None) -> Tensor:
    """``tf.saturate_cast``: a cast that clips to the range of the new type instead of wrapping around."""
    # Elementwise gradients need conj and cast: they live above this file.
    from penstock.ops.math.elementwise import Maximum, Minimum
    with name_scope(name, "saturate_cast", [value]) as scope:
        value = to_tensor(value, None, "value")
        target = dtypes.as_dtype(dtype).base_dtype
        if value.dtype.min < target.min:
            value = Maximum(value, to_tensor(target.min, value.dtype.base_dtype, "min"))
        if value.dtype.max > target.max:
            value = Minimum(value, to_tensor(_largest_below(target.max, value.dtype), value.dtype.base_dtype, "max"))
        return cast(value, target, scope)


def _largest_below(limit: Any, dtype: DType) -> Any:
    """The largest value of ``dtype`` that is no larger than ``limit``: a float32 cannot hold 2**31 - 1."""
    if not dtype.is_floating:
        return limit
    found = np.array(limit).astype(dtype.np)
    return np.nextafter(found, dtype.np.type(0)) if float(found) > float(limit) or int(found) > int(limit) else found


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


@op("Bitcast", "input: T -> output: type", T=NUMERIC, type=NUMERIC)
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


# --- complex numbers -------------------------------------------------------------------------------------------------

_COMPLEX = types(complex64, complex128, default=complex64)
_PART = types(float32, float64, default=float32)


@op("Complex", "real: T, imag: T -> out: Tout", T=_PART, Tout=_COMPLEX)
class Complex:
    """real + i * imag."""

    elementwise = True
    shape = broadcasting("real", "imag")

    def kernel(real, imag, Tout):
        result = np.empty(np.broadcast_shapes(np.shape(real), np.shape(imag)), Tout.np)
        result.real, result.imag = real, imag
        return result

    def gradient(op, dy):
        # Sums are above this file: their gradients are elementwise.
        from penstock.ops.math.broadcast_gradient import reduce_both
        return reduce_both(op, real(dy), imag(dy))


@op("Real", "input: T -> output: Tout", T=_COMPLEX, Tout=_PART)
class Real:
    """The real part."""

    elementwise = True
    shape = like("input")

    def kernel(input, Tout):
        return np.real(input).astype(Tout.np)

    def lower(b, input, Tout):
        return b.cast(b.real(input), Tout)

    def gradient(op, dy):
        return _complex(dy, _zero(dy))


@op("Imag", "input: T -> output: Tout", T=_COMPLEX, Tout=_PART)
class Imag:
    """The imaginary part."""

    elementwise = True
    shape = like("input")

    def kernel(input, Tout):
        return np.imag(input).astype(Tout.np)

    def lower(b, input, Tout):
        return b.cast(b.imag(input), Tout)

    def gradient(op, dy):
        return _complex(_zero(dy), dy)


@op("Conj", "input: T -> output: T", T=types(complex64, complex128, variant, default=complex64))
class Conj:
    """The complex conjugate."""

    elementwise = True
    shape = like("input")

    def kernel(input):
        return np.conj(input)

    def lower(b, input):
        return b.conj(input)

    def gradient(op, dy):
        return Conj(dy)


@op("Angle", "input: T -> output: Tout", T=_COMPLEX, Tout=_PART)
class Angle:
    """The argument of a complex number: atan2(imag, real)."""

    elementwise = True
    shape = like("input")

    def kernel(input, Tout):
        return np.angle(input).astype(Tout.np)

    def lower(b, input, Tout):
        return b.cast(b.atan2(b.imag(input), b.real(input)), Tout)

    def gradient(op, dy):
        # Elementwise gradients need conj and cast: they live above this file.
        from penstock.ops.math.elementwise import Mul, Neg
        from penstock.ops.math.powers import Reciprocal
        x = op.inputs[0]
        return Mul(Neg(_complex(dy, _zero(dy))), Reciprocal(_complex(imag(x), real(x))))


@op("ComplexAbs", "x: T -> y: Tout", T=_COMPLEX, Tout=_PART)
class ComplexAbs:
    """The absolute value of complex numbers."""

    elementwise = True
    shape = like("x")

    def kernel(x, Tout):
        return np.abs(x).astype(Tout.np)

    def gradient(op, dy):
        # Elementwise gradients need conj and cast: they live above this file.
        from penstock.ops.math.elementwise import DivNoNan, Mul
        zero = _zero(dy)
        return DivNoNan(Mul(_complex(dy, zero), op.inputs[0]), _complex(op.outputs[0], zero))


def _zero(like_tensor: Tensor) -> Tensor:
    return to_tensor(0, like_tensor.dtype.base_dtype, "zero")


def _complex(real_part: Tensor, imaginary_part: Tensor, name: str | None = None) -> Tensor:
    wide = real_part.dtype.base_dtype is float64
    return Complex(real_part, imaginary_part, Tout=complex128 if wide else complex64, name=name)


def complex(real: Any, imag: Any, name: str | None = None) -> Tensor:
    """``tf.complex``: real + i * imag; float32 parts give complex64, float64 parts complex128."""
    with name_scope(name, "Complex", [real, imag]) as scope:
        real, imag = to_tensor(real, None, "real"), to_tensor(imag, None, "imag")
        if real.dtype.base_dtype is not imag.dtype.base_dtype or real.dtype.base_dtype not in (float32, float64):
            raise TypeError(f"real and imag have incorrect types: {real.dtype.name} {imag.dtype.name}")
        return _complex(real, imag, scope)


def _part(definition: Any, x: Any, name: str | None, otherwise: Any) -> Any:
    """An op that gives a real number per complex one; ``otherwise`` handles real ``x``."""
    with name_scope(name, definition.type, [x]) as scope:
        x = to_tensor(x, None, "input")
        return definition(x, Tout=x.dtype.base_dtype.real_dtype, name=scope) if x.dtype.is_complex else otherwise(x)


def real(input: Any, name: str | None = None) -> Tensor:
    """``tf.real``: the real part; a real tensor as it is."""
    return _part(Real, input, name, lambda x: x)


def imag(input: Any, name: str | None = None) -> Tensor:
    """``tf.imag``: the imaginary part; zeros for a real tensor."""
    return _part(Imag, input, name, zeros_like)


def angle(input: Any, name: str | None = None) -> Tensor:
    """``tf.angle``: the argument; zeros for a real tensor, as in TensorFlow 1."""
    return _part(Angle, input, name, zeros_like)


def conj(x: Any, name: str | None = None) -> Tensor:
    """``tf.conj``: the complex conjugate; a real tensor as it is."""
    if isinstance(x, Tensor) and not x.dtype.is_complex and x.dtype.base_dtype is not variant:
        if x.dtype.is_floating or x.dtype.is_integer:
            return x
        raise TypeError(f"Expected numeric or variant tensor, got dtype {x.dtype}")
    with name_scope(name, "Conj", [x]) as scope:
        x = to_tensor(x, None, "x")
        return Conj(x, name=scope) if x.dtype.is_complex else conj(x)


complex_abs = function(ComplexAbs, "complex_abs")
