"""A caller's end of gRPC: messages to other tasks; see ``peers.Transport`` for the contract and ``grpc_common.py`` for the methods."""
from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from typing import Any

import grpc

from penstock import errors
from penstock.distributed.grpc_common import (
    CLIENT_OPTIONS,
    INLINE,
    PATH,
    SHARED,
    SHARED_MAGIC,
    SHARED_MIN,
    TICKET,
    TICKET_MAGIC,
    TOKEN,
    assemble,
    chunks_of,
)
from penstock.distributed.messages import MalformedMessage, Message, decode, encode
from penstock.distributed.peers import Done, nothing
from penstock.distributed.security import Tokens
from penstock.distributed.shared_memory import SharedFiles, take
from penstock.runtime.threads import POOL

_ERRORS = {grpc.StatusCode.CANCELLED: errors.CancelledError, grpc.StatusCode.DEADLINE_EXCEEDED: errors.DeadlineExceededError,
           grpc.StatusCode.UNAUTHENTICATED: errors.UnauthenticatedError, grpc.StatusCode.INVALID_ARGUMENT: errors.InvalidArgumentError,
           grpc.StatusCode.RESOURCE_EXHAUSTED: errors.ResourceExhaustedError, grpc.StatusCode.UNAVAILABLE: errors.UnavailableError}


class _Connection:
    """A channel to one address."""

    def __init__(self, address: str, tokens: Tokens, files: SharedFiles) -> None:
        self._tokens, self._files = tokens, files
        self.shared = False
        self.channel = grpc.insecure_channel(address, options=CLIENT_OPTIONS)
        self.call = self.channel.unary_unary(PATH + "Call")
        self.upload = self.channel.stream_unary(PATH + "Upload")
        self.take = self.channel.unary_stream(PATH + "Take")
        self._probe_method = self.channel.unary_unary(PATH + "Probe")
        self._watch_method = self.channel.unary_unary(PATH + "Watch")
        self._watch: Any = None
        self._lock = threading.Lock()

    def metadata(self, method: str) -> list[tuple[str, str]]:
        token = self._tokens.issue(method)
        return [*([(TOKEN, token)] if token else ()), *([(SHARED, "1")] if self.shared else ())]

    def watch(self) -> None:
        """Holds a call open while there is traffic. (It also keeps gRPC's thread for asynchronous calls alive, which is slow to start.)"""
        with self._lock:
            if self._watch is None or self._watch.done():
                self.shared = False
                self._watch = self._watch_method.future(b"", metadata=self.metadata("Watch"))
                self._probe()

    def _probe(self) -> None:
        """Asks the other side for what stands in a file here: if it knows, the two share memory."""
        secret = secrets.token_bytes(16)
        name = self._files.write([secret])
        if name is None:
            return

        def answered(future: Any) -> None:
            self.shared = not future.cancelled() and future.exception() is None and future.result() == secret

        self._probe_method.future(name.encode(), metadata=self.metadata("Probe")).add_done_callback(answered)

    def request(self, buffers: list[Any], size: int) -> bytes | None:
        """A message as the request of Call; None if it is too large for one."""
        if self.shared and size >= SHARED_MIN:
            name = self._files.write(buffers)
            if name is not None:
                return SHARED_MAGIC + name.encode()
        return b"".join(buffers) if size <= INLINE else None

    def close(self) -> None:
        with self._lock:
            if self._watch is not None:
                self._watch.cancel()
        self.channel.close()


class GrpcTransport:
    """Calls addresses over gRPC; see ``peers.Transport``."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens, self._files = tokens, SharedFiles()
        self._connections: dict[str, _Connection] = {}
        self._lock = threading.Lock()
        self._closed = False

    def call(self, address: str, message: Message, timeout: float | None = None, wait: bool = False) -> Message:
        """The reply to a request."""
        buffers = encode(message)
        try:
            connection = self._connection(address)
            request = connection.request(buffers, sum(len(buffer) for buffer in buffers))
            if request is not None:
                reply = connection.call(request, timeout=timeout, metadata=connection.metadata("Call"), wait_for_ready=wait)
            else:
                reply = connection.upload(chunks_of(buffers), timeout=timeout, metadata=connection.metadata("Upload"), wait_for_ready=wait)
            return self._reply(connection, reply)
        except (grpc.RpcError, ValueError) as error:
            raise _converted(error, address, wait) from None

    def start(self, address: str, message: Message, done: Done) -> Callable[[], None]:
        """Sends a request."""
        try:
            buffers = encode(message)
            connection = self._connection(address)
            future = self._future(connection, buffers)
        except errors.OpError as error:
            done(None, error)
            return nothing
        except ValueError as error:
            done(None, _converted(error, address))
            return nothing
        future.add_done_callback(lambda ended: self._ended(connection, address, ended, done))
        return future.cancel

    @staticmethod
    def _future(connection: _Connection, buffers: list[Any]) -> Any:
        request = connection.request(buffers, sum(len(buffer) for buffer in buffers))
        if request is not None:
            return connection.call.future(request, metadata=connection.metadata("Call"))
        return connection.upload.future(chunks_of(buffers), metadata=connection.metadata("Upload"))

    def _ended(self, connection: _Connection, address: str, future: Any, done: Done) -> None:
        """Runs in gRPC's own thread: what takes long goes elsewhere."""
        try:
            reply = future.result()
        except (grpc.RpcError, grpc.FutureCancelledError) as error:
            done(None, _converted(error, address))
            return
        if reply[:4] == TICKET_MAGIC:
            POOL.submit(lambda: self._finish(connection, address, reply, done))
        else:
            self._finish(connection, address, reply, done)

    def _finish(self, connection: _Connection, address: str, reply: bytes, done: Done) -> None:
        try:
            message = self._reply(connection, reply)
        except (grpc.RpcError, MalformedMessage) as error:
            done(None, _converted(error, address))
        else:
            done(message, None)

    def _reply(self, connection: _Connection, reply: bytes) -> Message:
        if reply[:4] == SHARED_MAGIC:
            return decode(take(reply[4:].decode("ascii", "replace")))
        if reply[:4] != TICKET_MAGIC:
            return decode(reply)
        _, ticket, _ = TICKET.unpack(reply)
        return decode(assemble(connection.take(ticket, metadata=connection.metadata("Take"))))

    def _connection(self, address: str) -> _Connection:
        connection = self._connections.get(address)
        if connection is None:
            with self._lock:
                if self._closed:
                    raise errors.CancelledError(None, None, f"there is no connection to {address} any more: this side was closed")
                connection = self._connections.get(address)
                if connection is None:
                    connection = self._connections[address] = _Connection(address, self._tokens, self._files)
        connection.watch()
        return connection

    def close(self) -> None:
        """Closes all connections; calls under way end."""
        with self._lock:
            self._closed = True
            connections, self._connections = list(self._connections.values()), {}
        for connection in connections:
            connection.close()
        self._files.close()


def _converted(error: Exception, address: str, waited: bool = False) -> errors.OpError:
    if isinstance(error, grpc.FutureCancelledError):
        return errors.CancelledError(None, None, f"the call to {address} was cancelled")
    if isinstance(error, MalformedMessage):
        return errors.InternalError(None, None, f"the reply of {address} is malformed: {error}")
    if isinstance(error, ValueError):  # what gRPC says of a channel that was closed meanwhile
        return errors.CancelledError(None, None, f"the connection to {address} was closed")
    code, details = error.code(), error.details()  # type: ignore[attr-defined]
    if waited and code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return errors.UnavailableError(None, None, f"nobody answers at {address}")
    return _ERRORS.get(code, errors.UnknownError)(None, None, f"{address}: {details}")
