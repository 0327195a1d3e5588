"""Threads for kernels that wait: a pool that grows with need, so that a waiting kernel never keeps another one from starting.

Its threads are daemons: a program that ends while a py_func or a queue still waits is not held up.
"""
from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

_IDLE_SECONDS = 10.0  # an unused thread ends after this long


class GrowingPool:
    """Runs each task at once: on an idle thread if there is one, else on a new one."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._condition = threading.Condition()
        self._tasks: deque[Callable[[], None]] = deque()
        self._idle = 0

    def submit(self, task: Callable[[], None]) -> None:
        """Starts a task, which handles its own errors."""
        with self._condition:
            self._tasks.append(task)
            if self._idle >= len(self._tasks):
                self._condition.notify()
                return
        threading.Thread(target=self._work, name=self._name, daemon=True).start()

    def _work(self) -> None:
        while True:
            with self._condition:
                self._idle += 1
                has_task = self._condition.wait_for(lambda: bool(self._tasks), _IDLE_SECONDS)
                self._idle -= 1
                if not has_task:
                    return
                task = self._tasks.popleft()
            task()
            del task  # a thread that waits for work must not keep the last step, and so its graph, alive


POOL = GrowingPool("penstock-kernel")


class _Later(threading.local):
    tasks: deque[Callable[[], None]] | None = None


_later = _Later()


def afterwards(task: Callable[[], None]) -> None:
    """Runs a task as soon as this thread has done what it does now; in another thread if it never said that it does something."""
    if _later.tasks is None:
        POOL.submit(task)
    else:
        _later.tasks.append(task)


def work(task: Callable[[], None]) -> None:
    """Runs a task, then all that are to be run afterwards."""
    if _later.tasks is not None:
        task()
        return
    _later.tasks = tasks = deque([task])
    try:
        while tasks:
            tasks.popleft()()
    finally:
        _later.tasks = None
        for left in tasks:  # Ctrl-C
            POOL.submit(left)
