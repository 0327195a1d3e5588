"""A caller's end of gRPC: connects to other tasks; see ``peers.Transport`` for the contract and ``grpc_common.py`` for how."""
from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import grpc

from penstock import errors
from penstock.distributed import poller, unix_sockets
from penstock.distributed.carrier_grpc import StreamCarrier
from penstock.distributed.carrier_socket import SocketCarrier
from penstock.distributed.grpc_common import CLIENT_OPTIONS, CONNECT
from penstock.distributed.link import Link, OnDone, OnPart, Request, ignore_part
from penstock.distributed.messages import MalformedMessage, Message
from penstock.distributed.security import Access, Greeting
from penstock.distributed.unix_sockets import TICKET
from penstock.execute.threads import POOL

_log = logging.getLogger("tensorflow.server")
_PATIENCE = 10.0  # seconds for connecting to a server that should be there
_ASKING = 0.2  # seconds for asking gRPC why that failed: it knows, or it does not
_ERRORS = {grpc.StatusCode.CANCELLED: errors.CancelledError, grpc.StatusCode.DEADLINE_EXCEEDED: errors.DeadlineExceededError,
           grpc.StatusCode.UNAUTHENTICATED: errors.UnauthenticatedError, grpc.StatusCode.INVALID_ARGUMENT: errors.InvalidArgumentError,
           grpc.StatusCode.RESOURCE_EXHAUSTED: errors.ResourceExhaustedError, grpc.StatusCode.UNAVAILABLE: errors.UnavailableError}


class _Connection:
    """The stream to one address, from the greeting to its end, in a thread that reads it."""

    def __init__(self, channel: Any, address: str, secret: bytes | None, wait: bool) -> None:
        self._address, self._greeting = address, Greeting(secret)
        self._proof: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._stream: StreamCarrier | None = None
        self._socket: SocketCarrier | None = None
        self.link: Link | None = None
        self.error: errors.OpError = errors.UnavailableError(None, None, f"{address}: connection lost")
        self.ready = threading.Event()
        self._call = channel.stream_stream(CONNECT)(self._requests(), wait_for_ready=wait)
        threading.Thread(target=self._read, name="penstock-stream", daemon=True).start()

    def _requests(self) -> Iterator[bytes]:
        yield self._greeting.hello()
        proof = self._proof.get()
        if proof is not None:
            yield proof
            assert self._stream is not None
            yield from self._stream.outgoing()

    def _read(self) -> None:
        try:
            stream = self._greet()
            for piece in self._call:
                stream.received(piece)
        except grpc.RpcError as error:
            self.error = _convert(error, self._address)
        except MalformedMessage as error:
            self.error = errors.InternalError(None, None, f"the reply of {self._address} is malformed: {error}")
        except errors.OpError as error:
            self.error = type(error)(None, None, f"{self._address}: {error.message}")
        except Exception as error:  # a bug: what is not read any more must not look as if it were
            _log.exception("the connection to %s is given up", self._address)
            self.error = errors.InternalError(None, None, f"{self._address}: {error!r} while its reply was read")
        finally:
            self._end()

    def _greet(self) -> StreamCarrier:
        proof = self._greeting.prove(next(self._call, b""))
        stream = self._stream = StreamCarrier(self._greeting.seal(b"client"), self._greeting.seal(b"server"))
        self._proof.put(proof)
        self._greeting.check(next(self._call, b""))
        offer = stream.offer(next(self._call, b""))
        connection = unix_sockets.connect(offer[TICKET:].decode("ascii", "replace"), offer[:TICKET])
        if connection is None:
            self.link = stream.link
        else:
            self._socket = SocketCarrier(connection, self._call.cancel)
            self.link = self._socket.link = Link(self._socket)
            self._socket.start()
        self.ready.set()
        return stream

    def _end(self) -> None:
        self._proof.put(None)
        if self._stream is not None:
            self._stream.close()
        lost = self.error if isinstance(self.error, errors.UnavailableError) \
            else errors.UnavailableError(None, None, f"connection lost: {self.error.message}")
        if self._socket is not None:
            self._socket.close(lost)  # its last replies may still wait to be read
        elif self.link is not None:
            self.link.lost(lost)
        self._call.cancel()
        self.ready.set()

    def close(self) -> None:
        """Ends the connection; calls under way are cancelled."""
        if self.link is not None:
            self.link.lost(errors.CancelledError(None, None, f"the connection to {self._address} was closed"))
        self._call.cancel()


class _Address:
    """An address and the connection to it, if there is one."""

    def __init__(self, address: str, access: Access) -> None:
        self._address, self._access = address, access
        if access.tls is None:
            self._channel = grpc.insecure_channel(address, options=CLIENT_OPTIONS)
        else:
            tls = access.tls
            credentials = grpc.ssl_channel_credentials(tls.authority, tls.key, tls.certificate)
            self._channel = grpc.secure_channel(address, credentials, options=CLIENT_OPTIONS)
        self._lock = threading.Lock()  # guards the connection and its link
        self._attempts = {wait: threading.Lock() for wait in (False, True)}  # one at a time; one that waits for a server holds up none that does not
        self._connection: _Connection | None = None
        self.link: Link | None = None

    def connect(self, timeout: float | None = None, wait: bool = False) -> Link:
        """The link, made if there is none; with ``wait``, the server may first have to start."""
        with self._attempts[wait]:
            link = self.link
            if link is not None and link.alive:
                return link
            try:
                connection = _Connection(self._channel, self._address, self._access.secret, wait)
            except ValueError:  # what gRPC says of a channel that was closed meanwhile
                raise errors.CancelledError(None, None, f"the connection to {self._address} was closed") from None
            if not connection.ready.wait(_PATIENCE if timeout is None else timeout):
                connection.close()
                raise errors.UnavailableError(None, None, f"no server answers at {self._reason() if wait else self._address}")
            if connection.link is None:
                raise connection.error
            return self._keep_link(connection, connection.link)

    def _keep_link(self, connection: _Connection, link: Link) -> Link:
        """The link from now on: this one, unless another attempt was faster."""
        with self._lock:
            if self.link is None or not self.link.alive:
                self._connection, self.link = connection, link
            kept = self.link
        if kept is not link:
            connection.close()
        return kept

    def _reason(self) -> str:
        """The address, and why the connection that was waited for did not come, if gRPC knows: no server listens, a certificate is not accepted."""
        attempt = _Connection(self._channel, self._address, self._access.secret, wait=False)
        known = attempt.ready.wait(_ASKING) and attempt.link is None
        attempt.close()
        return attempt.error.message if known else self._address

    def close(self) -> None:
        """Ends the connection."""
        connection = self._connection
        if connection is not None:
            connection.close()
        self._channel.close()


class _Pending:
    """A conversation whose connection is still being made."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._call: Request | None = None
        self._early: list[Message] = []
        self._cancelled = False

    def open(self, connect: Callable[[], Link], message: Message, done: OnDone, part: OnPart) -> None:
        """Connects and begins, unless it was given up meanwhile."""
        try:
            link = connect()
            with self._lock:
                cancelled = self._cancelled
                if not cancelled:
                    self._call = link.open(message, done, part)
                    for early in self._early:
                        self._call.send(early)
        except errors.OpError as error:
            done(None, error)
            return
        if cancelled:
            done(None, errors.CancelledError(None, None, "the call was given up"))

    def send(self, message: Message) -> None:
        """A further message."""
        with self._lock:
            if self._call is None:
                self._early.append(message)
                return
        self._call.send(message)

    def cancel(self) -> None:
        """Gives up."""
        with self._lock:
            self._cancelled, call = True, self._call
        if call is not None:
            call.cancel()


class GrpcTransport:
    """Calls addresses over gRPC; see ``peers.Transport``."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._addresses: dict[str, _Address] = {}
        self._lock = threading.Lock()
        self._closed = False

    def call(self, address: str, message: Message, timeout: float | None = None, wait: bool = False) -> Message:
        """The reply to a request."""
        try:
            return self._address(address).connect(timeout, wait).call(message, timeout)
        except errors.DeadlineExceededError as error:
            raise errors.DeadlineExceededError(None, None, f"{address}: {error.message}") from None

    def start(self, address: str, message: Message, done: OnDone, part: OnPart = ignore_part) -> Request | _Pending:
        """Begins a conversation."""
        try:
            place = self._address(address)
            if place.link is not None and place.link.alive:
                return place.link.open(message, done, part)
        except errors.OpError as error:
            done(None, error)
            return _Pending()
        pending = _Pending()
        POOL.submit(lambda: pending.open(place.connect, message, done, part))
        return pending

    def together(self) -> AbstractContextManager[None]:
        """What this thread sends inside goes out at the end."""
        return poller.together()

    def _address(self, address: str) -> _Address:
        place = self._addresses.get(address)
        if place is None:
            with self._lock:
                if self._closed:
                    raise errors.CancelledError(None, None, f"there is no connection to {address} any more: this side was closed")
                place = self._addresses.setdefault(address, _Address(address, self._access))
        return place

    def close(self) -> None:
        """Closes all connections; calls under way end."""
        with self._lock:
            self._closed = True
            addresses, self._addresses = list(self._addresses.values()), {}
        for address in addresses:
            address.close()


def _convert(error: Any, address: str) -> errors.OpError:
    code, details = error.code(), error.details()
    return _ERRORS.get(code, errors.UnknownError)(None, None, f"{address}: {details}")
