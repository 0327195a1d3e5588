"""Pooling: reductions over sliding windows.

A window has an extent along every axis of the array, 1 where nothing is pooled, so data formats make no difference
here. Each position within the window ("tap") is one strided view of the whole array; a reduction goes through the taps.
"""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from penstock.errors import UnimplementedError, invalid_argument
from penstock.graph.shape import Extent, TensorShape
from penstock.ops.array.masking import masked
from penstock.ops.nn.conv_shape import check_rank
from penstock.ops.nn.windows import Ints, Windows, output_extent, windows

Tap = tuple[Any, ...]


def undefined(op: Any, *gradients: Any) -> Any:
    """The ``gradient`` of a gradient op that TensorFlow does not differentiate again: an error, not a silent None."""
    raise LookupError(f"No gradient defined for operation '{op.name}' (op type: {op.type})")


def pool_shape(shape: TensorShape, rank: int, ksize: Ints, strides: Ints, padding: str) -> list[Extent]:
    """The shape of a pooled tensor; ValueError for windows that cannot be."""
    extents = check_rank(shape, rank).as_list()
    check_window(rank, ksize, strides)
    pooled = [output_extent(size, width, stride, 1, padding) for size, width, stride in zip(extents[1:], ksize[1:], strides[1:])]
    return [extents[0], *pooled]  # there may be no image at all


class PooledBatch(UnimplementedError, ValueError):
    """Windows over the batch: TensorFlow's kernel refuses them; here the graph does, whose errors are ValueErrors."""


def check_window(rank: int, ksize: Ints, strides: Ints) -> None:
    """ValueError unless there is a positive extent and stride per axis; UnimplementedError if the batch is pooled."""
    for name, values in (("ksize", ksize), ("stride", strides)):
        if len(values) != rank:
            raise ValueError(f"Pooling requires the {name} attribute to contain {rank} values, but got: {len(values)}")
        if values[0] != 1:
            raise PooledBatch(None, None, "Pooling is not yet supported on the batch dimension.")
    if min(ksize) <= 0:
        raise ValueError(f"Sliding window ksize must be > 0, but is {list(ksize)}")


def pool_windows(shape: Ints, ksize: Any, strides: Any, padding: str) -> Windows:
    """The windows over an array of this shape."""
    ksize, strides = tuple(int(k) for k in ksize), tuple(int(s) for s in strides)
    if len(shape) != len(ksize):
        raise invalid_argument(f"tensor_in must be {len(ksize)}-dimensional, not {list(shape)}")
    if min(*ksize, *strides) <= 0:
        raise invalid_argument("Sliding window ksize and strides must be > 0, "
                               f"but are {list(ksize)} and {list(strides)}")
    return windows(tuple(shape), ksize, strides, (1,) * len(ksize), padding)


def taps(w: Windows) -> Iterator[Tap]:
    """The positions within a window, in row-major order, as an index into ``Windows.view``."""
    return ((Ellipsis, *tap) for tap in np.ndindex(*w.window))


def lowest(dtype: np.dtype) -> Any:
    """The value that no maximum ever is."""
    return np.iinfo(dtype).min if dtype.kind in "iu" else -np.inf


def max_pool_array(x: np.ndarray, w: Windows) -> np.ndarray:
    """The largest element of each window."""
    return _max(w.view(w.pad(x, 0, lowest(x.dtype)), 0), w)


def _max(seen: np.ndarray, w: Windows) -> np.ndarray:
    result = None
    for tap in taps(w):
        result = seen[tap].copy() if result is None else np.maximum(result, seen[tap], out=result)
    assert result is not None
    return result


def winners(x: np.ndarray, w: Windows) -> Iterator[tuple[Tap, np.ndarray]]:
    """(tap, the windows whose first maximum is at this tap)."""
    seen = w.view(w.pad(x, 0, lowest(x.dtype)), 0)
    best = _max(seen, w)
    free = np.ones(best.shape, bool)
    for tap in taps(w):
        won = seen[tap] == best
        won &= free
        free ^= won
        yield tap, won


def check_like(what: str, array: np.ndarray, shape: Ints) -> None:
    """KernelError unless the array has this shape."""
    if array.shape != tuple(shape):
        raise invalid_argument(f"Expected {what} shape to be {list(shape)}, but got {list(array.shape)}")


def scatter_max(x: np.ndarray, grad: np.ndarray, w: Windows) -> np.ndarray:
    """The gradient of max pooling: each window's gradient goes to its first maximum."""
    check_like("grad", grad, w.output)
    padded = w.padded_zeros(x.shape, 0, grad.dtype)
    target = w.view(padded, 0)
    for tap, won in winners(x, w):
        target[tap] += masked(grad, won)
    return np.ascontiguousarray(w.inner(padded, 0))


def gather_max(x: np.ndarray, values: np.ndarray, w: Windows) -> np.ndarray:
    """The elements of ``values`` that lie where the windows of ``x`` have their first maximum."""
    check_like("grad", values, x.shape)
    seen = w.view(w.pad(values, 0), 0)
    result = np.zeros(w.output, values.dtype)
    for tap, won in winners(x, w):
        result += masked(seen[tap], won)  # each window has one winner
    return result


def average(x: np.ndarray, w: Windows) -> np.ndarray:
    """The mean of each window, padding not counted; of integers, rounded towards 0."""
    seen = w.view(w.pad(x, 0), 0)
    result = np.zeros(w.output, x.dtype)
    for tap in taps(w):
        result += seen[tap]
    if x.dtype.kind in "iu":
        return np.sign(result) * (np.abs(result) // _counts(w, x.dtype))
    result /= _counts(w, x.dtype)
    return result


def spread_average(shape: Ints, grad: np.ndarray, w: Windows) -> np.ndarray:
    """The gradient of ``average`` for an array of this shape."""
    check_like("grad", grad, w.output)
    padded = w.padded_zeros(shape, 0, grad.dtype)
    target = w.view(padded, 0)
    share = grad / _counts(w, grad.dtype)
    for tap in taps(w):
        target[tap] += share
    return np.ascontiguousarray(w.inner(padded, 0))


def _counts(w: Windows, dtype: np.dtype) -> np.ndarray:
    """How many elements of the array, not of its padding, each window has; broadcasts against the output."""
    result = np.ones((1,) * len(w.size), dtype)
    for axis, (size, window, stride, before, count) in enumerate(zip(w.size, w.window, w.strides, w.before, w.output)):
        first = np.arange(count) * stride - before
        inside = np.minimum(first + window, size) - np.maximum(first, 0)
        shape = [1] * len(w.size)
        shape[axis] = count
        result = result * inside.reshape(shape).astype(dtype)
    return result
