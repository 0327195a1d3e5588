"""Sparse writes into an array: the NumPy part, and the shape rules, that the ops on both kinds of variables share.

``HOW`` names the ways of combining an old element with an update. Only the rows that are named are touched, in place and without a loop over them.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph.shape import TensorShape, brackets
from penstock.ops.array.gather import check_indices
from penstock.ops.common import merge


def _divide(a: Any, b: Any, out: np.ndarray) -> None:
    """Division as C does it: integers are rounded towards zero."""
    if out.dtype.kind not in "iu":
        np.divide(a, b, out=out)
        return
    if out.size and not np.all(b):
        raise invalid_argument("Integer division by zero")
    quotient = np.floor_divide(a, b)
    np.copyto(out, quotient + ((quotient < 0) & (quotient * b != a)), casting="unsafe")


_MOST_ROUNDS = 8

# Each way: (how updates of one row combine, how the combination goes into the row).
HOW: dict[str, tuple[np.ufunc | None, Callable[..., Any] | None]] = {
    "Update": (None, None),
    "Add": (np.add, np.add),
    "Sub": (np.add, np.subtract),
    "Mul": (np.multiply, np.multiply),
    "Div": (np.multiply, _divide),
    "Min": (np.minimum, np.minimum),
    "Max": (np.maximum, np.maximum),
}


def scatter_rows(target: np.ndarray, rows: np.ndarray, updates: np.ndarray, how: str) -> None:
    """Writes ``updates[i]`` into ``target[rows[i]]``; ``rows`` is a vector of valid row numbers."""
    combine, write = HOW[how]
    if combine is None or write is None:
        target[rows] = updates  # NumPy writes in order: the last of several updates stays, as in TensorFlow
        return
    for distinct, changes in _rounds(rows, updates, combine):
        result = target.take(distinct, 0)
        write(result, changes, out=result)
        target[distinct] = result


def _rounds(rows: np.ndarray, updates: np.ndarray, combine: np.ufunc) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The updates in parts that name each row at most once: first all first updates of a row, then all second ones, ...

    Where a row comes very often, its updates are combined first instead: one pass, but a slow one.
    """
    order = np.argsort(rows, kind="stable")
    ordered = rows[order]
    starts = np.flatnonzero(np.concatenate((np.ones(min(len(rows), 1), bool), ordered[1:] != ordered[:-1])))
    if len(starts) == len(rows):
        yield rows, updates
        return
    counts = np.diff(np.append(starts, len(rows)))
    if counts.max() > _MOST_ROUNDS:
        yield ordered[starts], combine.reduceat(updates[order], starts, axis=0, dtype=updates.dtype)
        return
    turn = np.arange(len(rows)) - np.repeat(starts, counts)
    for number in range(counts.max()):
        chosen = order[turn == number]
        yield rows[chosen], updates[chosen]


def scatter(target: np.ndarray, indices: np.ndarray, updates: np.ndarray, how: str) -> None:
    """``Scatter*``: ``target[indices[i, ..., j], ...]`` takes ``updates[i, ..., j, ...]``, or one scalar everywhere."""
    indices, updates = np.asarray(indices), np.asarray(updates)
    if target.ndim == 0:
        raise invalid_argument("params must be at least 1-D, got shape []")
    wanted = indices.shape + target.shape[1:]
    if updates.shape not in (wanted, ()):
        raise invalid_argument(
            "Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], got updates.shape "
            f"{brackets(updates.shape)}, indices.shape {brackets(indices.shape)}, params.shape {brackets(target.shape)}")
    check_indices(indices, target.shape[0])
    updates = np.broadcast_to(updates, wanted) if updates.shape != wanted else updates
    scatter_rows(target, indices.reshape(-1), updates.reshape(indices.size, *target.shape[1:]), how)


def scatter_nd(target: np.ndarray, indices: np.ndarray, updates: np.ndarray, how: str) -> None:
    """``ScatterNd*``: each vector along the last axis of ``indices`` names a slice of ``target`` that takes an update."""
    indices, updates = np.asarray(indices), np.asarray(updates)
    depth = indices.shape[-1] if indices.ndim else 1
    outer = indices.shape[:-1]
    if outer[:1] != updates.shape[:1]:
        raise invalid_argument("The outermost dimension of updates and indices must match. Got indices.shape "
                               f"{brackets(indices.shape)}, updates.shape {brackets(updates.shape)}")
    if depth > target.ndim or updates.shape != outer + target.shape[depth:]:
        raise invalid_argument(
            f"Must have updates.shape = indices.shape[:batch_dim] + params_shape[slice_dim:], got updates.shape: {brackets(updates.shape)}, "
            f"indices.shape: {brackets(indices.shape)}, params_shape: {brackets(target.shape)}, slice_dim: {depth}, and batch_dim: {len(outer)}")
    rows = flat_rows(indices.reshape(math.prod(outer), depth), target.shape)
    inner = target.shape[depth:]
    scatter_rows(target.reshape(math.prod(target.shape[:depth]), *inner), rows, updates.reshape(len(rows), *inner), how)


def flat_rows(indices: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Index vectors as row numbers of the array with its first axes flattened; InvalidArgumentError for one that is out of range."""
    depth = indices.shape[1]
    extents = np.array(shape[:depth], np.int64)
    bad = ((indices < 0) | (indices >= extents)).any(axis=1)
    if bad.any():
        first = int(np.argmax(bad))
        raise invalid_argument(f"indices[{first}] = {brackets(indices[first])} does not index into shape {brackets(shape)}")
    strides = np.append(np.cumprod(extents[:0:-1])[::-1], 1).astype(np.int64) if depth else extents
    return indices.astype(np.int64) @ strides if depth else np.zeros(len(indices), np.int64)


# --- shape rules -----------------------------------------------------------------------------------------------------

def check_scatter(target: TensorShape, indices: TensorShape, updates: TensorShape) -> TensorShape:
    """The shape of the target of a ``Scatter*``; ValueError if the updates can never fit."""
    if target.ndims is not None and indices.ndims is not None and updates.ndims not in (None, 0):
        target = target.with_rank_at_least(1)
        merge(updates, indices.concatenate(target[1:]))
    return target
