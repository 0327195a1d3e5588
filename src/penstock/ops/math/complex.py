"""Complex numbers: made of their parts, taken apart, conjugated."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.graph import raw_ops
from penstock.graph.attrs import types
from penstock.graph.convert import to_tensor
from penstock.graph.dtypes import complex64, complex128, float32, float64, variant
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.scopes import name_scope
from penstock.ops.array.broadcast_gradient import reduce_both
from penstock.ops.array.fill import zeros_like
from penstock.ops.common import broadcasting, like
from penstock.ops.public import function

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
        x = op.inputs[0]
        return raw_ops.Mul(raw_ops.Neg(_complex(dy, _zero(dy))), raw_ops.Reciprocal(_complex(imag(x), real(x))))


@op("ComplexAbs", "x: T -> y: Tout", T=_COMPLEX, Tout=_PART)
class ComplexAbs:
    """The absolute value of complex numbers."""

    elementwise = True
    shape = like("x")

    def kernel(x, Tout):
        return np.abs(x).astype(Tout.np)

    def gradient(op, dy):
        zero = _zero(dy)
        return raw_ops.DivNoNan(raw_ops.Mul(_complex(dy, zero), op.inputs[0]), _complex(op.outputs[0], zero))


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
