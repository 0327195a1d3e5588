"""Lookups of embeddings as few operations over arrays whose sizes stay: what a step runs in place of the many that a graph is made of.

A graph looks up each distinct id once, so that the shapes of a step depend on its ids, and no table of native calls lasts longer than a batch.
``program/passes/lookups.py`` puts these ops in their place. Here ids come in arrays with room to spare, *padded*: places behind the last id hold -1
and are left out. The room changes seldom, and the shapes of a step with it.
"""
from __future__ import annotations

import numpy as np

from penstock.codec.ids import single_ids
from penstock.errors import invalid_argument
from penstock.graph.opdef import op
from penstock.graph.shape import TensorShape
from penstock.ops.common import FLOATS, INDEX
from penstock.ops.math.segment import merge_rows
from penstock.ops.sparse.sparse_kernels import check_parts

_PADDING = -1


def room_for(count: int, rows: int) -> int:
    """The size of an array for this many ids: one per row, or else the next of 2, 3, 4, 6, 8, 12, ..."""
    if count <= rows:
        return rows
    power = 1 << (count - 1).bit_length()
    return power * 3 // 4 if count <= power * 3 // 4 else power


@op("_LookupIds", "indices: int64, values: T, dense_shape: int64, default: T -> ids: T, segments: int32, counts: int32, empty: bool", T=INDEX)
class LookupIds:
    """The ids of a matrix row by row, padded, and the row of each; how many each row has; which rows had none, and have the default."""

    def shape(indices, values, dense_shape, default):
        return [[None], [None], [None], [None]]

    def kernel(indices, values, dense_shape, default):
        check_parts(indices, values, dense_shape)
        rows = int(dense_shape[0])
        single = single_ids(indices, values, rows)
        if single is not None:
            return values, *single, np.zeros(rows, bool)
        lines = indices[:, 0]
        _check_rows(lines, rows)
        valid = values >= 0
        lines, values = lines[valid], values[valid]
        empty = np.bincount(lines, minlength=rows) == 0
        lines = np.concatenate([lines, np.flatnonzero(empty)])
        order = np.argsort(lines, kind="stable")
        ids = np.concatenate([values, np.full(int(empty.sum()), default)])[order]
        room, counts = room_for(len(ids), rows), np.bincount(lines, minlength=rows).astype(np.int32)
        return _pad(ids, room), _pad(lines[order].astype(np.int32), room), counts, empty

    gradient = None


def _check_rows(lines: np.ndarray, rows: int) -> None:
    bad = (lines < 0) | (lines >= rows)
    if bad.any():
        entry = int(np.argmax(bad))
        raise invalid_argument(f"indices({entry}, 0) is invalid: {lines[entry]} >= {rows}")


def _pad(values: np.ndarray, room: int) -> np.ndarray:
    return np.concatenate([values, np.full(room - len(values), _PADDING, values.dtype)]) if room > len(values) else values


def _weights(counts: np.ndarray, power: float, like: np.ndarray) -> np.ndarray:
    """1 / count ** power of each row, for arrays like this one."""
    return (1 / np.maximum(counts, 1) ** power).astype(like.dtype).reshape(-1, *[1] * (like.ndim - 1))


@op("_LookupRows", "params: T, ids: Tids, segments: int32, counts: int32 -> output: T", T=FLOATS, Tids=INDEX, power=0.0)
class LookupRows:
    """For each row the sum of the params that its ids name, divided by the number of ids to a power."""

    borrows = True

    def shape(params, counts):
        return TensorShape([counts.shape[0]]).concatenate(params.shape[1:])

    def kernel(params, ids, segments, counts, power):
        there = segments >= 0
        ids = ids[there]
        wrong = np.flatnonzero((ids < 0) | (ids >= len(params)))
        if len(wrong):
            raise invalid_argument(f"indices[{wrong[0]}] = {ids[wrong[0]]} is not in [0, {len(params)})")
        total = merge_rows(np.add, params[ids], segments[there], len(counts), 0)
        return total * _weights(counts, power, params) if power else total

    def native(emit, params, ids, segments, counts, power):
        return emit.lookup.rows(params, ids, segments, counts, power)

    gradient = None


@op("_LookupGrad", "grad: T, segments: int32, counts: int32 -> output: T", T=FLOATS, power=0.0)
class LookupGrad:
    """What each id of a lookup gets of the gradient of its row; padding gets 0."""

    def shape(grad, segments):
        return TensorShape([segments.shape[0]]).concatenate(grad.shape[1:])

    def kernel(grad, segments, counts, power):
        scaled = grad * _weights(counts, power, grad) if power else grad
        return scaled[segments] * (segments >= 0).reshape(-1, *[1] * (grad.ndim - 1)).astype(grad.dtype)

    def native(emit, grad, segments, counts, power):
        return emit.lookup.gradient(grad, segments, counts, power)

    gradient = None


@op("_SumDuplicates", "values: T, indices: Tindices -> sums: T, distinct: Tindices", T=FLOATS, Tindices=INDEX, padded=False)
class SumDuplicates:
    """Rows with equal indices added up, in the order of the first of each; the indices that there are, padded. Negative ones are left out if the
    indices are ``padded`` themselves."""

    def shape(values, indices):
        return [values.shape, indices.shape]

    def kernel(values, indices, padded):
        if values.shape[:1] != indices.shape:
            raise invalid_argument(f"there are {values.shape[:1]} rows for {indices.shape} indices")
        if padded:
            there = indices >= 0
            kept, used = values[there], indices[there]
        else:
            kept, used = values, indices
            if used.min(initial=0) < 0:
                raise invalid_argument(f"indices[{int(np.argmax(used < 0))}] = {used[used < 0][0]} is negative")
        distinct, first, which = np.unique(used, return_index=True, return_inverse=True)
        order = np.argsort(first, kind="stable")
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        return merge_rows(np.add, kept, place[which.reshape(-1)], len(indices), 0), _pad(distinct[order], len(indices))

    def native(emit, values, indices, padded):
        return emit.lookup.sums(values, indices, padded)

    gradient = None
