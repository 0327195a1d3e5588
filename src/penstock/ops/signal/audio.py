"""Sound: WAV files of 16 bits, spectrograms, and the features that recognisers of speech are given."""
from __future__ import annotations

import struct

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph.attrs import INT
from penstock.graph.opdef import op
from penstock.graph.shape import TensorShape
from penstock.ops.common import fixed
from penstock.ops.public import function
from penstock.ops.text.files import text

_FULL_SCALE = 1 << 15  # what a sample of 1.0 would be
_UINT32 = 0xFFFFFFFF  # rates in headers wrap around
_PCM = 1  # the only format that TensorFlow reads: samples as they are
_HEADER = struct.Struct("<4sI4s4sIHHIIHH4sI")
_LEAST_ENERGY = 1e-12  # of a band, before its logarithm is taken

# --- files -----------------------------------------------------------------------------------------------------------


@op("DecodeWav", "contents: string -> audio: float32, sample_rate: int32", desired_channels=-1, desired_samples=-1)
class DecodeWav:
    """The samples of a WAV file, between -1 and 1, as [samples, channels]; and how many of them are a second.

    A file with fewer samples than are desired is filled up with silence, one with fewer channels with copies of its last one.
    """

    ranks = {"contents": 0}
    gradient = None

    def shape(desired_channels, desired_samples):
        if desired_channels < -1 or desired_samples < -1:
            raise ValueError(f"desired_channels and desired_samples must be at least 0, or -1 for those of the file; they are {desired_channels} and "
                             f"{desired_samples}")
        return [None if desired_samples < 0 else desired_samples, None if desired_channels < 0 else desired_channels], []

    def kernel(contents, desired_channels, desired_samples):
        samples, rate = _read_wav(text(contents))
        wanted = desired_channels if desired_channels >= 0 else samples.shape[1]
        samples = samples[:, np.minimum(np.arange(wanted), samples.shape[1] - 1)]
        if desired_samples >= 0:
            samples = np.pad(samples[:desired_samples], [(0, max(desired_samples - len(samples), 0)), (0, 0)])
        return np.ascontiguousarray(samples), np.uint32(rate).astype(np.int32)  # the same bits, as TensorFlow has them


def _read_wav(content: bytes) -> tuple[np.ndarray, int]:
    """The samples of a file, and their rate. Raises InvalidArgumentError where it is not a WAV file of 16 bits."""
    for at, expected in ((0, b"RIFF"), (8, b"WAVE")):
        if content[at:at + 4] != expected:
            raise invalid_argument(f"Header mismatch: Expected {expected.decode()} but found {content[at:at + 4].decode('latin-1')}")
    layout, at = None, 12
    while at + 8 <= len(content):
        kind, size = struct.unpack_from("<4sI", content, at)
        at += 8
        if kind == b"fmt ":
            if size < 16 or at + 16 > len(content):
                raise invalid_argument("Data too short when trying to read the format of a WAV file")
            layout = struct.unpack_from("<HHIIHH", content, at)
        elif kind == b"data":
            return _samples(content, at, size, layout)
        at += size + size % 2
    raise invalid_argument("Data too short: the WAV file has no chunk of data")


def _samples(content: bytes, at: int, size: int, layout: tuple[int, ...] | None) -> tuple[np.ndarray, int]:
    if layout is None:
        raise invalid_argument("Bad WAV file: its data comes before its format")
    encoding, channels, rate, bytes_per_second, bytes_per_sample, bits = layout
    if encoding != _PCM or bits != 16 or channels < 1:
        if bits != 16:
            raise invalid_argument(f"Can only read 16-bit WAV files, but received {bits}")
        raise invalid_argument(f"Bad audio format for WAV: Expected 1 (PCM) and channels, but got {encoding} and {channels} of them")
    width = 2 * channels
    if bytes_per_sample != width:
        raise invalid_argument(f"Bad bytes per sample in WAV header: Expected {width} but got {bytes_per_sample}")
    if bytes_per_second != rate * width & _UINT32:
        raise invalid_argument(f"Bad bytes per second in WAV header: Expected {rate * width & _UINT32} but got {bytes_per_second} "
                               f"(sample_rate={rate}, bytes_per_sample={width})")
    if at + size > len(content):
        raise invalid_argument("Data too short when trying to read the samples of a WAV file")
    count = size // width
    samples = np.frombuffer(content, "<i2", count * channels, at).reshape(count, channels)
    return samples.astype(np.float32) / np.float32(_FULL_SCALE), rate


@op("EncodeWav", "audio: float32, sample_rate: int32 -> contents: string")
class EncodeWav:
    """A WAV file of samples [samples, channels] between -1 and 1; what is outside is cut off."""

    ranks = {"audio": 2, "sample_rate": 0}
    shape = fixed()
    gradient = None

    def kernel(audio, sample_rate):
        audio, rate = np.asarray(audio), int(sample_rate)
        if not audio.size or rate <= 0:
            raise invalid_argument(f"EncodeWav needs samples, channels and a sample rate above 0; got the shape {list(audio.shape)} and {rate} Hz")
        if audio.shape[1] >= 1 << 15:
            raise invalid_argument(f"EncodeWav needs fewer than {1 << 15} channels, got {audio.shape[1]}")
        scaled, width = np.nan_to_num(audio).astype(np.float64) * _FULL_SCALE, 2 * audio.shape[1]
        rounded = np.trunc(scaled + np.copysign(0.5, scaled))  # halves go away from 0
        data = np.clip(rounded, -_FULL_SCALE, _FULL_SCALE - 1).astype("<i2").tobytes()
        layout = (16, _PCM, audio.shape[1], rate, rate * width & _UINT32, width, 16)
        head = _HEADER.pack(b"RIFF", 36 + len(data), b"WAVE", b"fmt ", *layout, b"data", len(data))
        return np.asarray(head + data, object)


# --- features --------------------------------------------------------------------------------------------------------


def _transform_size(window: int) -> int:
    """The least power of two that a window fits into."""
    return 1 << (window - 1).bit_length()


@op("AudioSpectrogram", "input: float32 -> spectrogram: float32", window_size=INT, stride=INT, magnitude_squared=False)
class AudioSpectrogram:
    """How strong each frequency is over time: [channels, frames, frequencies] of [samples, channels]."""

    ranks = {"input": 2}
    gradient = None

    def shape(input, window_size, stride):
        if window_size < 2 or stride < 1:
            raise ValueError(f"window_size must be at least 2 and stride at least 1; they are {window_size} and {stride}")
        length, channels = (None, None) if input.shape.extents is None else input.shape.extents
        frames = None if length is None else _frames(length, window_size, stride)
        return TensorShape([channels, frames, 1 + _transform_size(window_size) // 2])

    def kernel(input, window_size, stride, magnitude_squared):
        sound = np.asarray(input, np.float64).T
        count, size = _frames(sound.shape[1], window_size, stride), _transform_size(window_size)
        window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(window_size) / window_size)
        result = np.empty((len(sound), count, size // 2 + 1), np.float32)
        for frame in range(count):
            spectrum = np.fft.rfft(sound[:, frame * stride:frame * stride + window_size] * window, size)
            power = spectrum.real ** 2 + spectrum.imag ** 2
            result[:, frame] = power if magnitude_squared else np.sqrt(power)
        return result


def _frames(length: int, window: int, stride: int) -> int:
    return 0 if length < window else 1 + (length - window) // stride


@op("Mfcc", "spectrogram: float32, sample_rate: int32 -> output: float32", upper_frequency_limit=4000.0, lower_frequency_limit=20.0,
    filterbank_channel_count=40, dct_coefficient_count=13)
class Mfcc:
    """Mel-frequency cepstral coefficients [channels, frames, coefficients] of a spectrogram of squared magnitudes."""

    ranks = {"spectrogram": 3, "sample_rate": 0}
    gradient = None

    def shape(spectrogram, dct_coefficient_count):
        return spectrogram.shape.with_rank(3)[:2].concatenate([dct_coefficient_count])

    def kernel(spectrogram, sample_rate, upper_frequency_limit, lower_frequency_limit, filterbank_channel_count, dct_coefficient_count):
        spectrogram, bands, count = np.asarray(spectrogram), filterbank_channel_count, dct_coefficient_count
        if not 0 < count <= bands or not 0 <= lower_frequency_limit < upper_frequency_limit or spectrogram.shape[2] < 2 or int(sample_rate) <= 0:
            raise invalid_argument(f"Mfcc needs as many bands as coefficients, limits in order, and frequencies; it has {bands} bands, {count} "
                                   f"coefficients, {lower_frequency_limit} to {upper_frequency_limit} Hz, {spectrogram.shape[2]} frequencies, "
                                   f"{int(sample_rate)} samples per second")
        filters = _mel_filters(spectrogram.shape[2], int(sample_rate), bands, lower_frequency_limit, upper_frequency_limit)
        energies = np.log(np.maximum(np.sqrt(spectrogram.astype(np.float64)) @ filters, _LEAST_ENERGY))
        angles = np.outer(np.arange(bands) + 0.5, np.arange(count)) * (np.pi / bands)
        return (energies @ (np.sqrt(2.0 / bands) * np.cos(angles))).astype(np.float32)


def _mel(frequency):
    return 1127.0 * np.log1p(np.asarray(frequency) / 700.0)


def _mel_filters(frequencies: int, rate: int, bands: int, low: float, high: float) -> np.ndarray:
    """Weights [frequencies, bands]: triangles that overlap, with centres at equal distances on the mel scale."""
    edge = _mel(low)
    centres = edge + (_mel(high) - edge) / (bands + 1) * np.arange(1, bands + 2)
    width = 0.5 * rate / (frequencies - 1)  # hertz from one frequency to the next
    inside = np.arange(int(1.5 + low / width), min(int(high / width) + 1, frequencies))
    mels = _mel(inside * width)
    band = np.searchsorted(centres[:bands], mels) - 1  # the last whose centre is below; -1: before the first
    left = np.where(band < 0, edge, centres[band])
    falling = (centres[band + 1] - mels) / (centres[band + 1] - left)
    weights = np.zeros((frequencies, bands))
    below, above = band >= 0, band + 1 < bands
    weights[inside[below], band[below]] = falling[below]
    weights[inside[above], band[above] + 1] += 1 - falling[above]
    return weights


decode_wav = function(DecodeWav, "decode_wav")
encode_wav = function(EncodeWav, "encode_wav")
audio_spectrogram = function(AudioSpectrogram, "audio_spectrogram")
mfcc = function(Mfcc, "mfcc")
