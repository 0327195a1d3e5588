"""Which user of this machine is at the other end of a TCP connection over the loopback interface: Linux tells it of every socket."""
from __future__ import annotations

import ipaddress
import os
import struct
from collections.abc import Iterator
from urllib.parse import unquote

_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
_ESTABLISHED = "01"
_LOCAL, _REMOTE, _STATE, _USER = 1, 2, 3, 7  # columns

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
    return next((user for local, remote_port, user in _connections() if local == (wanted, int(port)) and remote_port == own_port), None)


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
