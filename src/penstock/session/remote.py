"""The back end of ``tf.Session("grpc://host:port")``: the graph goes, as it grows, to a master, which runs the steps."""
from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Sequence
from typing import Any

from tensorboard.compat.proto.config_pb2 import RunMetadata
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.node_def_pb2 import NodeDef

from penstock import errors
from penstock.distributed.client import Connection, call_once, connection
from penstock.distributed.messages import Message
from penstock.distributed.peers import deadline
from penstock.execute.environment import Environment
from penstock.execute.pipeline import Pipeline
from penstock.execute.probe import Probe
from penstock.graph.export import export_functional
from penstock.graph.graph import Graph
from penstock.graph.node import Tensor
from penstock.program.devices import Device
from penstock.program.ir import prune
from penstock.program.passes import options_of
from penstock.session.backend import PLAIN, StepOptions
from penstock.session.fetches import Fetches
from penstock.session.probing import ToldNodes, inner_operations
from penstock.session.results import hand_out

_CLOSE_PATIENCE = 2.0  # seconds; a master that is gone needs no good-bye


class Remote:
    """Sessions behind targets; see ``backend.BackendKind``."""

    def connect(self, target: str, graph: Graph, config: Any) -> RemoteBackend:
        """A new session; the master is called at its first use."""
        return RemoteBackend(connection(target), graph, config)

    def reset(self, target: str, containers: list[str], config: Any) -> None:
        """Clears containers on all tasks of the target's cluster, and closes the target's sessions."""
        call_once(target, Message("ResetAll", {"containers": [str(name) for name in containers]}))


class RemoteBackend:
    """A session on a master; see ``backend.Backend``.

    Nodes are sent once, before the first step after they were made. If the program changed a node that was sent already
    (graph surgery, or a loop that got a gradient), all of the graph is sent anew; what the session has on its tasks (queues,
    iterators, random states) is not touched by that.
    """

    def __init__(self, link: Connection, graph: Graph, config: Any) -> None:
        self._link, self._graph, self._config = link, graph, config
        self._lock = threading.Lock()
        self._session: str | None = None
        self._version = (-1, -1)
        self._sent: dict[str, bytes] = {}  # node -> digest of its proto

    def run(self, wanted: Fetches, feeds: dict[Tensor, Any], options: StepOptions) -> tuple[list[Any], RunMetadata | None]:
        """Runs a step on the master."""
        reply = self._call(self._run_step(wanted, feeds, options))
        return hand_out(reply.tensors), RunMetadata.FromString(bytes(reply.blobs[0])) if reply.blobs else None

    def run_probed(self, wanted: Fetches, feeds: dict[Tensor, Any], probe: Probe) -> list[Any]:
        """Runs a step on the master, whose tasks tell of their nodes; see ``probing.py``."""
        message = self._run_step(wanted, feeds, PLAIN)
        message.fields["probe"] = probe.waits
        told = ToldNodes(self._graph, prune(wanted.tensors, wanted.targets, list(feeds)), probe)
        return hand_out(self._call(message, told.answer).tensors)

    def _run_step(self, wanted: Fetches, feeds: dict[Tensor, Any], options: StepOptions) -> Message:
        session = self._up_to_date()
        return Message("RunStep", {
            "session": session, "feeds": _names(list(feeds)), "fetches": _names(wanted.tensors),
            "targets": _names(wanted.targets), "timeout_ms": options.timeout_ms, "trace": options.trace,
            "partition_graphs": options.partition_graphs}, [], list(feeds.values()))

    def partial_run_setup(self, wanted: Fetches, feeds: list[Tensor]) -> str:
        """Prepares a step that is run in parts."""
        session = self._up_to_date()
        return self._call(Message("PartialRunSetup", {"session": session, "feeds": _names(feeds), "fetches": _names(wanted.tensors),
                                                      "targets": _names(wanted.targets)})).fields["handle"]

    def partial_run(self, handle: str, wanted: Fetches, feeds: dict[Tensor, Any]) -> list[Any]:
        """Goes on with a step that is run in parts."""
        session = self._up_to_date()
        reply = self._call(Message("PartialRun", {
            "session": session, "handle": handle, "feeds": _names(list(feeds)), "fetches": _names(wanted.tensors),
            "targets": _names(wanted.targets)}, [], list(feeds.values())))
        return hand_out(reply.tensors)

    def _call(self, message: Message, answer: Callable[[Message], Message] | None = None) -> Message:
        try:
            return self._link.call(message) if answer is None else self._link.converse(message, answer)
        except errors.OpError as error:
            raise self._as_local_error(error) from None

    def list_devices(self) -> list[Device]:
        """The devices of all tasks that the session may use."""
        with self._lock:
            session = self._open()
        reply = self._link.call(Message("ListDevices", {"session": session}))
        return [Device(*fields) for fields in reply.fields["devices"]]

    @property
    def pipeline(self) -> Pipeline:
        """Plans as the master does, over the devices of all tasks; no step of the session runs by it."""
        config = self._config
        return Pipeline(Environment(self.list_devices(), config.allow_soft_placement, threads=config.intra_op_parallelism_threads,
                                    passes=options_of(config)))

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

    def _up_to_date(self) -> str:
        with self._lock:
            session = self._open()
            version = (self._graph.version, self._graph._mutations)
            if version != self._version:
                session = self._send(export_functional(self._graph))
                self._version = version
            return session

    def _open(self) -> str:
        if self._session is None:
            with deadline(self._config.operation_timeout_in_ms) as patience:
                reply = self._link.wait_for(Message("CreateSession", {}, [self._config.SerializeToString()]), patience)
            self._session, self._sent = reply.fields["session"], {}
        return self._session

    def _send(self, graph_def: GraphDef) -> str:
        digests = _digests(graph_def)
        anew = any(digests.get(name) != digest for name, digest in self._sent.items())
        if anew:
            self._sent = {}
        session = self._open()
        new = GraphDef(versions=graph_def.versions)
        new.node.extend(node for node in graph_def.node if node.name not in self._sent)
        functions = {function.signature.name for function in graph_def.library.function}
        if any(name in functions for node in new.node for name in _callees(node)):
            new.library.CopyFrom(graph_def.library)
        if new.node:
            self._link.call(Message("ExtendSession", {"session": session, "anew": anew}, [new.SerializeToString()]))
            self._sent = digests
        return session

    def _as_local_error(self, error: errors.OpError) -> errors.OpError:
        """An error of the cluster as one of this program: with the operation of its graph, and the line that made it."""
        name = getattr(error, "op_name", None) or ""
        op = self._graph._by_name.get(name) or inner_operations(self._graph).get(name)
        lines = [line for line in error.message.split("\n") if not line.startswith("  made at: ")]
        if op is not None and op.origin:
            place = next((index for index, line in enumerate(lines) if line.startswith("  try: ")), len(lines))
            lines.insert(place, f"  made at: {op.origin}")
        return type(error)(None, op, "\n".join(lines))


def _names(elements: Sequence[Any]) -> list[str]:
    return [element.name for element in elements]


def _digests(graph_def: GraphDef) -> dict[str, bytes]:
    """What tells whether a node is still the same: it, and the functions that it calls."""
    functions = {function.signature.name: function.SerializeToString(deterministic=True) for function in graph_def.library.function}
    callees = {function.signature.name: [name for node in function.node_def for name in _callees(node)] for function in graph_def.library.function}

    def digest(node: NodeDef) -> bytes:
        hashed = hashlib.blake2b(node.SerializeToString(deterministic=True), digest_size=16)
        stack, seen = _callees(node), set[str]()
        while stack:
            name = stack.pop()
            if name in functions and name not in seen:
                seen.add(name)
                hashed.update(functions[name])
                stack += callees[name]
        return hashed.digest()

    return {node.name: digest(node) for node in graph_def.node}


def _callees(node: NodeDef) -> list[str]:
    """The functions that a node may call: those of its attributes, and the one of its type, if that is the name of a function."""
    return [node.op, *(value.func.name for value in node.attr.values() if value.HasField("func"))]
