"""A network inside one process: the twin of gRPC for tests. Messages travel as bytes; an address can be killed, as kill -9 does it."""
from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from penstock.distributed.messages import Message, decode, encode
from penstock.distributed.peers import Done, checked, nothing
from penstock.distributed.service import Service
from penstock.errors import CancelledError, OpError, UnavailableError
from penstock.runtime.threads import POOL


@dataclass(eq=False, slots=True)
class _Call:
    """A request under way; it is finished once."""

    origin: str
    address: str
    done: Done
    lock: threading.Lock = field(default_factory=threading.Lock)
    finished: bool = False
    gone: list[Callable[[], None]] = field(default_factory=list)

    def on_gone(self, callback: Callable[[], None]) -> None:
        self.gone.append(callback)

    def finish(self, reply: Message | None, error: OpError | None) -> None:
        with self.lock:
            if self.finished:
                return
            self.finished = True
        self.done(reply, error)

    def lose(self, error: OpError) -> None:
        """The caller gives up, or one of the two is dead."""
        self.finish(None, error)
        for callback in self.gone:
            callback()


class LocalNetwork:
    """Who listens at which address, and which calls are under way."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._services: dict[str, Service] = {}
        self._calls: set[_Call] = set()
        self.counts: dict[str, int] = {}  # method -> how many requests were sent

    def listen(self, address: str, service: Service) -> None:
        """From now on ``service`` answers at an address."""
        with self._changed:
            self._services[address] = service
            self._changed.notify_all()

    def kill(self, address: str) -> None:
        """Nobody is at the address any more; what it was asked and what it had asked is lost."""
        with self._changed:
            self._services.pop(address, None)
            lost = [call for call in self._calls if address in (call.address, call.origin)]
        for call in lost:
            call.lose(UnavailableError(None, None, "connection lost"))

    def transport(self, origin: str) -> LocalTransport:
        """How ``origin`` calls others."""
        return LocalTransport(self, origin)

    def send(self, origin: str, address: str, message: Message, done: Done) -> Callable[[], None]:
        """Delivers a request; ``done`` gets the outcome."""
        call = _Call(origin, address, done)
        with self._changed:
            self.counts[message.method] = self.counts.get(message.method, 0) + 1
            service = self._services.get(address)
            if service is not None:
                self._calls.add(call)
        if service is None:
            call.finish(None, UnavailableError(None, None, f"nobody listens at {address}"))
            return nothing
        request = b"".join(encode(message))

        def work() -> None:
            try:
                reply = decode(b"".join(encode(service.handle(decode(request), call))))
                call.finish(reply, None)
            finally:
                with self._changed:
                    self._calls.discard(call)

        POOL.submit(work)
        return lambda: call.lose(CancelledError(None, None, "given up"))

    def wait_for(self, address: str, timeout: float | None) -> bool:
        """Waits until somebody listens at an address."""
        with self._changed:
            return self._changed.wait_for(lambda: address in self._services, timeout)


class LocalTransport:
    """The network as one address sees it; see ``peers.Transport``."""

    def __init__(self, network: LocalNetwork, origin: str) -> None:
        self._network, self._origin = network, origin

    def call(self, address: str, message: Message, timeout: float | None = None, wait: bool = False) -> Message:
        """The reply to a request."""
        if wait and not self._network.wait_for(address, timeout):
            raise UnavailableError(None, None, f"nobody listens at {address} after {timeout} s")
        ended, outcome = threading.Event(), list[tuple[Message | None, OpError | None]]()

        def done(reply: Message | None, error: OpError | None) -> None:
            outcome.append((reply, error))
            ended.set()

        give_up = self._network.send(self._origin, address, message, done)
        if not ended.wait(timeout):
            give_up()
        reply, error = outcome[0]
        if error is not None:
            raise error
        assert reply is not None
        return checked(reply)

    def start(self, address: str, message: Message, done: Done) -> Callable[[], None]:
        """Sends a request."""
        return self._network.send(self._origin, address, message, done)
