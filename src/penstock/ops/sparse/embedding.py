"""Embeddings: rows of one table, or of a table that is split over several tensors, looked up by id.

How ids are spread over the parts of a table is its *partition strategy*. With "mod", id goes to part ``id % parts`` as row ``id // parts``. With
"div" each part holds a contiguous range of ids, the first ones one id more if they do not divide evenly.
"""
from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from penstock.graph import dtypes as dt
from penstock.graph.composite import SparseTensor
from penstock.graph.convert import to_tensor
from penstock.graph.graph import default_graph
from penstock.graph.node import Tensor
from penstock.graph.notes import Lookup, note_lookup
from penstock.graph.scopes import colocate_with, name_scope
from penstock.graph.shape import TensorShape, as_shape, unknown_shape
from penstock.graph.static import constant_value_as_shape
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import ones_like, zeros_like
from penstock.ops.array.gather import gather
from penstock.ops.array.pack import concat, stack
from penstock.ops.array.partition import dynamic_partition, parallel_stitch
from penstock.ops.array.permute import tile
from penstock.ops.array.select import where
from penstock.ops.array.sequences import range as range_op
from penstock.ops.array.shape_ops import expand_dims, reshape, size
from penstock.ops.array.shape_ops import shape as shape_op
from penstock.ops.array.slicing import slice_
from penstock.ops.array.unique import unique
from penstock.ops.constant import identity
from penstock.ops.math.clip import clip_by_norm
from penstock.ops.math.compare import greater, greater_equal, less, logical_and
from penstock.ops.math.division import div
from penstock.ops.math.elementwise import maximum
from penstock.ops.math.powers import sqrt
from penstock.ops.math.reduce import reduce_prod
from penstock.ops.math.segment import segment_sum
from penstock.ops.math.segment_sparse import sparse_segment_mean, sparse_segment_sqrt_n, sparse_segment_sum
from penstock.ops.sparse.sparse import parts as parts_of
from penstock.ops.sparse.sparse_functions import sparse_fill_empty_rows, sparse_reshape, sparse_retain


def embedding_lookup(params: Any, ids: Any, partition_strategy: str = "mod", name: str | None = None,
                     validate_indices: bool = True, max_norm: Any = None) -> Tensor:
    """``tf.nn.embedding_lookup``: the rows of ``params`` (a tensor, a variable, or a list of parts) that ``ids`` name.

    >>> embedding_lookup(np.zeros([10, 4]), [[1, 2], [3, 4]]).shape.as_list()
    [2, 2, 4]
    """
    parts = _parts(params)
    with name_scope(name, "embedding_lookup", [*parts, ids]) as scope:
        ids = to_tensor(ids, None, "ids")
        if len(parts) == 1:
            with _beside(parts[0]):
                rows = gather(parts[0], ids, name=scope)
                rows = _clip_rows(rows, ids, max_norm)
            return identity(rows)
        return _lookup_in_parts(parts, ids, partition_strategy, max_norm, scope)


def _parts(params: Any) -> list[Any]:
    """The parts of a table: a partitioned variable and a list are several, anything else is one."""
    if params is None:
        raise ValueError("params must be specified")
    if not hasattr(params, "_get_variable_list") and not isinstance(params, (list, tuple)):
        return [params]
    parts = [part if hasattr(part, "shape") else to_tensor(part) for part in params]
    if not parts:
        raise ValueError("Need at least one param")
    return parts


def _beside(part: Any) -> AbstractContextManager[Any]:
    """Lookups run where the part lives, if it is not a plain array."""
    return colocate_with(part) if hasattr(part, "op") else nullcontext()


def _clip_rows(rows: Tensor, ids: Tensor, max_norm: Any) -> Tensor:
    """The rows, none longer than ``max_norm``."""
    if max_norm is None:
        return rows
    return clip_by_norm(rows, max_norm, axes=list(range(ids.shape.ndims, rows.shape.ndims)))


def _lookup_in_parts(parts: list[Any], ids: Tensor, strategy: str, max_norm: Any, scope: str) -> Tensor:
    flat = reshape(ids, [-1])
    owner, row = _assignment(parts, flat, strategy)
    owner = cast(owner, dt.int32)
    rows_of = dynamic_partition(row, owner, len(parts))
    places_of = dynamic_partition(range_op(size(flat)), owner, len(parts))
    embeddings = []
    for part, rows in zip(parts, rows_of):
        with _beside(part):
            embeddings.append(_clip_rows(gather(part, rows), rows, max_norm))
    together = parallel_stitch(places_of, embeddings, name=scope)
    element = _element_shape(parts)
    known = element.is_fully_defined()
    tail = np.array(element.as_list(), np.int32) if known else shape_op(together)[1:]
    result = reshape(together, concat([shape_op(ids), tail], 0))
    result.set_shape(ids.shape.concatenate(element))
    return result


def _element_shape(parts: list[Any]) -> TensorShape:
    """The shape of one row."""
    element = unknown_shape()
    for part in parts:
        element = element.merge_with(as_shape(part.shape)[1:])
    return element


def _assignment(parts: list[Any], ids: Tensor, strategy: str) -> tuple[Any, Any]:
    """(which part holds each id, which row of it)."""
    count = len(parts)
    if strategy == "mod":
        return ids % count, ids // count
    if strategy != "div":
        raise ValueError(f"Unrecognized partition strategy: {strategy}")
    least, longer = _range_lengths(parts, ids.dtype.base_dtype)
    owner = maximum(ids // (least + 1), (ids - longer) // least)
    return owner, where(less(owner, longer), ids % (least + 1), (ids - longer) % least)


def _range_lengths(parts: list[Any], dtype: Any) -> tuple[Tensor, Tensor]:
    """(ids per part, number of parts that hold one more), for the "div" strategy."""
    lengths = [as_shape(part.shape).extents[0] if as_shape(part.shape).ndims else None for part in parts]
    if None not in lengths:
        total = to_tensor(np.array(sum(lengths), dtype.np))
    else:
        total = cast(sum(shape_op(part)[0] for part in parts), dtype)
    return total // len(parts), total % len(parts)


def embedding_lookup_sparse(params: Any, sp_ids: Any, sp_weights: Any, partition_strategy: str = "mod", name: str | None = None,
                            combiner: str | None = None, max_norm: Any = None) -> Tensor:
    """``tf.nn.embedding_lookup_sparse``: for each row of ``sp_ids`` the (weighted) "sum", "mean" or "sqrtn" of its embeddings."""
    combiner = "mean" if combiner is None else combiner
    if combiner not in ("mean", "sqrtn", "sum"):
        raise ValueError("combiner must be one of 'mean', 'sqrtn' or 'sum'")
    if not isinstance(sp_ids, SparseTensor):
        raise TypeError("sp_ids must be SparseTensor")
    if sp_weights is not None:
        _check_weights(sp_ids, sp_weights)
    parts = _parts(params)
    with name_scope(name, "embedding_lookup_sparse", [*parts, sp_ids.indices]) as scope:
        segments = cast(sp_ids.indices[:, 0], dt.int32)
        note_lookup(sp_ids, segments=segments)
        ids, places = unique(sp_ids.values)
        rows = embedding_lookup(parts, ids, partition_strategy=partition_strategy, max_norm=max_norm)
        if sp_weights is None:
            combine = {"sum": sparse_segment_sum, "mean": sparse_segment_mean, "sqrtn": sparse_segment_sqrt_n}[combiner]
            return combine(rows, places, segments, name=scope)
        return _combine_weighted(gather(rows, places), sp_weights.values, segments, combiner, scope)


def _check_weights(sp_ids: SparseTensor, sp_weights: Any) -> None:
    if not isinstance(sp_weights, SparseTensor):
        raise TypeError("sp_weights must be either None or SparseTensor")
    for mine, other in ((sp_ids.values, sp_weights.values), (sp_ids.indices, sp_weights.indices)):
        mine.shape.assert_is_compatible_with(other.shape)


def _combine_weighted(rows: Tensor, weights: Tensor, segments: Tensor, combiner: str, scope: str) -> Tensor:
    default_graph().imply(9)  # TensorFlow gives the weights their rank in the step
    weights = cast(weights, rows.dtype.base_dtype)
    for _ in range(rows.shape.ndims - 1):
        weights = expand_dims(weights, -1)
    total = lambda values, **named: segment_sum(values, segments, **named)
    if combiner == "sum":
        return total(rows * weights, name=scope)
    norm = total(weights) if combiner == "mean" else sqrt(total(weights ** 2))
    return div(total(rows * weights), norm, name=scope)


def safe_embedding_lookup_sparse(embedding_weights: Any, sparse_ids: SparseTensor, sparse_weights: Any = None,
                                 combiner: str = "mean", default_id: Any = None, name: str | None = None,
                                 partition_strategy: str = "div", max_norm: Any = None) -> Tensor:
    """``tf.nn.safe_embedding_lookup_sparse``: as ``embedding_lookup_sparse``, for dirty ids.

    Ids below 0 and (except for "sum") weights up to 0 are left out; rows without ids get ``default_id``'s embedding, or zeros.
    """
    parts = _parts(embedding_weights)
    if sparse_weights is not None:
        for part in parts:
            given = dt.as_dtype(part.dtype).base_dtype  # a part may be an array
            if given is not sparse_weights.dtype.base_dtype:
                raise ValueError(f"Tensor conversion requested dtype {sparse_weights.dtype.name} for Tensor with dtype {given.name}: {part!r}")
    with name_scope(name, "embedding_lookup", [*parts, sparse_ids.indices]) as scope:
        original_shape = sparse_ids.dense_shape
        known = (sparse_ids.dense_shape.shape.extents or (None,))[0]
        rank = size(original_shape) if known is None else known
        rows = reduce_prod(slice_(original_shape, [0], [rank - 1]))
        flat_shape = stack([rows, gather(original_shape, rank - 1)])
        source = parts_of(sparse_ids) if known == 2 and sparse_weights is None else None
        sparse_ids = sparse_reshape(sparse_ids, flat_shape)
        if sparse_weights is not None:
            sparse_weights = SparseTensor(sparse_ids.indices, sparse_weights.values, sparse_ids.dense_shape)
        sparse_ids, sparse_weights = _without_invalid_ids(sparse_ids, sparse_weights, combiner)
        sparse_ids, empty = sparse_fill_empty_rows(sparse_ids, 0 if default_id is None else default_id)
        if source is not None and not empty.op.graph.imperative:
            empty.op._note = Lookup(source)
        if sparse_weights is not None:
            sparse_weights, _ = sparse_fill_empty_rows(sparse_weights, 1.0)
        result = embedding_lookup_sparse(parts, sparse_ids, sparse_weights, partition_strategy=partition_strategy,
                                         combiner=combiner, max_norm=max_norm)
        if default_id is None:
            mask = tile(reshape(empty, [-1, 1]), stack([1, shape_op(result)[1]]))
            result = where(mask, zeros_like(result), result, name=scope)
        outer = slice_(cast(original_shape, dt.int32), [0], [rank - 1])
        final = reshape(result, concat([outer, slice_(shape_op(result), [1], [-1])], 0))
        if known is not None:
            final.set_shape(constant_value_as_shape(original_shape)[:known - 1].concatenate(result.shape[1:]))
        note_lookup(sparse_ids, result=final)
        return final


def _without_invalid_ids(ids: SparseTensor, weights: Any, combiner: str) -> tuple[SparseTensor, Any]:
    """Without the ids below 0, and without weights up to 0, which would spoil a mean."""
    valid = greater_equal(ids.values, 0)
    if weights is not None:  # also where all weights count: another number of them than of ids is an error
        counts = ones_like(weights.values, dtype=dt.bool_) if combiner == "sum" else greater(weights.values, 0.0)
        valid = logical_and(valid, counts)
        default_graph().imply(0 if combiner == "sum" else 19)  # TensorFlow leaves out ids first, and then weights
    return sparse_retain(ids, valid), None if weights is None else sparse_retain(weights, valid)
