"""Fourier transforms over the last one, two or three axes: of complex numbers, and of real ones, whose spectra are half as long."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph.attrs import types
from penstock.graph.dtypes import complex64, complex128, float32
from penstock.graph.node import Tensor
from penstock.graph.opdef import lookup, op
from penstock.graph.shape import TensorShape
from penstock.graph.static import constant_value_as_shape
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import ones, zeros_like
from penstock.ops.array.pack import concat, stack
from penstock.ops.array.pad import pad
from penstock.ops.array.shape_ops import shape
from penstock.ops.common import at_least, like
from penstock.ops.math.complex import real
from penstock.ops.math.division import mod
from penstock.ops.math.elementwise import maximum
from penstock.ops.math.reduce import reduce_prod

_COMPLEX = types(complex64, complex128, default=complex64)


def _axes(count: int) -> tuple[int, ...]:
    return tuple(range(-count, 0))


# --- complex ---------------------------------------------------------------------------------------------------------


class _Transform:
    """The discrete Fourier transform of the last ``_rank`` axes."""

    shape = like("input")

    def kernel(input, _rank):
        return np.fft.fftn(input, axes=_axes(_rank)).astype(input.dtype, copy=False) if input.size else input


class _InverseTransform:
    """The inverse of it."""

    shape = like("input")

    def kernel(input, _rank):
        return np.fft.ifftn(input, axes=_axes(_rank)).astype(input.dtype, copy=False) if input.size else input


def _back(inverse: str, count: int, grows: bool) -> Callable[..., Any]:
    """The gradient of a transform: its inverse without the factor that this has, or with it."""
    def gradient(op, dy):
        size = cast(reduce_prod(shape(dy)[-count:]), dy.dtype)
        back = lookup(inverse)(dy)
        return back * size if grows else back / size

    return gradient


@op("FFT", "input: Tcomplex -> output: Tcomplex", Tcomplex=_COMPLEX)
class FFT(_Transform):
    """The Fourier transform of the last axis."""

    ranks = {"input": at_least(1)}
    _rank = 1
    gradient = _back("IFFT", 1, grows=True)


@op("FFT2D", "input: Tcomplex -> output: Tcomplex", Tcomplex=_COMPLEX)
class FFT2D(_Transform):
    """The Fourier transform of the last two axes."""

    ranks = {"input": at_least(2)}
    _rank = 2
    gradient = _back("IFFT2D", 2, grows=True)


@op("FFT3D", "input: Tcomplex -> output: Tcomplex", Tcomplex=_COMPLEX)
class FFT3D(_Transform):
    """The Fourier transform of the last three axes."""

    ranks = {"input": at_least(3)}
    _rank = 3
    gradient = _back("IFFT3D", 3, grows=True)


@op("IFFT", "input: Tcomplex -> output: Tcomplex", Tcomplex=_COMPLEX)
class IFFT(_InverseTransform):
    """The inverse Fourier transform of the last axis."""

    ranks = {"input": at_least(1)}
    _rank = 1
    gradient = _back("FFT", 1, grows=False)


@op("IFFT2D", "input: Tcomplex -> output: Tcomplex", Tcomplex=_COMPLEX)
class IFFT2D(_InverseTransform):
    """The inverse Fourier transform of the last two axes."""

    ranks = {"input": at_least(2)}
    _rank = 2
    gradient = _back("FFT2D", 2, grows=False)


@op("IFFT3D", "input: Tcomplex -> output: Tcomplex", Tcomplex=_COMPLEX)
class IFFT3D(_InverseTransform):
    """The inverse Fourier transform of the last three axes."""

    ranks = {"input": at_least(3)}
    _rank = 3
    gradient = _back("FFT3D", 3, grows=False)


# --- real ------------------------------------------------------------------------------------------------------------


def _transformed_shape(input: Tensor, fft_length: Tensor, count: int, halves: bool) -> Any:
    """The shape of ``input`` with ``fft_length`` for its last extents, the last of them halved for a spectrum of real numbers."""
    given = fft_length.shape.with_rank(1).extents[0]
    if given not in (None, count):
        raise ValueError(f"Dimension must be {count} but is {given}")
    if input.shape.ndims is None:
        return TensorShape(None)
    lengths = constant_value_as_shape(fft_length).with_rank(count).as_list()
    if halves and lengths[-1] is not None:
        lengths[-1] = lengths[-1] // 2 + 1 if lengths[-1] else 0
    return input.shape.as_list()[:-count] + lengths


def _check_lengths(input: np.ndarray, lengths: list[int], count: int, halved: bool) -> None:
    for axis, length in zip(_axes(count), lengths):
        needed = length // 2 + 1 if halved and axis == -1 else length
        if length < 0:
            raise invalid_argument(f"fft_length[{axis + count}] must be >= 0, but got: {length}")
        if input.size and input.shape[axis] < needed:
            raise invalid_argument(f"Input dimension {input.ndim + axis} must have length of at least {needed} but got: {input.shape[axis]}")


class _RealTransform:
    """The Fourier transform of the last ``_rank`` axes of real numbers: of the last axis only the frequencies up to half, the others mirror."""

    def shape(input, fft_length, _rank):
        return _transformed_shape(input, fft_length, _rank, halves=True)

    def kernel(input, fft_length, _rank):
        lengths = fft_length.tolist()
        _check_lengths(input, lengths, _rank, halved=False)
        if not input.size or not all(lengths):
            return np.zeros((*input.shape[:-_rank], *lengths[:-1], lengths[-1] // 2 + 1 if lengths[-1] else 0), np.complex64)
        return np.fft.rfftn(input, s=lengths, axes=_axes(_rank)).astype(np.complex64, copy=False)


def _real_back(inverse: str, count: int) -> Callable[..., Any]:
    """The gradient of a transform of real numbers: the half spectrum, without what mirrors it, transformed back."""
    def gradient(op, dy):
        input, lengths = op.inputs
        whole = lookup(inverse)(_resize(dy, lengths, count)) * cast(reduce_prod(lengths), complex64)
        return _resize(real(whole), shape(input)[-count:], count), None

    return gradient


def _resize(tensor: Tensor, lengths: Any, count: int) -> Tensor:
    """The tensor with zeros behind its last ``count`` axes, so that their extents are ``lengths``."""
    behind = maximum(0, lengths - shape(tensor)[-count:])
    outer = zeros_like(shape(tensor)[:-count])
    behind = concat([outer, behind], 0)
    return pad(tensor, stack([zeros_like(behind), behind], axis=1))


class _InverseRealTransform:
    """The inverse of it: real numbers of the frequencies up to half."""

    def shape(input, fft_length, _rank):
        return _transformed_shape(input, fft_length, _rank, halves=False)

    def kernel(input, fft_length, _rank):
        lengths = fft_length.tolist()
        _check_lengths(input, lengths, _rank, halved=True)
        if not input.size or not all(lengths):
            return np.zeros((*input.shape[:-_rank], *lengths), np.float32)
        return np.fft.irfftn(input, s=lengths, axes=_axes(_rank)).astype(np.float32, copy=False)


def _real_forward(forward: str, count: int) -> Callable[..., Any]:
    """The gradient of an inverse transform to real numbers: frequencies that are mirrored count twice."""
    def gradient(op, dy):
        input, lengths = op.inputs
        is_odd = mod(lengths[-1], 2)
        half = lengths[-1] // 2 + 1
        weights = concat([[1.0], 2.0 * ones([half - 2 + is_odd]), ones([1 - is_odd])], 0)
        spectrum = lookup(forward)(dy, lengths) * cast(weights / cast(reduce_prod(lengths), float32), complex64)
        return _resize(spectrum, shape(input)[-count:], count), None

    return gradient


@op("RFFT", "input: float, fft_length: int32 -> output: complex64")
class RFFT(_RealTransform):
    """The Fourier transform of real numbers along the last axis."""

    ranks = {"input": at_least(1), "fft_length": 1}
    _rank = 1
    gradient = _real_back("IFFT", 1)


@op("RFFT2D", "input: float, fft_length: int32 -> output: complex64")
class RFFT2D(_RealTransform):
    """The Fourier transform of real numbers along the last two axes."""

    ranks = {"input": at_least(2), "fft_length": 1}
    _rank = 2
    gradient = _real_back("IFFT2D", 2)


@op("RFFT3D", "input: float, fft_length: int32 -> output: complex64")
class RFFT3D(_RealTransform):
    """The Fourier transform of real numbers along the last three axes."""

    ranks = {"input": at_least(3), "fft_length": 1}
    _rank = 3
    gradient = _real_back("IFFT3D", 3)


@op("IRFFT", "input: complex64, fft_length: int32 -> output: float")
class IRFFT(_InverseRealTransform):
    """The real numbers with this spectrum along the last axis."""

    ranks = {"input": at_least(1), "fft_length": 1}
    _rank = 1
    gradient = _real_forward("RFFT", 1)


@op("IRFFT2D", "input: complex64, fft_length: int32 -> output: float")
class IRFFT2D(_InverseRealTransform):
    """The real numbers with this spectrum along the last two axes."""

    ranks = {"input": at_least(2), "fft_length": 1}
    _rank = 2
    gradient = _real_forward("RFFT2D", 2)


@op("IRFFT3D", "input: complex64, fft_length: int32 -> output: float")
class IRFFT3D(_InverseRealTransform):
    """The real numbers with this spectrum along the last three axes."""

    ranks = {"input": at_least(3), "fft_length": 1}
    _rank = 3
    gradient = _real_forward("RFFT3D", 3)
