"""A running step: its deadline, its cancellation and its rendezvous; and which step a thread works for."""
from __future__ import annotations

import contextvars
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.errors import OpError
from penstock.execute.rendezvous import Rendezvous

GRACE = 1.0  # seconds that a cancelled step waits for kernels which are still under way
running = threading.local()  # ``running.step``: the step that this thread works for; ``running.kernels``: see ``kernels_in_functions``


class Step:
    """One call of ``Session.run``.

    Cancellation happens once: ``cancel`` keeps the first error and calls all who registered, who then stop waiting.
    ``alone``: no other thread may be calling the same functions at the same time.
    """

    def __init__(self, timeout_ms: int = 0, parent: Step | None = None, alone: bool = True) -> None:
        self.deadline = time.monotonic() + timeout_ms / 1000 if timeout_ms > 0 else None
        if parent is not None:  # a function that a node of the parent calls: it lives as long as that
            self.deadline, timeout_ms, alone = parent.deadline, parent.timeout_ms, parent.alone
        self.timeout_ms: int = timeout_ms
        self.alone: bool = alone
        self.rendezvous = Rendezvous()
        self.cancelled: OpError | None = None
        self._lock = threading.Lock()
        self._callbacks: dict[int, Callable[[], None]] = {}
        self._next = 0

    def remaining(self) -> float | None:
        """Seconds until the deadline; None if there is none."""
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())

    def cancel(self, error: OpError) -> None:
        """Ends the step with this error, unless it is ended already."""
        with self._lock:
            if self.cancelled is not None:
                return
            self.cancelled = error
            callbacks, self._callbacks = list(self._callbacks.values()), {}
        self.rendezvous.abort(error)
        for callback in callbacks:
            callback()

    def on_cancel(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Has ``callback`` called when the step is cancelled (at once if it is); returns what unregisters it."""
        with self._lock:
            if self.cancelled is None:
                self._next += 1
                key = self._next
                self._callbacks[key] = callback
                return lambda: self._forget(key)
        callback()
        return lambda: None

    def _forget(self, key: int) -> None:
        with self._lock:
            self._callbacks.pop(key, None)

    def working(self) -> working_for:
        """A ``with`` block in which this thread works for this step."""
        return working_for(self)


class working_for:
    """Marks this thread as working for a step, in which 1 / 0 is infinity and no reason for a warning."""

    __slots__ = ("_outer", "_step", "_token")

    def __init__(self, step: Step) -> None:
        self._step = step

    def __enter__(self) -> None:
        self._outer = getattr(running, "step", None)
        running.step = self._step
        self._token = _errors.set(_ignored)

    def __exit__(self, *error: Any) -> None:
        _errors.reset(self._token)
        running.step = self._outer


def _ignoring() -> tuple[contextvars.ContextVar[Any], Any]:
    """The context variable in which NumPy keeps what to do about 1 / 0, and its value for nothing: ``np.errstate`` takes ten times as long."""
    context = contextvars.Context()
    context.run(np.seterr, all="ignore")
    [item] = context.items()
    return item


_errors, _ignored = _ignoring()


def works_alone() -> bool:
    """Is no other thread calling the functions that this one calls?"""
    step = getattr(running, "step", None)
    return step is None or step.alone


def kernels_in_functions() -> int:
    """How many kernels have run in this thread inside functions, every iteration of a loop counted."""
    return getattr(running, "kernels", 0)


def count_kernels(count: int) -> None:
    """A function is called, in which so many kernels run."""
    running.kernels = kernels_in_functions() + count
