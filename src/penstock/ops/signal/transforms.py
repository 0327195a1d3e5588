"""The transforms under their public names: lengths that are inferred, inputs that are padded, the discrete cosine transform, shifts."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from penstock.graph.convert import to_tensor
from penstock.graph.dtypes import complex64, float32, int32
from penstock.graph.node import Tensor
from penstock.graph.opdef import OpDef
from penstock.graph.scopes import name_scope
from penstock.graph.static import constant_value_as_shape
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import zeros, zeros_like
from penstock.ops.array.pack import concat, stack, unstack
from penstock.ops.array.pad import pad
from penstock.ops.array.permute import roll
from penstock.ops.array.sequences import range as range_op
from penstock.ops.array.shape_ops import expand_dims, rank, shape
from penstock.ops.math.complex import complex as complex_op
from penstock.ops.math.complex import real
from penstock.ops.math.elementwise import maximum
from penstock.ops.math.powers import exp, rsqrt, sqrt
from penstock.ops.public import function
from penstock.ops.signal.fft import FFT, FFT2D, FFT3D, IFFT, IFFT2D, IFFT3D, IRFFT, IRFFT2D, IRFFT3D, RFFT, RFFT2D, RFFT3D

fft, ifft = function(FFT, "fft"), function(IFFT, "ifft")
fft2d, ifft2d = function(FFT2D, "fft2d"), function(IFFT2D, "ifft2d")
fft3d, ifft3d = function(FFT3D, "fft3d"), function(IFFT3D, "ifft3d")


def _of_real(definition: OpDef, count: int, name: str, dtype: Any, inverse: bool) -> Callable[..., Tensor]:
    """The public function of a transform of real numbers, or back to them."""
    def transform(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
        with name_scope(name, public, [input_tensor, fft_length]) as scope:
            input_tensor = to_tensor(input_tensor, dtype)
            input_tensor.shape.with_rank_at_least(count)
            lengths = _lengths(input_tensor, count, inverse) if fft_length is None else to_tensor(fft_length, int32)
            lengths.shape.assert_has_rank(1)
            return definition(_pad(input_tensor, count, lengths, inverse), lengths, name=scope)

    public = name
    transform.__name__ = transform.__qualname__ = public
    transform.__doc__ = f"``tf.signal.{public}``: {definition.__doc__}"
    return transform


def _lengths(tensor: Tensor, count: int, inverse: bool) -> Tensor:
    """The lengths of the real signal; of a spectrum an even one."""
    known = tensor.shape[-count:]
    if known.is_fully_defined():
        extents = known.as_list()
        if inverse and extents:
            extents[-1] = max(0, 2 * (extents[-1] - 1))
        return to_tensor(extents, int32)
    if not inverse:
        return shape(tensor)[-count:]
    parts = unstack(shape(tensor)[-count:])
    parts[-1] = maximum(0, 2 * (parts[-1] - 1))
    return stack(parts)


def _pad(tensor: Tensor, count: int, lengths: Tensor, inverse: bool) -> Tensor:
    """The input with zeros behind it, if it is too short."""
    if tensor.shape.ndims is not None and 0 in tensor.shape.as_list():
        return tensor
    wanted = constant_value_as_shape(lengths)
    if wanted.is_fully_defined() and tensor.shape.ndims is not None and tensor.shape[-count:].is_fully_defined():
        extents = wanted.as_list()
        if inverse:
            extents[-1] = extents[-1] // 2 + 1
        behind = [[0, max(extent - own, 0)] for extent, own in zip(extents, tensor.shape.as_list()[-count:])]
        return pad(tensor, [[0, 0]] * (tensor.shape.ndims - count) + behind) if any(after for _, after in behind) else tensor
    if inverse:
        lengths = concat([lengths[:-1], lengths[-1:] // 2 + 1], 0)
    outer = zeros([maximum(0, rank(tensor) - count)], lengths.dtype)
    behind = concat([outer, maximum(0, lengths - shape(tensor)[-count:])], 0)
    return pad(tensor, stack([zeros_like(behind), behind], axis=1))


rfft, irfft = _of_real(RFFT, 1, "rfft", float32, False), _of_real(IRFFT, 1, "irfft", complex64, True)
rfft2d, irfft2d = _of_real(RFFT2D, 2, "rfft2d", float32, False), _of_real(IRFFT2D, 2, "irfft2d", complex64, True)
rfft3d, irfft3d = _of_real(RFFT3D, 3, "rfft3d", float32, False), _of_real(IRFFT3D, 3, "irfft3d", complex64, True)


# --- shifts ----------------------------------------------------------------------------------------------------------


def fftshift(x: Any, axes: Any = None, name: str | None = None) -> Tensor:
    """``tf.signal.fftshift``: moves the frequency 0 to the middle."""
    with name_scope(name, "fftshift") as scope:
        return _shift(to_tensor(x), axes, 1, scope)


def ifftshift(x: Any, axes: Any = None, name: str | None = None) -> Tensor:
    """``tf.signal.ifftshift``: moves it back."""
    with name_scope(name, "ifftshift") as scope:
        return _shift(to_tensor(x), axes, -1, scope)


def _shift(x: Tensor, axes: Any, sign: int, name: str) -> Tensor:
    extents = x.shape.as_list()
    if isinstance(axes, int):
        return roll(x, sign * (extents[axes] // 2), axes, name)
    axes = tuple(range(len(extents))) if axes is None else axes
    return roll(x, [sign * (extents[axis] // 2) for axis in axes], axes, name)


# --- cosines ---------------------------------------------------------------------------------------------------------


def _check_dct(input: Any, kind: int, n: int | None, axis: int, norm: str | None) -> None:
    if axis != -1:
        raise NotImplementedError(f"axis must be -1. Got: {axis}")
    if n is not None and n < 1:
        raise ValueError("n should be a positive integer or None")
    if kind not in (1, 2, 3):
        raise ValueError("Only Types I, II and III (I)DCT are supported.")
    if kind == 1 and norm == "ortho":
        raise ValueError("Normalization is not supported for the Type-I DCT.")
    if kind == 1 and input.shape[-1] is not None and input.shape[-1] < 2:
        raise ValueError("Type-I DCT requires the dimension to be greater than one.")
    if norm not in (None, "ortho"):
        raise ValueError(f"Unknown normalization. Expected None or 'ortho', got: {norm}")


def dct(input: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None, name: str | None = None) -> Tensor:
    """``tf.signal.dct``: the discrete cosine transform of the last axis, of its first ``n`` elements."""
    _check_dct(input, type, n, axis, norm)
    with name_scope(name, "dct", [input]):
        input = _first(to_tensor(input, float32), n)
        size = input.shape.as_list()[-1] or shape(input)[-1]
        count = cast(size, float32)
        if type == 1:
            return real(rfft(concat([input, input[..., -2:0:-1]], axis=-1)))
        angles = range_op(count) * math.pi * 0.5 / count
        if type == 2:
            rotation = 2.0 * exp(complex_op(0.0, -angles))
            result = real(rfft(input, fft_length=[2 * size])[..., :size] * rotation)
            return result if norm is None else result * _orthonormal(0.5 * rsqrt(count), math.sqrt(2.0), size)
        input *= count if norm is None else _orthonormal(sqrt(count), math.sqrt(0.5), size)
        rotation = 2.0 * exp(complex_op(0.0, angles))
        return real(irfft(rotation * complex_op(input, 0.0), fft_length=[2 * size]))[..., :size]


def _orthonormal(first: Tensor, ratio: float, size: Any) -> Tensor:
    """The factor of the constant term, and that of all others."""
    return pad(expand_dims(first, 0), [[0, size - 1]], constant_values=first * ratio)


def _first(tensor: Tensor, n: int | None) -> Tensor:
    if n is None:
        return tensor
    size = tensor.shape.as_list()[-1] or shape(tensor)[-1]
    if n <= size:
        return tensor[..., 0:n]
    return pad(tensor, [[0, 0]] * (tensor.shape.ndims - 1) + [[0, n - size]])


def idct(input: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None, name: str | None = None) -> Tensor:
    """``tf.signal.idct``: the inverse of ``dct``, but for a factor unless ``norm`` is "ortho"."""
    _check_dct(input, type, n, axis, norm)
    return dct(input, type={1: 1, 2: 3, 3: 2}[type], n=n, axis=axis, norm=norm, name=name)
