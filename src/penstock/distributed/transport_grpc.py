"""Messages over gRPC, as plain bytes: no generated code, no protobuf around tensors.

Three methods. ``Call`` takes a message and returns its reply. ``Upload`` is Call for a message too large for one piece: it arrives in chunks. A reply that is too large is
kept, and the answer is a ticket, with which ``Take`` fetches it in chunks. So tensors have no size limit and small messages cost one round trip.
``Watch`` is held open for as long as a connection lives: its end is noticed at once, and gRPC's keepalive pings go on, so that a peer that hangs is lost within ten seconds.
Nothing is retried: a request is delivered once or not at all.
"""
from __future__ import annotations

import logging
import secrets
import struct
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent import futures
from typing import Any

import grpc
import numpy as np

from penstock import errors
from penstock.distributed.messages import MalformedMessage, Message, decode, encode
from penstock.distributed.peers import Done
from penstock.distributed.security import Tokens
from penstock.distributed.service import Service
from penstock.runtime.threads import POOL

_log = logging.getLogger("tensorflow.server")

_PATH = "/penstock.Task/"
_TOKEN = "penstock-token"
_INLINE = 8 << 20  # bytes that travel in one piece
_CHUNK = 4 << 20
_MAX_MESSAGE = 1 << 40
_TICKET = struct.Struct("<4s16sQ")
_TICKET_MAGIC = b"PSKT"
_TICKET_SECONDS = 60.0  # a reply that nobody takes is dropped
_SIZE = struct.Struct("<Q")
_KEEPALIVE = [("grpc.keepalive_time_ms", 3000), ("grpc.keepalive_timeout_ms", 4000), ("grpc.http2.ping_timeout_ms", 4000),
              ("grpc.keepalive_permit_without_calls", 1),
              ("grpc.http2.max_pings_without_data", 0)]
_SIZES = [("grpc.max_receive_message_length", _INLINE + (1 << 20)), ("grpc.max_send_message_length", _INLINE + (1 << 20))]
_CLIENT_OPTIONS = [*_KEEPALIVE, *_SIZES, ("grpc.enable_http_proxy", 0), ("grpc.enable_retries", 0), ("grpc.use_local_subchannel_pool", 1),
                   ("grpc.initial_reconnect_backoff_ms", 200), ("grpc.min_reconnect_backoff_ms", 200), ("grpc.max_reconnect_backoff_ms", 1000)]
_SERVER_OPTIONS = [*_KEEPALIVE, *_SIZES, ("grpc.http2.min_ping_interval_without_data_ms", 500), ("grpc.http2.max_ping_strikes", 0),
                   ("grpc.so_reuseport", 0)]
_ERRORS = {grpc.StatusCode.CANCELLED: errors.CancelledError, grpc.StatusCode.DEADLINE_EXCEEDED: errors.DeadlineExceededError,
           grpc.StatusCode.UNAUTHENTICATED: errors.UnauthenticatedError, grpc.StatusCode.INVALID_ARGUMENT: errors.InvalidArgumentError,
           grpc.StatusCode.RESOURCE_EXHAUSTED: errors.ResourceExhaustedError, grpc.StatusCode.UNAVAILABLE: errors.UnavailableError}


# --- large messages --------------------------------------------------------------------------------------------------

def _chunks(buffers: Iterable[Any]) -> Iterator[bytes]:
    """The bytes of a message in pieces, the size of all in front."""
    buffers = list(buffers)
    yield _SIZE.pack(sum(len(buffer) for buffer in buffers))
    for buffer in buffers:
        view = memoryview(buffer)
        for start in range(0, len(view), _CHUNK):
            yield bytes(view[start:start + _CHUNK])


def _assemble(chunks: Iterator[bytes]) -> Any:
    """The bytes that ``_chunks`` took apart. Pages of the buffer are only touched as data arrives, so a declared size alone costs nothing."""
    first = next(chunks, b"")
    if len(first) != _SIZE.size or _SIZE.unpack(first)[0] > _MAX_MESSAGE:
        raise MalformedMessage("a message in chunks begins with its size")
    buffer = np.empty(_SIZE.unpack(first)[0], np.uint8)
    position = 0
    for chunk in chunks:
        if position + len(chunk) > len(buffer):
            raise MalformedMessage(f"more than the {len(buffer)} bytes that were declared")
        buffer[position:position + len(chunk)] = np.frombuffer(chunk, np.uint8)
        position += len(chunk)
    if position != len(buffer):
        raise MalformedMessage(f"{position} of the {len(buffer)} bytes that were declared")
    return buffer


# --- the server ------------------------------------------------------------------------------------------------------

class _Threads(futures.Executor):
    """The runtime's growing pool as gRPC wants it: a handler that waits never keeps another one from starting, or the process from ending."""

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> futures.Future[Any]:
        """Starts a handler at once."""
        future: futures.Future[Any] = futures.Future()

        def work() -> None:
            try:
                future.set_result(function(*args, **kwargs))
            except BaseException as error:  # handed to whoever asks the future
                future.set_exception(error)

        POOL.submit(work)
        return future


class _Caller:
    """Who called; see ``service.Caller``."""

    def __init__(self, context: Any) -> None:
        self._context = context
        self._answered = False

    def on_gone(self, callback: Callable[[], None]) -> None:
        def ended() -> None:
            if not self._answered:
                callback()

        if not self._context.add_callback(ended):
            callback()

    def answered(self) -> None:
        """The call ends regularly."""
        self._answered = True


class GrpcServer(grpc.GenericRpcHandler):  # type: ignore[misc] # grpc has no types
    """Listens for messages and hands them to a Service."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        self._service: Service | None = None
        self._tickets: dict[bytes, tuple[float, list[Any]]] = {}
        self._watchers: set[threading.Event] = set()
        self._server = grpc.server(_Threads(), handlers=[self], options=_SERVER_OPTIONS)

    def bind(self, host: str, port: int) -> int:
        """Takes a port (0: any); returns it. UnavailableError if it is taken."""
        try:
            bound = self._server.add_insecure_port(f"{host}:{port}")
        except RuntimeError as error:
            bound, reason = 0, str(error)
        else:
            reason = "the port is taken"
        if not bound:
            raise errors.UnknownError(None, None, f"Could not start gRPC server on {host}:{port}: {reason}")
        return bound

    def start(self, service: Service) -> None:
        """Begins to answer."""
        self._service = service
        self._server.start()

    def stop(self, grace: float = 0.5) -> None:
        """Ends after the calls under way have had ``grace`` seconds."""
        for gone in list(self._watchers):
            gone.set()
        self._server.stop(grace).wait(grace + 2.0)
        self._tickets.clear()

    def service(self, call: Any) -> Any:
        """gRPC asks who handles a method."""
        method = call.method.removeprefix(_PATH)
        token = next((value for key, value in call.invocation_metadata if key == _TOKEN), "")
        refusal = self._tokens.refusal(method, token if isinstance(token, str) else "")
        if refusal:
            _log.warning("refused a call of %s: %s", method[:80], refusal)
            return _refuse(refusal)
        if method == "Call":
            return grpc.unary_unary_rpc_method_handler(self._call)
        if method == "Upload":
            return grpc.stream_unary_rpc_method_handler(self._upload)
        if method == "Take":
            return grpc.unary_stream_rpc_method_handler(self._take)
        if method == "Watch":
            return grpc.unary_unary_rpc_method_handler(self._watch)
        _log.warning("refused a call of the unknown method %s", call.method[:80])
        return None

    def _call(self, request: bytes, context: Any) -> bytes:
        try:
            return self._answer(decode(request), context)
        except MalformedMessage as error:
            return self._refuse_message(error, context)

    def _upload(self, chunks: Iterator[bytes], context: Any) -> bytes:
        try:
            return self._answer(decode(_assemble(chunks)), context)
        except (MalformedMessage, MemoryError) as error:
            return self._refuse_message(error, context)

    def _refuse_message(self, error: Exception, context: Any) -> bytes:
        _log.warning("refused a message from %s: %s", context.peer(), error)
        context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"malformed message: {error}")
        raise AssertionError("abort raises")

    def _answer(self, message: Message, context: Any) -> bytes:
        caller = _Caller(context)
        assert self._service is not None
        reply = self._service.handle(message, caller)
        caller.answered()
        try:
            buffers = encode(reply)
        except errors.OpError as error:
            context.abort(grpc.StatusCode.INTERNAL, error.message)
        size = sum(len(buffer) for buffer in buffers)
        if size <= _INLINE:
            return b"".join(buffers)
        return _TICKET.pack(_TICKET_MAGIC, self._keep(buffers), size)

    def _keep(self, buffers: list[Any]) -> bytes:
        now, ticket = time.monotonic(), secrets.token_bytes(16)
        for old in [old for old, (when, _) in list(self._tickets.items()) if now - when > _TICKET_SECONDS]:
            self._tickets.pop(old, None)
        self._tickets[ticket] = now, buffers
        return ticket

    def _take(self, ticket: bytes, context: Any) -> Iterator[bytes]:
        kept = self._tickets.pop(ticket, None)
        if kept is None:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "there is no message for this ticket")
        else:
            yield from _chunks(kept[1])

    def _watch(self, request: bytes, context: Any) -> bytes:
        gone = threading.Event()
        self._watchers.add(gone)
        if context.add_callback(gone.set):
            gone.wait()
        self._watchers.discard(gone)
        return b""


def _refuse(reason: str) -> Any:
    def handler(request: Any, context: Any) -> bytes:
        context.abort(grpc.StatusCode.UNAUTHENTICATED, reason)
        return b""

    return grpc.stream_unary_rpc_method_handler(handler)  # takes any request without reading it


# --- the client ------------------------------------------------------------------------------------------------------

class _Connection:
    """A channel to one address."""

    def __init__(self, address: str, tokens: Tokens) -> None:
        self._tokens = tokens
        self.channel = grpc.insecure_channel(address, options=_CLIENT_OPTIONS)
        self.call = self.channel.unary_unary(_PATH + "Call")
        self.upload = self.channel.stream_unary(_PATH + "Upload")
        self.take = self.channel.unary_stream(_PATH + "Take")
        self._watch_method = self.channel.unary_unary(_PATH + "Watch")
        self._watch: Any = None
        self._lock = threading.Lock()

    def metadata(self, method: str) -> list[tuple[str, str]]:
        token = self._tokens.issue(method)
        return [(_TOKEN, token)] if token else []

    def watch(self) -> None:
        """Holds a call open while there is traffic. (It also keeps gRPC's thread for asynchronous calls alive, which is slow to start.)"""
        with self._lock:
            if self._watch is None or self._watch.done():
                self._watch = self._watch_method.future(b"", metadata=self.metadata("Watch"))

    def close(self) -> None:
        with self._lock:
            if self._watch is not None:
                self._watch.cancel()
        self.channel.close()


class GrpcTransport:
    """Calls addresses over gRPC; see ``peers.Transport``."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        self._connections: dict[str, _Connection] = {}
        self._lock = threading.Lock()

    def call(self, address: str, message: Message, timeout: float | None = None, wait: bool = False) -> Message:
        """The reply to a request."""
        connection = self._connection(address)
        connection.watch()
        buffers = encode(message)
        try:
            if sum(len(buffer) for buffer in buffers) <= _INLINE:
                reply = connection.call(b"".join(buffers), timeout=timeout, metadata=connection.metadata("Call"), wait_for_ready=wait)
            else:
                reply = connection.upload(_chunks(buffers), timeout=timeout, metadata=connection.metadata("Upload"), wait_for_ready=wait)
            return self._reply(connection, reply)
        except grpc.RpcError as error:
            raise _converted(error, address, wait) from None
        except MalformedMessage as error:
            raise errors.InternalError(None, None, f"the reply of {address} is malformed: {error}") from None

    def start(self, address: str, message: Message, done: Done) -> Callable[[], None]:
        """Sends a request."""
        connection = self._connection(address)
        connection.watch()
        try:
            buffers = encode(message)
        except errors.OpError as error:
            done(None, error)
            return lambda: None
        if sum(len(buffer) for buffer in buffers) <= _INLINE:
            future = connection.call.future(b"".join(buffers), metadata=connection.metadata("Call"))
        else:
            future = connection.upload.future(_chunks(buffers), metadata=connection.metadata("Upload"))
        future.add_done_callback(lambda ended: self._ended(connection, address, ended, done))
        return future.cancel

    def _ended(self, connection: _Connection, address: str, future: Any, done: Done) -> None:
        """Runs in gRPC's own thread: what takes long goes elsewhere."""
        try:
            reply = future.result()
        except (grpc.RpcError, grpc.FutureCancelledError) as error:
            done(None, _converted(error, address))
            return
        if reply[:4] == _TICKET_MAGIC:
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
        if reply[:4] != _TICKET_MAGIC:
            return decode(reply)
        _, ticket, _ = _TICKET.unpack(reply)
        return decode(_assemble(connection.take(ticket, metadata=connection.metadata("Take"))))

    def _connection(self, address: str) -> _Connection:
        connection = self._connections.get(address)
        if connection is None:
            with self._lock:
                connection = self._connections.get(address)
                if connection is None:
                    connection = self._connections[address] = _Connection(address, self._tokens)
        return connection

    def close(self) -> None:
        """Closes all connections; calls under way end."""
        with self._lock:
            connections, self._connections = list(self._connections.values()), {}
        for connection in connections:
            connection.close()


def _converted(error: Exception, address: str, waited: bool = False) -> errors.OpError:
    if isinstance(error, grpc.FutureCancelledError):
        return errors.CancelledError(None, None, f"the call to {address} was cancelled")
    if isinstance(error, MalformedMessage):
        return errors.InternalError(None, None, f"the reply of {address} is malformed: {error}")
    code, details = error.code(), error.details()  # type: ignore[attr-defined]
    if waited and code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return errors.UnavailableError(None, None, f"nobody answers at {address}")
    return _ERRORS.get(code, errors.UnknownError)(None, None, f"{address}: {details}")
