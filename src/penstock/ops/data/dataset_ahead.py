"""Working ahead: threads that make elements before they are asked for.

Elements leave in the order of the input, whatever thread made them. Who takes part:

- ``Ahead``, the iterator, belongs to the consumer. When nothing refers to it any more, its line is stopped; at the latest, when the session closes.
- ``_Line`` is what the threads wait on: the places of the elements under way, at most ``limit`` of them. It refers to nothing else, so waiting
  threads keep no dataset, session or iterator alive.
- ``_Work`` takes an element from the input and calls the function. Threads refer to it only while they work.

A thread ends at the end of the input, or when the line is stopped: by then the step that it works for is cancelled, which also ends its waiting for
a queue, or for another Ahead further up.
"""
from __future__ import annotations

import itertools
import threading
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

from penstock.errors import CancelledError, DeadlineExceededError, KernelError
from penstock.ops.data.dataset_core import Element, Elements
from penstock.platform.freed_memory import keep_freed_memory

_EMPTY: Any = object()
_END: Any = object()


class _Place:
    """Where the result of one element goes: the element, an error, or the end."""

    __slots__ = ("error", "result")

    def __init__(self) -> None:
        self.result: Any = _EMPTY
        self.error: BaseException | None = None

    @property
    def done(self) -> bool:
        return self.result is not _EMPTY or self.error is not None


class _Line:
    """Places in the order of the input; see the head of this module."""

    def __init__(self, limit: int, step: Any) -> None:
        self._limit, self.step = limit, step
        self._changed = threading.Condition()
        self._places: deque[_Place] = deque()
        self._stopped = self._ended = False
        self._wanted = 1  # results that the consumer waits for

    # for the threads

    def wait_for_room(self) -> bool:
        """Waits until there is room for a further element; False if none is wanted any more. A full line is half empty before a thread wakes up."""
        with self._changed:
            if len(self._places) >= self._limit:
                self._changed.wait_for(lambda: self._stopped or self._ended or len(self._places) <= self._limit // 2)
            return not self._stopped and not self._ended

    def reserve(self) -> _Place | None:
        """A place at the end of the line; None if there is no room."""
        with self._changed:
            if self._stopped or self._ended or len(self._places) >= self._limit:
                return None
            self._places.append(_Place())
            return self._places[-1]

    def fill(self, place: _Place, result: Any = _EMPTY, error: BaseException | None = None) -> None:
        """Puts a result, an error or the end in its place."""
        with self._changed:
            place.result, place.error = result, error
            self._ended = self._ended or result is _END
            if self._ended or self._are_enough():
                self._changed.notify_all()

    # for the consumer

    def take(self, step: Any, count: int = 1) -> Element:
        """Waits for the first result in the line; if there is none, until there are ``count`` of them, or enough for the threads to have room again.

        They are taken before the line is full: otherwise a thread that has found no room waits until the others have ended."""
        with self._changed:
            if self._is_ready():
                return self._first()
            self._wanted = min(count, max(1, self._limit // 2))
        unregister = step.on_cancel(self._wake)
        try:
            with self._changed:
                self._changed.wait_for(lambda: self._stopped or step.cancelled is not None or self._are_enough(), step.remaining())
                self._wanted = 1
                if self._is_ready():
                    return self._first()
                if self._stopped or step.cancelled is not None:
                    raise step.cancelled or self.step.cancelled
                raise KernelError(DeadlineExceededError, "Timed out waiting for an element that is made in the background.")
        finally:
            unregister()

    def _are_enough(self) -> bool:
        """Are the first results there that the consumer waits for, or those before an error or the end?"""
        for place in itertools.islice(self._places, self._wanted):
            if not place.done:
                return False
            if place.result is _END or place.error is not None:
                return True
        return len(self._places) >= self._wanted

    def _is_ready(self) -> bool:
        return bool(self._places) and self._places[0].done

    def _first(self) -> Element:
        place = self._places[0]
        if place.result is _END:  # it stays there
            raise StopIteration
        self._places.popleft()
        self._changed.notify_all()
        if place.error is not None:
            raise place.error
        result: Element = place.result
        return result

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def stop(self) -> None:
        """There is no consumer any more: threads end."""
        self.step.cancel(CancelledError(None, None, "the iterator is not used any more"))
        with self._changed:
            self._stopped = True
            self._places.clear()
            self._changed.notify_all()


class _Lines:
    """All lines of a session: a resource, so that they are stopped when the session closes."""

    def __init__(self) -> None:
        self._lines: weakref.WeakSet[_Line] = weakref.WeakSet()
        self._released = False

    def add(self, line: _Line) -> None:
        """Notes a line."""
        self._lines.add(line)
        if self._released:
            line.stop()

    def release(self) -> None:
        """Stops the lines."""
        self._released = True
        for line in list(self._lines):
            line.stop()


class _Work:
    """One element at a time: from the input, through the function, to its place."""

    def __init__(self, elements: Elements, function: Callable[..., Element] | None) -> None:
        self._elements, self._function = elements, function
        self._lock = threading.Lock()  # of the input

    def once(self, line: _Line) -> None:
        """Makes an element, if there is room for one."""
        with self._lock:
            place = line.reserve()
            if place is None:
                return
            try:
                element = next(self._elements)
            except StopIteration:
                line.fill(place, _END)
                return
            except BaseException as error:  # whatever it is: a consumer waits for it
                line.fill(place, error=error.with_traceback(None))  # a traceback would keep this thread's frames alive
                return
        try:
            result = element if self._function is None else self._function(*element)
        except BaseException as error:
            line.fill(place, error=error.with_traceback(None))
        else:
            line.fill(place, result)


def _thread(line: _Line, work: weakref.ref[_Work]) -> None:
    with line.step.working():
        while line.wait_for_room():
            doing = work()
            if doing is None:
                return
            doing.once(line)
            del doing


class Ahead:
    """The elements of the input, or what a function makes of them, made by ``threads`` threads up to ``limit`` elements ahead.

    ``alone``: nothing else makes elements of such an input at the same time.
    """

    def __init__(self, ctx: Any, elements: Elements, function: Callable[..., Element] | None, threads: int, limit: int, alone: bool = True) -> None:
        self._ctx, self._threads = ctx, threads
        self._work, self._line = _Work(elements, function), _Line(limit, ctx.detached_step(alone and threads == 1))
        self._started = False
        weakref.finalize(self, self._line.stop)
        ctx.resources.lookup_or_create("", "lines", "Ahead", _Lines).add(self._line)

    def __iter__(self) -> Ahead:
        return self

    def __next__(self) -> Element:
        self._start()
        return self._line.take(self._ctx.step)

    def next_elements(self, size: int) -> list[Element]:
        """The next elements: the consumer is woken when there are several."""
        self._start()
        elements: list[Element] = []
        while len(elements) < size:
            try:
                elements.append(self._line.take(self._ctx.step, size - len(elements)))
            except StopIteration:
                break
        return elements

    def _start(self) -> None:
        if not self._started:
            self._started = True
            keep_freed_memory()
            for _ in range(self._threads):
                threading.Thread(target=_thread, args=(self._line, weakref.ref(self._work)), name="penstock-data", daemon=True).start()
