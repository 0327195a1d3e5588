"""The steps of a worker: each has a rendezvous in which the tasks of a cluster meet.

Contract. A step is known by a number that its master chose. Its rendezvous is there from the first moment somebody
speaks of it, be it the master that starts the step here or another task that wants a tensor of it, until the part has
run here and every tensor that others want has been taken, or until the step is aborted. A step runs once: its number is
refused afterwards, so that a request that arrives twice does nothing twice.
"""
from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from penstock.errors import AbortedError, OpError
from penstock.runtime.rendezvous import Rendezvous
from penstock.runtime.step import Step

Deliver = Callable[[str, Any, "BaseException | None"], None]  # (key, value, None), or ("", None, error) for all that is still to come
Fetch = Callable[[str, int, list[str], Deliver], Callable[[], None]]  # (task, step, keys, deliver) -> how to give up
_REMEMBERED = 10_000  # numbers of steps that have ended
_FORGOTTEN_AFTER = 120.0  # seconds: what was left over from a step whose master and receivers are gone


class StepRendezvous(Rendezvous):
    """A rendezvous into which the tensors of other tasks are fetched when the step begins, all of a task by one call."""

    def __init__(self, number: int, fetch: Fetch) -> None:
        super().__init__()
        self._number, self._fetch = number, fetch
        self._calls: list[Callable[[], None]] = []  # how to give up on what is still to come

    def fetch(self, keys: dict[str, list[str]]) -> None:
        """Asks each task of {task: keys} for its tensors; they are sent into this rendezvous as they come."""
        for task, wanted in keys.items():
            give_up = self._fetch(task, self._number, wanted, self._arrived)
            with self._lock:
                aborted = self._error is not None
                self._calls.append(give_up)
            if aborted:
                give_up()

    def _arrived(self, key: str, value: Any, error: BaseException | None) -> None:
        if error is None:
            self.send(key, value)
        else:
            self.abort(error)  # the first error is kept: what is given up after an abort does not hide its reason

    def abort(self, error: BaseException) -> None:
        """Ends all waiting with an error, here and at other tasks."""
        super().abort(error)
        with self._lock:
            calls, self._calls = self._calls, []
        for give_up in calls:
            give_up()

    @property
    def empty(self) -> bool:
        """True if nothing waits to be taken."""
        return not self._values and not self._waiting


class Outbox:
    """What one other task wants of a step here: it comes for it again and again, and gets all that is ready each time."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._ready: list[tuple[str, Any]] = []
        self._error: BaseException | None = None

    def put(self, key: str, value: Any, error: BaseException | None) -> None:
        """A tensor is ready, or the step has failed."""
        with self._changed:
            self._error = self._error or error
            if error is None:
                self._ready.append((key, value))
            self._changed.notify_all()

    def take(self) -> list[tuple[str, Any]]:
        """Waits until something is ready and takes all that is; raises the error of the step. Every step ends, so this does."""
        with self._changed:
            self._changed.wait_for(lambda: self._ready or self._error is not None)
            if self._error is not None:
                raise self._error
            ready, self._ready = self._ready, []
            return ready

    @property
    def empty(self) -> bool:
        """True if nothing waits to be taken."""
        return not self._ready


class _Entry:
    __slots__ = ("outboxes", "rendezvous", "running", "since", "started", "step")

    def __init__(self, rendezvous: StepRendezvous) -> None:
        self.rendezvous, self.since = rendezvous, time.monotonic()
        self.started = self.running = False
        self.step: Step | None = None
        self.outboxes: dict[str, Outbox] = {}

    @property
    def over(self) -> bool:
        return self.started and not self.running and self.rendezvous.empty and all(outbox.empty for outbox in self.outboxes.values())


class Steps:
    """The table of steps under way."""

    def __init__(self, task: str, fetch: Fetch) -> None:
        self._task, self._fetch = task, fetch
        self._lock = threading.Lock()
        self._entries: dict[int, _Entry] = {}
        self._ended: dict[int, OpError | None] = {}
        self._order: deque[int] = deque()

    def begin(self, number: int, timeout_ms: int) -> Step:
        """The step with this number, to be run here; AbortedError if it has run or was aborted."""
        step = Step(timeout_ms)
        with self._lock:
            entry = self._entry(number)
            if entry.started:
                raise AbortedError(None, None, f"step {number} was started twice on {self._task}")
            entry.started = entry.running = True
            entry.step, step.rendezvous = step, entry.rendezvous
            self._drop_forgotten()
        return step

    def end(self, number: int, error: OpError | None = None) -> None:
        """The part has run here; other tasks may still take its tensors, or its error."""
        with self._lock:
            entry = self._entries.get(number)
            if entry is None:
                return
            entry.running, entry.step, entry.since = False, None, time.monotonic()
            if error is not None or entry.over:
                self._close(number, error)
        if error is not None:
            entry.rendezvous.abort(error)

    def outbox(self, number: int, receiver: str, keys: list[str]) -> Outbox:
        """Where ``receiver`` gets its tensors of a step; ``keys`` are further ones that it wants."""
        with self._lock:
            entry = self._entry(number)
            outbox = entry.outboxes.setdefault(receiver, Outbox())
        for key in keys:
            entry.rendezvous.recv(key, lambda value, error, key=key: outbox.put(key, value, error))  # type: ignore[misc]
        return outbox

    def taken(self, number: int) -> None:
        """Something was taken out of an outbox: perhaps the last that a step had left."""
        with self._lock:
            entry = self._entries.get(number)
            if entry is not None and entry.over:
                self._close(number, None)

    def abort(self, number: int, error: OpError) -> None:
        """Ends a step, whether it has begun or not: who waits for it gets ``error``."""
        with self._lock:
            entry = self._entries.get(number)
            self._close(number, error)
        if entry is not None:
            if entry.step is not None:
                entry.step.cancel(error)
            entry.rendezvous.abort(error)

    def abort_all(self, error: OpError) -> None:
        """Ends all steps."""
        with self._lock:
            numbers = list(self._entries)
        for number in numbers:
            self.abort(number, error)

    def __len__(self) -> int:
        return len(self._entries)

    # --- with the lock held ------------------------------------------------------------------------------------------

    def _entry(self, number: int) -> _Entry:
        if number in self._ended:
            raise self._ended[number] or AbortedError(None, None, f"step {number} has run on {self._task} already")
        entry = self._entries.get(number)
        if entry is None:
            entry = self._entries[number] = _Entry(StepRendezvous(number, self._fetch))
        return entry

    def _close(self, number: int, error: OpError | None) -> None:
        self._entries.pop(number, None)
        if number not in self._ended:
            self._order.append(number)
        self._ended[number] = error
        if len(self._order) > _REMEMBERED:
            del self._ended[self._order.popleft()]

    def _drop_forgotten(self) -> None:
        limit = time.monotonic() - _FORGOTTEN_AFTER
        for number in [number for number, entry in self._entries.items() if not entry.running and entry.since < limit]:
            self._close(number, AbortedError(None, None, f"nobody came for what step {number} left on {self._task}"))
