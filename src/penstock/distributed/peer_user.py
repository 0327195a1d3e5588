"""Which user of this machine is at the other end of a TCP connection over the loopback interface: Linux tells it of every socket."""
from __future__ import annotations

import ipaddress
import os
import socket
import struct
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
    family, _, rest = unquote(peer).partition(":")
    host, _, port = rest.rpartition(":")
    if family not in ("ipv4", "ipv6") or not port.isdigit():
        return None
    wanted = _plain(ipaddress.ip_address(host.strip("[]")))
    if not wanted.is_loopback:
        return None
    user = _asked_user(wanted, int(port), own_port)
    if user is not None:
        return user
    return next((user for local, remote_port, user in _connections() if local == (wanted, int(port)) and remote_port == own_port), None)


def _asked_user(address: Address, port: int, own_port: int) -> int | None:
    """The user whose socket has this address and port and is connected to a port at the same address, as the kernel tells of one socket; None if
    there is no such connection, or it does not tell. The table of all connections takes it milliseconds."""
    if not hasattr(socket, "AF_NETLINK"):
        return None
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    packed = address.packed.ljust(16, b"\0")
    ports = [socket.htons(port), socket.htons(own_port)]
    asked = _QUESTION.pack(family, socket.IPPROTO_TCP, 1 << _ESTABLISHED_STATE, *ports, packed, packed, _ANY, _ANY)
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _SOCKETS) as link:
            link.setblocking(False)  # the answer is there when the question was sent
            link.send(_HEADER.pack(_HEADER.size + len(asked), _BY_FAMILY, _REQUEST, 0, 0) + asked)
            answer = link.recv(4096)
    except OSError:  # a kernel without it, or a sandbox that forbids it
        return None
    _, kind, *_ = _HEADER.unpack_from(answer)
    if kind != _BY_FAMILY or len(answer) < _HEADER.size + _ANSWER.size:
        return None
    family, state, *ends, user = _ANSWER.unpack_from(answer, _HEADER.size)
    length = 4 if family == socket.AF_INET else 16
    ends[2:] = [_plain(ipaddress.ip_address(each[:length])) for each in ends[2:]]
    return int(user) if state == _ESTABLISHED_STATE and ends == [*ports, address, address] else None  # (it also finds sockets that listen there)


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
