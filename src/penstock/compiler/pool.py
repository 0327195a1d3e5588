"""Threads that share the parts of a large kernel. Native code runs without the GIL, so Python threads are enough.

The caller works too and takes every part that nobody else has begun: a call never waits for a thread to become free. Idle threads end.
"""
from __future__ import annotations

import os
import queue
import threading
from collections import deque
from collections.abc import Callable, Sequence

IDLE = 10.0  # seconds after which an idle thread ends

Function = Callable[[bytes], object]


class _Job:
    """Parts of one call, and how many are not done."""

    __slots__ = ("done", "function", "left", "lock", "parts")

    def __init__(self, function: Function, parts: Sequence[bytes]) -> None:
        self.function, self.parts, self.left = function, deque(parts), len(parts)
        self.lock, self.done = threading.Lock(), threading.Event()

    def work(self) -> None:
        while self.parts:
            try:
                part = self.parts.popleft()
            except IndexError:  # another thread was faster
                return
            self.function(part)
            with self.lock:
                self.left -= 1
                if not self.left:
                    self.done.set()


class Pool:
    """Grows to as many threads as calls ask for."""

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        """No threads yet. Also called in a forked process: the threads stay with the parent."""
        self._jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0

    def run(self, function: Function, parts: Sequence[bytes], threads: int) -> None:
        """Calls the function with each part, on up to ``threads`` threads including this one; returns when all are done."""
        job = _Job(function, parts)
        helpers = min(threads, len(parts)) - 1
        if self._threads < helpers:
            self._grow(helpers)
        for _ in range(helpers):
            self._jobs.put(job)
        job.work()
        job.done.wait()

    def _grow(self, threads: int) -> None:
        with self._lock:
            while self._threads < threads:
                self._threads += 1
                threading.Thread(target=self._serve, name=f"penstock-kernel-{self._threads}", daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                self._jobs.get(timeout=IDLE).work()
            except queue.Empty:
                with self._lock:
                    self._threads -= 1
                return


pool = Pool()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=pool.start)
