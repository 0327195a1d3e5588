"""A server's end of gRPC: takes messages from the network and hands them to a Service."""
from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from concurrent import futures
from typing import Any

import grpc

from penstock import errors
from penstock.distributed.grpc_common import (
    INLINE,
    PATH,
    SERVER_OPTIONS,
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
from penstock.distributed.security import Tokens
from penstock.distributed.service import Service
from penstock.distributed.shared_memory import SharedFiles, take
from penstock.runtime.threads import POOL

_log = logging.getLogger("tensorflow.server")
_TICKET_SECONDS = 60.0  # a reply that nobody takes is dropped


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
        self._files = SharedFiles()
        self._watchers: set[threading.Event] = set()
        self._server = grpc.server(_Threads(), handlers=[self], options=SERVER_OPTIONS)

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
        self._files.close()

    def service(self, call: Any) -> Any:
        """gRPC asks who handles a method."""
        method = call.method.removeprefix(PATH)
        token = next((value for key, value in call.invocation_metadata if key == TOKEN), "")
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
        if method == "Probe":
            return grpc.unary_unary_rpc_method_handler(self._probe)
        if method == "Watch":
            return grpc.unary_unary_rpc_method_handler(self._watch)
        _log.warning("refused a call of the unknown method %s", call.method[:80])
        return None

    def _call(self, request: bytes, context: Any) -> bytes:
        try:
            data = take(request[4:].decode("ascii", "replace")) if request[:4] == SHARED_MAGIC else request
            return self._answer(decode(data), context)
        except MalformedMessage as error:
            return self._refuse_message(error, context)

    def _upload(self, chunks: Iterator[bytes], context: Any) -> bytes:
        try:
            return self._answer(decode(assemble(chunks)), context)
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
        if size >= SHARED_MIN and any(key == SHARED for key, _ in context.invocation_metadata()):
            name = self._files.write(buffers)
            if name is not None:
                return SHARED_MAGIC + name.encode()
        if size <= INLINE:
            return b"".join(buffers)
        return TICKET.pack(TICKET_MAGIC, self._keep(buffers), size)

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
            yield from chunks_of(kept[1])

    def _probe(self, request: bytes, context: Any) -> bytes:
        try:
            return take(request.decode("ascii", "replace")).tobytes()
        except MalformedMessage:
            return b""  # it was written on another host

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
