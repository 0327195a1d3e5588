"""What a task has done lately: how many steps, how many a second, and which errors it answered with."""
from __future__ import annotations

import threading
import time
from collections import deque
from typing import Any

from penstock.errors import OpError

_WINDOW = 10  # seconds over which a rate is taken
_HISTORY = 120  # seconds that are remembered
_KEPT = 20  # errors
_LONGEST = 500  # characters of a message


class Activity:
    """Counts steps and keeps the last errors. Counting takes well under a microsecond.

    >>> activity = Activity()
    >>> activity.count()
    >>> activity.total, activity.rate() > 0
    (1, True)
    """

    def __init__(self) -> None:
        self.since = time.monotonic()
        self.total = 0
        self._lock = threading.Lock()
        self._seconds: deque[tuple[int, int]] = deque(maxlen=_HISTORY)  # (second, steps in it)
        self._second, self._in_second = 0, 0
        self._errors: deque[dict[str, Any]] = deque(maxlen=_KEPT)

    def count(self) -> None:
        """A step has ended well."""
        second = int(time.monotonic())
        with self._lock:
            self.total += 1
            if second != self._second:
                self._seconds.append((self._second, self._in_second))
                self._second, self._in_second = second, 0
            self._in_second += 1

    def failed(self, what: str, error: OpError) -> None:
        """A request was answered with an error."""
        entry = {"time": time.time(), "request": what, "class": type(error).__name__, "message": error.message[:_LONGEST]}
        with self._lock:
            self._errors.append(entry)

    def rate(self) -> float:
        """Steps per second, over the last ten seconds."""
        now = time.monotonic()
        with self._lock:
            recent = sum(steps for second, steps in [*self._seconds, (self._second, self._in_second)] if second > now - _WINDOW)
        return recent / max(min(now - self.since, _WINDOW), 0.1)

    def history(self) -> list[int]:
        """Steps in each of the last whole seconds, the oldest first."""
        now = int(time.monotonic())
        with self._lock:
            counts = dict([*self._seconds, (self._second, self._in_second)])
        return [counts.get(second, 0) for second in range(max(int(self.since), now - _HISTORY), now)]

    def errors(self) -> list[dict[str, Any]]:
        """The last errors, the oldest first."""
        with self._lock:
            return list(self._errors)
