"""Where TensorFlow's clients come in, and which of them; see ``grpc_foreign.py`` for the two doors."""
from __future__ import annotations

import os
from typing import Any

import grpc

from penstock.distributed.foreign import ForeignMaster
from penstock.distributed.grpc_common import foreign_options
from penstock.distributed.grpc_foreign import ForeignCalls
from penstock.distributed.grpc_server import Threads, bind
from penstock.distributed.peer_user import is_own_user
from penstock.distributed.security import Access
from penstock.errors import InvalidArgumentError

_PORT = "PENSTOCK_FOREIGN_PORT"
_LAST_PORT = 65535


class ForeignDoors:
    """The door at the port of a task, and the one at a port of its own if PENSTOCK_FOREIGN_PORT asks for it; ``port`` is that port, or 0."""

    def __init__(self, master: ForeignMaster, access: Access, host: str, task_port: int, open_files: int) -> None:
        self._access, self._task_port = access, task_port
        self.at_task = ForeignCalls(master, self._refusal)
        self._at_own = ForeignCalls(master, lambda peer: "")
        self._server: Any = None
        self.port = 0
        wanted = _wanted_port()
        if wanted is not None:
            self._server = grpc.server(Threads(), handlers=[_Handler(self._at_own)], options=foreign_options(open_files))
            self.port = bind(self._server, access.tls, access.listening_host(host), wanted)

    def __str__(self) -> str:
        """Which of them may connect."""
        if self.port:
            reach = "who have a certificate" if self._access.tls else "on this machine" if self._access.local else "who can reach it"
            return f"those {reach}, at port {self.port}"
        return "those of this user" if self._access.personal else "those who have a certificate" if self._access.tls else "none"

    def _refusal(self, peer: str) -> str:
        """Why a client is not served at the port of the task."""
        if self._access.tls is not None or (self._access.personal and is_own_user(peer, self._task_port)):
            return ""
        shown = "runs as another user" if self._access.personal else "cannot show this cluster's secret"
        return f"a client of TensorFlow's that {shown} is not served here; {_PORT} in the server's environment opens a port for such clients"

    def start(self) -> None:
        """Begins to answer at the port of its own."""
        if self._server is not None:
            self._server.start()

    def send_away(self, now: float) -> None:
        """Ends calls whose request does not come; to be called now and then."""
        self.at_task.send_away(now)
        self._at_own.send_away(now)

    def stop(self, grace: float = 0.5) -> None:
        """Ends after what is being answered has had ``grace`` seconds."""
        if self._server is not None:
            self._server.stop(grace).wait(grace + 2.0)


class _Handler(grpc.GenericRpcHandler):  # type: ignore[misc] # grpc has no types
    def __init__(self, calls: ForeignCalls) -> None:
        self._calls = calls

    def service(self, call: Any) -> Any:
        """gRPC asks who handles a method."""
        return self._calls(call)


def _wanted_port() -> int | None:
    text = os.environ.get(_PORT)
    if not text:
        return None
    if not (text.isascii() and text.isdigit()) or int(text) > _LAST_PORT:
        raise InvalidArgumentError(None, None, f"{_PORT} is {text!r}, and should be a port, or 0 for any that is free")
    return int(text)
