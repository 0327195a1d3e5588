"""A server's end of gRPC: other tasks connect, and their requests are handed to a Service."""
from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from concurrent import futures
from typing import Any

import grpc

from penstock import errors
from penstock.distributed.carrier_grpc import StreamCarrier
from penstock.distributed.carrier_socket import SocketCarrier
from penstock.distributed.grpc_common import CONNECT, LARGEST
from penstock.distributed.link import Link, Served
from penstock.distributed.messages import MalformedMessage, Message
from penstock.distributed.security import Access, Certificates, Greeting
from penstock.distributed.service import Service
from penstock.distributed.strangers import RateLimitedLog, Strangers
from penstock.distributed.unix_sockets import UnixListener
from penstock.distributed.wire import OFFER
from penstock.execute.threads import POOL

_log = logging.getLogger("tensorflow.server")


class Threads(futures.Executor):
    """The runtime's growing pool as gRPC wants it: a handler that waits never keeps another one from starting, or the process from ending."""

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> futures.Future[Any]:
        """Starts a handler at once."""
        future: futures.Future[Any] = futures.Future()

        def work() -> None:
            try:
                future.set_result(function(*args, **kwargs))
            except BaseException as error:  # handed to the thread that asks the future
                future.set_exception(error)

        POOL.submit(work)
        return future


class GrpcServer(grpc.GenericRpcHandler):  # type: ignore[misc] # grpc has no types
    """Listens for other tasks; ``foreign`` answers calls of other protocols (TensorFlow's), by their full names."""

    def __init__(self, access: Access, options: list[tuple[str, int]], foreign: Callable[[Any], Any]) -> None:
        self._access, self._foreign = access, foreign
        self._service: Service | None = None
        self._listener = UnixListener()
        self._connections: set[_Connection] = set()
        self._log = RateLimitedLog(_log)
        self._strangers = Strangers(self._log)
        self._server = grpc.server(Threads(), handlers=[self], options=options)

    def bind(self, host: str, port: int) -> int:
        """Takes a port (0: any); returns it. UnknownError if it is taken."""
        try:
            return bind(self._server, self._access.tls, host, port)
        except errors.UnknownError:
            self._listener.close()
            raise

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
        handler = self._foreign(call)
        if handler is None:
            self._log.warning("refused a call of the unknown method %s", call.method[:80])
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
            yield greeting.finish(next(requests, b""))
        except MalformedMessage as error:
            self._refuse(context, grpc.StatusCode.INVALID_ARGUMENT, str(error))
        except errors.UnauthenticatedError as error:
            self._refuse(context, grpc.StatusCode.UNAUTHENTICATED, error.message)
        finally:
            self._strangers.leave(context)
        connection = _Connection(StreamCarrier(greeting.seal(b"server"), greeting.seal(b"client"), self._serve), self._serve)
        self._connections.add(connection)
        context.add_callback(lambda: self._lose(connection))
        POOL.submit(lambda: connection.read(requests, context))
        ticket = self._listener.ticket(connection.accepted) if self._listener.name else b""
        connection.stream.send(OFFER, 0, [ticket + self._listener.name.encode()])
        yield from connection.stream.outgoing()

    def _refuse(self, context: Any, code: Any, reason: str) -> None:
        self._log.warning("refused a connection from %s: %s", context.peer(), reason)
        context.abort(code, reason)

    def _lose(self, connection: _Connection) -> None:
        connection.lost()
        self._connections.discard(connection)

    def _serve(self, message: Message, served: Served) -> None:
        """In the thread that reads."""
        assert self._service is not None
        self._service.serve(message, served)


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
            if context.is_active():  # a bug: what is not read any more must not look as if it were
                _log.exception("a connection from %s is given up", context.peer())
                context.cancel()
            else:
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


def bind(server: Any, tls: Certificates | None, host: str, port: int) -> int:
    """Has a gRPC server take a port (0: any); returns it. UnknownError if it is taken."""
    try:
        if tls is None:
            bound = server.add_insecure_port(f"{host}:{port}")
        else:
            bound = server.add_secure_port(f"{host}:{port}", grpc.ssl_server_credentials(
                [(tls.key, tls.certificate)], root_certificates=tls.authority, require_client_auth=True))
        reason = "the port is taken"
    except RuntimeError as error:
        bound, reason = 0, str(error)
    if not bound:
        raise errors.UnknownError(None, None, f"Could not start gRPC server on {host}:{port}: {reason}")
    return int(bound)
