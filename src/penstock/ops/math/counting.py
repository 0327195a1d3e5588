"""Counts: histograms and bins."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph import dtypes
from penstock.graph.attrs import FLOATS_LIST, types
from penstock.graph.convert import to_tensor
from penstock.graph.dtypes import float32, float64, int32, int64
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.scopes import name_scope
from penstock.graph.static import constant_value
from penstock.ops.array.cast import cast
from penstock.ops.array.shape_ops import reshape, shape
from penstock.ops.common import like
from penstock.ops.constant import constant
from penstock.ops.demands import check_rank, want_rank
from penstock.ops.math.clip import clip_by_value
from penstock.ops.math.division import truediv
from penstock.ops.math.elementwise import Maximum, Minimum
from penstock.ops.math.reduce import reduce_max, reduce_prod
from penstock.ops.math.rounding import Floor
from penstock.ops.math.segment import UnsortedSegmentSum

_COUNTED = frozenset([int32, int64, float32, float64])


def _vector_of(number: Tensor) -> list[int | None]:
    want_rank(0, number=number)
    value = constant_value(number)
    if value is not None and value < 0:
        raise ValueError(f"A number of bins must not be negative but is {value}")
    return [None if value is None else int(value)]


@op("Bincount", "arr: int32, size: int32, weights: T -> bins: T", T=_COUNTED)
class Bincount:
    """How often each of 0, 1, ..., size - 1 is in ``arr``, or the sum of its weights; larger numbers are left out."""

    ranks = {"size": 0}

    def shape(size):
        return _vector_of(size)

    def kernel(arr, size, weights):
        check_rank(0, size=size)
        arr, weights, size = np.ravel(arr), np.ravel(weights), int(size)
        if np.any(arr < 0):
            raise invalid_argument("Input arr must be non-negative!")
        if weights.size not in (0, arr.size):
            raise invalid_argument(f"Input weights must have the size of arr, {arr.size}, or none, not {weights.size}")
        bins, counted = np.zeros(size, weights.dtype), arr < size
        np.add.at(bins, arr[counted], weights[counted] if weights.size else weights.dtype.type(1))
        return bins

    gradient = None


def bincount(arr: Any, weights: Any = None, minlength: Any = None, maxlength: Any = None, dtype: Any = dtypes.int32,
             name: str | None = None) -> Tensor:
    """``tf.bincount``: how often each integer is in ``arr``, or the sum of its ``weights``."""
    with name_scope(name, "bincount"):
        arr = to_tensor(arr, int32, "arr")
        nonempty = reduce_prod(shape(arr)) > 0
        length = cast(nonempty, int32) * (reduce_max(arr) + 1)
        if minlength is not None:
            length = Maximum(to_tensor(minlength, int32, "minlength"), length)
        if maxlength is not None:
            length = Minimum(to_tensor(maxlength, int32, "maxlength"), length)
        if weights is not None:
            return UnsortedSegmentSum(to_tensor(weights, None, "weights"), arr, length)
        return Bincount(arr, length, constant([], dtype))


@op("HistogramFixedWidth", "values: T, value_range: T, nbins: int32 -> out: dtype", T=_COUNTED,
    dtype=types(int32, int64, default=int32))
class HistogramFixedWidth:
    """How many values fall into each of ``nbins`` bins of equal width; values out of range into the first and last."""

    ranks = {"value_range": 1, "nbins": 0}

    def shape(value_range, nbins):
        if value_range.shape.ndims is not None:
            value_range.shape.merge_with([2])
        return _vector_of(nbins)

    def kernel(values, value_range, nbins, dtype):
        check_rank(0, nbins=nbins)
        if np.shape(value_range) != (2,):
            raise invalid_argument(f"value_range should be a vector of 2 elements, but has shape {list(np.shape(value_range))}")
        low, high = value_range
        if nbins <= 0:
            raise invalid_argument(f"nbins should be a positive number, but got '{nbins}'")
        if low >= high:
            raise invalid_argument(f"value_range should satisfy value_range[0] < value_range[1], but got '[{low}, {high}]'")
        step = (float(high) - float(low)) / int(nbins)
        places = np.nan_to_num((np.ravel(values).astype(np.float64) - low) / step)
        places = np.clip(places, 0, int(nbins) - 1).astype(np.int64)
        return np.bincount(places, minlength=int(nbins)).astype(dtype.np)

    gradient = None


def histogram_fixed_width(values: Any, value_range: Any, nbins: Any = 100, dtype: Any = dtypes.int32,
                          name: str | None = None) -> Tensor:
    """``tf.histogram_fixed_width``: counts of values in ``nbins`` bins of equal width over ``value_range``."""
    with name_scope(name, "histogram_fixed_width", [values, value_range, nbins]) as scope:
        return HistogramFixedWidth(values, value_range, nbins, dtype=dtype, name=scope)


def histogram_fixed_width_bins(values: Any, value_range: Any, nbins: Any = 100, dtype: Any = dtypes.int32,
                               name: str | None = None) -> Tensor:
    """``tf.histogram_fixed_width_bins``: the bin of each value."""
    with name_scope(name, "histogram_fixed_width_bins", [values, value_range, nbins]):
        values = to_tensor(values, None, "values")
        extents = shape(values)
        flat = reshape(values, [-1])
        value_range = to_tensor(value_range, None, "value_range")
        nbins = to_tensor(nbins, int32, "nbins")
        number = cast(nbins, values.dtype)
        scaled = truediv(flat - value_range[0], value_range[1] - value_range[0], name="scaled_values")
        places = Floor(cast(number, scaled.dtype) * scaled, name="indices")
        places = cast(clip_by_value(places, 0, cast(nbins - 1, scaled.dtype)), int32)
        return cast(reshape(places, extents), dtype)


@op("Bucketize", "input: T -> output: int32", T=_COUNTED, boundaries=FLOATS_LIST)
class Bucketize:
    """Per element: how many of the sorted ``boundaries`` are not above it."""

    elementwise = True
    shape = like("input")

    def kernel(input, boundaries):
        if list(boundaries) != sorted(boundaries):
            raise invalid_argument("Expected sorted boundaries")
        return np.searchsorted(np.array(boundaries, np.float32), input, "right").astype(np.int32)

    gradient = None
