"""Where the steps of simulated workers meet: the real queues and accumulators of ``state/``, with numbers in the place of tensors.

An operation that would have to wait stands in its line, as in a task (``state/waiting.py``), and is tried again when it is told to. A gradient is as
old as the last token that its worker has taken, and a token as new as the accumulators were when it was made.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.graph.dtypes import float32, int64
from penstock.graph.shape import TensorShape, scalar
from penstock.simulate.profile import Meeting
from penstock.state.accumulators import DenseAccumulator
from penstock.state.queues import Queue
from penstock.state.waiting import Suspended, this_thread

_GRADIENT = np.zeros((), np.float32)


class _Always:
    """A step that is never cancelled."""

    cancelled = None


class Stamp:
    """The time of a worker: how new its last token was."""

    def __init__(self) -> None:
        self.step = 0


class _Resumption:
    __slots__ = ("notify",)

    def __init__(self, again: Callable[[], None]) -> None:
        self.notify = again


class MeetingPlace:
    """All queues and accumulators of a cluster, by name. ``soon(function)`` calls a function when the present event has been handled."""

    def __init__(self, soon: Callable[[Callable[[], None]], None]) -> None:
        self._soon = soon
        self._queues: dict[str, Queue] = {}
        self._accumulators: dict[str, DenseAccumulator] = {}
        self.time = 0  # updates that were made of accumulators

    def hold(self, resource: str, elements: int) -> None:
        """Puts elements into a queue."""
        self._queue(resource).enqueue_many(_Always, (np.full(elements, self.time, np.int64),))

    def dropped(self) -> int:
        """How many gradients came too late, per accumulator."""
        return max((accumulator.dropped for accumulator in self._accumulators.values()), default=0)

    def meet(self, meeting: Meeting, resource: str, stamp: Stamp, then: Callable[[], None]) -> None:
        """Carries out an operation, now or when others have done their part; then calls ``then``."""
        act: Callable[[], Any] = getattr(self, f"_{meeting.kind}")(meeting, resource, stamp)

        done = False

        def attempt() -> None:
            nonlocal done
            if done:
                return  # it was told twice
            this_thread.resumption = resumption
            try:
                act()
            except Suspended:
                return
            finally:
                this_thread.resumption = None
            done = True
            then()

        resumption = _Resumption(lambda: self._soon(attempt))
        attempt()

    def _queue(self, name: str) -> Queue:
        if name not in self._queues:
            self._queues[name] = Queue(name, [int64], [scalar()], -1)
        return self._queues[name]

    def _accumulator(self, name: str) -> DenseAccumulator:
        if name not in self._accumulators:
            self._accumulators[name] = DenseAccumulator(name, float32, TensorShape([]), "MEAN")
        return self._accumulators[name]

    # --- what the ops of a graph do, by their ``coordinates`` ---------------------------------------------------------

    def _accumulate(self, meeting: Meeting, resource: str, stamp: Stamp) -> Callable[[], Any]:
        return lambda: self._accumulator(resource).apply(stamp.step, _GRADIENT)

    def _take(self, meeting: Meeting, resource: str, stamp: Stamp) -> Callable[[], Any]:
        def take() -> None:
            self._accumulator(resource).take(_Always, meeting.count)
            self.time = max(self.time, self._accumulator(resource)._step)
        return take

    def _advance(self, meeting: Meeting, resource: str, stamp: Stamp) -> Callable[[], Any]:
        return lambda: self._accumulator(resource).set_step(self.time)

    def _enqueue_many(self, meeting: Meeting, resource: str, stamp: Stamp) -> Callable[[], Any]:
        return lambda: self._queue(resource).enqueue_many(_Always, (np.full(meeting.count, self.time, np.int64),))

    _enqueue = _enqueue_many

    def _dequeue(self, meeting: Meeting, resource: str, stamp: Stamp) -> Callable[[], Any]:
        def dequeue() -> None:
            stamp.step = max(stamp.step, int(self._queue(resource).dequeue(_Always)[0]))
        return dequeue

    def _dequeue_many(self, meeting: Meeting, resource: str, stamp: Stamp) -> Callable[[], Any]:
        left = meeting.count

        def dequeue() -> None:
            nonlocal left
            while left:  # one by one: a queue lets only single elements be waited for without a thread
                stamp.step = max(stamp.step, int(self._queue(resource).dequeue(_Always)[0]))
                left -= 1
        return dequeue
