"""A network inside one process, with the scheme ``local``: the twin of gRPC for tests. Messages travel as frames over links; an address can be
killed, as kill -9 does it.
"""
from __future__ import annotations

import contextlib
import itertools
import queue
import threading
from typing import Any

from penstock.distributed.link import Link, OnDone, OnPart, Request, ignore_part
from penstock.distributed.messages import Message
from penstock.distributed.service import Service
from penstock.errors import OpError, UnavailableError, UnknownError
from penstock.execute.threads import POOL


class _Wire:
    """One direction of a connection: frames arrive at the other link in their order, from a thread of their own."""

    def __init__(self) -> None:
        self.other: Link | None = None
        self._queue: queue.SimpleQueue[tuple[int, int, bytes] | None] = queue.SimpleQueue()
        POOL.submit(self._deliver)

    def send(self, kind: int, conversation: int, buffers: list[Any]) -> None:
        """Sends a frame."""
        self._queue.put((kind, conversation, b"".join(buffers)))

    def cut(self) -> None:
        """Nothing arrives any more."""
        self._queue.put(None)

    def _deliver(self) -> None:
        for frame in iter(self._queue.get, None):
            assert self.other is not None
            self.other.received(*frame)


class _Connection:
    """Two links, joined."""

    def __init__(self, origin: str, address: str, service: Service) -> None:
        self.origin, self.address = origin, address
        self._there, self._back = _Wire(), _Wire()
        self.link = self._back.other = Link(self._there)
        self._served = self._there.other = Link(self._back, service.serve)

    def cut(self, error: OpError) -> None:
        """As if one of the two were dead."""
        for wire, link in ((self._there, self.link), (self._back, self._served)):
            wire.cut()
            link.lost(error)


class LocalNetwork:
    """Which service listens at which address, and which addresses are connected."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._services: dict[str, Service] = {}
        self._connections: dict[tuple[str, str], _Connection] = {}
        self._reserved: set[str] = set()
        self._numbers = itertools.count(1)
        self.counts: dict[str, int] = {}  # method -> how many requests were sent

    def listen(self, address: str, service: Service) -> None:
        """From now on ``service`` answers at an address."""
        with self._changed:
            self._services[address] = service
            self._changed.notify_all()

    def reserve(self, address: str) -> str:
        """Takes an address, at which no server answers yet; one that ends with :0 gets a number. UnknownError if it is taken."""
        with self._changed:
            if address.endswith(":0"):
                address = f"{address[:-1]}{next(self._numbers)}"
            if address in self._reserved:
                raise UnknownError(None, None, f"Could not start a server at local://{address}: the address is taken")
            self._reserved.add(address)
        return address

    def release(self, address: str) -> None:
        """``kill``, after which the address can be taken again."""
        self.kill(address)
        self._reserved.discard(address)

    def kill(self, address: str) -> None:
        """No server is at the address any more; what it was asked and what it had asked is lost."""
        with self._changed:
            self._services.pop(address, None)
            lost = [key for key in self._connections if address in key]
            cut = [self._connections.pop(key) for key in lost]
        for connection in cut:
            connection.cut(UnavailableError(None, None, "connection lost"))

    def transport(self, origin: str) -> LocalTransport:
        """How ``origin`` calls others."""
        return LocalTransport(self, origin)

    def link(self, origin: str, address: str, method: str) -> Link:
        """The link from one address to another; UnavailableError if no server listens there."""
        with self._changed:
            self.counts[method] = self.counts.get(method, 0) + 1
            service = self._services.get(address)
            if service is None:
                raise UnavailableError(None, None, f"no server listens at {address}")
            connection = self._connections.get((origin, address))
            if connection is None:
                connection = self._connections[origin, address] = _Connection(origin, address, service)
            return connection.link

    def wait_for(self, address: str, timeout: float | None) -> bool:
        """Waits until a server listens at an address."""
        with self._changed:
            return self._changed.wait_for(lambda: address in self._services, timeout)


class LocalTransport:
    """The network as one address sees it; see ``peers.Transport``."""

    def __init__(self, network: LocalNetwork, origin: str) -> None:
        self._network, self._origin = network, origin

    def call(self, address: str, message: Message, timeout: float | None = None, wait: bool = False) -> Message:
        """The reply to a request."""
        if wait and not self._network.wait_for(address, timeout):
            raise UnavailableError(None, None, f"no server listens at {address} after {timeout} s")
        return self._network.link(self._origin, address, message.method).call(message, timeout)

    def start(self, address: str, message: Message, done: OnDone, part: OnPart = ignore_part) -> Request:
        """Begins a conversation."""
        try:
            link = self._network.link(self._origin, address, message.method)
        except UnavailableError as error:
            link = Link(_Nowhere())
            link.lost(error)
        return link.open(message, done, part)

    def together(self) -> contextlib.AbstractContextManager[None]:
        """Nothing is collected."""
        return contextlib.nullcontext()

    def close(self) -> None:
        """Ends the connections of this address."""
        self._network.kill(self._origin)


class _Nowhere:
    """The carrier of a link that leads nowhere."""

    def send(self, kind: int, conversation: int, buffers: list[Any]) -> None:
        """Nothing arrives."""


# --- as a transport of the registry ----------------------------------------------------------------------------------

_network = LocalNetwork()
_clients = itertools.count(1)


class LocalTransportKind:
    """See ``transports.TransportKind``. An address is any name; one that ends with :0 gets a number that is free."""

    def check(self, address: str) -> None:
        """There has to be one."""
        if not address:
            raise ValueError("local://name does")

    def listen(self, task: str, address: str, tasks: int) -> LocalListener:
        """Takes an address."""
        return LocalListener(_network.reserve(address))

    def transport(self, origin: str = "") -> LocalTransport:
        """What calls addresses of this process."""
        return _network.transport(origin or f"client {next(_clients)}")


class LocalListener:
    """An address of this process."""

    def __init__(self, address: str) -> None:
        self.address, self.aliases = address, list[str]()

    def attach(self, service: Service) -> None:
        """Says who will answer."""
        self._service = service

    def start(self) -> None:
        """Begins to answer."""
        _network.listen(self.address, self._service)

    def beat(self, now: float) -> None:
        """No connection is silent for too long here."""

    def stop(self, grace: float = 0.5) -> None:
        """Ends at once."""
        _network.release(self.address)
