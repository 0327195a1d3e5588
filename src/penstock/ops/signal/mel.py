"""The mel scale, on which equal distances sound equal: weights from a linear spectrogram to it, and cepstral coefficients."""
from __future__ import annotations

from typing import Any

from penstock.graph.convert import to_tensor
from penstock.graph.dtypes import float16, float32
from penstock.graph.node import Tensor
from penstock.graph.scopes import name_scope
from penstock.graph.static import constant_value
from penstock.ops.array.cast import cast
from penstock.ops.array.pack import split
from penstock.ops.array.pad import pad
from penstock.ops.array.sequences import linspace
from penstock.ops.array.shape_ops import expand_dims, reshape, shape
from penstock.ops.math.elementwise import maximum, minimum
from penstock.ops.math.powers import log, rsqrt
from penstock.ops.signal.frames import frame
from penstock.ops.signal.transforms import dct

_BREAK_HERTZ, _HIGH_Q = 700.0, 1127.0


def _hertz_to_mel(frequencies: Any) -> Tensor:
    with name_scope(None, "hertz_to_mel", [frequencies]):
        return _HIGH_Q * log(1.0 + to_tensor(frequencies) / _BREAK_HERTZ)


def _check(num_mel_bins: int, sample_rate: Any, lower_edge_hertz: float, upper_edge_hertz: float, dtype: Any) -> None:
    if num_mel_bins <= 0:
        raise ValueError(f"num_mel_bins must be positive. Got: {num_mel_bins}")
    if sample_rate <= 0.0:
        raise ValueError(f"sample_rate must be positive. Got: {sample_rate}")
    if lower_edge_hertz < 0.0:
        raise ValueError(f"lower_edge_hertz must be non-negative. Got: {lower_edge_hertz}")
    if lower_edge_hertz >= upper_edge_hertz:
        raise ValueError(f"lower_edge_hertz {lower_edge_hertz:.1f} >= upper_edge_hertz {upper_edge_hertz:.1f}")
    if upper_edge_hertz > sample_rate / 2:
        raise ValueError(f"upper_edge_hertz must not be larger than the Nyquist frequency (sample_rate / 2). Got: {upper_edge_hertz} "
                         f"for sample_rate: {sample_rate}")
    if not dtype.is_floating:
        raise ValueError(f"dtype must be a floating point type. Got: {dtype}")


def _linspace(start: Any, stop: Any, count: Any) -> Tensor:
    """``tf.linspace``, which has no half precision: that is computed in single precision."""
    if start.dtype.base_dtype != float16:
        return linspace(start, stop, count)
    return cast(linspace(cast(start, float32), cast(stop, float32), count), float16)


def linear_to_mel_weight_matrix(num_mel_bins: int = 20, num_spectrogram_bins: int = 129, sample_rate: Any = 8000,
                                lower_edge_hertz: float = 125.0, upper_edge_hertz: float = 3800.0, dtype: Any = float32,
                                name: str | None = None) -> Tensor:
    """``tf.signal.linear_to_mel_weight_matrix``: triangles at even distances on the mel scale, one column each, over linear frequencies."""
    with name_scope(name, "linear_to_mel_weight_matrix") as scope:
        if isinstance(sample_rate, Tensor):
            sample_rate = constant_value(sample_rate)
            if sample_rate is None:
                raise ValueError("`sample_rate` was a non-constant Tensor. Must be a Python float or a constant Tensor.")
        _check(num_mel_bins, sample_rate, lower_edge_hertz, upper_edge_hertz, dtype)
        rate = to_tensor(sample_rate, dtype, name="sample_rate")
        lower = to_tensor(lower_edge_hertz, dtype, name="lower_edge_hertz")
        upper = to_tensor(upper_edge_hertz, dtype, name="upper_edge_hertz")
        zero = to_tensor(0.0, dtype)
        frequencies = _linspace(zero, rate / 2.0, num_spectrogram_bins)[1:]  # 0 Hz belongs to no triangle
        mels = expand_dims(_hertz_to_mel(frequencies), 1)
        edges = frame(_linspace(_hertz_to_mel(lower), _hertz_to_mel(upper), num_mel_bins + 2), frame_length=3, frame_step=1)
        left, centre, right = (reshape(each, [1, num_mel_bins]) for each in split(edges, 3, axis=1))
        rising, falling = (mels - left) / (centre - left), (right - mels) / (right - centre)
        return pad(maximum(zero, minimum(rising, falling)), [[1, 0], [0, 0]], name=scope)


def mfccs_from_log_mel_spectrograms(log_mel_spectrograms: Any, name: str | None = None) -> Tensor:
    """``tf.signal.mfccs_from_log_mel_spectrograms``: mel frequency cepstral coefficients, as HTK scales them."""
    with name_scope(name, "mfccs_from_log_mel_spectrograms", [log_mel_spectrograms]):
        spectrograms = to_tensor(log_mel_spectrograms, float32)
        bins = spectrograms.shape.as_list()[-1] if spectrograms.shape.ndims else None
        if bins == 0:
            raise ValueError(f"num_mel_bins must be positive. Got: {spectrograms}")
        bins = shape(spectrograms)[-1] if bins is None else bins
        return dct(spectrograms, type=2) * rsqrt(cast(bins, float32) * 2.0)
