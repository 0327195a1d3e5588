"""Summaries: ops whose result is a serialized Summary proto, for event files."""
from __future__ import annotations

import functools
import struct
import sys
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary

from penstock.errors import invalid_argument
from penstock.graph import dtypes as dt
from penstock.graph.attrs import TYPE, Attr, count, types
from penstock.graph.opdef import op
from penstock.graph.tensor_proto import array_to_proto
from penstock.ops.common import REAL, fixed
from penstock.ops.image import png


def _as_string(summary: Summary) -> np.ndarray:
    result = np.empty((), object)
    result[()] = summary.SerializeToString()
    return result


def _text(tag: Any) -> str:
    if not isinstance(tag, (bytes, str)):
        raise invalid_argument(f"the tag of a summary is one string, not an array of the shape {list(np.shape(tag))}")
    try:
        return tag.decode() if isinstance(tag, bytes) else tag
    except UnicodeDecodeError:
        raise invalid_argument(f"the tag {tag!r} is not UTF-8 text") from None


def _parse(serialized: bytes) -> Summary:
    try:
        return Summary.FromString(serialized)
    except DecodeError:
        raise invalid_argument("Could not parse one of the summary inputs") from None


@op("ScalarSummary", "tags: string, values: T -> summary: string", T=REAL)
class ScalarSummary:
    """One number per tag."""

    shape = fixed()

    def kernel(tags, values):
        tags, values = np.asarray(tags), np.asarray(values)
        if tags.shape != values.shape:
            raise invalid_argument(f"tags and values not the same shape: {list(tags.shape)} != {list(values.shape)}")
        return _as_string(Summary(value=[Summary.Value(tag=_text(tag), simple_value=float(value))
                                          for tag, value in zip(tags.flat, values.flat)]))

    gradient = None


@op("HistogramSummary", "tag: string, values: T -> summary: string", T=types(*REAL, default=dt.float32))
class HistogramSummary:
    """How the values of a tensor are distributed."""

    ranks = {"tag": 0}
    shape = fixed()

    def kernel(tag, values):
        values = np.asarray(values).astype(np.float64).ravel()
        if not np.isfinite(values).all():
            bad = "Nan" if np.isnan(values).any() else "Infinity"
            raise invalid_argument(f"{bad} in summary histogram for: {_text(np.asarray(tag)[()])}")
        return _as_string(Summary(value=[Summary.Value(tag=_text(np.asarray(tag)[()]), histo=histogram(values))]))

    gradient = None


@op("MergeSummary", "inputs: N * string -> summary: string", N=count(1))
class MergeSummary:
    """The values of several summaries in one; a tag that stands in two of them is an error."""

    shape = fixed()

    def kernel(inputs):
        merged, seen = Summary(), set()
        for array in inputs:
            for serialized in np.asarray(array).flat:
                for value in _parse(serialized).value:
                    if value.tag in seen:
                        raise invalid_argument(f"Duplicate tag {value.tag} found in summary inputs")
                    seen.add(value.tag)
                    merged.value.append(value)
        return _as_string(merged)

    gradient = None


@op("ImageSummary", "tag: string, tensor: T -> summary: string", max_images=Attr("int", 3, minimum=1),
    T=types(dt.uint8, dt.float16, dt.float32, dt.float64, default=dt.float32), bad_color=Attr("tensor", np.array([255, 0, 0, 255], np.uint8)))
class ImageSummary:
    """Up to ``max_images`` images of a batch, as PNG."""

    ranks = {"tag": 0, "tensor": 4}

    def shape(tensor, bad_color):
        depth = tensor.shape.with_rank(4).extents[3]
        if bad_color.ndim != 1 or (depth is not None and len(bad_color) < depth):
            raise ValueError(f"bad_color must be a vector with an element per channel, but has the shape {list(bad_color.shape)}")
        return []

    def kernel(tag, tensor, max_images, bad_color):
        count, height, width, depth = tensor.shape
        if depth not in (1, 3, 4) or not height or not width:
            raise invalid_argument(f"Tensor must be 4-D with last dim 1, 3, or 4, and not empty: {list(tensor.shape)}")
        name = _text(np.asarray(tag)[()])
        summary = Summary()
        for index in range(min(count, max_images)):
            pixels = tensor[index] if tensor.dtype == np.uint8 else _to_bytes(tensor[index].astype(np.float32), bad_color)
            encoded = png.encode(np.ascontiguousarray(pixels), -1)
            summary.value.add(tag=f"{name}/image" + (f"/{index}" if max_images > 1 else ""), image=Summary.Image(
                height=height, width=width, colorspace=depth, encoded_image_string=encoded))
        return _as_string(summary)

    gradient = None


def _to_bytes(image: np.ndarray, bad_color: np.ndarray) -> np.ndarray:
    """Floats as bytes: the largest becomes 255; if there are negative ones, zero becomes 127. Pixels that are not numbers get ``bad_color``."""
    good = np.isfinite(image).all(axis=-1)
    values = image[good]
    low, high = (values.min(), values.max()) if values.size else (0.0, 0.0)
    if low < 0:
        scale, offset = (127.0 / max(abs(low), abs(high)), 128.0)
    else:
        scale, offset = (255.0 / high if high > 0 else 0.0), 0.0
    scaled = np.where(good[..., None], image, 0) * scale + offset
    return np.where(good[..., None], scaled, bad_color[:image.shape[-1]]).astype(np.uint8)


@op("AudioSummaryV2", "tag: string, tensor: float32, sample_rate: float32 -> summary: string", max_outputs=Attr("int", 3, minimum=1))
class AudioSummaryV2:
    """Up to ``max_outputs`` sounds of a batch, as 16-bit WAV."""

    ranks = {"tag": 0, "sample_rate": 0}
    shape = fixed()

    def kernel(tag, tensor, sample_rate, max_outputs):
        if tensor.ndim not in (2, 3):
            raise invalid_argument(f"Tensor must be 3-D or 2-D, got: {list(tensor.shape)}")
        rate = float(sample_rate)
        if not 0 < rate < 2**32:  # what the header of a .wav file can hold; false for NaN too
            raise invalid_argument("sample_rate must be > 0")
        clips = tensor if tensor.ndim == 3 else tensor[..., None]
        name = _text(np.asarray(tag)[()])
        summary = Summary()
        for index in range(min(len(clips), max_outputs)):
            summary.value.add(tag=f"{name}/audio" + (f"/{index}" if max_outputs > 1 else ""), audio=Summary.Audio(
                sample_rate=rate, num_channels=clips.shape[2], length_frames=clips.shape[1], encoded_audio_string=_wav(clips[index], round(rate)),
                content_type="audio/wav"))
        return _as_string(summary)

    gradient = None


def _wav(frames: np.ndarray, rate: int) -> bytes:
    data = np.clip(np.rint(frames * 32767.0), -32768, 32767).astype("<i2").tobytes()
    channels = frames.shape[1]
    head = struct.pack("<4sI4s4sIHHIIHH4sI", b"RIFF", 36 + len(data), b"WAVE", b"fmt ", 16, 1, channels, rate, rate * channels * 2, channels * 2, 16,
                       b"data", len(data))
    return head + data


@op("TensorSummaryV2", "tag: string, tensor: T, serialized_summary_metadata: string -> summary: string", T=TYPE)
class TensorSummaryV2:
    """A whole tensor, for a plugin of TensorBoard."""

    ranks = {"tag": 0, "serialized_summary_metadata": 0}
    shape = fixed()

    def kernel(tag, tensor, serialized_summary_metadata):
        value = Summary.Value(tag=_text(np.asarray(tag)[()]), tensor=array_to_proto(np.asarray(tensor)))
        try:
            value.metadata.ParseFromString(np.asarray(serialized_summary_metadata)[()])
        except DecodeError:
            raise invalid_argument("Could not parse serialized_summary_metadata") from None
        return _as_string(Summary(value=[value]))

    gradient = None


@functools.cache
def _limits() -> list[float]:
    """The upper bounds of the buckets: growing by 10 % from 1e-12 to 1e20, on both sides of zero."""
    positive = [1e-12]
    while positive[-1] < 1e20:
        positive.append(positive[-1] * 1.1)
    positive = positive[:-1] + [sys.float_info.max]
    return [-limit for limit in reversed(positive)] + [0.0] + positive


def histogram(values: np.ndarray) -> HistogramProto:
    """The histogram of finite float64 values in TensorFlow's buckets; runs of empty buckets are folded into one."""
    limits = _limits()
    counts = np.bincount(np.searchsorted(limits, values, side="right"), minlength=len(limits)) if values.size else np.zeros(len(limits))
    proto = HistogramProto(min=values.min() if values.size else limits[-1], max=values.max() if values.size else -limits[-1], num=values.size,
                           sum=values.sum(), sum_squares=np.square(values).sum())
    index = 0
    while index < len(limits):
        limit, number = limits[index], counts[index]
        index += 1
        if number <= 0:
            while index < len(limits) and counts[index] <= 0:
                limit, number = limits[index], counts[index]
                index += 1
        proto.bucket_limit.append(limit)
        proto.bucket.append(number)
    return proto
