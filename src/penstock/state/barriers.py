"""Barriers: elements whose components arrive one by one, under a key, and that can be taken when all are there.

The contract. An element is *incomplete* until each of its components has been inserted, then *ready*. Ready elements leave in the order of the
insertions that began them. ``close`` forbids new keys; incomplete elements may still be completed, unless pending insertions are cancelled.
"""
from __future__ import annotations

import heapq
import itertools
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.errors import CancelledError, KernelError, OutOfRangeError, invalid_argument
from penstock.graph.dtypes import DType
from penstock.graph.shape import TensorShape, brackets
from penstock.state.queues import stack_parts
from penstock.state.waiting import wait_for

_FIRST_INDEX = np.iinfo(np.int64).min


class Barrier:
    """The elements that wait in a barrier."""

    kind = "Barrier"

    def __init__(self, name: str, dtypes: Sequence[DType], shapes: Sequence[TensorShape]) -> None:
        self.name, self.dtypes, self.shapes = name, tuple(dtypes), tuple(shapes)
        self._changed = threading.Condition()
        self._incomplete: dict[bytes, tuple[int, list[Any]]] = {}  # key: (index, components)
        self._ready: list[tuple[int, int, bytes, list[Any]]] = []  # a heap of (index, order, key, components)
        self._order = itertools.count()
        self._next_index = int(_FIRST_INDEX)
        self._closed = self._cancelled = False

    @property
    def ready_size(self) -> int:
        """How many elements can be taken."""
        return len(self._ready)

    @property
    def incomplete_size(self) -> int:
        """How many elements lack components."""
        return len(self._incomplete)

    def check_same(self, dtypes: Sequence[DType], shapes: Sequence[TensorShape]) -> None:
        """InvalidArgumentError if a node asks for this (shared) barrier but describes it differently."""
        for what, mine, theirs in (("types", [d.name for d in self.dtypes], [d.name for d in dtypes]),
                                   ("shapes", [str(s) for s in self.shapes], [str(s) for s in shapes])):
            if mine != theirs:
                raise invalid_argument(f"Shared barrier '{self.name}' has component {what} {mine} but requested component {what} were {theirs}")

    # --- inserting ---------------------------------------------------------------------------------------------------

    def insert_many(self, component: int, keys: list[bytes], values: np.ndarray) -> None:
        """Gives the elements of these keys one of their components."""
        if not 0 <= component < len(self.dtypes):
            raise invalid_argument(f"The component ID is out of range {component} > num_components (= {len(self.dtypes)})")
        shape = self.shapes[component] if self.shapes else TensorShape(None)
        if keys and not values.size and not shape.is_fully_defined():
            raise invalid_argument(f"Tensors with no elements are not supported unless the shape of the component is known: component {component} of "
                                   f"barrier '{self.name}' was given {brackets(values.shape)}")
        if not shape.is_compatible_with(values.shape[1:]):
            # TensorFlow keeps index and key in front of the components, and counts them here
            raise invalid_argument(f"Shape mismatch in tuple component {component + 2}. Expected {brackets(shape.extents)}, got "
                                   f"{brackets(values.shape[1:])}")
        with self._changed:
            self._check_insertion(component, keys)
            began = False
            for key, value in zip(keys, values):
                began = self._insert(component, key, value) or began
            self._next_index += began
            self._changed.notify_all()

    def _check_insertion(self, component: int, keys: list[bytes]) -> None:
        if self._cancelled:
            raise KernelError(CancelledError, f"Barrier {self.name} is closed.  Pending enqueues cancelled: 1.  Number of new insertions: "
                                              f"{len(keys)}.  Number of incomplete keys: {len(self._incomplete)}.")
        for place, key in enumerate(keys):
            if key not in self._incomplete:
                if self._closed:
                    raise KernelError(CancelledError, f"Barrier {self.name} is closed, but attempted to insert a brand new key: {_key_text(key)}.  "
                                                      f"Pending enqueues cancelled: 0.  Insertion index: {place}.  Number of incomplete keys: "
                                                      f"{len(self._incomplete)}.")
            elif self._incomplete[key][1][component] is not None:
                raise invalid_argument(f"Key {_key_text(key)} already has a value for component {component} in barrier {self.name}")

    def _insert(self, component: int, key: bytes, value: Any) -> bool:
        """True if this is the first component of its element."""
        began = key not in self._incomplete
        if began:
            self._incomplete[key] = (self._next_index, [None] * len(self.dtypes))
        index, components = self._incomplete[key]
        components[component] = value
        if all(item is not None for item in components):
            del self._incomplete[key]
            heapq.heappush(self._ready, (index, next(self._order), key, components))
        return began

    # --- taking ------------------------------------------------------------------------------------------------------

    def take_many(self, step: Any, count: int, allow_small: bool, wait_for_incomplete: bool) -> tuple[np.ndarray, ...]:
        """(indices, keys, components...) of ``count`` ready elements; of a closed barrier, of those that are left, if that is allowed."""
        taken: list[tuple[int, int, bytes, list[Any]]] = []

        def advance() -> bool:
            wanted = count
            if self._closed:
                total = len(self._ready) + len(self._incomplete)
                if allow_small:
                    wanted = min(count, total if wait_for_incomplete else max(len(self._ready), min(total, 1)))
                if total < wanted or (not wanted and count):
                    raise KernelError(OutOfRangeError, f"Barrier '{self.name}' is closed and has insufficient elements (requested {wanted}, total "
                                                       f"size {total})")
            if len(self._ready) < wanted:
                return False
            taken.extend(heapq.heappop(self._ready) for _ in range(wanted))
            return True

        wait_for(self._changed, step, advance)
        return self._stack_elements(taken)

    def _stack_elements(self, taken: list[tuple[int, int, bytes, list[Any]]]) -> tuple[np.ndarray, ...]:
        keys = np.empty(len(taken), object)
        keys[:] = [key for _, _, key, _ in taken]
        columns = zip(*(components for _, _, _, components in taken)) if taken else [()] * len(self.dtypes)
        components = [stack_parts(column, dtype) if column else np.empty((0, *(extent or 0 for extent in self._extents(place))), dtype.np)
                      for place, (column, dtype) in enumerate(zip(columns, self.dtypes))]
        return np.array([index for index, _, _, _ in taken], np.int64), keys, *components

    def _extents(self, place: int) -> tuple[int | None, ...]:
        return (self.shapes[place].extents or ()) if self.shapes else ()

    def close(self, cancel_pending_enqueues: bool) -> None:
        """Forbids new keys, and with ``cancel_pending_enqueues`` all insertions: incomplete elements are lost."""
        with self._changed:
            if self._closed and not cancel_pending_enqueues:
                raise KernelError(CancelledError, f"Barrier '{self.name}' is already closed.")
            self._closed = True
            if cancel_pending_enqueues:
                self._cancelled = True
                self._incomplete.clear()
            self._changed.notify_all()


def _key_text(key: bytes) -> str:
    return key.decode(errors="replace")
