"""The steps of a worker: each has a rendezvous in which the tasks of a cluster meet.

Contract. A step is known by a number that its master chose. Its rendezvous is there from the first moment somebody speaks of it, be it the master that starts the
step here or another task that wants a tensor of it, until the part has run here and every tensor that others want has been taken, or until the
step is aborted. A step runs once: its number is refused afterwards, so that a request that arrives twice does nothing twice.
"""
from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from penstock.distributed.cluster_spec import task_of
from penstock.errors import AbortedError, OpError
from penstock.runtime.rendezvous import Callback, Rendezvous
from penstock.runtime.step import Step

Fetch = Callable[[str, int, str, Callback], Callable[[], None]]  # (task, step, key, callback) -> how to give up
_REMEMBERED = 10_000  # numbers of steps that have ended
_FORGOTTEN_AFTER = 120.0  # seconds: what was left over from a step whose master and receivers are gone


class StepRendezvous(Rendezvous):
    """A rendezvous in which what another task sends is fetched from that task."""

    def __init__(self, task: str, number: int, fetch: Fetch) -> None:
        super().__init__()
        self._task, self._number, self._fetch = task, number, fetch
        self._calls: dict[str, Callable[[], None]] = {}  # key -> how to give up on it

    def recv(self, key: str, callback: Callback) -> None:
        """Calls back with the value for ``key``, wherever it comes from."""
        sender = task_of(key.partition(";")[0])
        if sender == self._task:
            super().recv(key, callback)
            return
        with self._lock:
            error = self._error
        if error is not None:
            callback(None, error)
            return

        def arrived(value: Any, failure: BaseException | None) -> None:
            with self._lock:
                self._calls.pop(key, None)
            callback(value, (self._error or failure) if failure is not None else None)

        give_up = self._fetch(sender, self._number, key, arrived)
        with self._lock:
            aborted = self._error is not None
            if not aborted:
                self._calls[key] = give_up
        if aborted:
            give_up()

    def take(self, key: str, callback: Callback) -> None:
        """Calls back with what this task sends under ``key``: for another task."""
        super().recv(key, callback)

    def abort(self, error: BaseException) -> None:
        """Ends all waiting with an error, here and at other tasks."""
        super().abort(error)
        with self._lock:
            calls, self._calls = list(self._calls.values()), {}
        for give_up in calls:
            give_up()

    @property
    def empty(self) -> bool:
        """True if nothing waits to be taken."""
        return not self._values and not self._waiting


class _Entry:
    __slots__ = ("rendezvous", "running", "since", "started", "step")

    def __init__(self, rendezvous: StepRendezvous) -> None:
        self.rendezvous, self.since = rendezvous, time.monotonic()
        self.started = self.running = False
        self.step: Step | None = None


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
            if error is not None or entry.rendezvous.empty:
                self._close(number, error)
        if error is not None:
            entry.rendezvous.abort(error)

    def take(self, number: int, key: str, callback: Callback) -> None:
        """Another task wants a tensor."""
        with self._lock:
            entry = self._entry(number)
        entry.rendezvous.take(key, lambda value, error: self._taken(number, value, error, callback))

    def _taken(self, number: int, value: Any, error: BaseException | None, callback: Callback) -> None:
        with self._lock:
            entry = self._entries.get(number)
            if entry is not None and entry.started and not entry.running and entry.rendezvous.empty:
                self._close(number, None)
        callback(value, error)

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
            entry = self._entries[number] = _Entry(StepRendezvous(self._task, number, self._fetch))
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
