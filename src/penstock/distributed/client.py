"""How a client reaches the server behind a target: directly, if it lives in this process; over the network otherwise."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from penstock import errors
from penstock.distributed.link import OnDone, OnPart, ignore_part
from penstock.distributed.messages import Message
from penstock.distributed.peers import Peers, answering, raise_error_of
from penstock.distributed.server import in_process
from penstock.distributed.transports import TransportKind, transport_kind
from penstock.execute.threads import POOL

_PATIENCE = 30.0  # seconds for a single request


class Connection(Protocol):
    """A way to a server."""

    def call(self, message: Message, timeout: float | None = None) -> Message:
        """The reply to a request; raises the error that it tells of."""

    def wait_for(self, message: Message, timeout: float) -> Message:
        """``call``, which waits for a server that has not started yet."""

    def converse(self, message: Message, answer: Callable[[Message], Message]) -> Message:
        """``call``; this thread also answers, by ``answer``, each message that comes before the reply."""

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


class _Talking:
    """Both ends of a conversation with a service in this process; see ``service.Caller`` and ``peers.Conversation``."""

    def __init__(self, done: OnDone, part: OnPart) -> None:
        self._done, self.part = done, part
        self._gone: list[Callable[[], None]] = []
        self._more: Callable[[Message], None] = ignore_part
        self._over = False

    def reply(self, message: Message) -> None:
        """Ends it."""
        self._over = True
        self._done(message, None)

    def send(self, message: Message) -> None:
        """A further message to the service."""
        self._more(message)

    def on_more(self, callback: Callable[[Message], None]) -> None:
        """Who takes further messages; none comes before the service has sent something."""
        self._more = callback

    def on_gone(self, callback: Callable[[], None]) -> None:
        """Who is told if the caller gives up."""
        self._gone.append(callback)

    def on_lost(self, callback: Callable[[], None]) -> None:
        """Never happens."""

    def cancel(self) -> None:
        """Gives up, if there is no reply yet."""
        gone, self._gone = ([] if self._over else self._gone), []
        for callback in gone:
            callback()


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

    def converse(self, message: Message, answer: Callable[[Message], Message]) -> Message:
        def start(done: OnDone, part: OnPart) -> _Talking:
            caller = _Talking(done, part)
            POOL.submit(lambda: self._service.handle(message, caller))
            return caller

        return raise_error_of(answering(start, answer))

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

    def converse(self, message: Message, answer: Callable[[Message], Message]) -> Message:
        return self._peers.converse(self._target, message, answer)

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
