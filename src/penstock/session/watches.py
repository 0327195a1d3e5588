"""Watched tensors: ``RunOptions.debug_options`` asks for the values of nodes, and they go to files as TensorFlow's debugger writes them.

Below the folder that a ``file://`` address names:

    _tfdbg_core_metadata_sessionrun00000000000000_STAMP          what was fed and fetched
    _tfdbg_device_,job_localhost,...,device_CPU_0/
        _tfdbg_graph_hash0_STAMP                                 the nodes that ran there
        scope/name_SLOT_DebugIdentity_STAMP                      one value: an Event

Stamps are microseconds, no two of a run alike. A step that fails leaves what it had computed.
"""
from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.graph_pb2 import GraphDef

from penstock import errors
from penstock.execute.trace import Recorder
from penstock.graph.tensor_proto import array_to_proto
from penstock.ops.transfer import Arg
from penstock.program.ir import Node
from penstock.session.fetches import Fetches
from penstock.state.resources import held_value

DEBUG_OP = "DebugIdentity"
DEVICE, GRAPH, CORE = "_tfdbg_device_", "_tfdbg_graph_", "_tfdbg_core_metadata_"
_ANY_NODE, _ANY_SLOT = "*", -1


@contextmanager
def dumping(debug_options: Any, wanted: Fetches, feeds: Any) -> Iterator[Recorder]:
    """Gives a recorder that writes what is watched."""
    dumper = _Dumper(debug_options, list(feeds.values()))
    dumper.write_core(debug_options.global_step, [tensor.name for tensor in feeds], [tensor.name for tensor in wanted.tensors],
                      [op.name for op in wanted.targets])
    try:
        yield dumper
    finally:
        dumper.write_graphs()


class _Dumper:
    """Called with what each node gave, as it ends."""

    def __init__(self, debug_options: Any, fed: list[Any]) -> None:
        self._fed = fed
        self._folders: dict[tuple[str, int], list[str]] = {}
        for watch in debug_options.debug_tensor_watch_opts:
            if set(watch.debug_ops) - {DEBUG_OP}:
                raise errors.UnimplementedError(None, None, f"debug ops {list(watch.debug_ops)}: only {DEBUG_OP}, the value itself, is there")
            self._folders[watch.node_name, watch.output_slot] = [_folder(url) for url in watch.debug_urls]
        self._roots = sorted({folder for folders in self._folders.values() for folder in folders})
        self._lock, self._last = threading.Lock(), 0
        self._nodes: dict[str, dict[str, Node]] = {}  # by device and name

    def __call__(self, device: str, node: Node, start: int, end: int, outputs: list[Any]) -> None:
        for producer, _ in node.inputs:  # what is fed does not run: it is written when it is first needed
            if producer.definition is Arg and self._is_new(device, producer):
                self._write_values(device, producer, [self._fed[producer.attrs["index"]]])
        self._is_new(device, node)
        self._write_values(device, node, outputs)

    def _is_new(self, device: str, node: Node) -> bool:
        with self._lock:
            nodes = self._nodes.setdefault(device, {})
            is_new = node.name not in nodes
            nodes[node.name] = node
            return is_new

    def _write_values(self, device: str, node: Node, outputs: list[Any]) -> None:
        for slot, value in enumerate(outputs):
            value = held_value(value)
            if isinstance(value, (np.ndarray, np.generic)):
                for root in self._watchers(node.name, slot):
                    self._write_value(root, device, node.name, slot, np.asarray(value))

    def _watchers(self, name: str, slot: int) -> list[str]:
        keys = ((name, slot), (name, _ANY_SLOT), (_ANY_NODE, _ANY_SLOT), (_ANY_NODE, slot))
        return next((self._folders[key] for key in keys if key in self._folders), [])

    def _write_value(self, root: str, device: str, name: str, slot: int, value: Any) -> None:
        event, stamp = Event(), self._stamp()
        event.wall_time = stamp
        event.summary.value.add(tag=name, node_name=f"{name}:{slot}:{DEBUG_OP}", tensor=array_to_proto(value))
        scope, _, base = name.rpartition("/")
        _write(os.path.join(root, device_folder(device), scope, f"{base}_{slot}_{DEBUG_OP}_{stamp}"), event)

    def write_core(self, step: int, feeds: list[str], fetches: list[str], targets: list[str]) -> None:
        """What was fed and fetched."""
        core = {"global_step": step, "session_run_index": 0, "executor_step_index": 0, "input_names": feeds, "output_names": fetches,
                "target_nodes": targets}
        for root in self._roots:
            stamp = self._stamp()
            event = Event(wall_time=stamp)
            event.log_message.message = json.dumps(core, separators=(",", ":"))
            _write(os.path.join(root, f"{CORE}sessionrun{0:014d}_{stamp}"), event)

    def write_graphs(self) -> None:
        """The nodes that ran, by device."""
        for device, nodes in self._nodes.items():
            graph = GraphDef(node=[node.node_def for node in nodes.values()])
            for root in self._roots:
                stamp = self._stamp()
                event = Event(wall_time=stamp, graph_def=graph.SerializeToString())
                _write(os.path.join(root, device_folder(device), f"{GRAPH}hash0_{stamp}"), event)

    def _stamp(self) -> int:
        with self._lock:
            self._last = max(time.time_ns() // 1000, self._last + 1)
            return self._last


def device_folder(device: str) -> str:
    """
    >>> device_folder("/job:worker/task:0/device:CPU:0")
    '_tfdbg_device_,job_worker,task_0,device_CPU_0'
    """
    return DEVICE + device.replace("/", ",").replace(":", "_")


def _folder(url: str) -> str:
    scheme, separator, path = url.partition("://")
    if scheme != "file" or not separator:
        raise errors.UnimplementedError(None, None, f"debug URL {url!r}: watched tensors go to files (file:///some/folder)")
    return path


def _write(path: str, event: Event) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(event.SerializeToString())
