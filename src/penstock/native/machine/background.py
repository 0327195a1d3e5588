"""Threads that compile: while NumPy runs steps, or beside a step that waits for its native code. They end when there is nothing to do."""
from __future__ import annotations

import atexit
import os
import queue
import threading
import time
from collections.abc import Callable

from penstock.native.config import config
from penstock.native.machine import codegen, defects, stacks

_IDLE = 5.0  # seconds after which the thread ends
_EXIT = 10.0  # seconds that the end of the program waits for a compilation: LLVM must not be torn down under it

Job = Callable[[], None]


class Background:
    """A queue of jobs, and the threads that do them."""

    def __init__(self, most: int = 1) -> None:
        self._most = most
        self._closing = False
        self.start()

    def start(self) -> None:
        """No threads, nothing to do. Also in a forked process: the threads stay with the parent, and with them what they had not finished."""
        self._waiting: queue.SimpleQueue[Job | None] = queue.SimpleQueue()  # None: time to go
        self._left = 0
        self._lock = threading.Lock()
        self._threads: set[threading.Thread] = set()

    def submit(self, job: Job) -> None:
        """Has a job done some time, if there is a thread for it. An error in it is reported: it must cost speed, not the user's program."""
        with self._lock:
            if self._closing:
                return
            if len(self._threads) < min(self._most, self._left + 1):
                self._grow()
            if self._threads:
                self._left += 1
                self._waiting.put(job)

    def _grow(self) -> None:
        thread = threading.Thread(target=self._serve, name=f"penstock-compiler-{len(self._threads) + 1}", daemon=True)
        self._threads.add(thread)
        if not stacks.start(thread):
            self._threads.discard(thread)

    def _serve(self) -> None:
        while not self._closing:
            try:
                job = self._waiting.get(timeout=_IDLE)
            except queue.Empty:
                with self._lock:
                    if self._waiting.empty():
                        self._threads.discard(threading.current_thread())
                        return
                continue
            if job is not None and not self._closing:
                self._do(job)

    def _do(self, job: Job) -> None:
        try:
            job()
        except Exception as error:
            defects.report(error)
        finally:
            with self._lock:
                self._left -= 1

    def wait(self, timeout: float) -> bool:
        """Waits until all that was submitted is done; False if that takes longer."""
        deadline = time.monotonic() + timeout
        while self._left:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.002)
        return True

    def close(self) -> None:
        """Starts no more jobs, and waits for those that run."""
        self._closing = True
        threads, deadline = list(self._threads), time.monotonic() + _EXIT
        for _ in threads:
            self._waiting.put(None)
        for thread in threads:
            thread.join(max(deadline - time.monotonic(), 0.0))


background = Background(min(max(config.threads - 1, 1), codegen.MOST - 1))
atexit.register(background.close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=background.start)
