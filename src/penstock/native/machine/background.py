"""Compilation without waiting: jobs run on a thread of their own while NumPy kernels run the steps. The thread ends when there is nothing to do."""
from __future__ import annotations

import atexit
import os
import queue
import threading
import time
from collections.abc import Callable

from penstock.native.machine import defects, stacks

_IDLE = 5.0  # seconds after which the thread ends
_EXIT = 10.0  # seconds that the end of the program waits for a compilation: LLVM must not be torn down under it

Job = Callable[[], None]


class Background:
    """A queue of jobs, and the thread that does them."""

    def __init__(self) -> None:
        self._closing = False
        self.start()

    def start(self) -> None:
        """No thread, nothing to do. Also in a forked process: the thread stays with the parent, and with it what it had not finished."""
        self._waiting: queue.SimpleQueue[Job | None] = queue.SimpleQueue()  # None: time to go
        self._left = 0
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def submit(self, job: Job) -> None:
        """Has a job done some time, if there is a thread for it. An error in it is reported: it must cost speed, not the user's program."""
        with self._lock:
            if self._closing:
                return
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name="penstock-compiler", daemon=True)
                if not stacks.start(self._thread):
                    self._thread = None
                    return
            self._left += 1
            self._waiting.put(job)

    def _serve(self) -> None:
        while not self._closing:
            try:
                job = self._waiting.get(timeout=_IDLE)
            except queue.Empty:
                with self._lock:
                    if self._waiting.empty():
                        self._thread = None
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
        """Starts no more jobs, and waits for the one that runs."""
        self._closing = True
        thread = self._thread
        if thread is not None:
            self._waiting.put(None)
            thread.join(_EXIT)


background = Background()
atexit.register(background.close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=background.start)
