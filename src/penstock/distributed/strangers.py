"""Peers that have connected and not proved yet that they belong to the cluster: not many at a time, not for long, and not many words about them.

Every connection gets in: when there is no room, the oldest of the address that holds most places has to go. A stranger that waits does so in vain
then; a friend needs milliseconds, and is never refused because of others.
"""
from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from typing import Any

PATIENCE = 10.0  # seconds that one may take to say who one is
MAX_STRANGERS = 128  # who may do so at the same time,
MAX_PER_ADDRESS = 64  # and from one address
_LOG_LINES, _LOG_PERIOD = 10, 10.0  # so many lines in so many seconds


class Strangers:
    """The gRPC contexts of those who have not said yet who they are, the oldest first."""

    def __init__(self, log: RateLimitedLog) -> None:
        self._log = log
        self._lock = threading.Lock()
        self._until: dict[Any, tuple[float, str]] = {}  # context -> until when, from which address

    def __len__(self) -> int:
        return len(self._until)

    def enter(self, context: Any) -> None:
        """A client has connected; another one may have to go."""
        address = address_of(context.peer())
        with self._lock:
            evicted = self._to_evict(address)
            if evicted is not None:
                del self._until[evicted]
            self._until[context] = time.monotonic() + PATIENCE, address
        if evicted is not None:
            self._log.warning("refused a connection from %s: too many have connected and not said yet who they are", evicted.peer())
            evicted.cancel()

    def _to_evict(self, address: str) -> Any:
        held = Counter(address for _, address in self._until.values())
        if held[address] < MAX_PER_ADDRESS:
            if len(self._until) < MAX_STRANGERS:
                return None
            address = held.most_common(1)[0][0]
        return next(context for context, (_, holder) in self._until.items() if holder == address)

    def leave(self, context: Any) -> None:
        """It is known who it is, or it has been refused."""
        with self._lock:
            self._until.pop(context, None)

    def send_away(self, now: float) -> None:
        """Cancels those who have not said anything in time."""
        with self._lock:
            late = [context for context, (until, _) in self._until.items() if until < now]
        for context in late:
            self._log.warning("refused a connection from %s: it has not said in %g s who it is", context.peer(), PATIENCE)
            context.cancel()


def address_of(peer: str) -> str:
    """The address of a gRPC peer without its port: ``ipv4:10.0.0.1:4321`` is ``ipv4:10.0.0.1``."""
    return peer.rpartition(":")[0]


class RateLimitedLog:
    """Warnings that strangers can cause: some of each period, then only how many there were."""

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._lock = threading.Lock()
        self._period, self._count = 0.0, 0

    def warning(self, text: str, *args: Any) -> None:
        """Logs a line, or counts it."""
        now = time.monotonic()
        with self._lock:
            suppressed = 0
            if now - self._period >= _LOG_PERIOD:
                suppressed = max(0, self._count - _LOG_LINES)
                self._period, self._count = now, 0
            self._count += 1
            logged = self._count <= _LOG_LINES
        if suppressed:
            self._log.warning("%d more refusals were not logged", suppressed)
        if logged:
            self._log.warning(text, *args)
