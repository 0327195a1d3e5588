"""Staging areas: tuples of tensors that wait between two steps, in order, or under keys.

``capacity`` bounds the number of elements and ``memory_limit`` their bytes; 0 means that there is no bound. A put waits for room, a get waits
for an element.
"""
from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock.errors import KernelError, ResourceExhaustedError, invalid_argument
from penstock.state.waiting import wait_for

Values = tuple[Any, ...]


def _bytes(values: Sequence[Any]) -> int:
    return sum(np.asarray(value).nbytes for value in values if value is not None)


class _BoundedArea:
    """What the areas share: the limits, and waiting."""

    def __init__(self, name: str, capacity: int, memory_limit: int) -> None:
        self.name, self._capacity, self._memory_limit = name, capacity, memory_limit
        self._changed = threading.Condition()
        self._size_in_bytes = 0

    def _check_fits(self, values: Values) -> int:
        size = _bytes(values)
        if self._memory_limit and size > self._memory_limit:
            raise KernelError(ResourceExhaustedError, f"Attempted to insert tensors with combined size of '{size}' bytes into Staging Area with a "
                                                      f"memory limit of '{self._memory_limit}'.")
        return size

    def _has_room(self, elements: int, more_bytes: int) -> bool:
        return (not self._capacity or elements < self._capacity) and \
            (not self._memory_limit or self._size_in_bytes + more_bytes <= self._memory_limit)

    def _wait_until(self, step: Any, try_it: Callable[[], Any]) -> Any:
        """Waits until ``try_it`` gives something other than None; returns that, and tells the others that something changed."""
        result: list[Any] = []

        def advance() -> bool:
            element = try_it()
            if element is None:
                return False
            result.append(element)
            self._changed.notify_all()
            return True

        wait_for(self._changed, step, advance)
        return result[0]


class StagingArea(_BoundedArea):
    """First in, first out."""

    kind = "StagingArea"

    def __init__(self, name: str, capacity: int, memory_limit: int) -> None:
        super().__init__(name, capacity, memory_limit)
        self._items: deque[Values] = deque()

    def put(self, step: Any, values: Values) -> None:
        """Waits for room, then adds an element."""
        size = self._check_fits(values)

        def try_it() -> bool | None:
            if not self._has_room(len(self._items), size):
                return None
            self._items.append(values)
            self._size_in_bytes += size
            return True

        self._wait_until(step, try_it)

    def get(self, step: Any) -> Values:
        """Waits for an element and takes it."""
        def try_it() -> Values | None:
            if not self._items:
                return None
            values = self._items.popleft()
            self._size_in_bytes -= _bytes(values)
            return values

        return self._wait_until(step, try_it)

    def peek(self, step: Any, index: int) -> Values:
        """Waits for the element at this place; it stays there."""
        return self._wait_until(step, lambda: self._items[index] if 0 <= index < len(self._items) else None)

    def clear(self) -> None:
        """Forgets all elements."""
        with self._changed:
            self._items.clear()
            self._size_in_bytes = 0
            self._changed.notify_all()

    def __len__(self) -> int:
        return len(self._items)


class StagingMap(_BoundedArea):
    """Elements under integer keys; their components may come, and be taken, one by one."""

    kind = "StagingMap"

    def __init__(self, name: str, capacity: int, memory_limit: int, ordered: bool) -> None:
        super().__init__(name, capacity, memory_limit)
        self._ordered = ordered
        self._incomplete: dict[int, list[Any]] = {}
        self._complete: dict[int, list[Any]] = {}

    def put(self, step: Any, key: int, indices: Sequence[int], values: Values, count: int) -> None:
        """Waits for room, then gives the element of this key some of its ``count`` components."""
        self._check_indices(indices, range(count))
        size = self._check_fits(values)

        def try_it() -> bool | None:
            known = self._incomplete.get(key) or self._complete.get(key) or [None] * count
            taken = [index for index in indices if known[index] is not None]
            if taken:
                raise invalid_argument(f"The tensor for index '{taken[0]}' for key '{key}' was already initialized.")
            if not self._has_room(len(self._complete), size):
                return None
            self._add(key, indices, values, count)
            self._size_in_bytes += size
            return True

        self._wait_until(step, try_it)

    def _add(self, key: int, indices: Sequence[int], values: Values, count: int) -> None:
        components = self._incomplete.setdefault(key, [None] * count)
        for index, value in zip(indices, values):
            components[index] = value
        if all(value is not None for value in components):
            self._complete[key] = self._incomplete.pop(key)

    def get(self, step: Any, key: int, indices: Sequence[int]) -> Values:
        """Waits for the element of this key and takes some of its components out."""
        return self._wait_until(step, lambda: self._take(key, indices) if key in self._complete else None)

    def get_any(self, step: Any, indices: Sequence[int]) -> tuple[int, Values]:
        """Waits for an element and takes some of its components out: the one with the smallest key if the area is ordered."""
        def try_it() -> tuple[int, Values] | None:
            if not self._complete:
                return None
            key = min(self._complete) if self._ordered else next(iter(self._complete))
            return key, self._take(key, indices)

        return self._wait_until(step, try_it)

    def peek(self, step: Any, key: int, indices: Sequence[int]) -> Values:
        """Waits for the element of this key; its components stay."""
        return self._wait_until(step, lambda: self._look(key, indices) if key in self._complete else None)

    def _look(self, key: int, indices: Sequence[int]) -> Values:
        components = self._complete[key]
        self._check_indices(indices, [index for index, value in enumerate(components) if value is not None])
        return tuple(components[index] for index in indices)

    def _take(self, key: int, indices: Sequence[int]) -> Values:
        values = self._look(key, indices)
        for index in indices:
            self._complete[key][index] = None
        if all(value is None for value in self._complete[key]):
            del self._complete[key]
        self._size_in_bytes -= _bytes(values)
        return values

    @staticmethod
    def _check_indices(indices: Sequence[int], allowed: Sequence[int]) -> None:
        wrong = [index for index in indices if index not in allowed]
        if wrong:
            raise invalid_argument(f"Index '{wrong[0]}' is out of bounds, or its tensor was already removed: {list(allowed)} are there")

    def clear(self) -> None:
        """Forgets all elements."""
        with self._changed:
            self._complete.clear()
            self._incomplete.clear()
            self._size_in_bytes = 0
            self._changed.notify_all()

    @property
    def incomplete_size(self) -> int:
        """How many elements lack components."""
        return len(self._incomplete)

    def __len__(self) -> int:
        return len(self._complete)
