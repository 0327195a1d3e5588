"""Kernels without waiting: a body is compiled on a thread of its own while NumPy runs it.

``kernel_for(body)`` is asked before every call; it costs a dictionary lookup. What cannot be compiled is remembered, with the reason.
"""
from __future__ import annotations

import atexit
import logging
import os
import queue
import threading
import time

from penstock.compiler.config import config
from penstock.compiler.fusion_body import Body, Unsupported
from penstock.compiler.native import NativeKernel, compile

_log = logging.getLogger(__name__)
_IDLE = 5.0  # seconds after which the compiling thread ends
_EXIT = 10.0  # seconds that the end of the program waits for a compilation: LLVM must not be torn down under it


class Compiler:
    """The kernels of a process, by the keys of their bodies."""

    def __init__(self) -> None:
        self._done: dict[str, NativeKernel | None] = {}
        self.reasons: dict[str, str] = {}  # why a body has no kernel
        self._closing = False
        self._start()

    def _start(self) -> None:
        """No thread, nothing to do. Also in a forked process: the thread stays with the parent, what it had not finished is asked for again."""
        self._waiting: queue.SimpleQueue[Body | None] = queue.SimpleQueue()  # None: time to go
        self._scheduled = set(self._done)
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def kernel_for(self, body: Body) -> NativeKernel | None:
        """The kernel, or None if it is not ready or cannot be had."""
        key = body.key()
        if key in self._done:
            return self._done[key] if config.mode != "off" else None
        if config.mode == "eager":
            return self._compile(body)
        if config.mode == "background":
            self._schedule(body)
        return None

    def _compile(self, body: Body) -> NativeKernel | None:
        kernel: NativeKernel | None = None
        try:
            kernel = compile(body)
        except Unsupported as reason:
            self.reasons[body.key()] = str(reason)
            _log.info("NumPy runs %s: %s", " ".join(each.definition.type for each in body.instructions), reason)
        except Exception as error:  # a bug here must cost speed, not the user's program
            self.reasons[body.key()] = repr(error)
            _log.exception("a kernel could not be compiled; NumPy runs it")
        return self._done.setdefault(body.key(), kernel)

    def _schedule(self, body: Body) -> None:
        with self._lock:
            if body.key() in self._scheduled or self._closing:
                return
            self._scheduled.add(body.key())
            self._waiting.put(body)
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name="penstock-kernel-compiler", daemon=True)
                self._thread.start()

    def _serve(self) -> None:
        while not self._closing:
            try:
                body = self._waiting.get(timeout=_IDLE)
            except queue.Empty:
                with self._lock:
                    if self._waiting.empty():
                        self._thread = None
                        return
                continue
            if body is not None and not self._closing:
                self._compile(body)

    def wait(self, timeout: float) -> bool:
        """Waits until all that was asked for is compiled; False if that takes longer."""
        deadline = time.monotonic() + timeout
        while not self._scheduled <= self._done.keys():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.005)
        return True

    def close(self) -> None:
        """Starts no more compilations, and waits for the one that runs."""
        self._closing = True
        thread = self._thread
        if thread is not None:
            self._waiting.put(None)
            thread.join(_EXIT)


compiler = Compiler()
kernel_for = compiler.kernel_for
atexit.register(compiler.close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=compiler._start)
