"""The rendezvous of a step: where a tensor that one device sends meets the device that waits for it.

Contract: a key is sent once and received once per step. ``send`` never blocks. ``recv`` calls back exactly once: with the value, from
the sender's thread or at once, or with the error of ``abort``. After ``abort`` every pending and later ``recv`` gets that error.
"""
from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

Callback = Callable[[Any, BaseException | None], None]


class Rendezvous:
    """A table of values without a receiver yet and receivers without a value yet."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: dict[str, Any] = {}
        self._waiting: dict[str, Callback] = {}
        self._error: BaseException | None = None

    def send(self, key: str, value: Any) -> None:
        """Hands over a value."""
        with self._lock:
            callback = self._waiting.pop(key, None)
            if callback is None:
                self._values[key] = value
        if callback is not None:
            callback(value, None)

    def recv(self, key: str, callback: Callback) -> None:
        """Calls back with the value for ``key`` as soon as it is there."""
        with self._lock:
            error = self._error
            ready = key in self._values
            value = self._values.pop(key, None)
            if not ready and error is None:
                self._waiting[key] = callback
                return
        callback(value, None if ready else error)

    def awaited(self) -> list[str]:
        """The keys of values that receivers wait for."""
        with self._lock:
            return list(self._waiting)

    def abort(self, error: BaseException) -> None:
        """Ends all waiting with an error."""
        with self._lock:
            self._error = self._error or error
            waiting, self._waiting = self._waiting, {}
        for callback in waiting.values():
            callback(None, error)
