"""A server's end of gRPC: other tasks connect, and their requests are handed to a Service."""
from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent import futures
from typing import Any

import grpc

from penstock import errors
from penstock.distributed.carrier_grpc import StreamCarrier
from penstock.distributed.carrier_socket import SocketCarrier
from penstock.distributed.grpc_common import CONNECT, LARGEST, server_options
from penstock.distributed.link import Link, Served
from penstock.distributed.messages import MalformedMessage, Message
from penstock.distributed.security import Access, Greeting
from penstock.distributed.service import Service
from penstock.distributed.unix_sockets import UnixListener
from penstock.distributed.wire import OFFER
from penstock.execute.threads import POOL

_PATIENCE = 10.0  # seconds that one may take to say who one is
_MAX_STRANGERS = 128  # who may do so at the same time
_log = logging.getLogger("tensorflow.server")


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


class GrpcServer(grpc.GenericRpcHandler):  # type: ignore[misc] # grpc has no types
    """Listens for other tasks; ``foreign`` answers calls of other protocols (TensorFlow's), by their full names."""

    def __init__(self, access: Access, foreign: Callable[[Any], Any] | None = None) -> None:
        self._access, self._foreign = access, foreign
        self._service: Service | None = None
        self._listener = UnixListener()
        self._connections: set[_Connection] = set()
        self._strangers = _Strangers()
        self._server = grpc.server(_Threads(), handlers=[self], options=server_options(access.foreign))

    def bind(self, host: str, port: int) -> int:
        """Takes a port (0: any); returns it. UnknownError if it is taken."""
        tls = self._access.tls
        try:
            if tls is None:
                bound = self._server.add_insecure_port(f"{host}:{port}")
            else:
                bound = self._server.add_secure_port(f"{host}:{port}", grpc.ssl_server_credentials(
                    [(tls.key, tls.certificate)], root_certificates=tls.authority, require_client_auth=True))
        except RuntimeError as error:
            bound, reason = 0, str(error)
        else:
            reason = "the port is taken"
        if not bound:
            self._listener.close()
            raise errors.UnknownError(None, None, f"Could not start gRPC server on {host}:{port}: {reason}")
        return bound

    def start(self, service: Service) -> None:
        """Begins to answer."""
        self._service = service
        self._server.start()

    def stop(self, grace: float = 0.5) -> None:
        """Ends after what is being answered has had ``grace`` seconds."""
        self._listener.close()
        stopped = self._server.stop(grace)
        for connection in list(self._connections):
            connection.drain(grace)
        stopped.wait(grace + 2.0)

    def send_strangers_away(self, now: float) -> None:
        """Ends connections that have been silent for too long; to be called now and then."""
        self._strangers.send_away(now)

    def service(self, call: Any) -> Any:
        """gRPC asks who handles a method."""
        if call.method == CONNECT:
            return grpc.stream_stream_rpc_method_handler(self._connect)
        handler = self._foreign(call) if self._foreign is not None else None
        if handler is None:
            _log.warning("refused a call of the unknown method %s", call.method[:80])
        return handler

    def _connect(self, requests: Iterator[bytes], context: Any) -> Iterator[bytes]:
        """A task connects; ends with the connection."""
        greeting = Greeting(self._access.secret)
        self._strangers.enter(context)
        try:
            hello = next(requests, None)
            if hello is None:
                return  # it has hung up, or was sent away
            yield greeting.answer(hello)
            greeting.finish(next(requests, b""))
        except MalformedMessage as error:
            _refuse(context, grpc.StatusCode.INVALID_ARGUMENT, str(error))
        except errors.UnauthenticatedError as error:
            _refuse(context, grpc.StatusCode.UNAUTHENTICATED, error.message)
        finally:
            self._strangers.leave(context)
        connection = _Connection(StreamCarrier(greeting.seal(b"server"), greeting.seal(b"client"), self._serve), self._serve)
        self._connections.add(connection)
        context.add_callback(lambda: self._lose(connection))
        POOL.submit(lambda: connection.read(requests, context))
        ticket = self._listener.ticket(connection.accepted) if self._listener.name else b""
        connection.stream.send(OFFER, 0, [ticket + self._listener.name.encode()])
        yield from connection.stream.outgoing()

    def _lose(self, connection: _Connection) -> None:
        connection.lost()
        self._connections.discard(connection)

    def _serve(self, message: Message, served: Served) -> None:
        """In the thread that reads."""
        assert self._service is not None
        self._service.serve(message, served)


class _Strangers:
    """Who has connected and not said yet who it is: not many at a time, and not for long."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._until: dict[Any, float] = {}

    def enter(self, context: Any) -> None:
        """Somebody has connected; refused if too many have."""
        with self._lock:
            full = len(self._until) >= _MAX_STRANGERS
            if not full:
                self._until[context] = time.monotonic() + _PATIENCE
        if full:
            _refuse(context, grpc.StatusCode.UNAVAILABLE, f"{_MAX_STRANGERS} others have connected and not said yet who they are")

    def leave(self, context: Any) -> None:
        """It is known who it is, or it has been refused."""
        with self._lock:
            self._until.pop(context, None)

    def send_away(self, now: float) -> None:
        """Cancels those who have not said anything in time."""
        with self._lock:
            late = [context for context, until in self._until.items() if until < now]
        for context in late:
            _log.warning("refused a connection from %s: it has not said in %g s who it is", context.peer(), _PATIENCE)
            context.cancel()


class _Connection:
    """A task that is connected: by the stream, and by a Unix socket if it has come that way too."""

    def __init__(self, stream: StreamCarrier, serve: Callable[[Message, Served], None]) -> None:
        self.stream, self._serve = stream, serve
        self._lock = threading.Lock()
        self._socket: SocketCarrier | None = None
        self._ended = False

    def accepted(self, connection: Any) -> None:
        """The client has taken up the offer of a socket."""
        carrier = SocketCarrier(connection, self.stream.close)
        carrier.link = Link(carrier, self._serve)
        with self._lock:
            self._socket = carrier
            ended = self._ended
        carrier.start()
        if ended:
            carrier.close()

    def read(self, requests: Iterator[bytes], context: Any) -> None:
        """Takes what comes over the stream."""
        try:
            for piece in requests:
                if len(piece) > LARGEST:
                    raise MalformedMessage(f"a piece of {len(piece)} bytes")
                self.stream.received(piece)
        except MalformedMessage as error:
            _log.warning("refused a message from %s: %s", context.peer(), error)
            context.cancel()
        except Exception as error:  # gRPC raises a bare Exception when the stream is gone
            _log.debug("a connection has ended: %r", error)

    def drain(self, seconds: float) -> None:
        """Lets what is being answered be answered, then hangs up."""
        self.stream.link.drain(seconds)
        if self._socket is not None:
            self._socket.drain(seconds)
        self.lost()

    def lost(self) -> None:
        """The connection has ended."""
        with self._lock:
            self._ended, carrier = True, self._socket
        self.stream.close()
        self.stream.link.lost(errors.UnavailableError(None, None, "connection lost"))
        if carrier is not None:
            carrier.close()


def _refuse(context: Any, code: Any, reason: str) -> None:
    _log.warning("refused a connection from %s: %s", context.peer(), reason)
    context.abort(code, reason)
