"""Servers: tasks of a cluster in the process of a program; and a function of it that gets what prints write."""
from __future__ import annotations

import ctypes

from penstock.capi.entries import entry, kind
from penstock.capi.memory import parsed, read_bytes
from penstock.distributed.server import Server
from penstock.distributed.server_def import ServerDef
from penstock.errors import InvalidArgumentError
from penstock.ops.flow.printing import add_print_listener


@kind("TF_Server*")
class ServerState:
    """TF_Server."""

    def __init__(self, server: Server) -> None:
        self.server = server


@entry
def TF_NewServer(proto: int | None, proto_len: int) -> ServerState:
    """A task that does not serve yet; its port is taken."""
    try:
        definition = parsed(ServerDef, read_bytes(proto, proto_len), "TF_NewServer")
    except InvalidArgumentError:
        raise InvalidArgumentError(None, None, "Could not parse provided bytes into a ServerDef protocol buffer") from None
    return ServerState(Server(definition, start=False))


@entry
def TF_ServerStart(server: ServerState) -> None:
    """Begins to serve."""
    server.server.start()


@entry
def TF_ServerStop(server: ServerState) -> None:
    """Ends it: what TensorFlow's servers cannot once they have begun."""
    server.server.stop()


@entry
def TF_ServerJoin(server: ServerState) -> None:
    """Waits until it ends."""
    server.server.join()


@entry
def TF_ServerTarget(server: ServerState) -> str:
    """What sessions connect to."""
    return server.server.target


@entry
def TF_DeleteServer(server: ServerState | None) -> None:
    """Ends it."""
    if server is not None:
        server.server.stop()


_Listener = ctypes.CFUNCTYPE(None, ctypes.c_char_p)


@entry
def TF_RegisterLogListener(listener: int | None) -> None:
    """From now on the function gets what ``tf.print`` would write, which is not written."""
    if listener:
        call = _Listener(listener)
        add_print_listener(lambda text: call(text.encode()))
