"""Which user of this machine is at the other end of a TCP connection over the loopback interface: Linux tells it of every socket."""
from __future__ import annotations

import functools
import ipaddress
import os
import socket
import struct
import threading
from collections.abc import Iterator
from urllib.parse import unquote

_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
_ESTABLISHED = "01"
_LOCAL, _REMOTE, _STATE, _USER = 1, 2, 3, 7  # columns
_SOCKETS, _BY_FAMILY, _REQUEST, _ANY, _ESTABLISHED_STATE = 4, 20, 1, 0xFFFFFFFF, 1  # of Linux's sock_diag(7)
_HEADER = struct.Struct("=IHHII")  # of a message: its length, kind, flags, number and sender
_QUESTION = struct.Struct("=BBxxIHH16s16s4xII")  # family, protocol, states, both ports and addresses, and any cookie
_ANSWER = struct.Struct("=BBxxHH16s16s12x12xI")  # family, state, both ports and addresses; then the user

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def is_own_user(peer: str, own_port: int) -> bool:
    """True if a gRPC peer that is connected to a port of this process is known to run as the same user, or as root."""
    return user_of(peer, own_port) in (os.geteuid(), 0)


def user_of(peer: str, own_port: int) -> int | None:
    """The user id of a gRPC peer (``ipv4:127.0.0.1:4321``); None if it is on another machine, or cannot be told."""
    end = _end_of(peer)
    if end is None:
        return None
    user = _asked_user(*end, own_port)
    if user is not None:
        return user
    return next((user for local, remote_port, user in _connections() if local == end and remote_port == own_port), None)


@functools.lru_cache(1024)
def _end_of(peer: str) -> tuple[Address, int] | None:
    """The address and the port of a gRPC peer on this machine; None for any other."""
    family, _, rest = unquote(peer).partition(":")
    host, _, port = rest.rpartition(":")
    if family not in ("ipv4", "ipv6") or not port.isdigit():
        return None
    address = _plain(ipaddress.ip_address(host.strip("[]")))
    return (address, int(port)) if address.is_loopback else None


def _asked_user(address: Address, port: int, own_port: int) -> int | None:
    """The user whose socket has this address and port and is connected to a port at the same address, as the kernel tells of one socket; None if
    there is no such connection, or it does not tell. The table of all connections takes it milliseconds."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    packed = address.packed.ljust(16, b"\0")
    ports = [socket.htons(port), socket.htons(own_port)]
    answer = _kernel.answer(_QUESTION.pack(family, socket.IPPROTO_TCP, 1 << _ESTABLISHED_STATE, *ports, packed, packed, _ANY, _ANY))
    if len(answer) < _ANSWER.size:
        return None
    family, state, *ends, user = _ANSWER.unpack_from(answer)
    length = 4 if family == socket.AF_INET else 16
    ends[2:] = [_plain(ipaddress.ip_address(each[:length])) for each in ends[2:]]
    return int(user) if state == _ESTABLISHED_STATE and ends == [*ports, address, address] else None  # (it also finds sockets that listen there)


class _Kernel:
    """Linux, as it answers questions about sockets: one at a time, each by its number, through one socket of this process."""

    _link: socket.socket | None = None

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Also in a forked process, which must not hear what its parent is told."""
        self._lock = threading.Lock()
        self._close()
        self._number = 0

    def answer(self, question: bytes) -> bytes:
        """What it says; nothing if it does not know, or does not answer questions (another system, a sandbox)."""
        with self._lock:
            try:
                return self._ask(question)
            except OSError:
                self._close()
                return b""

    def _ask(self, question: bytes) -> bytes:
        if self._link is None:
            if not hasattr(socket, "AF_NETLINK"):
                return b""
            self._link = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _SOCKETS)
            self._link.setblocking(False)  # the answer is there when the question was sent
        self._number += 1
        self._link.send(_HEADER.pack(_HEADER.size + len(question), _BY_FAMILY, _REQUEST, self._number & _ANY, 0) + question)
        answer = self._link.recv(4096)
        _, kind, _, number, _ = _HEADER.unpack_from(answer)
        if number != self._number & _ANY:
            raise OSError("an answer to another question")
        return answer[_HEADER.size:] if kind == _BY_FAMILY else b""

    def _close(self) -> None:
        if self._link is not None:
            self._link.close()
            self._link = None


_kernel = _Kernel()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_kernel.begin)


def _connections() -> Iterator[tuple[tuple[Address, int], int, int]]:
    """(local address, local port), remote port and user of every established connection of this machine."""
    for table in _TABLES:
        try:
            with open(table, encoding="ascii") as file:
                lines = file.readlines()[1:]
        except OSError:
            continue  # no Linux, or no IPv6
        for columns in map(str.split, lines):
            if columns[_STATE] == _ESTABLISHED:
                yield _address_and_port(columns[_LOCAL]), _address_and_port(columns[_REMOTE])[1], int(columns[_USER])


def _address_and_port(text: str) -> tuple[Address, int]:
    """``0100007F:1F90`` as an address and a port: words of four bytes in this machine's order."""
    host, _, port = text.partition(":")
    words = [int(host[start:start + 8], 16) for start in range(0, len(host), 8)]
    return _plain(ipaddress.ip_address(struct.pack(f"={len(words)}I", *words))), int(port, 16)


def _plain(address: Address) -> Address:
    """An IPv4 address that travels as IPv6, as itself."""
    return getattr(address, "ipv4_mapped", None) or address
