"""Signals in frames: windows, overlapping frames and their sum, short-time Fourier transforms."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.graph.convert import to_tensor
from penstock.graph.dtypes import bool_, float32, int32
from penstock.graph.node import Tensor
from penstock.graph.scopes import name_scope
from penstock.graph.static import constant_value
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import ones, zeros, zeros_like
from penstock.ops.array.gather import gather
from penstock.ops.array.pack import concat, split
from penstock.ops.array.pad import pad
from penstock.ops.array.permute import tile, transpose
from penstock.ops.array.sequences import range as range_op
from penstock.ops.array.shape_ops import rank, reshape, shape, size
from penstock.ops.array.slicing import strided_slice
from penstock.ops.constant import constant
from penstock.ops.flow.control_flow import cond, while_loop
from penstock.ops.math.compare import equal, greater
from penstock.ops.math.division import mod
from penstock.ops.math.elementwise import maximum, square
from penstock.ops.math.powers import log, pow
from penstock.ops.math.reduce import reduce_sum
from penstock.ops.math.rounding import ceil
from penstock.ops.math.trigonometry import cos
from penstock.ops.signal.transforms import irfft, rfft

# --- windows ---------------------------------------------------------------------------------------------------------


def hann_window(window_length: Any, periodic: Any = True, dtype: Any = float32, name: str | None = None) -> Tensor:
    """``tf.signal.hann_window``: half of 1 minus a cosine."""
    return _raised_cosine(name, "hann_window", window_length, periodic, dtype, 0.5, 0.5)


def hamming_window(window_length: Any, periodic: Any = True, dtype: Any = float32, name: str | None = None) -> Tensor:
    """``tf.signal.hamming_window``: a raised cosine that does not reach 0."""
    return _raised_cosine(name, "hamming_window", window_length, periodic, dtype, 0.54, 0.46)


def _raised_cosine(name: str | None, default: str, length: Any, periodic: Any, dtype: Any, a: float, b: float) -> Tensor:
    if not dtype.is_floating:
        raise ValueError(f"dtype must be a floating point type. Found {dtype}")
    with name_scope(name, default, [length, periodic]):
        length = to_tensor(length, int32, name="window_length")
        length.shape.assert_has_rank(0)
        known = constant_value(length)
        if known is not None and known == 1:
            return ones([1], dtype=dtype)
        periodic = cast(to_tensor(periodic, bool_, name="periodic"), int32)
        periodic.shape.assert_has_rank(0)
        even = 1 - mod(length, 2)
        period = cast(length + periodic * even - 1, dtype)
        angles = constant(2 * np.pi, dtype=dtype) * cast(range_op(length), dtype) / period
        if known is not None:
            return cast(a - b * cos(angles), dtype)
        return cond(equal(length, 1), lambda: ones([1], dtype=dtype), lambda: cast(a - b * cos(angles), dtype))


# --- frames ----------------------------------------------------------------------------------------------------------


def _static_shape(signal: Tensor, frame_length: Tensor, frame_step: Tensor, pad_end: bool, axis: Tensor) -> list[int | None] | None:
    length, step, place = (constant_value(each) for each in (frame_length, frame_step, axis))
    if signal.shape.ndims is None:
        return None
    if place is None:
        return [None] * (signal.shape.ndims + 1)
    extents, place = signal.shape.as_list(), int(place) % signal.shape.ndims
    samples, frames = extents[place], None
    if samples is not None and step is not None and (pad_end or length is not None):
        frames = max(0, -(-samples // step)) if pad_end else max(0, (samples - length + step) // step)
    return [*extents[:place], frames, length, *extents[place + 1:]]


def _gcd(a: Tensor, b: Tensor) -> Tensor:
    """The greatest common divisor of two scalars."""
    with name_scope(None, "gcd", [a, b]):
        known = constant_value(a), constant_value(b)
        if known[0] is not None and known[1] is not None:
            return to_tensor(math.gcd(int(known[0]), int(known[1])))
        return while_loop(lambda _, b: greater(b, zeros_like(b)), lambda a, b: [b, mod(a, b)], [a, b], back_prop=False)[0]


def frame(signal: Any, frame_length: Any, frame_step: Any, pad_end: bool = False, pad_value: Any = 0, axis: Any = -1,
          name: str | None = None) -> Tensor:
    """``tf.signal.frame``: frames of ``frame_length`` samples, each ``frame_step`` after the one before, along a new axis.

    Frames are put together of pieces as long as the greatest common divisor of length and step: no sample is moved alone.
    """
    with name_scope(name, "frame", [signal, frame_length, frame_step, pad_value]):
        signal, frame_length = to_tensor(signal, name="signal"), to_tensor(frame_length, name="frame_length")
        frame_step, axis = to_tensor(frame_step, name="frame_step"), to_tensor(axis, name="axis")
        signal.shape.with_rank_at_least(1)
        for each in (frame_length, frame_step, axis):
            each.shape.assert_has_rank(0)
        static = _static_shape(signal, frame_length, frame_step, pad_end, axis)
        signal_rank = rank(signal)
        axis = range_op(signal_rank)[axis]
        outer, samples, inner = split(shape(signal), [axis, 1, signal_rank - 1 - axis])
        samples = reshape(samples, [])
        if pad_end:
            count = -(-samples // frame_step)
            missing = maximum(0, frame_length + frame_step * (count - 1) - samples)
            paddings = concat([zeros([size(outer), 2], dtype=missing.dtype), [[0, missing]], zeros([size(inner), 2], dtype=missing.dtype)], 0)
            signal = pad(signal, paddings, constant_values=to_tensor(pad_value, signal.dtype))
            samples = shape(signal)[axis]
        else:
            count = maximum(0, 1 + (samples - frame_length) // frame_step)
        frames = _gather(signal, frame_length, frame_step, samples, count, outer, inner, axis)
        if static:
            frames.set_shape(static)
        return frames


def _gather(signal: Tensor, length: Tensor, step: Tensor, samples: Tensor, count: Tensor, outer: Tensor, inner: Tensor, axis: Tensor) -> Tensor:
    piece = _gcd(length, step)
    per_frame, per_step, pieces = length // piece, step // piece, samples // piece
    whole = concat([outer, [pieces * piece], inner], 0)
    cut = reshape(strided_slice(signal, zeros_like(shape(signal)), whole), concat([outer, [pieces, piece], inner], 0))
    starts = reshape(range_op(count) * per_step, [count, 1])
    selector = starts + reshape(range_op(per_frame), [1, per_frame])
    return reshape(gather(cut, selector, axis=axis), concat([outer, [count, length], inner], 0))


def overlap_and_add(signal: Any, frame_step: Any, name: str | None = None) -> Tensor:
    """``tf.signal.overlap_and_add``: the sum of frames that begin ``frame_step`` samples apart."""
    with name_scope(name, "overlap_and_add", [signal, frame_step]):
        signal = to_tensor(signal, name="signal")
        signal.shape.with_rank_at_least(2)
        frame_step = to_tensor(frame_step, name="frame_step")
        frame_step.shape.assert_has_rank(0)
        if not frame_step.dtype.is_integer:
            raise ValueError(f"frame_step must be an integer. Got {frame_step.dtype}")
        outer, frames, length = shape(signal)[:-2], shape(signal)[-2], shape(signal)[-1]
        total = length + frame_step * (frames - 1)
        step = constant_value(frame_step)
        if step is not None and signal.shape.ndims is not None and step == signal.shape.as_list()[-1]:
            return reshape(signal, concat([outer, [total]], 0), name="fast_path")
        return _overlap_sum(signal, frame_step, outer, frames, length)[..., :total]


def _overlap_sum(signal: Tensor, step: Tensor, outer: Tensor, frames: Tensor, length: Tensor) -> Tensor:
    """Frames in segments as long as a step; the n-th segments of all frames form a row, which is moved by n segments; rows are added up."""
    segments = -(-length // step)
    outer_rank = size(outer)
    paddings = concat([zeros([outer_rank, 2], int32), [[0, segments], [0, segments * step - length]]], 0)
    rows = reshape(pad(signal, paddings), concat([outer, [frames + segments, segments, step]], 0))
    rows = transpose(rows, concat([range_op(outer_rank), outer_rank + [1, 0, 2]], 0))
    rows = reshape(rows, concat([outer, [(frames + segments) * segments, step]], 0))
    rows = rows[..., :(frames + segments - 1) * segments, :]  # a row that is one segment shorter moves each against the one before
    rows = reshape(rows, concat([outer, [segments, frames + segments - 1, step]], 0))
    return reshape(reduce_sum(rows, -3), concat([outer, [(frames + segments - 1) * step]], 0))


# --- short-time Fourier transforms -----------------------------------------------------------------------------------


def _enclosing_power_of_two(value: Tensor) -> Tensor:
    known = constant_value(value)
    if known is not None:
        return constant(int(2 ** np.ceil(np.log(known) / np.log(2.0))), value.dtype)
    return cast(pow(2.0, ceil(log(cast(value, float32)) / log(2.0))), value.dtype)


def stft(signals: Any, frame_length: Any, frame_step: Any, fft_length: Any = None, window_fn: Callable[..., Any] | None = hann_window,
         pad_end: bool = False, name: str | None = None) -> Tensor:
    """``tf.signal.stft``: the spectra of frames, each times a window."""
    with name_scope(name, "stft", [signals, frame_length, frame_step]):
        signals = to_tensor(signals, name="signals")
        signals.shape.with_rank_at_least(1)
        frame_length, frame_step = to_tensor(frame_length, name="frame_length"), to_tensor(frame_step, name="frame_step")
        frame_length.shape.assert_has_rank(0)
        frame_step.shape.assert_has_rank(0)
        fft_length = _enclosing_power_of_two(frame_length) if fft_length is None else to_tensor(fft_length, name="fft_length")
        frames = frame(signals, frame_length, frame_step, pad_end=pad_end)
        if window_fn is not None:
            frames *= window_fn(frame_length, dtype=frames.dtype)
        return rfft(frames, [fft_length])


def inverse_stft_window_fn(frame_step: Any, forward_window_fn: Callable[..., Any] = hann_window, name: str | None = None) -> Callable[..., Tensor]:
    """``tf.signal.inverse_stft_window_fn``: the window with which ``inverse_stft`` gives back what ``stft`` was given."""
    with name_scope(name, "inverse_stft_window_fn", [forward_window_fn]):
        frame_step = to_tensor(frame_step, name="frame_step")
        frame_step.shape.assert_has_rank(0)

    def inverse_window(frame_length: Any, dtype: Any) -> Tensor:
        with name_scope(name, "inverse_stft_window_fn", [forward_window_fn]):
            frame_length = to_tensor(frame_length, name="frame_length")
            frame_length.shape.assert_has_rank(0)
            window = forward_window_fn(frame_length, dtype=dtype)
            overlaps = -(-frame_length // frame_step)
            squares = pad(square(window), [(0, overlaps * frame_step - frame_length)])
            sums = reduce_sum(reshape(squares, [overlaps, frame_step]), 0, keepdims=True)
            sums = reshape(tile(sums, [overlaps, 1]), [overlaps * frame_step])
            return window / sums[:frame_length]

    return inverse_window


def inverse_stft(stfts: Any, frame_length: Any, frame_step: Any, fft_length: Any = None, window_fn: Callable[..., Any] | None = hann_window,
                 name: str | None = None) -> Tensor:
    """``tf.signal.inverse_stft``: the signal of short-time spectra: their frames, each times a window, overlapped and added."""
    with name_scope(name, "inverse_stft", [stfts]):
        stfts = to_tensor(stfts, name="stfts")
        stfts.shape.with_rank_at_least(2)
        frame_length, frame_step = to_tensor(frame_length, name="frame_length"), to_tensor(frame_step, name="frame_step")
        frame_length.shape.assert_has_rank(0)
        frame_step.shape.assert_has_rank(0)
        fft_length = _enclosing_power_of_two(frame_length) if fft_length is None else to_tensor(fft_length, name="fft_length")
        fft_length.shape.assert_has_rank(0)
        frames = _cut_or_padded(irfft(stfts, [fft_length]), frame_length)
        if window_fn is not None:
            frames *= window_fn(frame_length, dtype=stfts.dtype.real_dtype)
        return overlap_and_add(frames, frame_step)


def _cut_or_padded(frames: Tensor, length: Tensor) -> Tensor:
    """Frames of exactly ``length`` samples."""
    known, own = constant_value(length), frames.shape.as_list()[-1] if frames.shape.ndims is not None else None
    if known is None or own is None:
        frames = frames[..., :length]
        missing = maximum(0, length - shape(frames)[-1])
        frames = pad(frames, concat([zeros([rank(frames) - 1, 2], dtype=length.dtype), [[0, missing]]], 0))
    elif own > known:
        frames = frames[..., :int(known)]
    elif own < known:
        frames = pad(frames, [[0, 0]] * (frames.shape.ndims - 1) + [[0, int(known) - own]])
    if known is not None and frames.shape.ndims is not None:
        frames.set_shape([None] * (frames.shape.ndims - 1) + [int(known)])
    return frames
