"""Whose masters are still there: the sessions of other tasks' masters that have parts registered with a worker.

A master tells when a session ends, unless it dies. Then its connection ends, and so do, some time later, its sessions here: their parts, and the
constants in them, would otherwise stay for as long as the worker lives. A master that was only cut off speaks through a new connection; its sessions
are as they were.
"""
from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Protocol

LEASE = 600.0  # seconds that the parts of a lost master are kept: for long, because to miss them costs its session a restart


class Speaker(Protocol):
    """Where a master speaks from; see ``link.Served``."""

    @property
    def connection(self) -> Any:
        """The same object for all that comes from there."""

    def on_lost(self, callback: Callable[[], None]) -> None:
        """Has ``callback`` called when the connection ends."""


class Tenants:
    """Which sessions speak through which connection, and since when none of them does. ``clock`` tells the seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._lock, self._clock = threading.Lock(), clock
        self._sessions: dict[Any, set[str]] = {}  # by connection
        self._gone: dict[str, float] = {}

    def speaks(self, session: str, caller: Speaker) -> None:
        """The master of a session registers a part."""
        connection = caller.connection
        with self._lock:
            self._gone.pop(session, None)
            known = self._sessions.get(connection)
            if known is not None:
                known.add(session)
                return
            self._sessions[connection] = {session}
        caller.on_lost(lambda: self._lost(connection))

    def speaks_again(self, session: str, caller: Speaker) -> None:
        """The master of a session runs a part."""
        if session in self._gone:
            self.speaks(session, caller)

    def ended(self, session: str) -> None:
        """The master has ended a session."""
        with self._lock:
            self._gone.pop(session, None)
            for sessions in self._sessions.values():
                sessions.discard(session)

    def forgotten(self, now: float) -> list[str]:
        """The sessions whose masters have been gone for too long."""
        with self._lock:
            return [session for session, since in self._gone.items() if now - since > LEASE]

    def __len__(self) -> int:
        """How many sessions are known."""
        return sum(map(len, self._sessions.values())) + len(self._gone)

    def _lost(self, connection: Any) -> None:
        with self._lock:
            self._gone.update(dict.fromkeys(self._sessions.pop(connection, ()), self._clock()))
