"""Reductions over segments of gathered rows, and their gradients; and the means of unsorted segments.

``SparseSegmentSum(data, indices, ids)`` is ``SegmentSum(gather(data, indices), ids)``: the sum of embeddings.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph.convert import to_tensor
from penstock.graph.dtypes import float32, float64
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.scopes import name_scope
from penstock.graph.static import constant_value
from penstock.ops.array.fill import ones
from penstock.ops.array.gather import gather
from penstock.ops.array.pack import concat
from penstock.ops.array.shape_ops import Rank, Shape, reshape, shape
from penstock.ops.common import REAL
from penstock.ops.demands import check_rank, merged, want_rank
from penstock.ops.math.elementwise import Maximum
from penstock.ops.math.powers import sqrt
from penstock.ops.math.segment import NUMBER, UnsortedSegmentSum, check_sorted, merge_rows

_INPUTS = "data: T, indices: Tidx, segment_ids: int32"
_WITH_NUMBER = _INPUTS + ", num_segments: Tnumsegments"
_GRAD = "grad: T, indices: Tidx, segment_ids: int32, output_dim0: int32 -> output: T"
_FLOATS = frozenset([float32, float64])


# --- kernels ---------------------------------------------------------------------------------------------------------

def _check_ids(ids: np.ndarray, indices: np.ndarray) -> None:
    check_rank(1, indices=indices, segment_ids=ids)
    if len(ids) != len(indices):
        raise invalid_argument("segment_ids and indices should have same size.")


def _scalar(number: Any) -> int:
    check_rank(0, num_segments=number)
    return int(number)


def _first_outside(numbers: np.ndarray, limit: int) -> int | None:
    """The place of the first number that is not in [0, limit)."""
    wrong = np.flatnonzero((numbers < 0) | (numbers >= limit))
    return int(wrong[0]) if len(wrong) else None


def _weights(ids: np.ndarray, number: int, power: float, dtype: np.dtype, rank: int) -> np.ndarray:
    """1 / count ** power of each segment, for rows of a tensor of this rank."""
    counts = np.maximum(np.bincount(ids, minlength=number), 1)
    return (1 / counts ** power).astype(dtype).reshape(-1, *[1] * (rank - 1))


def _reduce(data: Any, indices: Any, ids: Any, power: float, number: Any = None) -> np.ndarray:
    """The sums of segments of gathered rows, divided by count ** power."""
    _check_ids(ids, indices)
    number = None if number is None else _scalar(number)
    if number is not None and number < 0:
        raise invalid_argument("segment ids must be >= 0")
    number, wrong = check_sorted(ids, number), _first_outside(indices, len(data))
    if wrong is not None:
        raise invalid_argument(f"Bad: indices[{wrong}] == {indices[wrong]} out of range [0, {len(data)})")
    total = merge_rows(np.add, data[indices], ids, number, 0)
    return total * _weights(ids, number, power, data.dtype, data.ndim) if power else total


def _gradient_rows(grad: Any, indices: Any, ids: Any, rows: Any, power: float) -> np.ndarray:
    """The gradient of ``_reduce`` for ``data`` of this many rows; ids need not be sorted."""
    _check_ids(ids, indices)
    if len(ids) and ids[-1] >= len(grad):
        raise invalid_argument("Invalid number of segments")
    if not _scalar(rows) or not len(grad):
        return np.zeros((int(rows), *grad.shape[1:]), grad.dtype)
    for what, numbers, limit in (("Segment id", ids, len(grad)), ("Index", indices, int(rows))):
        wrong = _first_outside(numbers, limit)
        if wrong is not None:
            raise invalid_argument(f"{what} {numbers[wrong]} out of range [0, {limit}).")
    scaled = grad * _weights(ids, len(grad), power, grad.dtype, grad.ndim)
    return merge_rows(np.add, scaled[ids], indices, int(rows), 0)


# --- shapes and gradients --------------------------------------------------------------------------------------------

def _reduced_shape(data, indices, segment_ids):
    want_rank(1, indices=indices, segment_ids=segment_ids)
    merged([indices, segment_ids])
    return None if data.shape.ndims is None else [None, *data.shape.with_rank_at_least(1).as_list()[1:]]


def _reduced_to(data, indices, segment_ids, num_segments):
    want_rank(0, num_segments=num_segments)
    number = constant_value(num_segments)
    rest = _reduced_shape(data, indices, segment_ids)
    return None if rest is None else [None if number is None else int(number), *rest[1:]]


def _spread_to(grad, indices, segment_ids, output_dim0):
    return _reduced_to(grad, indices, segment_ids, output_dim0)


def _rows(tensor: Tensor) -> Any:
    extents = tensor.shape.extents
    return gather(Shape(tensor), 0) if extents is None or extents[0] is None else np.int32(extents[0])


def _sum_gradient(op, dy):
    data, indices, ids = op.inputs[:3]
    grad = UnsortedSegmentSum(gather(dy, ids), indices, _rows(data))
    return [grad] + [None] * (len(op.inputs) - 1)


def _gradient_by(definition, op, dy):
    data, indices, ids = op.inputs[:3]
    return [definition(dy, indices, ids, _rows(data))] + [None] * (len(op.inputs) - 1)


# --- the ops ---------------------------------------------------------------------------------------------------------
# The sum of a segment is divided by count ** ``_power``.

class _Segments:
    dynamic_shape = True
    shape = _reduced_shape

    def kernel(data, indices, segment_ids, _power):
        return _reduce(data, indices, segment_ids, _power)


class _NumberedSegments:
    ranks = {"num_segments": 0}
    shape = _reduced_to

    def kernel(data, indices, segment_ids, num_segments, _power):
        return _reduce(data, indices, segment_ids, _power, num_segments)

    def native(emit, data, indices, segment_ids, num_segments, _power):
        return emit.index.sparse_segments(data, indices, segment_ids, int(emit.known(num_segments)), _power)


class _SegmentsGrad:
    ranks = {"output_dim0": 0}
    shape = _spread_to

    def kernel(grad, indices, segment_ids, output_dim0, _power):
        return _gradient_rows(grad, indices, segment_ids, output_dim0, _power)

    def native(emit, grad, indices, segment_ids, output_dim0, _power):
        return emit.index.sparse_segments_gradient(grad, indices, segment_ids, int(emit.known(output_dim0)), _power)


@op("SparseSegmentSum", f"{_INPUTS} -> output: T", T=REAL, Tidx=NUMBER)
class SparseSegmentSum(_Segments):
    """The sum of each segment of gathered rows."""

    _power = combines = 0
    gradient = _sum_gradient


@op("SparseSegmentSumWithNumSegments", f"{_WITH_NUMBER} -> output: T", T=REAL, Tidx=NUMBER, Tnumsegments=NUMBER)
class SparseSegmentSumWithNumSegments(_NumberedSegments):
    """The sum of each of ``num_segments`` segments of gathered rows."""

    _power = 0
    gradient = _sum_gradient


@op("SparseSegmentMean", f"{_INPUTS} -> output: T", T=_FLOATS, Tidx=NUMBER)
class SparseSegmentMean(_Segments):
    """The mean of each segment of gathered rows."""

    gradient_nodes = 6
    _power = combines = 1

    def gradient(op, dy):
        return _gradient_by(SparseSegmentMeanGrad, op, dy)


@op("SparseSegmentMeanWithNumSegments", f"{_WITH_NUMBER} -> output: T", T=_FLOATS, Tidx=NUMBER, Tnumsegments=NUMBER)
class SparseSegmentMeanWithNumSegments(_NumberedSegments):
    """The mean of each of ``num_segments`` segments of gathered rows."""

    _power = 1

    def gradient(op, dy):
        return _gradient_by(SparseSegmentMeanGrad, op, dy)


@op("SparseSegmentSqrtN", f"{_INPUTS} -> output: T", T=_FLOATS, Tidx=NUMBER)
class SparseSegmentSqrtN(_Segments):
    """The sum of each segment of gathered rows, divided by the square root of their number."""

    gradient_nodes = 6
    _power = combines = 0.5

    def gradient(op, dy):
        return _gradient_by(SparseSegmentSqrtNGrad, op, dy)


@op("SparseSegmentSqrtNWithNumSegments", f"{_WITH_NUMBER} -> output: T", T=_FLOATS, Tidx=NUMBER, Tnumsegments=NUMBER)
class SparseSegmentSqrtNWithNumSegments(_NumberedSegments):
    """The sum of each of ``num_segments`` segments of gathered rows, divided by the square root of their number."""

    _power = 0.5

    def gradient(op, dy):
        return _gradient_by(SparseSegmentSqrtNGrad, op, dy)


@op("SparseSegmentMeanGrad", _GRAD, T=_FLOATS, Tidx=NUMBER)
class SparseSegmentMeanGrad(_SegmentsGrad):
    """The gradient of SparseSegmentMean."""

    _power = spreads = 1

    def gradient(op, dy):
        return _gradient_by(SparseSegmentMeanWithNumSegments, op, dy)


@op("SparseSegmentSqrtNGrad", _GRAD, T=_FLOATS, Tidx=NUMBER)
class SparseSegmentSqrtNGrad(_SegmentsGrad):
    """The gradient of SparseSegmentSqrtN."""

    _power = spreads = 0.5

    def gradient(op, dy):
        return _gradient_by(SparseSegmentSqrtNWithNumSegments, op, dy)


# --- public functions ------------------------------------------------------------------------------------------------

def _public(plain: Any, numbered: Any, public_name: str) -> Any:
    def call(data: Any, indices: Any, segment_ids: Any, name: str | None = None, num_segments: Any = None) -> Tensor:
        if num_segments is None:
            return plain(data, indices, segment_ids, name=name)
        return numbered(data, indices, segment_ids, num_segments, name=name)

    call.__name__ = call.__qualname__ = public_name
    call.__doc__ = f"``tf.{public_name}``: {plain.__doc__}"
    return call


sparse_segment_sum = _public(SparseSegmentSum, SparseSegmentSumWithNumSegments, "sparse_segment_sum")
sparse_segment_mean = _public(SparseSegmentMean, SparseSegmentMeanWithNumSegments, "sparse_segment_mean")
sparse_segment_sqrt_n = _public(SparseSegmentSqrtN, SparseSegmentSqrtNWithNumSegments, "sparse_segment_sqrt_n")


def _unsorted_count(data: Tensor, segment_ids: Tensor, num_segments: Any) -> Tensor:
    """How many rows each segment has, at least 1, in a shape that broadcasts against the sums."""
    extents = shape(segment_ids)
    counts = UnsortedSegmentSum(ones(extents, data.dtype.base_dtype), segment_ids, num_segments)
    if data.shape.ndims is not None and segment_ids.shape.ndims is not None:
        return Maximum(reshape(counts, [-1] + [1] * (data.shape.ndims - segment_ids.shape.ndims)), 1)
    tail = ones(reshape(Rank(data) - Rank(segment_ids), [1]), "int32")
    return Maximum(reshape(counts, concat([[-1], tail], 0)), 1)


def unsorted_segment_mean(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
    """``tf.unsorted_segment_mean``: the mean of each segment; 0 for one without rows."""
    with name_scope(name, "UnsortedSegmentMean", [data, segment_ids]):
        data, segment_ids = to_tensor(data), to_tensor(segment_ids)
        counts = _unsorted_count(data, segment_ids, num_segments)
        return UnsortedSegmentSum(data, segment_ids, num_segments) / counts


def unsorted_segment_sqrt_n(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
    """``tf.unsorted_segment_sqrt_n``: the sum of each segment divided by the square root of its number of rows."""
    with name_scope(name, "UnsortedSegmentSqrtN", [data, segment_ids]):
        data, segment_ids = to_tensor(data), to_tensor(segment_ids)
        counts = _unsorted_count(data, segment_ids, num_segments)
        return UnsortedSegmentSum(data, segment_ids, num_segments) / sqrt(counts)
