"""A running step: its deadline, its cancellation and its rendezvous; and which step a thread works for."""
from __future__ import annotations

import contextlib
import contextvars
import functools
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from penstock.errors import DeadlineExceededError, OpError
from penstock.execute.rendezvous import Rendezvous
from penstock.native.machine.team import native_alone

GRACE = 1.0  # seconds that a cancelled step waits for kernels which are still under way


class _Running(threading.local):
    """What a thread is at: the step that it works for, and how many kernels have run in it inside functions."""

    step: Any = None  # Step | None
    kernels = 0
    most = sys.maxsize  # kernels, before ``LongLoop`` is raised


running = _Running()


class Step:
    """One call of ``Session.run``.

    Cancellation happens once: ``cancel`` keeps the first error and calls all who registered, who then stop waiting.
    ``alone``: no other thread may be calling the same functions at the same time.
    Small steps take microseconds, so what only some steps need (a rendezvous, callbacks) is made when it is asked for; one lock serves all steps.
    A step that is still ``pristine`` when it has ended (it met no other task and was not cancelled) can stand for the next one.
    """

    _lock = threading.RLock()  # the garbage collector may have a thread that holds it cancel the step of an iterator
    deadline: float | None = None
    timeout_ms = 0
    alone = True
    probe: Any = None  # who is told of the nodes of functions that the step calls (``probe.Probed``)
    cancelled: OpError | None = None
    pristine = True
    _rendezvous: Rendezvous | None = None
    _callbacks: dict[int, Callable[[], None]] | None = None
    _next = 0

    def __init__(self, timeout_ms: int = 0, parent: Step | None = None, alone: bool = True) -> None:
        if timeout_ms > 0:
            self.deadline, self.timeout_ms, self.pristine = time.monotonic() + timeout_ms / 1000, timeout_ms, False
        if parent is not None:  # a function that a node of the parent calls: it lives as long as that
            self.deadline, self.timeout_ms, alone = parent.deadline, parent.timeout_ms, parent.alone
        if not alone:
            self.alone = False

    @functools.cached_property
    def quiet(self) -> contextvars.Context:
        """Where kernels run that need not know of their step: a context in which 1 / 0 does not warn. It is entered in no time."""
        context = contextvars.Context()
        context.run(_errors.set, _ignored)
        return context

    @property
    def rendezvous(self) -> Rendezvous:
        """Where tensors of other devices arrive."""
        if self._rendezvous is None:
            with self._lock:
                if self._rendezvous is None:
                    self._rendezvous, self.pristine = Rendezvous(), False
                    if self.cancelled is not None:
                        self._rendezvous.abort(self.cancelled)
        return self._rendezvous

    @rendezvous.setter
    def rendezvous(self, rendezvous: Rendezvous) -> None:
        self._rendezvous, self.pristine = rendezvous, False

    def remaining(self) -> float | None:
        """Seconds until the deadline; None if there is none."""
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())

    def check(self) -> None:
        """Raises the error that has ended the step, or that its time is over: for work that is not waited for, and takes as long as it takes."""
        if self.cancelled is not None:
            raise self.cancelled
        if self.remaining() == 0.0:
            raise out_of_time(self.timeout_ms, [])

    def cancel(self, error: OpError) -> None:
        """Ends the step with this error, unless it is ended already."""
        with self._lock:
            if self.cancelled is not None:
                return
            self.cancelled, self.pristine = error, False
            callbacks, self._callbacks = list((self._callbacks or {}).values()), None
            rendezvous = self._rendezvous
        if rendezvous is not None:
            rendezvous.abort(error)
        for callback in callbacks:
            callback()

    def on_cancel(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Has ``callback`` called when the step is cancelled (at once if it is); returns what unregisters it."""
        with self._lock:
            if self.cancelled is None:
                self.pristine = False
                key = self._next = self._next + 1
                self._callbacks = self._callbacks or {}
                self._callbacks[key] = callback
                return lambda: self._forget(key)
        callback()
        return lambda: None

    def _forget(self, key: int) -> None:
        with self._lock:
            if self._callbacks:
                self._callbacks.pop(key, None)

    def working(self) -> contextlib.AbstractContextManager[None]:
        """A ``with`` block in which this thread works for this step."""
        return working_for(self) if self.alone else _working_beside_others(self)


def _new_lock() -> None:
    Step._lock = threading.RLock()


if hasattr(os, "register_at_fork"):  # a child must not find it taken by a thread that it does not have
    os.register_at_fork(after_in_child=_new_lock)


def out_of_time(timeout_ms: int, waiting: list[str]) -> OpError:
    """The error of a step that has not ended by its deadline, and of what it waited for."""
    return DeadlineExceededError(None, None, f"Timed out waiting for notification: the step did not end within {timeout_ms} ms"
                                        + (f"; it waited for {', '.join(waiting[:5])}" if waiting else ""))


class working_for:
    """Marks this thread as working for a step, in which 1 / 0 is infinity and no reason for a warning."""

    __slots__ = ("_outer", "_step", "_token")

    def __init__(self, step: Step) -> None:
        self._step = step

    def __enter__(self) -> None:
        self._outer, running.step = running.step, self._step
        self._token = _errors.set(_ignored)

    def __exit__(self, *error: Any) -> None:
        _errors.reset(self._token)
        running.step = self._outer


@contextlib.contextmanager
def _working_beside_others(step: Step) -> Iterator[None]:
    """``working_for``, for one of several threads that do the same: the team does not help it, for each has work of its own."""
    with native_alone(True), working_for(step):
        yield


def _ignoring() -> tuple[contextvars.ContextVar[Any], Any]:
    """The context variable in which NumPy keeps what to do about 1 / 0, and its value for nothing: ``np.errstate`` takes ten times as long."""
    context = contextvars.Context()
    context.run(np.seterr, all="ignore")
    [item] = context.items()
    return item


_errors, _ignored = _ignoring()


def check_step() -> None:
    """Raises what has ended the step that this thread works for, if something has."""
    if running.step is not None:
        running.step.check()


def works_alone() -> bool:
    """Is no other thread calling the functions that this one calls?"""
    return running.step is None or running.step.alone


def kernels_in_functions() -> int:
    """How many kernels have run in this thread inside functions, every iteration of a loop counted."""
    return running.kernels


class LongLoop(BaseException):
    """A loop has turned more often than ``at_most`` allows. (Kernels turn an Exception into an error of their node.)"""


@contextlib.contextmanager
def at_most(kernels: int) -> Iterator[None]:
    """Inside, no more kernels may run in functions than this."""
    before, running.most = running.most, running.kernels + kernels
    try:
        yield
    finally:
        running.most = before


def count_kernels(count: int) -> None:
    """A function is called, in which so many kernels run."""
    running.kernels += count
    if running.kernels > running.most:
        raise LongLoop
