"""Virtual time: events in the order in which they happen. No thread, no waiting; an hour passes as fast as its events can be handled.

>>> clock, seen = Clock(), []
>>> clock.after(2.0, seen.append, "later")
>>> clock.after(1.0, seen.append, "sooner")
>>> clock.run()
>>> seen, clock.now
(['sooner', 'later'], 2.0)
"""
from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable
from typing import Any


class Clock:
    """What happens next. Events of the same moment happen in the order in which they were asked for."""

    def __init__(self) -> None:
        self.now = 0.0
        self._events: list[tuple[float, int, Callable[..., Any], tuple[Any, ...]]] = []
        self._numbers = itertools.count()
        self._stopped = False

    def after(self, seconds: float, event: Callable[..., Any], *arguments: Any) -> None:
        """Calls ``event`` so many seconds from now."""
        heapq.heappush(self._events, (self.now + seconds, next(self._numbers), event, arguments))

    def stop(self) -> None:
        """Ends ``run`` after the event that is being handled."""
        self._stopped = True

    def run(self, until: float = math.inf) -> None:
        """Handles events until there are none, or until the time has come."""
        self._stopped = False
        events, next_event = self._events, heapq.heappop
        while events and not self._stopped:
            if events[0][0] > until:
                self.now = until
                return
            self.now, _, event, arguments = next_event(events)
            event(*arguments)
