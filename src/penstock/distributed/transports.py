"""Transports and their registry: how the messages of a cluster travel, by the scheme of a target (``grpc://host:port``).

Servers and clients look a scheme up here and know none by its name. To add a transport, write a ``TransportKind`` and ``register`` a function
that loads it; it is called when the scheme is first used, so a network library is imported only where it is needed.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from penstock.distributed.peers import Transport
from penstock.errors import NotFoundError

DEFAULT = "grpc"


class Listener(Protocol):
    """A server's end: it has an address from the beginning, and answers there from ``start`` to ``stop``."""

    address: str  # where other tasks reach it; a port that was left to the system is known by now
    aliases: list[str]  # further addresses that clients on this machine may use, the usual one first

    def attach(self, service: Any) -> None:
        """Says who will answer: a ``service.Service``."""

    def start(self) -> None:
        """Begins to answer."""

    def beat(self, now: float) -> None:
        """Called about once a second: time to end connections that have been silent for too long."""

    def stop(self, grace: float = 0.5) -> None:
        """Ends after what is being answered has had ``grace`` seconds; also before ``attach`` and ``start``."""


class ClosableTransport(Transport, Protocol):
    """A caller's end."""

    def close(self) -> None:
        """Closes all connections; calls under way end."""


class TransportKind(Protocol):
    """One way to carry messages."""

    def check(self, address: str) -> None:
        """Raises ValueError, with what an address looks like, if this one cannot be called."""

    def listen(self, task: str, address: str, tasks: int) -> Listener:
        """Takes the address of a task, one of ``tasks`` of a cluster. InvalidArgumentError if it is malformed, UnknownError if it is taken."""

    def transport(self, origin: str = "") -> ClosableTransport:
        """What calls addresses, for the task that listens at ``origin`` or for a client."""


_loaders: dict[str, Callable[[], TransportKind]] = {}


def register(scheme: str, load: Callable[[], TransportKind]) -> None:
    """Makes targets that begin with ``scheme://``, and servers with this protocol, known."""
    _loaders[scheme] = load


def unregister(scheme: str) -> None:
    """Removes a transport; servers and connections that use it go on."""
    del _loaders[scheme]


def schemes() -> list[str]:
    """All that are known."""
    return list(_loaders)


def transport_kind(scheme: str) -> TransportKind:
    """The transport of a scheme; NotFoundError if there is none."""
    load = _loaders.get(scheme)
    if load is None:
        raise NotFoundError(None, None, f"there is no transport {scheme!r}; there is {', '.join(_loaders)}")
    return load()


def _grpc() -> TransportKind:
    from penstock.distributed.listener_grpc import Grpc  # brings in gRPC

    return Grpc()


def _local() -> TransportKind:
    from penstock.distributed.transport_local import LocalTransportKind  # its connections are served by a Service, which stands above this module

    return LocalTransportKind()


register("grpc", _grpc)
register("local", _local)
