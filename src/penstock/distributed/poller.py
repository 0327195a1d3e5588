"""The thread that reads the sockets of this process: one for all of them, so that readers do not fight for the interpreter.

In each round it takes what has come on any socket; what is sent meanwhile, on whatever connection, is collected, and goes out with one system call
per connection at the end of the round. Other threads can have their messages collected too: ``with together(): ...``. Do not wait for a reply inside.
"""
from __future__ import annotations

import contextlib
import logging
import select
import threading
from collections.abc import Iterator
from typing import Protocol

_log = logging.getLogger("tensorflow.server")


class Polled(Protocol):
    """A connection with a socket."""

    def readable(self) -> bool:
        """Takes what has come, without waiting; False at the end of the connection."""

    def ended(self) -> None:
        """It is not read any more, and may close its socket."""

    def flush(self, may_wait: bool) -> None:
        """Sends what was collected."""


class _Collected(threading.local):
    connections: dict[Polled, None] | None = None


_collected = _Collected()


def collects(connection: Polled) -> bool:
    """True if what this thread sends is collected: the connection will be flushed."""
    if _collected.connections is None:
        return False
    _collected.connections[connection] = None
    return True


@contextlib.contextmanager
def together() -> Iterator[None]:
    """What this thread sends inside goes out at the end."""
    outer, mine = _collected.connections, dict[Polled, None]()
    _collected.connections = mine
    try:
        yield
    finally:
        _collected.connections = outer
        for connection in mine:
            connection.flush(True)


class Poller:
    """The connections that are read; there is a thread as long as there are any."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connections: dict[int, Polled] = {}  # by file descriptor
        self._epoll: select.epoll | None = None

    def add(self, descriptor: int, connection: Polled) -> None:
        """Reads from a connection until its end."""
        with self._lock:
            if self._epoll is None:
                self._epoll = select.epoll()
                threading.Thread(target=self._read_all, args=(self._epoll,), name="penstock-links", daemon=True).start()
            self._connections[descriptor] = connection
            self._epoll.register(descriptor, select.EPOLLIN)

    def _read_all(self, epoll: select.epoll) -> None:
        touched: dict[Polled, None] = {}
        _collected.connections = touched
        while self._has_any(epoll):
            for descriptor, _ in epoll.poll():
                connection = self._connections[descriptor]
                touched[connection] = None  # memory that it has given back may be to be told
                if not connection.readable():
                    self._remove(descriptor, epoll)
            for connection in list(touched):
                connection.flush(False)
            touched.clear()
            connection = None  # type: ignore[assignment]  # a thread that waits keeps nothing alive

    def _remove(self, descriptor: int, epoll: select.epoll) -> None:
        with self._lock:
            connection = self._connections.pop(descriptor)
            epoll.unregister(descriptor)
        try:
            connection.ended()
        except Exception:  # a bug in what is told of the end: the other connections go on
            _log.exception("the end of a connection was not told to all")

    def _has_any(self, epoll: select.epoll) -> bool:
        with self._lock:
            if not self._connections:
                self._epoll = None
                epoll.close()
                return False
            return True


POLLER = Poller()
