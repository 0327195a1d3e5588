"""tf.Session("grpc://host:port"): a session whose graph is sent to a master, which runs its steps."""
from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Sequence
from typing import Any

from tensorboard.compat.proto.config_pb2 import RunMetadata, RunOptions
from tensorboard.compat.proto.graph_pb2 import GraphDef

from penstock import errors
from penstock.distributed.messages import Message
from penstock.distributed.peers import Peers, checked, deadline
from penstock.distributed.server import in_process
from penstock.distributed.transports import TransportKind, transport_kind
from penstock.graph.export import export_with_names
from penstock.graph.graph import Graph
from penstock.graph.node import Operation, Tensor
from penstock.program.devices import Device
from penstock.session.fetches import Fetches, handed_out

_CLOSE_PATIENCE = 2.0  # seconds; a master that is gone needs no good-bye
_RESET_PATIENCE = 30.0


class Remote:
    """Sessions behind targets such as ``grpc://host:port``; see ``backends.BackendKind``."""

    def connect(self, target: str, graph: Graph, config: Any) -> RemoteSession:
        """A new session; the master is called at its first use."""
        return RemoteSession(connection(target), graph, config)

    def reset(self, target: str, containers: list[str], config: Any) -> None:
        """Clears containers on all tasks of the target's cluster, and closes the target's sessions."""
        _once(target, Message("ResetAll", {"containers": [str(name) for name in containers]}))


def stop_server(target: str) -> None:
    """Tells the server behind a target to stop: its process goes on after ``server.join()``."""
    _once(target, Message("Stop"))


def _once(target: str, message: Message) -> None:
    link = connection(target)
    try:
        link.call(message, _RESET_PATIENCE)
    finally:
        link.close()


# --- how to reach a master -------------------------------------------------------------------------------------------

class _Here:
    """The caller of a service in this process, who cannot be lost; see ``service.Caller``."""

    def __init__(self) -> None:
        self.answer: Message | None = None

    def reply(self, message: Message) -> None:
        """Keeps the answer."""
        self.answer = message

    def on_gone(self, callback: Callable[[], None]) -> None:
        """Never happens."""

    on_lost = on_gone


class _InProcess:
    """A server of this process: no network, no bytes."""

    def __init__(self, service: Any) -> None:
        self._service = service

    def call(self, message: Message, timeout: float | None = None) -> Message:
        caller = _Here()
        self._service.handle(message, caller)
        assert caller.answer is not None, "what a client asks for is answered at once"
        return checked(caller.answer)

    wait_for = call

    def close(self) -> None:
        """Nothing to close."""


class _Remote:
    """A server elsewhere."""

    def __init__(self, target: str, kind: TransportKind) -> None:
        self._target = target
        self._transport = kind.transport()
        self._peers = Peers({target: target.partition("://")[2]}, self._transport)

    def call(self, message: Message, timeout: float | None = None) -> Message:
        return self._peers.call(self._target, message, timeout)

    def wait_for(self, message: Message, timeout: float) -> Message:
        return self._peers.wait_for(self._target, message, timeout)

    def close(self) -> None:
        self._transport.close()


def connection(target: str) -> Any:
    """How to reach the server behind a target: directly, if it lives in this process."""
    scheme, _, address = target.partition("://")
    kind = transport_kind(scheme)
    try:
        kind.check(address)
    except ValueError as error:
        raise errors.InvalidArgumentError(None, None, f"{target!r} names no task of a cluster: {error}") from None
    service = in_process.get(target)
    return _Remote(target, kind) if service is None else _InProcess(service)


# --- the session -----------------------------------------------------------------------------------------------------

class RemoteSession:
    """A session on a master; see ``backends.Backend``.

    Nodes are sent once, before the first step after they were made. If the program changed a node that was sent already
    (graph surgery, or a loop that got a gradient), all of the graph is sent anew; what the session has on its tasks (queues,
    iterators, random states) is not touched by that.
    """

    def __init__(self, link: Any, graph: Graph, config: Any) -> None:
        self._link, self._graph, self._config = link, graph, config
        self._lock = threading.Lock()
        self._session: str | None = None
        self._version = -1
        self._sent: dict[str, bytes] = {}  # node -> digest of its proto
        self._name_of: Callable[[Operation | Tensor], str] = lambda element: element.name

    def run(self, wanted: Fetches, feeds: dict[Tensor, Any], options: Any, run_metadata: Any) -> list[Any]:
        """Runs a step on the master."""
        session, name_of = self._up_to_date()
        message = Message("RunStep", {
            "session": session, "feeds": _names(name_of, list(feeds)), "fetches": _names(name_of, wanted.tensors),
            "targets": _names(name_of, wanted.targets),
            "timeout_ms": options.timeout_in_ms if options is not None else 0,
            "trace": options is not None and run_metadata is not None and options.trace_level > RunOptions.NO_TRACE,
            "partition_graphs": options is not None and run_metadata is not None and options.output_partition_graphs}, [], list(feeds.values()))
        reply = self._call(message)
        if run_metadata is not None:
            run_metadata.CopyFrom(RunMetadata.FromString(bytes(reply.blobs[0])) if reply.blobs else RunMetadata())
        values = reply.tensors
        return [handed_out(values, index) for index in range(len(values))]

    def partial_run_setup(self, wanted: Fetches, feeds: list[Tensor]) -> str:
        """Prepares a step that is run in parts."""
        session, name_of = self._up_to_date()
        return self._call(Message("PartialRunSetup", {"session": session, "feeds": _names(name_of, feeds), "fetches": _names(name_of, wanted.tensors),
                                                      "targets": _names(name_of, wanted.targets)})).fields["handle"]

    def partial_run(self, handle: str, wanted: Fetches, feeds: dict[Tensor, Any]) -> list[Any]:
        """Goes on with a step that is run in parts."""
        session, name_of = self._up_to_date()
        values = self._call(Message("PartialRun", {
            "session": session, "handle": handle, "feeds": _names(name_of, list(feeds)), "fetches": _names(name_of, wanted.tensors),
            "targets": _names(name_of, wanted.targets)}, [], list(feeds.values()))).tensors
        return [handed_out(values, index) for index in range(len(values))]

    def _call(self, message: Message) -> Message:
        try:
            return self._link.call(message)
        except errors.OpError as error:
            raise self._localised(error) from None

    def list_devices(self) -> list[Device]:
        """The devices of all tasks that the session may use."""
        with self._lock:
            session = self._open()
        reply = self._link.call(Message("ListDevices", {"session": session}))
        return [Device(*fields) for fields in reply.fields["devices"]]

    def close(self) -> None:
        """Ends the session on the master."""
        try:
            if self._session is not None:
                self._link.call(Message("CloseSession", {"session": self._session}), _CLOSE_PATIENCE)
        except errors.OpError:
            self._session = None  # the master is gone, and with it the session
        finally:
            self._link.close()

    # --- the graph ---------------------------------------------------------------------------------------------------

    def _up_to_date(self) -> tuple[str, Callable[[Operation | Tensor], str]]:
        with self._lock:
            session = self._open()
            version = self._graph.version
            if version != self._version:
                graph_def, self._name_of = export_with_names(self._graph)
                session = self._send(graph_def)
                self._version = version
            return session, self._name_of

    def _open(self) -> str:
        if self._session is None:
            with deadline(self._config.operation_timeout_in_ms) as patience:
                reply = self._link.wait_for(Message("CreateSession", {}, [self._config.SerializeToString()]), patience)
            self._session, self._sent = reply.fields["session"], {}
        return self._session

    def _send(self, graph_def: GraphDef) -> str:
        digests = {node.name: hashlib.blake2b(node.SerializeToString(deterministic=True), digest_size=16).digest() for node in graph_def.node}
        anew = any(digests.get(name) != digest for name, digest in self._sent.items())
        if anew:
            self._sent = {}
        session = self._open()
        new = GraphDef(versions=graph_def.versions)
        new.node.extend(node for node in graph_def.node if node.name not in self._sent)
        if any(value.HasField("func") for node in new.node for value in node.attr.values()):
            new.library.CopyFrom(graph_def.library)
        if new.node:
            self._link.call(Message("ExtendSession", {"session": session, "anew": anew}, [new.SerializeToString()]))
            self._sent = digests
        return session

    def _localised(self, error: errors.OpError) -> errors.OpError:
        """An error of the cluster as one of this program: with the operation of its graph, and the line that made it."""
        op = self._graph._by_name.get(getattr(error, "op_name", None) or "")
        lines = [line for line in error.message.split("\n") if not line.startswith("  made at: ")]
        if op is not None and op.origin:
            place = next((index for index, line in enumerate(lines) if line.startswith("  try: ")), len(lines))
            lines.insert(place, f"  made at: {op.origin}")
        return type(error)(None, op, "\n".join(lines))


def _names(name_of: Callable[[Operation | Tensor], str], elements: Sequence[Any]) -> list[str]:
    return [name_of(element) for element in elements]
