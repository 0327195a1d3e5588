"""Kernels without waiting: a body is compiled on a thread of its own while NumPy runs it.

``kernel_for(body)`` is asked before every call; it costs a dictionary lookup. What cannot be compiled is remembered, with the reason.
"""
from __future__ import annotations

import atexit
import logging
import os
import queue
import threading

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
        self._waiting: queue.SimpleQueue[Body] = queue.SimpleQueue()
        self._scheduled: set[str] = set()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closing = False

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
        try:
            kernel: NativeKernel | None = compile(body)
        except Unsupported as reason:
            kernel = None
            self.reasons[body.key()] = str(reason)
            _log.info("NumPy runs %s: %s", " ".join(each.definition.type for each in body.instructions), reason)
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
        while True:
            try:
                body = self._waiting.get(timeout=_IDLE)
            except queue.Empty:
                with self._lock:
                    if self._waiting.empty():
                        self._thread = None
                        return
                continue
            if self._closing:
                return
            try:
                self._compile(body)
            except Exception as error:  # a bug here must cost speed, not the user's program
                self._done[body.key()] = None
                self.reasons[body.key()] = repr(error)
                _log.exception("a kernel could not be compiled; NumPy runs it")

    def wait(self, timeout: float) -> bool:
        """Waits until all that was asked for is compiled; False if that takes longer."""
        deadline = threading.Event()
        timer = 0.0
        while any(key not in self._done for key in list(self._scheduled)):
            if timer >= timeout:
                return False
            deadline.wait(0.005)
            timer += 0.005
        return True

    def close(self) -> None:
        """Starts no more compilations, and waits for the one that runs."""
        self._closing = True
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            self._waiting.put(Body.__new__(Body))  # wakes it up
            thread.join(_EXIT)


compiler = Compiler()
kernel_for = compiler.kernel_for
atexit.register(compiler.close)


def _after_fork() -> None:
    """The thread stays with the parent; what it had not finished is scheduled again when it is asked for."""
    compiler._lock, compiler._thread, compiler._waiting = threading.Lock(), None, queue.SimpleQueue()
    compiler._scheduled = set(compiler._done)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
