"""The Unix socket of a server: how processes of one host find each other, and know that it is the right one.

The socket has no file, only a name, which every process of the machine can see (/proc/net/unix): what opens it is a ticket
for one connection, given to a client over gRPC after it has proved that it belongs to the cluster. Both sides check that
the other one runs as the same user. Where there are no such sockets (not Linux), or the client is on another host, nothing is lost but speed.
"""
from __future__ import annotations

import os
import secrets
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable

ENABLED = sys.platform == "linux"  # without it processes of one host talk as if they were on two
TICKET = 32  # bytes
_GREETED = b"PSK3"
_PATIENCE = 5.0  # seconds until a ticket expires, and for the first words
_CREDENTIALS = struct.Struct("3i")


class UnixListener:
    """Accepts connections with tickets; each is handed to the callback that its ticket was made for."""

    def __init__(self) -> None:
        self._tickets: dict[bytes, tuple[float, Callable[[socket.socket], None]]] = {}
        self.name = ""
        if ENABLED:
            self.name = f"penstock-{secrets.token_hex(16)}"
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self._socket.bind("\0" + self.name)
            self._socket.listen(128)
            threading.Thread(target=self._accept, name="penstock-accept", daemon=True).start()

    def ticket(self, accepted: Callable[[socket.socket], None]) -> bytes:
        """For one connection, within a few seconds."""
        now = time.monotonic()
        for old in [old for old, (until, _) in list(self._tickets.items()) if until < now]:
            self._tickets.pop(old, None)
        ticket = secrets.token_bytes(TICKET)
        self._tickets[ticket] = now + _PATIENCE, accepted
        return ticket

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return  # closed
            threading.Thread(target=self._greet, args=(connection,), name="penstock-greet", daemon=True).start()

    def _greet(self, connection: socket.socket) -> None:
        try:
            connection.settimeout(_PATIENCE)
            ticket = _read(connection, TICKET) if same_user(connection) else b""
            _, accepted = self._tickets.pop(ticket, (0.0, None))
            if accepted is None:
                connection.close()
                return
            connection.sendall(_GREETED)
        except OSError:
            connection.close()
            return
        accepted(connection)

    def close(self) -> None:
        """Accepts no more."""
        if self.name:
            try:
                self._socket.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
            finally:
                self._socket.close()


def connect(name: str, ticket: bytes) -> socket.socket | None:
    """A connection to the server behind a name; None if it is not on this host, or not the right one."""
    if sys.platform != "linux" or not name or len(ticket) != TICKET:
        return None
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(_PATIENCE)
        connection.connect("\0" + name)
        if same_user(connection):
            connection.sendall(ticket)
            if _read(connection, len(_GREETED)) == _GREETED:
                return connection
    except OSError:
        connection.close()
        return None
    connection.close()
    return None


def same_user(connection: socket.socket) -> bool:
    """Does the process at the other end run as this one's user?"""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return _CREDENTIALS.unpack(credentials)[1] == os.getuid()


def _read(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        more = connection.recv(count - len(data))
        if not more:
            raise ConnectionError("closed")
        data += more
    return data
