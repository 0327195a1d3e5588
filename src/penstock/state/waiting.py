"""How kernels wait for shared state: queues, barriers, accumulators, locks.

The contract. The state of such an object is guarded by one condition variable, which is notified on each change. A kernel that waits looks again
whenever it wakes, and wakes too when its step is cancelled: then it gives up with the error that ended the step.

A thread that must not wait (see ``driven.py``) sets ``this_thread.resumption`` while it calls a kernel whose op is ``resumable``. Instead of
waiting the kernel then raises ``Suspended``, having only taken its place in the line, and is called again after ``resumption.notify()``; or it
raises ``NeedsThread``, having done nothing at all, and is called again in another thread.
"""
from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


class Suspended(BaseException):
    """A kernel would have to wait; the object that it waits for will notify its resumption."""


class NeedsThread(BaseException):
    """A kernel would have to wait, and needs a thread for that."""


class _ThreadState(threading.local):
    """``resumption``: what is notified when the kernel that this thread calls can go on; None if the kernel may wait."""

    resumption: Any = None


this_thread = _ThreadState()


def wait_for(changed: threading.Condition, step: Any, advance: Callable[[], bool]) -> None:
    """Calls ``advance`` with the lock of ``changed`` held, at once and after each notification, until it says that it is done."""
    def wake() -> None:
        with changed:
            changed.notify_all()

    with changed:
        if step.cancelled is None and advance():  # the usual case, for which no callback is registered
            return
    unregister = step.on_cancel(wake)
    try:
        with changed:
            while step.cancelled is None:  # looked at first: a step that has ended takes nothing any more
                if advance():
                    return
                changed.wait()
            raise step.cancelled
    finally:
        unregister()


class Turns:
    """A lock that a kernel waits for without missing the end of its step; ``with turns.mine(step): ...``."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._taken = False

    def acquire(self, step: Any) -> None:
        """Waits until it is free, and takes it."""
        def take() -> bool:
            free = not self._taken
            self._taken = True
            return free

        wait_for(self._changed, step, take)

    def release(self) -> None:
        """Gives it back."""
        with self._changed:
            self._taken = False
            self._changed.notify_all()

    def mine(self, step: Any) -> _HeldTurn:
        """Holds it inside a ``with`` block."""
        return _HeldTurn(self, step)


class _HeldTurn:
    def __init__(self, turns: Turns, step: Any) -> None:
        self._turns, self._step = turns, step

    def __enter__(self) -> None:
        self._turns.acquire(self._step)

    def __exit__(self, *error: Any) -> None:
        self._turns.release()
