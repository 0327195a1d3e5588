"""What the kernels and shape functions of sparse ops share: entries as row-major positions, checks, common shapes."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph.node import Tensor
from penstock.graph.shape import TensorShape, brackets


def entries_shape(indices: Tensor, values: Tensor | None = None, dense_shape: Tensor | None = None) -> tuple[Any, Any]:
    """(number of entries, rank) of a sparse tensor as far as they are known; ValueError if its parts contradict each other."""
    count, rank = indices.shape.with_rank(2).extents  # type: ignore[misc]
    if values is not None:
        count = _merge_extents(count, values.shape.with_rank(1).extents[0], "entries")  # type: ignore[index]
    if dense_shape is not None:
        rank = _merge_extents(rank, dense_shape.shape.with_rank(1).extents[0], "dimensions")  # type: ignore[index]
    return count, rank


def _merge_extents(a: int | None, b: int | None, what: str) -> int | None:
    if a is not None and b is not None and a != b:
        raise ValueError(f"Number of {what} in the parts of a sparse tensor must match: {a} and {b}")
    return b if a is None else a


def new_sparse(rank: int | None, entries: int | None = None) -> list[TensorShape]:
    """The shapes of indices, values and dense shape of a sparse result; usually its number of entries is not known."""
    return [TensorShape._of((entries, rank)), TensorShape._of((entries,)), TensorShape._of((rank,))]


def text(numbers: Any) -> str:
    """Numbers as TensorFlow lists them in messages: ``[1,2]``."""
    return brackets(np.atleast_1d(numbers).astype(np.int64).tolist())


def check_parts(indices: np.ndarray, values: np.ndarray, dense_shape: np.ndarray) -> None:
    """InvalidArgumentError unless the three parts of a sparse tensor fit each other."""
    if indices.ndim != 2 or values.ndim != 1 or np.ndim(dense_shape) != 1:
        raise invalid_argument("A sparse tensor needs indices of rank 2, values and a shape of rank 1, got shapes "
                               f"{text(indices.shape)}, {text(values.shape)} and {text(np.shape(dense_shape))}")
    if len(indices) != len(values):
        raise invalid_argument(f"Expected {len(indices)} non-empty input values, got {len(values)}")
    if indices.shape[1] != len(dense_shape):
        raise invalid_argument(f"Index rank ({indices.shape[1]}) and shape rank ({len(dense_shape)}) do not match")


def check_bounds(indices: np.ndarray, dense_shape: np.ndarray) -> None:
    """InvalidArgumentError, naming the first bad entry, unless all indices lie inside the shape."""
    bad = ((indices < 0) | (indices >= np.asarray(dense_shape))).any(axis=1)
    if bad.any():
        entry = int(np.argmax(bad))
        raise invalid_argument(f"indices[{entry}] = {text(indices[entry])} is out of bounds: need 0 <= index < {text(dense_shape)}")


def positions(indices: np.ndarray, dense_shape: np.ndarray) -> np.ndarray:
    """The row-major position of each entry in the dense tensor."""
    check_bounds(indices, dense_shape)
    result = np.zeros(len(indices), np.int64)
    for column, extent in enumerate(dense_shape):
        result *= int(extent)
        result += indices[:, column]
    return result


def indices_at(where: np.ndarray, dense_shape: np.ndarray) -> np.ndarray:
    """The indices, one row per entry, at row-major positions."""
    if not len(dense_shape):
        return np.zeros((len(where), 0), np.int64)
    if not len(where):
        return np.zeros((0, len(dense_shape)), np.int64)
    return np.stack(np.unravel_index(where, tuple(int(extent) for extent in dense_shape)), axis=1).astype(np.int64)


def check_order(where: np.ndarray, indices: np.ndarray) -> None:
    """InvalidArgumentError unless the positions increase."""
    steps = np.diff(where)
    if (steps <= 0).any():
        entry = int(np.argmax(steps <= 0)) + 1
        if steps[entry - 1] == 0:
            raise invalid_argument(f"indices[{entry}] = {text(indices[entry])} is repeated")
        raise invalid_argument(f"indices[{entry}] = {text(indices[entry])} is out of order. Many sparse ops require sorted "
                               "indices.\n    Use `tf.sparse.reorder` to create a correctly ordered copy.\n\n")


def union(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All positions of two sorted lists, and where each of the two went."""
    together = np.union1d(a, b)
    return together, np.searchsorted(together, a), np.searchsorted(together, b)
