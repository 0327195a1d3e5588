"""Scattering into a new tensor: values put at positions."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.errors import invalid_argument, unimplemented
from penstock.graph import dtypes as dt
from penstock.graph import raw_ops
from penstock.graph.attrs import TYPE
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.shape import TensorShape, brackets, unknown_shape
from penstock.ops.array.fill import zeros_like
from penstock.ops.array.shape_ops import as_array, known_shape
from penstock.ops.common import INDEX, NUMERIC, at_least, merge, shape_text


def check_scatter_nd(target: TensorShape, indices: TensorShape, updates: TensorShape, what: str = "input") -> TensorShape:
    """The shape of the target of a ``ScatterNd*``; ValueError if the updates can never fit."""
    if target.ndims is None or indices.ndims is None or updates.ndims is None or not indices.ndims:
        return target
    outer, depth = indices.ndims - 1, indices.extents[-1]  # type: ignore[index]
    try:
        merge(indices[:outer], updates[:outer])
    except ValueError as error:
        raise ValueError(f"The outer {outer} dimensions of indices.shape={brackets(indices.extents)} must match the outer "  # type: ignore[arg-type]
                         f"{outer} dimensions of updates.shape={brackets(updates.extents)}: {error}") from None  # type: ignore[arg-type]
    if depth is not None:
        try:
            merge(target[depth:], updates[outer:])
        except ValueError as error:
            inner = len(target[depth:].extents or ())
            raise ValueError(f"The inner {inner} dimensions of {what}.shape={brackets(target.extents)} must match the inner "  # type: ignore[arg-type]
                             f"{updates.ndims - outer} dimensions of updates.shape={brackets(updates.extents)}: {error}") from None  # type: ignore[arg-type]
    return target


def nd_shape(indices: TensorShape, target: TensorShape) -> TensorShape:
    """The shape of what ``indices`` pick of ``target``: the last axis of the indices names coordinates in the first axes."""
    indices.with_rank_at_least(1)
    if indices.ndims is None or target.ndims is None or indices.extents[-1] is None:
        return unknown_shape()
    depth = indices.extents[-1]
    if depth > target.ndims:
        raise ValueError(f"indices.shape[-1] must be <= params.rank, but saw indices shape: {indices} and params shape: {target}")
    return indices[:-1].concatenate(target[depth:])


def checked_positions(indices: np.ndarray, extents: Sequence[int], what: str = "shape") -> tuple[np.ndarray, ...]:
    """The coordinates in ``indices`` as a NumPy index; raises for the first that is outside ``extents``."""
    depth = indices.shape[-1]
    if depth > len(extents):
        raise invalid_argument(f"index innermost dimension length must be <= params rank; saw: {depth} vs. {len(extents)}")
    limits = np.array(extents[:depth], indices.dtype)
    outside = ((indices < 0) | (indices >= limits)).any(-1)
    if outside.any():
        place = tuple(np.argwhere(outside)[0].tolist())
        raise invalid_argument(f"indices{brackets(place)} = {indices[place].tolist()} does not index into {what} {brackets(extents)}")
    return (*(indices[..., axis] for axis in range(depth)), ...)


def _check_updates(indices: np.ndarray, updates: np.ndarray, extents: Sequence[int]) -> None:
    wanted = (*indices.shape[:-1], *extents[indices.shape[-1]:]) if indices.ndim else None
    if updates.shape != wanted:
        raise invalid_argument(f"Must have updates.shape = indices.shape[:batch_dim] + shape[slice_dim:], got updates.shape: "
                               f"{shape_text(updates)}, indices.shape: {shape_text(indices)}, shape: {brackets(extents)}")


def _add_at(target: np.ndarray, indices: np.ndarray, updates: np.ndarray, how: np.ufunc = np.add) -> np.ndarray:
    """``target`` with ``updates`` added (or subtracted) at positions; a position that comes twice gets both."""
    if target.dtype in (object, bool) and how is np.subtract:
        raise unimplemented(f"elements of type {target.dtype} cannot be combined by {how.__name__}")
    _check_updates(indices, updates, target.shape)
    depth = indices.shape[-1]
    if indices.size == 0 and depth:
        return target
    checked_positions(indices, target.shape)
    rows = target.reshape((math.prod(target.shape[:depth]), -1)) if target.size else target
    flat = np.ravel_multi_index(tuple(indices.reshape(-1, depth).T), target.shape[:depth]) if depth else np.zeros(updates.shape[0], int)
    if target.size:
        _combine_rows(rows, flat, updates.reshape(len(flat), -1), how)
    return target


def _combine_rows(rows: np.ndarray, places: np.ndarray, updates: np.ndarray, how: np.ufunc) -> None:
    """``how.at``, but by whole rows: those for the same place are added up first."""
    if updates.shape[1] == 1:
        how.at(rows[:, 0], places, updates[:, 0])
        return
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    if len(starts) < len(places):
        updates, places = np.add.reduceat(updates[order], starts, 0), ordered[starts]
    rows[places] = how(rows[places], updates)


@op("ScatterNd", "indices: Tindices, updates: T, shape: Tindices -> output: T", T=TYPE, Tindices=INDEX)
class ScatterNd:
    """Zeros of a shape, with ``updates`` added at positions."""

    ranks = {"indices": at_least(1), "updates": at_least(1)}

    def shape(indices, updates, shape):
        result = known_shape(shape)
        _check_empty(result, indices, updates)
        if None not in (indices.shape.ndims, updates.shape.ndims, result.ndims) and indices.shape.extents[-1] is not None:
            nd_shape(indices.shape, result)
            check_scatter_nd(result, indices.shape, updates.shape, "output")
        return result

    def kernel(indices, updates, shape):
        updates, indices = as_array(updates), as_array(indices)
        if 0 in shape.tolist() and indices.size and updates.size:
            raise invalid_argument(f"Indices and updates specified for empty output.  indices shape: {shape_text(indices)}")
        return _add_at(np.full(tuple(shape.tolist()), b"" if updates.dtype == object else 0, updates.dtype), indices, updates)

    def native(emit, indices, updates, shape):
        return emit.index.scatter_nd(emit.move.zeros(emit.known(shape), updates.dtype), indices, updates, "Add")

    def gradient(op, dy):
        return [None, raw_ops.GatherNd(dy, op.inputs[0]), None]


def scatter_nd(indices: Any, updates: Any, shape: Any, name: str | None = None) -> Tensor:
    """``tf.scatter_nd``: zeros of a shape, with ``updates`` added at positions."""
    return ScatterNd(indices, updates, shape, name=name)


def _like_tensor(tensor: Tensor, indices: Tensor, updates: Tensor) -> TensorShape:
    indices.shape.with_rank_at_least(1)
    _check_empty(tensor.shape, indices, updates)
    if None not in (indices.shape.ndims, tensor.shape.ndims, updates.shape.ndims) and indices.shape.extents[-1] is not None:
        nd_shape(indices.shape, tensor.shape)
        check_scatter_nd(tensor.shape, indices.shape, updates.shape)
    return tensor.shape


def _check_empty(target: TensorShape, indices: Tensor, updates: Tensor) -> None:
    if 0 in (target.extents or ()) and all(tensor.shape.num_elements() for tensor in (indices, updates)):
        raise ValueError("Indices and updates specified for empty output shape")


@op("TensorScatterUpdate", "tensor: T, indices: Tindices, updates: T -> output: T", T=TYPE, Tindices=INDEX)
class TensorScatterUpdate:
    """``tensor`` with ``updates`` in place of what stands at positions."""

    ranks = {"tensor": at_least(1), "updates": at_least(1)}

    def shape(tensor, indices, updates):
        return _like_tensor(tensor, indices, updates)

    def kernel(tensor, indices, updates):
        updates, result = as_array(updates), np.array(tensor)
        _check_updates(indices, updates, result.shape)
        result[checked_positions(indices, result.shape)] = updates
        return result

    def native(emit, tensor, indices, updates):
        return emit.index.scatter_nd(emit.move.copy_of(tensor), indices, updates, "Update")

    def gradient(op, dy):
        indices, updates = op.inputs[1], op.inputs[2]
        return [TensorScatterUpdate(dy, indices, zeros_like(updates)), None, raw_ops.GatherNd(dy, indices)]


@op("TensorScatterAdd", "tensor: T, indices: Tindices, updates: T -> output: T", T=TYPE, Tindices=INDEX)
class TensorScatterAdd:
    """``tensor`` with ``updates`` added at positions."""

    ranks = {"tensor": at_least(1), "updates": at_least(1)}

    def shape(tensor, indices, updates):
        return _like_tensor(tensor, indices, updates)

    def kernel(tensor, indices, updates):
        return _add_at(np.array(tensor), indices, as_array(updates))

    def native(emit, tensor, indices, updates):
        return emit.index.scatter_nd(emit.move.copy_of(tensor), indices, updates, "Add")

    def gradient(op, dy):
        return [dy, None, raw_ops.GatherNd(dy, op.inputs[1])]


@op("TensorScatterSub", "tensor: T, indices: Tindices, updates: T -> output: T", T=TYPE, Tindices=INDEX)
class TensorScatterSub:
    """``tensor`` with ``updates`` subtracted at positions."""

    ranks = {"tensor": at_least(1), "updates": at_least(1)}

    def shape(tensor, indices, updates):
        return _like_tensor(tensor, indices, updates)

    def kernel(tensor, indices, updates):
        return _add_at(np.array(tensor), indices, as_array(updates), np.subtract)

    def native(emit, tensor, indices, updates):
        return emit.index.scatter_nd(emit.move.copy_of(tensor), indices, updates, "Sub")

    def gradient(op, dy):
        return [dy, None, -raw_ops.GatherNd(dy, op.inputs[1])]


@op("ScatterNdNonAliasingAdd", "input: T, indices: Tindices, updates: T -> output: T", T=NUMERIC | {dt.bool_}, Tindices=INDEX)
class ScatterNdNonAliasingAdd:
    """``input`` with ``updates`` added at positions."""

    ranks = {"updates": at_least(1)}

    def shape(input, indices, updates):
        return _like_tensor(input, indices, updates)

    def kernel(input, indices, updates):
        return _add_at(np.array(input), indices, as_array(updates))

    def native(emit, input, indices, updates):
        return emit.index.scatter_nd(emit.move.copy_of(input), indices, updates, "Add")

    def gradient(op, dy):
        return [dy, None, raw_ops.GatherNd(dy, op.inputs[1])]


def tensor_scatter_update(tensor: Any, indices: Any, updates: Any, name: str | None = None) -> Tensor:
    """``tf.tensor_scatter_update``: ``tensor`` with ``updates`` in place of what stands at positions."""
    return TensorScatterUpdate(tensor, indices, updates, name=name)


def tensor_scatter_add(tensor: Any, indices: Any, updates: Any, name: str | None = None) -> Tensor:
    """``tf.tensor_scatter_add``: ``tensor`` with ``updates`` added at positions."""
    return TensorScatterAdd(tensor, indices, updates, name=name)


def tensor_scatter_sub(tensor: Any, indices: Any, updates: Any, name: str | None = None) -> Tensor:
    """``tf.tensor_scatter_sub``: ``tensor`` with ``updates`` subtracted at positions."""
    return TensorScatterSub(tensor, indices, updates, name=name)


def scatter_nd_non_aliasing_add(input: Any, indices: Any, updates: Any, name: str | None = None) -> Tensor:
    """``ScatterNdNonAliasingAdd``: ``input`` with ``updates`` added at positions."""
    return ScatterNdNonAliasingAdd(input, indices, updates, name=name)
