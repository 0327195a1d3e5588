"""Summaries: ops whose result is a serialized Summary proto, for event files."""
from __future__ import annotations

import functools
import sys

import numpy as np
from google.protobuf.message import DecodeError
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary

from penstock.errors import invalid_argument
from penstock.graph import dtypes as dt
from penstock.graph.attrs import count, types
from penstock.graph.opdef import op
from penstock.ops.common import REAL, fixed


def _serialized(summary: Summary) -> np.ndarray:
    result = np.empty((), object)
    result[()] = summary.SerializeToString()
    return result


def _text(tag: bytes) -> str:
    try:
        return tag.decode()
    except UnicodeDecodeError:
        raise invalid_argument(f"the tag {tag!r} is not UTF-8 text") from None


def _parsed(serialized: bytes) -> Summary:
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
        return _serialized(Summary(value=[Summary.Value(tag=_text(tag), simple_value=float(value))
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
        return _serialized(Summary(value=[Summary.Value(tag=_text(np.asarray(tag)[()]), histo=histogram(values))]))

    gradient = None


@op("MergeSummary", "inputs: N * string -> summary: string", N=count(1))
class MergeSummary:
    """The values of several summaries in one; a tag that stands in two of them is an error."""

    shape = fixed()

    def kernel(inputs):
        merged, seen = Summary(), set()
        for array in inputs:
            for serialized in np.asarray(array).flat:
                for value in _parsed(serialized).value:
                    if value.tag in seen:
                        raise invalid_argument(f"Duplicate tag {value.tag} found in summary inputs")
                    seen.add(value.tag)
                    merged.value.append(value)
        return _serialized(merged)

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
