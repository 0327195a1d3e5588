"""A part of a step without a thread of its own: the thread that brings what it waits for goes on with it, until it waits again.

For parts with little to compute, whose tensors come one by one from other tasks: the thread that read a tensor runs the nodes that it makes
ready, which costs less than to wake another thread for them. A kernel that would wait for a queue or an accumulator stands in its line, and
the thread that changes that then calls it again; other kernels that wait get a thread of the pool, which then goes on.
"""
from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from penstock.errors import CancelledError, InternalError, OpError
from penstock.execute.device_plan import DevicePlan
from penstock.execute.executor import DeviceRun
from penstock.execute.step import GRACE, Step, working_for
from penstock.execute.threads import POOL, afterwards, work
from penstock.native.machine.team import native_alone
from penstock.state.waiting import NeedsThread, Suspended, this_thread

_log = logging.getLogger("tensorflow.worker")
_CANCELLED = -1  # instead of the number of a node: the step was cancelled
_AGAIN: Any = object()  # instead of a result: the kernel should be called again


class _Resumption:
    """How a suspended kernel is told to go on."""

    __slots__ = ("_index", "_run")

    def __init__(self, run: DrivenRun, index: int) -> None:
        self._run, self._index = run, index

    def notify(self) -> None:
        """To be called, with any locks held, when there is a chance for the kernel."""
        afterwards(lambda: self._run.resume(self._index))


class DrivenRun(DeviceRun):
    """One device in one step without a deadline. ``done(error)`` is called once, when nothing of it is under way any more.

    With ``alone`` native code does not call other threads for help: they would spin on CPUs that other tasks need.
    """

    alone = False

    def __init__(self, part: DevicePlan, slots: list[Any], step: Step, done: Callable[[OpError | None], None]) -> None:
        super().__init__(part, slots, step, None)
        self.seconds = 0.0  # of work, by the clocks of the threads that did it
        self._done: Callable[[OpError | None], None] | None = done
        self._lock = threading.Lock()
        self._arrived: deque[tuple[int, Any, OpError | None]] = deque()
        self._driven = True
        self._suspended: dict[int, _Resumption] = {}  # kernels that will be called again

    def begin(self) -> None:
        """Runs what can run now."""
        self._unregister = self.step.on_cancel(lambda: self._came(_CANCELLED, None, None))
        work(self._drive)

    def _came(self, index: int, result: Any, error: Any) -> None:
        """Something that the part waited for."""
        with self._lock:
            self._arrived.append((index, result, error))
            if self._driven:
                return
            self._driven = True
        work(self._drive)

    def _drive(self) -> None:
        """Goes on for as long as something can be done; ``_driven`` is this thread's meanwhile, and forever when all has been done."""
        start = time.thread_time()
        try:
            with native_alone(self.alone), working_for(self.step):
                over = self._advance()
        except Exception as error:  # a bug of ours: whatever happens in a step, the thread goes on
            _log.exception("a step failed")
            self.step.cancel(InternalError(None, None, f"{type(error).__name__}: {error}"))
            over = True
        except BaseException as error:  # Ctrl-C: nothing may go on behind the caller's back
            self.step.cancel(CancelledError(None, None, f"the step was interrupted: {error!r}"))
            self._end()
            raise
        finally:
            self.seconds += time.thread_time() - start
        if over:
            self._end()

    def _advance(self) -> bool:
        """Runs nodes until none is ready; True if none will be."""
        while True:
            while self.ready and self.step.cancelled is None:
                self._start(self.ready.popleft())
            with self._lock:
                if not self._arrived:
                    self._driven = not self.under_way
                    return self._driven
                index, result, error = self._arrived.popleft()
            if index == _CANCELLED:
                self._wind_up()
            elif result is not _AGAIN:
                self._end_node(index, result, error)
            elif index in self._suspended:
                self._attempt(index)
            del result  # a value is held no longer than it is needed

    def _start(self, index: int) -> None:
        if self.part.nodes[index].definition.resumable:
            self.under_way += 1
            self._attempt(index)
        else:
            super()._start(index)

    def _attempt(self, index: int) -> None:
        """Calls a kernel that would rather not wait."""
        this_thread.resumption = resumption = self._suspended.pop(index, None) or _Resumption(self, index)
        try:
            try:
                result = self._call(index)
            finally:
                this_thread.resumption = None
        except Suspended:
            self._suspended[index] = resumption
        except NeedsThread:
            POOL.submit(lambda: self._run_elsewhere(index))
        except OpError as error:
            self._end_node(index, None, error)
        else:
            self._end_node(index, result, None)

    def _wind_up(self) -> None:
        """The step was cancelled: suspended kernels leave their lines, those in other threads get time to notice."""
        for index in list(self._suspended):
            self._attempt(index)
        if self.under_way:
            grace = threading.Timer(GRACE, self._end)
            grace.daemon = True
            grace.start()

    def _nothing_else(self, index: int) -> bool:
        """A kernel never waits in a thread that brought a tensor."""
        return False

    def resume(self, index: int) -> None:
        """A suspended kernel can perhaps go on."""
        self._came(index, _AGAIN, None)

    def _end(self) -> None:
        with self._lock:
            done, self._done, self._driven = self._done, None, True
        if done is not None:
            self._unregister()
            del self._unregister  # it knows this part, whose tensors would have to wait for the garbage collector
            done(self.step.cancelled)
