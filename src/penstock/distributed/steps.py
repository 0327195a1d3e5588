"""The steps of a worker: each has a rendezvous in which the tasks of a cluster meet.

Contract. A step is known by a number that its master chose. Its rendezvous is there from its first
mention, by the master that starts the step here or by another task that wants its tensors, until the part has run
here and every tensor for others has been handed out, or until the step is aborted. A tensor for another task goes into
that task's outbox, and from there to the task as soon as it can be reached. A step runs once: its number
is refused afterwards, so that a request that arrives twice does nothing twice.
"""
from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from penstock.distributed.cluster_spec import task_of
from penstock.distributed.messages import error_fields, error_from
from penstock.errors import AbortedError, OpError
from penstock.execute.rendezvous import Rendezvous
from penstock.execute.step import Step

Deliver = Callable[[str, Any, "BaseException | None"], None]  # (key, value, None), or ("", None, error) for all that is still to come
Fetch = Callable[[str, int, Deliver], Callable[[], None]]  # (task, step, deliver) -> how to give up
_REMEMBERED = 10_000  # numbers of steps that have ended
_FORGOTTEN_AFTER = 120.0  # seconds: what was left over from a step whose master and receivers are gone

receiving_task = lru_cache(4096)(task_of)


class Outbox:
    """What one other task gets of a step here. Without a sink it is kept; ``sink(key, value)`` takes all of it, then and later."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: list[tuple[str, Any]] = []
        self._sink: Callable[[str, Any], None] | None = None
        self._ended: Callable[[BaseException | None], None] | None = None
        self._over: tuple[BaseException | None] | None = None

    def put(self, key: str, value: Any) -> None:
        """A tensor is ready."""
        with self._lock:
            sink = self._sink
            if sink is None:
                self._held.append((key, value))
        if sink is not None:
            sink(key, value)

    def attach(self, sink: Callable[[str, Any], None], ended: Callable[[BaseException | None], None]) -> None:
        """Takes what is there and what will be; ``ended(error)`` is called once after the last."""
        while True:
            with self._lock:
                held, self._held = self._held, []
                if not held:
                    self._sink, self._ended, over = sink, ended, self._over
                    break
            for key, value in held:
                sink(key, value)
        if over is not None:
            ended(over[0])

    def finish(self, error: BaseException | None) -> None:
        """Nothing more will come."""
        with self._lock:
            if self._over is not None:
                return
            self._over = (error,)
            ended = self._ended
        if ended is not None:
            ended(error)

    @property
    def empty(self) -> bool:
        """True if nothing waits to be taken."""
        return not self._held


class StepRendezvous(Rendezvous):
    """A rendezvous to which the tensors of other tasks come, and from which others get theirs."""

    def __init__(self, task: str, number: int, fetch: Fetch) -> None:
        super().__init__()
        self._task, self._number, self._fetch = task, number, fetch
        self._calls: list[Callable[[], None]] = []  # how to give up on what is still to come
        self.connected: set[str] = set()  # tasks whose tensors come without being asked for
        self.before_send: Callable[[], None] | None = None  # what has to happen before another task gets a tensor
        self.outboxes: dict[str, Outbox] = {}

    def fetch(self, tasks: Iterable[str]) -> None:
        """Asks tasks for their tensors; they are sent into this rendezvous as they come."""
        for task in tasks:
            if task in self.connected:
                continue
            give_up = self._fetch(task, self._number, self.arrived)
            with self._lock:
                aborted = self._error is not None
                self._calls.append(give_up)
            if aborted:
                give_up()

    def send(self, key: str, value: Any) -> None:
        """Hands over a value, to a device here or to another task."""
        receiver = receiving_task(key.split(";", 2)[1])
        if receiver == self._task:
            super().send(key, value)
        else:
            if self.before_send is not None:
                self.before_send()
            self.outbox(receiver).put(key, value)

    def outbox(self, receiver: str) -> Outbox:
        """What another task gets."""
        return self.outboxes.setdefault(receiver, Outbox())

    def arrived(self, key: str, value: Any, error: BaseException | None) -> None:
        """A tensor of another task, or the news that none will come."""
        if error is None:
            super().send(key, value)
        else:
            self.abort(error)  # the first error is kept: what is given up after an abort does not hide its reason

    def abort(self, error: BaseException) -> None:
        """Ends all waiting with an error, here and at other tasks."""
        super().abort(error)
        self.give_up()
        for outbox in list(self.outboxes.values()):
            outbox.finish(error)

    def give_up(self) -> None:
        """Nothing of other tasks is wanted any more."""
        with self._lock:
            calls, self._calls = self._calls, []
        for give_up in calls:
            give_up()

    @property
    def taken(self) -> bool:
        """True if nothing waits to be taken."""
        return all(outbox.empty for outbox in self.outboxes.values())


class _Entry:
    __slots__ = ("rendezvous", "running", "since", "started", "step")

    def __init__(self, rendezvous: StepRendezvous, now: float) -> None:
        self.rendezvous, self.since = rendezvous, now
        self.started = self.running = False
        self.step: Step | None = None

    @property
    def over(self) -> bool:
        return self.started and not self.running and self.rendezvous.taken


class Steps:
    """The table of steps under way. ``clock`` tells the seconds."""

    def __init__(self, task: str, fetch: Fetch, clock: Callable[[], float] = time.monotonic) -> None:
        self._task, self._fetch, self._clock = task, fetch, clock
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
        return step

    def end(self, number: int, error: OpError | None = None) -> None:
        """The part has run here; other tasks may still take its tensors, or its error."""
        with self._lock:
            entry = self._entries.get(number)
            if entry is None:
                return
            entry.running, entry.step, entry.since = False, None, self._clock()
            if error is not None or entry.over:
                self._close(number, error)
        if error is not None:
            entry.rendezvous.abort(error)
        else:
            for outbox in list(entry.rendezvous.outboxes.values()):
                outbox.finish(None)
            entry.rendezvous.give_up()

    def connect(self, number: int, task: str, sink: Callable[[str, Any], None]) -> Deliver:
        """The other side of a step with ``task`` is reached by ``sink``; returns what takes the tensors that come from there."""
        with self._lock:
            rendezvous = self._entry(number).rendezvous
        rendezvous.connected.add(task)
        rendezvous.outbox(task).attach(sink, _reply_tells)
        return rendezvous.arrived

    def attach(self, number: int, receiver: str, sink: Callable[[str, Any], None], ended: Callable[[BaseException | None], None]) -> None:
        """``receiver`` asks for its tensors of a step."""
        with self._lock:
            if self._ended.get(number, self) is None:  # it has run, and left nothing
                rendezvous = None
            else:
                rendezvous = self._entry(number).rendezvous
        if rendezvous is None:
            ended(None)
            return
        rendezvous.outbox(receiver).attach(sink, ended)
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

    def drop_forgotten(self, now: float) -> None:
        """Drops what is left over of steps whose master and receivers are gone; to be called now and then."""
        with self._lock:
            late = [number for number, entry in self._entries.items() if not entry.running and now - entry.since > _FORGOTTEN_AFTER]
        for number in late:
            self.abort(number, AbortedError(None, None, f"no task came for what step {number} left on {self._task}"))

    def awaited(self, now: float) -> list[tuple[str, float]]:
        """The keys of tensors that running steps wait for, and for how many seconds their steps have run."""
        with self._lock:
            running = [entry for entry in self._entries.values() if entry.running]
        return [(key, now - entry.since) for entry in running for key in entry.rendezvous.awaited()]

    def __len__(self) -> int:
        return len(self._entries)

    # --- with the lock held ------------------------------------------------------------------------------------------

    def _entry(self, number: int) -> _Entry:
        if number in self._ended:
            raise self._ended[number] or AbortedError(None, None, f"step {number} has run on {self._task} already")
        entry = self._entries.get(number)
        if entry is None:
            entry = self._entries[number] = _Entry(StepRendezvous(self._task, number, self._fetch), self._clock())
        return entry

    def _close(self, number: int, error: OpError | None) -> None:
        self._entries.pop(number, None)
        if number not in self._ended:
            self._order.append(number)
        self._ended[number] = None if error is None else error_from(error_fields(error))  # a copy: the frames of the error itself hold tensors
        if len(self._order) > _REMEMBERED:
            del self._ended[self._order.popleft()]


def _reply_tells(error: BaseException | None) -> None:
    """The reply to the request that runs the part tells of the end."""
