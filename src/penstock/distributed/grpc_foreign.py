"""TensorFlow's clients over gRPC: one call per request; see ``foreign.py`` for what they may do."""
from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import grpc
from google.protobuf.message import DecodeError

from penstock import errors
from penstock.distributed.foreign import ForeignMaster, said
from penstock.distributed.security import Access

_log = logging.getLogger("tensorflow.server")
_PATH = "/tensorflow.MasterService/"
_CODES = {code.value[0]: code for code in grpc.StatusCode}


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
    """Finds the handler of a call of TensorFlow's MasterService."""

    def __init__(self, master: ForeignMaster, access: Access) -> None:
        self._master = master
        self._served = access.foreign

    def __call__(self, call: Any) -> Any:
        """The handler; None if it is no such call."""
        method = call.method.removeprefix(_PATH)
        if method == call.method or not self._master.answers(method):
            return None

        def refuse(requests: Any, context: Any) -> None:
            reason = "this cluster has a secret, which TensorFlow's clients cannot show; PENSTOCK_FOREIGN_CLIENTS=1 lets them in"
            _log.warning("refused %s of %s: %s", method, context.peer(), reason)
            context.abort(grpc.StatusCode.UNAUTHENTICATED, reason)

        if not self._served:
            return grpc.stream_stream_rpc_method_handler(refuse)  # a stream, of which nothing is read
        return grpc.unary_unary_rpc_method_handler(lambda request, context: self._answer(method, request, context))

    def _answer(self, method: str, request: bytes, context: Any) -> bytes:
        caller = _Caller(context)
        try:
            reply = self._master.handle(method, request, caller)
            caller.answered = True
            return reply
        except errors.OpError as error:
            code, text = _CODES[error.error_code], said(error)
        except DecodeError as error:
            _log.warning("refused a malformed %s of %s: %s", method, context.peer(), error)
            code, text = grpc.StatusCode.INVALID_ARGUMENT, f"malformed {method}: {error}"
        except Exception as error:  # a bug must not look like a lost task
            _log.exception("%s failed", method)
            code, text = grpc.StatusCode.INTERNAL, f"{type(error).__name__} in {method}: {error}"
        caller.answered = True
        context.abort(code, text)
        raise AssertionError("abort raises")
