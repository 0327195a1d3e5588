"""Watched tensors: ``RunOptions.debug_options`` asks for the values of nodes, and they go where its addresses say.

``file://FOLDER``: into files, as TensorFlow's debugger writes them. Below the folder:

    _tfdbg_core_metadata_sessionrunINDEX_STAMP                   what was fed and fetched
    _tfdbg_device_,job_localhost,...,device_CPU_0/
        _tfdbg_graph_hash0_STAMP                                 the nodes that ran there
        scope/name_SLOT_DEBUGOP_STAMP                            one value, or what a debug op (``debug_ops.py``) makes of it: an Event

``grpc://HOST:PORT``: to a debug server (``watch_grpc.py``). ``probe://NAME``: to an object of this process, which may stop the step and change values
(``probes``). Stamps are microseconds, no two of a run alike. A step that fails leaves what it had computed. What runs inside of a loop or a branch is
watched by the names that it has there; a node of a loop has a value per iteration.
"""
from __future__ import annotations

import itertools
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.tensor_pb2 import TensorProto

from penstock import errors
from penstock.execute.probe import EVERYWHERE, Frames, Probe, most_waits, replaced
from penstock.graph.dtypes import as_dtype
from penstock.graph.tensor_proto import array_to_proto
from penstock.ops.transfer import Arg, Recv
from penstock.program.ir import Node
from penstock.session.debug_ops import DebugOp, Watched
from penstock.session.fetches import Fetches
from penstock.state.resources import Ref, held_value

DEVICE, GRAPH, CORE = "_tfdbg_device_", "_tfdbg_graph_", "_tfdbg_core_metadata_"
_ANY_NODE, _ANY_SLOT = "*", -1


probes: dict[str, Probe] = {}  # by their names in addresses
_runs = itertools.count()  # those of this process that are watched


class Sink(Protocol):
    """Where the events of a run go."""

    answers: bool  # may ``value`` give others?

    def core(self, event: Event) -> None:
        """What was fed and fetched; comes first."""

    def value(self, device: str, node: str, slot: int, debug_op: DebugOp, event: Event) -> Any:
        """A value; a gated one is sent only if the other side has asked for it. What is returned, if not None, takes the place of the tensor's."""

    def graph(self, device: str, event: Event) -> None:
        """The nodes that ran on a device; comes last."""

    def close(self) -> None:
        """The run has ended."""


class _Folder:
    """Events as files of a folder; see above."""

    answers = False

    def __init__(self, root: str) -> None:
        self._root = root

    def core(self, event: Event) -> None:
        self._write(f"{CORE}sessionrun{json.loads(event.log_message.message)['session_run_index']:014d}_{int(event.wall_time)}", event)

    def value(self, device: str, node: str, slot: int, debug_op: DebugOp, event: Event) -> None:
        scope, _, base = node.rpartition("/")
        self._write(os.path.join(device_folder(device), scope, f"{base}_{slot}_{debug_op.name}_{int(event.wall_time)}"), event)

    def graph(self, device: str, event: Event) -> None:
        self._write(os.path.join(device_folder(device), f"{GRAPH}hash0_{int(event.wall_time)}"), event)

    def close(self) -> None:
        """Each file is closed already."""

    def _write(self, name: str, event: Event) -> None:
        path = os.path.join(self._root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(event.SerializeToString())


def _debug_server(address: str) -> Sink:
    from penstock.session.watch_grpc import DebugServer  # programs that have none do not load gRPC
    return DebugServer(address)


SINKS: dict[str, Callable[[str], Sink]] = {"file": _Folder, "grpc": _debug_server}


@contextmanager
def dumping(debug_options: Any, wanted: Fetches, feeds: Any) -> Iterator[Probe]:
    """Gives a probe that hands on what is watched."""
    dumper = _Dumper(debug_options, list(feeds.values()))
    try:
        dumper.write_core(debug_options.global_step, [tensor.name for tensor in feeds], [tensor.name for tensor in wanted.tensors],
                          [op.name for op in wanted.targets])
        yield dumper
    finally:
        dumper.close()


@dataclass(frozen=True)
class _Watch:
    sinks: list[Sink]
    debug_ops: list[DebugOp]


class _Dumper(Probe):
    """Is told what each node gave, as it ends."""

    def __init__(self, debug_options: Any, fed: list[Any]) -> None:
        self._fed = fed
        self._sinks: dict[str, Sink] = {}  # by address
        self._probes: dict[str, Probe] = {}
        self._watches: dict[tuple[str, int], list[_Watch]] = {}
        for watch in debug_options.debug_tensor_watch_opts:
            debug_ops = [DebugOp(text, watch.tolerate_debug_op_creation_failures) for text in watch.debug_ops]
            sinks = [sink for sink in map(self._sink, watch.debug_urls) if sink is not None]
            self._watches.setdefault((watch.node_name, watch.output_slot), []).append(_Watch(sinks, debug_ops))
        self._lock, self._last = threading.Lock(), 0
        self._nodes: dict[str, dict[str, Node]] = {}  # by device and name

    def _sink(self, url: str) -> Sink | None:
        """Where an address leads; None if that is a probe."""
        scheme, separator, path = url.partition("://")
        if scheme == "probe" and path in probes:
            self._probes[path] = probes[path]
            return None
        if scheme not in SINKS or not separator:
            raise errors.UnimplementedError(None, None, f"debug URL {url!r}: watched tensors go to files (file:///some/folder) or to a debug server "
                                            "(grpc://host:port)")
        if url not in self._sinks:
            self._sinks[url] = SINKS[scheme](path)
        return self._sinks[url]

    @property
    def waits(self) -> str:
        return EVERYWHERE if any(sink.answers for sink in self._sinks.values()) else most_waits([probe.waits for probe in self._probes.values()])

    def tell(self, frames: Frames, device: str, node: Node, outputs: list[Any], waits: bool = True) -> list[Any] | None:
        if node.definition is Recv:  # it is the value of a node that was written already
            return None
        for producer, _ in node.inputs:  # what is fed does not run: it is written when it is first needed
            if producer.definition is Arg and producer.name not in self._nodes.get(device, ()) and not frames:  # (else an argument of a function)
                self._note(device, producer)
                self._write_values(device, producer, [self._fed[producer.attrs["index"]]])
        self._note(device, node)
        changed = None
        for probe in self._probes.values():
            changed = probe.tell(frames, device, node, changed or outputs, waits) or changed
        return self._write_values(device, node, changed or outputs) or changed

    def _note(self, device: str, node: Node) -> None:
        with self._lock:
            self._nodes.setdefault(device, {})[node.name] = node

    def _write_values(self, device: str, node: Node, outputs: list[Any]) -> list[Any] | None:
        """Hands values on; returns what a sink wants in their place."""
        changes: dict[int, Any] = {}
        for slot, output in enumerate(outputs):
            watches = self._watches_of(node.name, slot)
            watched = _watched_value(node, output) if watches else None
            if watched is None:
                continue
            for watch in watches:
                for debug_op in watch.debug_ops if watch.sinks else ():
                    other = self._hand_on(device, node.name, slot, debug_op, watched, watch.sinks)
                    if other is not None:
                        changes[slot] = other
        return replaced(outputs, changes) if changes else None

    def _hand_on(self, device: str, name: str, slot: int, debug_op: DebugOp, watched: Watched, sinks: list[Sink]) -> Any:
        """Has sinks take what a debug op makes of a tensor; returns what one of them wants in its place, or None."""
        value = debug_op(watched, f"{name}:{slot}")
        if value is None:
            return None
        event = self._event()
        # TensorFlow's debugger takes no others for values, and one without bytes for a variable that is not initialized.
        proto = _without_value(watched) if value is watched else array_to_proto(np.asarray(value), raw=True)
        event.summary.value.add(tag=name, node_name=f"{name}:{slot}:{debug_op.name}", tensor=proto)
        other = None
        for sink in sinks:
            other = _first(sink.value(device, name, slot, debug_op, event), other)
        return other

    def _watches_of(self, name: str, slot: int) -> list[_Watch]:
        keys = ((name, slot), (name, _ANY_SLOT), (_ANY_NODE, _ANY_SLOT), (_ANY_NODE, slot))
        return next((self._watches[key] for key in keys if key in self._watches), [])

    def write_core(self, step: int, feeds: list[str], fetches: list[str], targets: list[str]) -> None:
        """What was fed and fetched."""
        core = {"global_step": step, "session_run_index": next(_runs), "executor_step_index": 0, "input_names": sorted(feeds),
                "output_names": sorted(fetches), "target_nodes": sorted(targets)}
        for sink in self._sinks.values():
            event = self._event()
            event.log_message.message = json.dumps(core, separators=(",", ":"))
            sink.core(event)

    def close(self) -> None:
        """The nodes that ran, by device; then all is written."""
        for device, nodes in self._nodes.items() if self._sinks else ():
            graph = GraphDef(node=[node.node_def for node in nodes.values()]).SerializeToString()
            for sink in self._sinks.values():
                event = self._event()
                event.graph_def = graph
                sink.graph(device, event)
        for sink in self._sinks.values():
            sink.close()

    def _event(self) -> Event:
        """An event with a stamp of its own."""
        with self._lock:
            self._last = max(time.time_ns() // 1000, self._last + 1)
            return Event(wall_time=self._last)


def device_folder(device: str) -> str:
    """
    >>> device_folder("/job:worker/task:0/device:CPU:0")
    '_tfdbg_device_,job_worker,task_0,device_CPU_0'
    """
    return DEVICE + device.replace("/", ",").replace(":", "_")


def _watched_value(node: Node, output: Any) -> Watched | None:
    """What debug ops see of an output; None if it has no array, as a queue has none."""
    value = held_value(output)
    if isinstance(value, (np.ndarray, np.generic)):
        return Watched(value, as_dtype(value.dtype), value.shape)
    if isinstance(output, Ref):
        shape = node.attrs.get("shape")
        return Watched(None, output.dtype, tuple(shape.as_list()) if shape is not None and shape.is_fully_defined() else ())
    return None


def _without_value(watched: Watched) -> TensorProto:
    proto = TensorProto(dtype=watched.dtype.as_datatype_enum)
    for size in watched.shape:
        proto.tensor_shape.dim.add(size=size)
    return proto


def _first(value: Any, other: Any) -> Any:
    return other if value is None else value
