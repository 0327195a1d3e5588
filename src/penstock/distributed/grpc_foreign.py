"""TensorFlow's clients over gRPC: one call per request; see ``foreign.py`` for what they may do.

They come in by one of two doors. At the port of the tasks those are served who can be told to be friends without a secret: processes of the
server's own user, and holders of a certificate; they say no more at a time than a task does. PENSTOCK_FOREIGN_PORT opens a port of its own, at which
every client that can reach it is served, and requests may be large.

A request is not read before there is room for it: so many are in work at a time, with so many bytes, and so many are being read.
"""
from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import grpc
from google.protobuf.message import DecodeError

from penstock import errors
from penstock.distributed.foreign import ForeignMaster, message_for_clients
from penstock.distributed.strangers import RateLimitedLog

_log = logging.getLogger("tensorflow.server")
_PATH = "/tensorflow.MasterService/"
_CODES = {code.value[0]: code for code in grpc.StatusCode}
MAX_CALLS = 64  # in work at a time
MAX_READS = 2  # requests that are being read at a time: they may be large
MAX_BYTES = 256 << 20  # of requests in work, beyond which no further one is read: what is made of a request takes three times as much besides
READ_PATIENCE = 60.0  # seconds that a request may wait to be read, and may take to arrive


class _Caller:
    """Who called; see ``service.Caller``."""

    def __init__(self, context: Any) -> None:
        self._context = context
        self.answered = False

    def on_gone(self, callback: Callable[[], None]) -> None:
        """Has ``callback`` called when the client gives up."""
        def ended() -> None:
            if not self.answered:
                callback()

        if not self._context.add_callback(ended):
            callback()


class ForeignCalls:
    """Finds the handler of a call of TensorFlow's MasterService; ``refusal(peer)`` says why a client is not served, "" if it is."""

    def __init__(self, master: ForeignMaster, refusal: Callable[[str], str]) -> None:
        self._master, self._refusal = master, refusal
        self._log = RateLimitedLog(_log)
        self._calls = threading.Semaphore(MAX_CALLS)
        self._room = threading.Condition()  # guards what follows
        self._reading: dict[Any, float] = {}  # context -> until when
        self._bytes = 0  # of requests in work

    def __call__(self, call: Any) -> Any:
        """The handler; None for any other call."""
        method = call.method.removeprefix(_PATH)
        if method == call.method or not self._master.answers(method):
            return None
        # A stream, though it is one request: so it is this side that says when it is read.
        return grpc.stream_unary_rpc_method_handler(lambda requests, context: self._serve(method, requests, context))

    def send_away(self, now: float) -> None:
        """Ends calls whose request does not come; to be called now and then."""
        for context in [context for context, until in list(self._reading.items()) if until < now]:
            self._log.warning("refused a call of %s: its request takes more than %g s", context.peer(), READ_PATIENCE)
            context.cancel()

    def _serve(self, method: str, requests: Iterator[bytes], context: Any) -> bytes:
        reason = self._refusal(context.peer())
        if reason:
            self._refuse(method, context, grpc.StatusCode.UNAUTHENTICATED, reason)
        if not self._calls.acquire(blocking=False):
            self._refuse(method, context, grpc.StatusCode.RESOURCE_EXHAUSTED, f"{MAX_CALLS} calls of TensorFlow's clients are in work: try again")
        try:
            request = self._read(method, requests, context)
            try:
                return self._answer(method, request, context)
            finally:
                self._make_room(len(request))
        finally:
            self._calls.release()

    def _refuse(self, method: str, context: Any, code: Any, reason: str) -> None:
        self._log.warning("refused %s of %s: %s", method, context.peer(), reason)
        context.abort(code, reason)

    def _read(self, method: str, requests: Iterator[bytes], context: Any) -> bytes:
        """The request, whose bytes are counted until ``_make_room``."""
        with self._room:
            has_room = self._room.wait_for(lambda: len(self._reading) < MAX_READS and self._bytes < MAX_BYTES, READ_PATIENCE)
            if has_room:
                self._reading[context] = time.monotonic() + READ_PATIENCE
        if not has_room:
            self._refuse(method, context, grpc.StatusCode.RESOURCE_EXHAUSTED, "too many, or too large, requests are in work: try again")
        request = None
        try:
            request = next(requests, None)
        finally:
            with self._room:
                del self._reading[context]
            self._make_room(-len(request or b""))
        if request is None:
            self._refuse(method, context, grpc.StatusCode.INVALID_ARGUMENT, f"{method} without a request")
        assert request is not None
        return request

    def _make_room(self, freed: int) -> None:
        with self._room:
            self._bytes -= freed
            self._room.notify_all()

    def _answer(self, method: str, request: bytes, context: Any) -> bytes:
        caller = _Caller(context)
        try:
            reply = self._master.handle(method, request, caller)
            caller.answered = True
            return reply
        except errors.OpError as error:
            code, text = _CODES[error.error_code], message_for_clients(error)
        except DecodeError as error:
            self._log.warning("refused a malformed %s of %s: %s", method, context.peer(), error)
            code, text = grpc.StatusCode.INVALID_ARGUMENT, f"malformed {method}: {error}"
        except Exception as error:  # a bug must not look like a lost task
            _log.exception("%s failed", method)
            code, text = grpc.StatusCode.INTERNAL, f"{type(error).__name__} in {method}: {error}"
        caller.answered = True
        context.abort(code, text)
        raise AssertionError("abort raises")
