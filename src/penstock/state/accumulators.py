"""Accumulators: gradients of several workers are collected until there are enough, and taken out as one.

The contract. An accumulator has a time step. A gradient that is older than it is dropped, and counted: it was computed from values that have been
replaced since.
``take`` waits until enough gradients have come, hands out their mean or sum, starts over, and moves the time step on by one.
"""
from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph.dtypes import DType
from penstock.graph.shape import TensorShape, brackets
from penstock.state.waiting import Suspended, this_thread, wait_for


class Accumulator:
    """What dense and sparse accumulators share: counting, time, waiting."""

    kind = "ConditionalAccumulator"

    def __init__(self, name: str, dtype: DType, shape: TensorShape, reduction: str) -> None:
        self.name, self.dtype, self.element_shape = name, dtype, shape
        self._mean = reduction == "MEAN"
        self._changed = threading.Condition()
        self._step = self.count = self.dropped = 0
        self._takers: dict[Any, int] = {}  # waiting thread or resumption: how many gradients it needs

    def set_step(self, step: int) -> None:
        """Sets the time step."""
        with self._changed:
            self._step = int(step)

    def _apply(self, step: int, add: Callable[[], None]) -> None:
        with self._changed:
            if step < self._step:
                self.dropped += 1
                return
            add()
            self.count += 1
            for taker in [taker for taker, wanted in self._takers.items() if wanted <= self.count]:
                self._changed.notify_all() if isinstance(taker, int) else taker.notify()

    def _take(self, running: Any, wanted: int, reduce: Callable[[], Any]) -> Any:
        if wanted <= 0:
            raise invalid_argument(f"Argument num_required must be positive, but was {wanted}")
        taken: list[Any] = []

        def advance() -> bool:
            if self.count < wanted:
                return False
            taken.append(reduce())
            self.count = 0
            self._step += 1
            return True

        resumption = this_thread.resumption
        if resumption is None:
            self._wait(running, wanted, advance)
        else:
            self._attempt(running, wanted, advance, resumption)
        return taken[0]

    def _wait(self, running: Any, wanted: int, advance: Callable[[], bool]) -> None:
        taker = threading.get_ident()
        with self._changed:
            self._takers[taker] = wanted
        try:
            wait_for(self._changed, running, advance)
        finally:
            with self._changed:
                del self._takers[taker]

    def _attempt(self, running: Any, wanted: int, advance: Callable[[], bool], resumption: Any) -> None:
        """As ``_wait``, without waiting."""
        with self._changed:
            self._takers.pop(resumption, None)
            if running.cancelled is not None:
                raise running.cancelled
            if not advance():
                self._takers[resumption] = wanted
                raise Suspended

    def check_request(self, dtype: DType, shape: TensorShape) -> None:
        """InvalidArgumentError if a node asks for this (shared) accumulator but describes it differently."""
        if dtype is not self.dtype or not shape.is_compatible_with(self.element_shape):
            raise invalid_argument(f"Shared accumulator '{self.name}' has dtype {self.dtype.name} and shape {self.element_shape}, but requested were "
                                   f"{dtype.name} and {shape}")


class DenseAccumulator(Accumulator):
    """Sums arrays of one shape. The first gradient is kept as it is, without a copy: only the sum of two is memory of the accumulator's own."""

    def __init__(self, name: str, dtype: DType, shape: TensorShape, reduction: str) -> None:
        super().__init__(name, dtype, shape, reduction)
        self._sum: Any = None

    def apply(self, step: int, gradient: Any) -> None:
        """Adds a gradient, unless it is too old."""
        def add() -> None:
            extents = np.shape(gradient)
            if not self.element_shape.is_compatible_with(extents):
                raise invalid_argument(f"Shape mismatch: expected {brackets(self.element_shape.extents)}, got {brackets(extents)}")
            if self.count and self._sum.shape != extents:
                raise invalid_argument(f"Shape mismatch: expected {brackets(self._sum.shape)}, got {brackets(extents)}")
            if self.count > 1:
                np.add(self._sum, gradient, out=self._sum)
            else:
                self._sum = np.asarray(self._sum + gradient if self.count else gradient)

        self._apply(step, add)

    def take(self, running: Any, wanted: int) -> np.ndarray:
        """Waits for ``wanted`` gradients; returns their mean or sum."""
        return self._take(running, wanted, self._reduce)

    def _reduce(self) -> np.ndarray:
        total, self._sum = self._sum, None
        if not self._mean or self.count == 1:
            return total
        return np.divide(total, self.count, out=total) if total.dtype.kind == "f" and total.dtype.itemsize >= 4 else _mean_of(total, self.count)


class SparseAccumulator(Accumulator):
    """Sums rows, each named by an index. The mean of a row is over the gradients that had it."""

    kind = "SparseConditionalAccumulator"

    def __init__(self, name: str, dtype: DType, shape: TensorShape, reduction: str) -> None:
        super().__init__(name, dtype, shape, reduction)
        self._start_over()

    def _start_over(self) -> None:
        self._gradients: list[tuple[np.ndarray, np.ndarray]] = []  # (indices, rows), as they came

    def apply(self, step: int, indices: np.ndarray, values: np.ndarray, shape: np.ndarray) -> None:
        """Adds the rows of a gradient, unless it is too old. An empty ``shape`` says nothing of the whole."""
        def add() -> None:
            self._check(indices, values, shape)
            self._gradients.append((indices, values))

        self._apply(step, add)

    def _check(self, indices: np.ndarray, values: np.ndarray, shape: np.ndarray) -> None:
        if np.ndim(indices) != 1:
            raise invalid_argument(f"Input indices should be vector but received shape: {brackets(np.shape(indices))}")
        if np.ndim(values) < 1:
            raise invalid_argument("Values cannot be 0-dimensional.")
        if len(indices) != len(values):
            raise invalid_argument(f"Expected {len(indices)} non-empty input values, got {len(values)}")
        if len(shape):
            self._compare_extents("shape", shape.tolist(), 0)
        row = values.shape[1:]
        self._compare_extents("values", (-1, *row), 1)
        if self._gradients and self._gradients[0][1].ndim != values.ndim:
            raise invalid_argument(f"Shape mismatch: expected values rank {self._gradients[0][1].ndim}, got {values.ndim}")
        for axis, extent in enumerate(self._gradients[0][1].shape[1:] if self._gradients else (), 1):
            if extent != values.shape[axis]:
                raise invalid_argument(f"Shape mismatch: expected values dim {axis} to be {extent}, got {values.shape[axis]}")
        rows = shape[0] if len(shape) else (self.element_shape.extents or (None,))[0]
        wrong = np.flatnonzero((indices < 0) | (indices >= (np.inf if rows is None else rows)))
        if len(wrong):
            place, index = wrong[0], indices[wrong[0]]
            raise invalid_argument(f"Shape mismatch: index of slice {place} exceeded limits of shape; index is {index} exceeded {rows}")

    def _compare_extents(self, what: str, extents: Any, start: int) -> None:
        """InvalidArgumentError if a gradient differs from the accumulator's shape in an axis from ``start`` on."""
        expected = self.element_shape.extents
        if not expected:  # a scalar has no rows: as in TensorFlow, it stands for "any shape"
            return
        if len(extents) < len(expected):
            raise invalid_argument(f"Shape mismatch: expected {what} rank at least {len(expected)}, got {len(extents)}")
        for axis in range(start, len(expected)):
            if expected[axis] not in (None, extents[axis]):
                raise invalid_argument(f"Shape mismatch: expected {what} dim {axis} to be {expected[axis]}, got {extents[axis]}")

    def take(self, running: Any, wanted: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Waits for ``wanted`` gradients; returns (indices, values, shape) of their mean or sum."""
        return self._take(running, wanted, self._reduce)

    def _reduce(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if not self._gradients:
            indices, values = np.zeros(0, np.int64), np.empty((0, *(extent or 0 for extent in (self.element_shape.extents or ())[1:])), self.dtype.np)
        else:
            indices, where = np.unique(np.concatenate([some for some, _ in self._gradients]), return_inverse=True)
            values = np.zeros((len(indices), *self._gradients[0][1].shape[1:]), self.dtype.np)
            np.add.at(values, where, np.concatenate([rows for _, rows in self._gradients]))
            if self._mean:  # an index that a gradient has twice is one row of it: the sum
                counts = np.bincount(np.searchsorted(indices, np.concatenate([np.unique(some) for some, _ in self._gradients])))
                values = _mean_of(values, counts.reshape(-1, *[1] * (values.ndim - 1)))
        shape = self._shape(values)
        self._start_over()
        return indices.astype(np.int64), values, np.array(shape, np.int64)

    def _shape(self, values: np.ndarray) -> tuple[int, ...]:
        rows = self.element_shape.extents[0] if self.element_shape.extents else None
        return -1 if rows is None else rows, *values.shape[1:]


def _mean_of(total: Any, count: Any) -> Any:
    total = np.asarray(total)
    return total // count if total.dtype.kind in "iu" else (total / count).astype(total.dtype)
