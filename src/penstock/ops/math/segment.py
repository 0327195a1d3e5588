"""Reductions over segments: rows of ``data`` with the same id are summed, multiplied, ... into one row of the result.

Sorted segments (``SegmentSum``) take as many rows as the last id says; unsorted ones (``UnsortedSegmentSum``) are told how many
there are, and leave out rows with negative ids.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.codec.row_runs import reduce_runs
from penstock.errors import invalid_argument
from penstock.graph.attrs import types
from penstock.graph.dtypes import as_dtype, int32, int64
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.shape import TensorShape
from penstock.graph.static import constant_value
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import fill, ones_like, zeros_like
from penstock.ops.array.gather import gather
from penstock.ops.array.pack import concat
from penstock.ops.array.select import where
from penstock.ops.array.shape_ops import Rank, Shape, expand_dims, reshape
from penstock.ops.common import INDEX, NUMERIC, REAL
from penstock.ops.constant import constant
from penstock.ops.demands import want_rank
from penstock.ops.math.compare import Equal, GreaterEqual, LogicalAnd
from penstock.ops.math.division import truncated_quotient
from penstock.ops.math.elementwise import Maximum, Mul, RealDiv
from penstock.ops.precision import NARROW
from penstock.ops.public import function

NUMBER = types(int32, int64, default=int32)


# --- kernels ---------------------------------------------------------------------------------------------------------

def check_sorted(ids: np.ndarray, number: int | None = None) -> int:
    """The number of segments of ids, which have to be sorted and, if it is given, below ``number``."""
    if not len(ids):
        return number or 0
    if number is not None and ids[-1] >= number:
        raise invalid_argument("segment ids must be < num_segments")
    if number is None:
        number = int(ids[-1]) + 1
        if number <= 0:
            raise invalid_argument("segment ids must be >= 0")
    falls = np.flatnonzero(ids[1:] < ids[:-1])
    outside = np.flatnonzero((ids < 0) | (ids >= number))
    if len(falls) and not (len(outside) and ids[outside[0]] != ids[falls[0]] and outside[0] < falls[0]):
        raise invalid_argument("segment ids are not increasing")
    if len(outside):
        raise invalid_argument(f"Segment id {ids[outside[0]]} out of range [0, {number}), possibly because 'segment_ids' input is not sorted.")
    return number


def merge_rows(ufunc: np.ufunc, data: np.ndarray, ids: np.ndarray, number: int, start: Any) -> np.ndarray:
    """Rows of ``data`` merged by id into ``number`` rows that begin as ``start``. Sums of float32 are kept as float64: there may be many rows."""
    wide = data.astype(np.float32) if data.dtype in NARROW else data
    kept = np.dtype(np.float64) if ufunc is np.add and wide.dtype == np.float32 else wide.dtype
    result = np.full((number, *data.shape[1:]), start, wide.dtype)
    if len(ids):
        if (ids[1:] < ids[:-1]).any():
            order = np.argsort(ids, kind="stable")
            ids, wide = ids[order], wide[order]
        firsts = np.flatnonzero(np.r_[True, ids[1:] != ids[:-1]])
        if not reduce_runs(ufunc, wide, firsts, ids[firsts], result):
            result[ids[firsts]] = ufunc.reduceat(wide, firsts, axis=0, dtype=kept)
    return result.astype(data.dtype, copy=False)


def _reduce_sorted(ufunc: np.ufunc, data: Any, ids: Any, empty: Any) -> np.ndarray:
    data, ids = np.asarray(data), np.asarray(ids)
    if ids.ndim != 1 or data.ndim < 1 or len(ids) != len(data):
        raise invalid_argument("segment_ids should be the same size as dimension 0 of input.")
    return merge_rows(ufunc, data, ids, check_sorted(ids), empty)


def _flat(data: np.ndarray, ids: np.ndarray, number: Any) -> tuple[np.ndarray, np.ndarray, int]:
    """Data and ids with one leading axis, checked; rows with negative ids are gone."""
    if data.shape[:ids.ndim] != ids.shape:
        raise invalid_argument(f"data.shape = {list(data.shape)} does not start with segment_ids.shape = {list(ids.shape)}")
    if np.ndim(number):
        raise invalid_argument(f"num_segments should be a scalar, not shape {list(np.shape(number))}")
    number = int(number)
    if number < 0:
        raise invalid_argument(f"Input num_segments == {number} must not be negative.")
    rows, flat = data.reshape(-1, *data.shape[ids.ndim:]) if data.size else \
        np.empty((ids.size, *data.shape[ids.ndim:]), data.dtype), ids.ravel()
    wrong = np.flatnonzero(flat >= number)
    if len(wrong):
        place = ",".join(map(str, np.unravel_index(wrong[0], ids.shape)))
        raise invalid_argument(f"segment_ids[{place}] = {flat[wrong[0]]} is out of range [0, {number})")
    used = flat >= 0
    return (rows, flat, number) if used.all() else (rows[used], flat[used], number)


def _reduce_unsorted(ufunc: np.ufunc, data: Any, ids: Any, number: Any, empty: Any) -> np.ndarray:
    return merge_rows(ufunc, *_flat(np.asarray(data), np.asarray(ids), number), empty)


def _counts(ids: np.ndarray, number: int, rank: int) -> np.ndarray:
    """How many rows each segment has, at least 1, in a shape that broadcasts against rows of a tensor of this rank."""
    return np.maximum(np.bincount(ids, minlength=number), 1).reshape(-1, *[1] * (rank - 1))


# --- shapes ----------------------------------------------------------------------------------------------------------

def _sorted_shape(data, segment_ids):
    want_rank(1, segment_ids=segment_ids)
    if data.shape.ndims is None:
        return None
    if data.shape.ndims == 0:
        raise ValueError("Shape must be at least rank 1 but is rank 0: data")
    return [None, *data.shape.as_list()[1:]]


def _unsorted_shape(data, segment_ids, num_segments):
    want_rank(0, num_segments=num_segments)
    number = constant_value(num_segments)
    if number is not None and number < 0:
        raise ValueError(f"Dimension size, given by scalar input 2, must be non-negative but is {number}")
    if data.shape.ndims is None or segment_ids.shape.ndims is None:
        return None
    rank = segment_ids.shape.ndims
    TensorShape(data.shape.as_list()[:rank]).merge_with(segment_ids.shape)
    return [None if number is None else int(number), *data.shape.as_list()[rank:]]


# --- sorted segments -------------------------------------------------------------------------------------------------

def _extreme_gradient(op, dy):
    """Shared equally among the rows that are the extreme of their segment."""
    data, ids = op.inputs
    winners = Equal(data, gather(op.outputs[0], ids))
    number = SegmentSum(cast(winners, dy.dtype), ids)
    shared = gather(RealDiv(dy, number), ids)
    return [where(winners, shared, zeros_like(data)), None]


@op("SegmentSum", "data: T, segment_ids: Tindices -> output: T", T=NUMERIC, Tindices=INDEX)
class SegmentSum:
    """The sum of each segment."""

    dynamic_shape = True
    shape = _sorted_shape

    def kernel(data, segment_ids):
        return _reduce_sorted(np.add, data, segment_ids, 0)

    def gradient(op, dy):
        return [gather(dy, op.inputs[1]), None]


@op("SegmentMean", "data: T, segment_ids: Tindices -> output: T", T=NUMERIC, Tindices=INDEX)
class SegmentMean:
    """The mean of each segment; 0 for one without rows."""

    dynamic_shape = True
    shape = _sorted_shape

    def kernel(data, segment_ids):
        data = np.asarray(data)
        total = _reduce_sorted(np.add, data, segment_ids, 0)
        counts = _counts(segment_ids, len(total), data.ndim)
        if data.dtype.kind in "iu":
            return truncated_quotient(total, counts.astype(data.dtype))
        return np.divide(total, counts.astype(data.dtype))

    def gradient(op, dy):
        data, ids = op.inputs
        number = SegmentSum(_column_of_ones(data, ids, dy.dtype), ids)
        return [gather(RealDiv(dy, number), ids), None]


def _column_of_ones(data: Tensor, ids: Tensor, dtype: Any) -> Tensor:
    """A 1 per id, in a shape that broadcasts against ``data``."""
    if data.shape.ndims is not None:
        return reshape(cast(ones_like(ids), dtype), [-1] + [1] * (data.shape.ndims - 1))
    tail = fill(expand_dims(Rank(data) - 1, 0), constant(1))
    return reshape(cast(ones_like(ids), dtype), concat([Shape(ids), tail], 0))


@op("SegmentProd", "data: T, segment_ids: Tindices -> output: T", T=NUMERIC, Tindices=INDEX)
class SegmentProd:
    """The product of each segment."""

    dynamic_shape = True
    shape = _sorted_shape

    def kernel(data, segment_ids):
        return _reduce_sorted(np.multiply, data, segment_ids, 1)

    def gradient(op, dy):
        data, ids = op.inputs
        number = gather(Shape(op.outputs[0]), 0)
        return [_product_gradient(data, ids, number, op.outputs[0], dy), None]


@op("SegmentMax", "data: T, segment_ids: Tindices -> output: T", T=REAL, Tindices=INDEX)
class SegmentMax:
    """The maximum of each segment; 0 for one without rows."""

    dynamic_shape = True
    shape = _sorted_shape

    def kernel(data, segment_ids):
        return _reduce_sorted(np.maximum, data, segment_ids, 0)

    gradient = _extreme_gradient


@op("SegmentMin", "data: T, segment_ids: Tindices -> output: T", T=REAL, Tindices=INDEX)
class SegmentMin:
    """The minimum of each segment; 0 for one without rows."""

    dynamic_shape = True
    shape = _sorted_shape

    def kernel(data, segment_ids):
        return _reduce_sorted(np.minimum, data, segment_ids, 0)

    gradient = _extreme_gradient


# --- unsorted segments -----------------------------------------------------------------------------------------------

def _gather_or_zero(dy: Tensor, ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(rows of ``dy`` by id, 0 where the id is negative; ids without negatives; which are not negative)."""
    safe = Maximum(ids, zeros_like(ids))
    rows = gather(dy, safe)
    used = GreaterEqual(ids, zeros_like(ids))
    mask = used
    if rows.shape.ndims is None or ids.shape.ndims is None:
        mask = reshape(mask, concat([Shape(ids), fill(expand_dims(Rank(rows) - Rank(ids), 0), constant(1))], 0))
    else:
        for _ in range(rows.shape.ndims - ids.shape.ndims):
            mask = expand_dims(mask, -1)
    mask = LogicalAnd(mask, ones_like(rows, dtype="bool"))
    return where(mask, rows, zeros_like(rows)), safe, mask


def _unsorted_extreme_gradient(op, dy):
    data, ids, number = op.inputs
    extremes, safe, used = _gather_or_zero(op.outputs[0], ids)
    winners = LogicalAnd(Equal(data, extremes), used)
    counts = UnsortedSegmentSum(cast(winners, dy.dtype), ids, number)
    shared = gather(RealDiv(dy, counts), safe)
    return [where(winners, shared, zeros_like(data)), None, None]


def _product_gradient(data: Tensor, ids: Tensor, number: Any, product: Tensor, dy: Tensor) -> Tensor:
    """Per element: the product of the others in its segment. Two zeros in a segment make all of these 0."""
    is_zero = Equal(data, zeros_like(data))
    zeros = UnsortedSegmentSum(cast(is_zero, int32), ids, number)
    dy = where(zeros > 1, zeros_like(dy), dy)
    nonzero = where(is_zero, ones_like(data), data)
    others, safe, _ = _gather_or_zero(UnsortedSegmentProd(nonzero, ids, number), ids)
    whole = gather(product, safe)
    return Mul(_gather_or_zero(dy, ids)[0], where(is_zero, others, RealDiv(whole, nonzero)))


@op("UnsortedSegmentSum", "data: T, segment_ids: Tindices, num_segments: Tnumsegments -> output: T", T=NUMERIC, Tindices=INDEX,
    Tnumsegments=NUMBER)
class UnsortedSegmentSum:
    """The sum of each segment."""

    ranks = {"num_segments": 0}
    merges_rows = True
    shape = _unsorted_shape

    def kernel(data, segment_ids, num_segments):
        return _reduce_unsorted(np.add, data, segment_ids, num_segments, 0)

    def native(emit, data, segment_ids, num_segments):
        return emit.index.segments(data, segment_ids, int(emit.known(num_segments)), "Add", 0)

    def gradient(op, dy):
        return [_gather_or_zero(dy, op.inputs[1])[0], None, None]


@op("UnsortedSegmentProd", "data: T, segment_ids: Tindices, num_segments: Tnumsegments -> output: T", T=NUMERIC, Tindices=INDEX,
    Tnumsegments=NUMBER)
class UnsortedSegmentProd:
    """The product of each segment; 1 for one without rows."""

    ranks = {"num_segments": 0}
    shape = _unsorted_shape

    def kernel(data, segment_ids, num_segments):
        return _reduce_unsorted(np.multiply, data, segment_ids, num_segments, 1)

    def native(emit, data, segment_ids, num_segments):
        return emit.index.segments(data, segment_ids, int(emit.known(num_segments)), "Mul", 1)

    def gradient(op, dy):
        return [_product_gradient(*op.inputs, op.outputs[0], dy), None, None]


@op("UnsortedSegmentMax", "data: T, segment_ids: Tindices, num_segments: Tnumsegments -> output: T", T=REAL, Tindices=INDEX,
    Tnumsegments=NUMBER)
class UnsortedSegmentMax:
    """The maximum of each segment; the lowest number for one without rows."""

    ranks = {"num_segments": 0}
    shape = _unsorted_shape

    def kernel(data, segment_ids, num_segments):
        return _reduce_unsorted(np.maximum, data, segment_ids, num_segments, as_dtype(np.asarray(data).dtype).min)

    def native(emit, data, segment_ids, num_segments):
        return emit.index.segments(data, segment_ids, int(emit.known(num_segments)), "Max", as_dtype(data.dtype).min)

    gradient = _unsorted_extreme_gradient


@op("UnsortedSegmentMin", "data: T, segment_ids: Tindices, num_segments: Tnumsegments -> output: T", T=REAL, Tindices=INDEX,
    Tnumsegments=NUMBER)
class UnsortedSegmentMin:
    """The minimum of each segment; the highest number for one without rows."""

    ranks = {"num_segments": 0}
    shape = _unsorted_shape

    def kernel(data, segment_ids, num_segments):
        return _reduce_unsorted(np.minimum, data, segment_ids, num_segments, as_dtype(np.asarray(data).dtype).max)

    def native(emit, data, segment_ids, num_segments):
        return emit.index.segments(data, segment_ids, int(emit.known(num_segments)), "Min", as_dtype(data.dtype).max)

    gradient = _unsorted_extreme_gradient


segment_sum = function(SegmentSum, "segment_sum")
segment_mean = function(SegmentMean, "segment_mean")
segment_prod = function(SegmentProd, "segment_prod")
segment_max = function(SegmentMax, "segment_max")
segment_min = function(SegmentMin, "segment_min")
unsorted_segment_sum = function(UnsortedSegmentSum, "unsorted_segment_sum")
unsorted_segment_prod = function(UnsortedSegmentProd, "unsorted_segment_prod")
unsorted_segment_max = function(UnsortedSegmentMax, "unsorted_segment_max")
unsorted_segment_min = function(UnsortedSegmentMin, "unsorted_segment_min")
