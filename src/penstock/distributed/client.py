"""How a client reaches the server behind a target: directly, if it lives in this process; over the network otherwise."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from penstock import errors
from penstock.distributed.messages import Message
from penstock.distributed.peers import Peers, raise_error_of
from penstock.distributed.server import in_process
from penstock.distributed.transports import TransportKind, transport_kind

_PATIENCE = 30.0  # seconds for a single request


class Connection(Protocol):
    """A way to a server."""

    def call(self, message: Message, timeout: float | None = None) -> Message:
        """The reply to a request; raises the error that it tells of."""

    def wait_for(self, message: Message, timeout: float) -> Message:
        """``call``, which waits for a server that has not started yet."""

    def close(self) -> None:
        """Nothing more will be asked."""


def stop_server(target: str) -> None:
    """Tells the server behind a target to stop: its process goes on after ``server.join()``."""
    call_once(target, Message("Stop"))


def call_once(target: str, message: Message) -> None:
    """One request over a connection of its own."""
    link = connection(target)
    try:
        link.call(message, _PATIENCE)
    finally:
        link.close()


class _Here:
    """The caller of a service in this process, who cannot be lost; see ``service.Caller``."""

    def __init__(self) -> None:
        self.answer: Message | None = None

    def reply(self, message: Message) -> None:
        """Keeps the answer."""
        self.answer = message

    def on_gone(self, callback: Callable[[], None]) -> None:
        """Never happens."""

    on_lost = on_gone


class _InProcess:
    """A server of this process: no network, no bytes."""

    def __init__(self, service: Any) -> None:
        self._service = service

    def call(self, message: Message, timeout: float | None = None) -> Message:
        caller = _Here()
        self._service.handle(message, caller)
        assert caller.answer is not None, "what a client asks for is answered at once"
        return raise_error_of(caller.answer)

    wait_for = call

    def close(self) -> None:
        """Nothing to close."""


class _Remote:
    """A server elsewhere."""

    def __init__(self, target: str, kind: TransportKind) -> None:
        self._target = target
        self._transport = kind.transport()
        self._peers = Peers({target: target.partition("://")[2]}, self._transport)

    def call(self, message: Message, timeout: float | None = None) -> Message:
        return self._peers.call(self._target, message, timeout)

    def wait_for(self, message: Message, timeout: float) -> Message:
        return self._peers.wait_for(self._target, message, timeout)

    def close(self) -> None:
        self._transport.close()


def connection(target: str) -> Connection:
    """How to reach the server behind a target: directly, if it lives in this process."""
    scheme, _, address = target.partition("://")
    kind = transport_kind(scheme)
    try:
        kind.check(address)
    except ValueError as error:
        raise errors.InvalidArgumentError(None, None, f"{target!r} names no task of a cluster: {error}") from None
    service = in_process.get(target)
    return _Remote(target, kind) if service is None else _InProcess(service)
