"""Mutexes in the graph: at most one step holds the lock of a mutex.

A step that ends with an error gives its lock back, so that a failure inside a critical section does not block the other steps.
"""
from __future__ import annotations

import threading
from typing import Any

from penstock.state.waiting import Turns


class Mutex:
    """The mutex; ``lock`` gives the right to go on, which ends with its ``release``."""

    kind = "Mutex"

    def __init__(self, name: str) -> None:
        self.name = name
        self._turns = Turns()

    def lock(self, step: Any) -> MutexLock:
        """Waits until the mutex is free, and takes it."""
        self._turns.acquire(step)
        return MutexLock(self._turns, step)


class MutexLock:
    """The right to go on; it ends once, when it is consumed or when its step fails."""

    def __init__(self, turns: Turns, step: Any) -> None:
        self._turns: Turns | None = turns
        self._once = threading.Lock()
        self._unregister = step.on_cancel(self.release)

    def release(self) -> None:
        """Lets the next one in."""
        with self._once:
            turns, self._turns = self._turns, None
        if turns is not None:
            turns.release()

    def consume(self) -> None:
        """The regular end."""
        self._unregister()
        self.release()
