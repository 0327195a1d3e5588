"""Queues of tensor tuples: what FIFOQueue and its kin keep between steps.

The contract. An element is a tuple of arrays, one per component. All state of a queue is guarded by one lock. Kernels that wait stand in two
lines, one for each kind, and are served in the order of their arrival: a change wakes only the first in line (see ``waiting.py``). What a cancelled
``dequeue_many`` has taken goes back to the front; what a cancelled ``enqueue_many`` has put in stays.

``close`` forbids further enqueues; those that wait already still finish, unless they are cancelled too. Dequeues go on while there are enough
elements, then fail with OutOfRangeError.
"""
from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock.errors import CancelledError, KernelError, OutOfRangeError, invalid_argument
from penstock.graph.dtypes import DType
from penstock.graph.shape import TensorShape, brackets
from penstock.state.waiting import NeedsThread, Suspended, this_thread, wait_for

Element = tuple[Any, ...]


class _Place(threading.Condition):
    """A kernel's place in a line; ``missing()`` tells how many elements it still waits for."""

    def __init__(self, lock: threading.Lock, missing: Callable[[], int]) -> None:
        super().__init__(lock)
        self.missing = missing


class Queue:
    """First in, first out, up to ``capacity`` elements (any number, if it is negative). Other orders (``queue_kinds.py``) override some methods."""

    kind = "FIFOQueue"

    def __init__(self, name: str, dtypes: Sequence[DType], shapes: Sequence[TensorShape], capacity: int) -> None:
        self.name, self.dtypes, self.shapes, self.capacity = name, tuple(dtypes), tuple(shapes), capacity
        self._lock = threading.Lock()
        self._items: Any = deque()
        self._closed = self._cancel_enqueues = False
        self._enqueuing: deque[Any] = deque()  # of conditions and resumptions: the first in line is notified
        self._dequeuing: deque[Any] = deque()

    # --- the order of elements ---------------------------------------------------------------------------------------

    def _put(self, element: Element) -> None:
        self._items.append(element)

    def _take(self) -> Element:
        return self._items.popleft()

    def _put_back(self, elements: list[Element]) -> None:
        self._items.extendleft(reversed(elements))

    def _available(self) -> int:
        """How many elements may be taken now."""
        return len(self._items)

    # --- operations --------------------------------------------------------------------------------------------------

    def enqueue(self, step: Any, element: Element) -> None:
        """Waits for room, then adds an element."""
        self._check_shapes(element, 0)
        self._enqueue_all(step, [element])

    def enqueue_many(self, step: Any, components: Element) -> None:
        """Adds the slices of the components along their first axis as elements, one by one as there is room."""
        self._check_shapes(components, 1)
        lengths = {len(component) for component in components}
        if len(lengths) > 1:
            raise invalid_argument(f"All input tensors must have the same size in the 0th dimension, but the components have sizes "
                                   f"{[len(component) for component in components]}")
        self._enqueue_all(step, list(zip(*components)))

    def _enqueue_all(self, step: Any, elements: list[Element]) -> None:
        if self._closed:
            raise KernelError(CancelledError, f"{self.kind} '{self.name}' is closed.")

        def advance() -> bool:
            if self._cancel_enqueues:
                raise KernelError(CancelledError, "Enqueue operation was cancelled")
            if this_thread.resumption is not None and 0 <= self.capacity < len(self._items) + len(waiting):
                return False
            while waiting and (self.capacity < 0 or len(self._items) < self.capacity):
                self._put(waiting.popleft())
            self._wake_dequeuing()
            return not waiting

        waiting = deque(elements)
        self._wait(step, self._enqueuing, advance)

    def dequeue(self, step: Any) -> Element:
        """Waits for an element and takes it."""
        return self._dequeue_some(step, 1, 1)[0]

    def dequeue_many(self, step: Any, count: int) -> Element:
        """Waits until it has taken ``count`` elements; returns their components, stacked."""
        return self._stack(self._dequeue_some(step, count, count))

    def dequeue_up_to(self, step: Any, count: int) -> Element:
        """As ``dequeue_many``; but from a closed queue it takes what is left, if anything."""
        return self._stack(self._dequeue_some(step, count, 1))

    def _dequeue_some(self, step: Any, wanted: int, least: int) -> list[Element]:
        taken: list[Element] = []

        def advance() -> bool:
            while len(taken) < wanted and self._available() > 0:
                taken.append(self._take())
            self._wake(self._enqueuing)
            if len(taken) < wanted and self._closed and not self._enqueuing:
                if len(taken) >= max(least, 1) and least < wanted:
                    return True
                raise KernelError(OutOfRangeError, f"{self.kind} '{self.name}' is closed and has insufficient elements "
                                                   f"(requested {wanted}, current size {len(taken)})")
            return len(taken) == wanted

        try:
            self._wait(step, self._dequeuing, advance, resumable=wanted == 1, missing=lambda: wanted - len(taken))
        except BaseException:
            if taken:
                with self._lock:
                    self._put_back(taken)
                    self._wake(self._dequeuing)
            raise
        return taken

    def _wait(self, step: Any, line: deque[Any], advance: Callable[[], bool], resumable: bool = False,
              missing: Callable[[], int] = lambda: 1) -> None:
        """Calls ``advance`` when it is this caller's turn and whenever the queue changes, until it says that it is done."""
        if this_thread.resumption is not None:
            self._attempt(step, line, advance, this_thread.resumption if resumable else None)
            return
        with self._lock:
            if not line and step.cancelled is None and advance():  # the usual case, in which no kernel waits
                return
            place = _Place(self._lock, missing)
            line.append(place)
        try:
            wait_for(place, step, lambda: line[0] is place and advance())
        finally:
            with self._lock:
                self._leave(line, place)

    def _attempt(self, step: Any, line: deque[Any], advance: Callable[[], bool], place: Any) -> None:
        """As ``_wait``, without waiting: a caller with a place in the line, its resumption, comes again."""
        with self._lock:
            stays = False
            try:
                if step.cancelled is not None:
                    raise step.cancelled
                if (line and line[0] is not place) or not advance():
                    stays = place is not None
                    raise Suspended if stays else NeedsThread
            finally:
                if place in line and not stays:
                    self._leave(line, place)
                elif stays and place not in line:
                    line.append(place)

    def _leave(self, line: deque[Any], place: Any) -> None:
        line.remove(place)
        self._wake(self._enqueuing)
        self._wake(self._dequeuing)

    @staticmethod
    def _wake(line: deque[Any]) -> None:
        if line:
            line[0].notify()

    def _wake_dequeuing(self) -> None:
        """Wakes the first that dequeues if there is as much as it wants, or no room for more: a batch is not waited for element by element."""
        if self._dequeuing:
            missing = getattr(self._dequeuing[0], "missing", None)
            if missing is None or self._available() >= missing() or 0 <= self.capacity <= len(self._items):
                self._dequeuing[0].notify()

    def close(self, cancel_pending_enqueues: bool = False) -> None:
        """Forbids further enqueues; those that wait are cancelled if it is asked for."""
        with self._lock:
            if self._closed and not cancel_pending_enqueues:
                raise KernelError(CancelledError, f"Queue '{self.name}' is already closed.")
            self._closed = True
            self._cancel_enqueues = self._cancel_enqueues or cancel_pending_enqueues
            self._wake(self._enqueuing)
            self._wake(self._dequeuing)

    @property
    def closed(self) -> bool:
        """True if nothing may be enqueued any more."""
        return self._closed

    def waiting(self) -> tuple[int, int]:
        """How many kernels wait for room, and how many for elements."""
        return len(self._enqueuing), len(self._dequeuing)

    def __len__(self) -> int:
        return len(self._items)

    # --- shapes ------------------------------------------------------------------------------------------------------

    def _check_shapes(self, components: Element, batch_axes: int) -> None:
        for index, (component, shape) in enumerate(zip(components, self.shapes)):
            extents = np.shape(component)
            if extents[batch_axes:] == shape.extents and len(extents) >= batch_axes:
                continue
            if len(extents) < batch_axes or not shape.is_compatible_with(extents[batch_axes:]):
                expected = (*extents[:batch_axes], *(shape.extents or ()))
                raise invalid_argument(f"Shape mismatch in tuple component {index}. Expected {brackets(expected)}, got {brackets(extents)}")

    def _stack(self, elements: list[Element]) -> Element:
        if not elements:
            return tuple(np.empty((0, *(shape.extents or ())), dtype.np) for dtype, shape in zip(self.dtypes, self.shapes))
        return tuple(stack_parts(parts, dtype) for parts, dtype in zip(zip(*elements), self.dtypes))

    def check_request(self, dtypes: Sequence[DType], shapes: Sequence[TensorShape], capacity: int) -> None:
        """InvalidArgumentError if a node asks for this (shared) queue but describes it differently."""
        if capacity == self.capacity and tuple(dtypes) == self.dtypes and tuple(shapes) == self.shapes:  # each step asks, and is right
            return
        for what, mine, theirs in (("capacity", self.capacity, capacity),
                                   ("component types", [d.name for d in self.dtypes], [d.name for d in dtypes]),
                                   ("component shapes", [str(s) for s in self.shapes], [str(s) for s in shapes])):
            if mine != theirs:
                raise invalid_argument(f"Shared queue '{self.name}' has {what} {mine} but requested {what} was {theirs}")


def stack_parts(parts: Sequence[Any], dtype: DType) -> np.ndarray:
    """The parts, at least one, along a new first axis."""
    if dtype.np != np.dtype(object):
        return np.stack(parts)
    out = np.empty((len(parts), *np.shape(parts[0])), object)
    for index, part in enumerate(parts):
        out[index, ...] = part
    return out
