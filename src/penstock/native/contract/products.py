"""Contractions of the emitter, ``emit.contract``: products of matrices. Of any float type: ``contractions``."""
from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from penstock.native.calls import Array
from penstock.native.contract.product import Epilogue, Product, emit, with_rows

if TYPE_CHECKING:
    from penstock.native.emitter import Emitter

Strides = tuple[int, ...]
_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
_INTEGERS = (np.dtype(np.int32), np.dtype(np.int64))


def check_dtype(b: Emitter, array: Array, others: tuple[np.dtype, ...] = ()) -> None:
    """Contractions are for float32 and float64, products of matrices for some others too."""
    if array.dtype not in (*_FLOATS, *others):
        b.unsupported(f"contractions of {array.dtype} are left to NumPy")


class Products:
    """``a @ b``, for matrices and batches of them."""

    def __init__(self, b: Emitter) -> None:
        self.b = b

    def matmul(self, a: Array, b: Array, transpose_a: bool = False, transpose_b: bool = False, epilogue: Epilogue | None = None,
               into: Array | None = None) -> Array:
        """The product of two matrices, or of two batches of them that are broadcast against each other.

        The result is a new array, or ``into``, whose last axis is contiguous. See Epilogue for what can be done to it on the way.
        """
        check_dtype(self.b, a, _INTEGERS)
        if a.rank < 2 or b.rank < 2 or a.dtype != b.dtype:
            self.b.unsupported("the factors are not matrices of one type")
        a, b = (_swap_axes(a) if transpose_a else a), (_swap_axes(b) if transpose_b else b)
        if a.shape[-1] != b.shape[-2]:
            self.b.unsupported("the factors do not fit together")
        a, b = self._usable(a), self._usable(b)
        try:
            batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        except ValueError:
            self.b.unsupported("the batches do not fit together")
        result = self.b.empty((*batch, a.shape[-2], b.shape[-1]), a.dtype) if into is None else into
        self._emit(a, b, result, epilogue or Epilogue())
        return result

    def batch_matmul(self, x: Array, y: Array, adj_x: bool, adj_y: bool) -> Array:
        """The products of two batches of the same shape."""
        if x.shape[:-2] != y.shape[:-2]:
            self.b.unsupported("the batches differ")
        return self.matmul(x, y, adj_x, adj_y)

    def _usable(self, array: Array) -> Array:
        """The matrices with one axis contiguous, as they are or copied."""
        size, columns, (down, right) = array.dtype.itemsize, array.shape[-1], array.strides[-2:]
        if right == size or down == size or columns == 1:
            return array
        return self.b.contiguous(array)

    def _emit(self, a: Array, b: Array, c: Array, epilogue: Epilogue) -> None:
        size, (m, k), n = a.dtype.itemsize, a.shape[-2:], b.shape[-1]
        batch = c.shape[:-2]
        epilogue = with_rows(self.b, epilogue)
        added = None if epilogue.added is None else _broadcast(epilogue.added, c.shape)
        strides = {"a": _broadcast(a, (*batch, m, k)).strides, "b": _broadcast(b, (*batch, k, n)).strides, "c": c.strides,
                   "added": (0,) * c.rank if added is None else added.strides}
        a_transposed = a.strides[-1] != size and k > 1
        b_transposed = b.strides[-1] != size and n > 1
        axes = _collapse(batch, {name: value[:-2] for name, value in strides.items()})
        if len(axes) == 1 and not a_transposed and _one_matrix(axes[0][1], {name: m * value[-2] for name, value in strides.items()}):
            m, axes = m * axes[0][0], []
        inner, steps = axes.pop() if axes else (1, {})
        product = Product(m, n, k, strides["a"][-1 if a_transposed else -2], strides["b"][-1 if b_transposed else -2], strides["c"][-2], a_transposed,
                          b_transposed, inner, {"added_step": strides["added"][-2], **{f"{name}_batch": step for name, step in steps.items()}})
        items = [_places(axes, index) for index in itertools.product(*(range(extent) for extent, _ in axes))]
        emit(self.b, product, a, b, c, "matmul", epilogue, items)


def _one_matrix(steps: dict[str, int], extents: dict[str, int]) -> bool:
    """True if there is one matrix b for a whole batch whose other matrices lie one after the other: then the batch is just more rows."""
    return steps["b"] == 0 and all(steps[name] == extents[name] for name in ("a", "added", "c"))


def _places(axes: list[tuple[int, dict[str, int]]], index: tuple[int, ...]) -> dict[str, int]:
    """The words that say where the matrices at an index of the batch begin."""
    names = axes[0][1] if axes else ()
    return {f"{name}_at": sum(i * steps[name] for i, (_, steps) in zip(index, axes)) for name in names}


def _collapse(shape: Strides, strides: dict[str, Strides]) -> list[tuple[int, dict[str, int]]]:
    """Axes with an extent other than 1 and their strides; neighbours that are one axis in all arrays are joined."""
    axes: list[tuple[int, dict[str, int]]] = []
    for axis, extent in enumerate(shape):
        steps = {name: each[axis] for name, each in strides.items()}
        if extent == 1:
            continue
        if axes and all(axes[-1][1][name] == extent * step for name, step in steps.items()):
            axes[-1] = (axes[-1][0] * extent, steps)
        else:
            axes.append((extent, steps))
    return axes


def _swap_axes(array: Array) -> Array:
    """The matrices transposed, as a view."""
    *batch, rows, columns = array.shape
    *steps, down, right = array.strides
    return Array(array.buffer, array.dtype, (*batch, columns, rows), (*steps, right, down), array.offset)


def _broadcast(array: Array, shape: Strides) -> Array:
    """The array seen in a larger shape; new axes and stretched ones have the stride 0."""
    missing = len(shape) - array.rank
    strides = (0,) * missing + tuple(0 if old == 1 and new != 1 else stride
                                     for old, new, stride in zip(array.shape, shape[missing:], array.strides))
    return Array(array.buffer, array.dtype, tuple(shape), strides, array.offset)
