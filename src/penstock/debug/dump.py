"""The debugger without a screen: every tensor of a step on disk, to be searched afterwards.

``DumpingDebugWrapperSession`` wraps a session; each of its runs writes a folder ``run_...`` with one file per tensor, an Event proto as TensorFlow's
debugger writes it, and the graph. ``DebugDumpDir`` reads such a folder.
"""
from __future__ import annotations

import itertools
import os
import re
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.graph_pb2 import GraphDef

from penstock.graph.tensor_proto import array_to_proto, proto_to_array
from penstock.platform.records import RecordReader, frame
from penstock.program.ir import Node
from penstock.state.resources import held_value

_numbers = itertools.count()
_GRAPH_FILE = "_tfdbg_graph_"
_DEBUG_OP = "DebugIdentity"


class DumpingDebugWrapperSession:
    """``tf_debug.DumpingDebugWrapperSession(sess, session_root)``: runs like ``sess``, and dumps what it computed."""

    def __init__(self, sess: Any, session_root: str, watch_fn: Any = None, thread_name_filter: str | None = None,
                 pass_through_operrors: Any = None) -> None:
        if watch_fn is not None or thread_name_filter is not None:
            raise NotImplementedError("DumpingDebugWrapperSession watches every tensor of every thread: it takes no watch_fn and thread_name_filter")
        self._session, self._root = sess, os.fspath(session_root)
        os.makedirs(self._root, exist_ok=True)

    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
        """``Session.run``, into a new folder below the root."""
        folder = os.path.join(self._root, f"run_{time.time_ns() // 1000}_{next(_numbers)}")
        os.makedirs(folder)
        with open(os.path.join(folder, _GRAPH_FILE), "wb") as file:
            file.write(frame(Event(graph_def=self._session.graph.as_graph_def().SerializeToString()).SerializeToString()))
        return self._session.run_recorded(fetches, _Dumper(folder), feed_dict)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    def __enter__(self) -> DumpingDebugWrapperSession:
        self._session.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._session.__exit__(*error)


class _Dumper:
    """Called with what each node gave, as it ends: writes it out."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def __call__(self, device: str, node: Node, start: int, end: int, outputs: list[Any]) -> None:
        place = os.path.join(self._folder, "_tfdbg_device_" + device.replace("/", ",").replace(":", "_"), os.path.dirname(node.name))
        os.makedirs(place, exist_ok=True)
        stamp = time.time_ns() // 1000
        for slot, value in enumerate(outputs):
            value = held_value(value)
            if not isinstance(value, (np.ndarray, np.generic)):
                continue
            event = Event(wall_time=stamp)
            event.summary.value.add(node_name=f"{node.name}:{slot}:{_DEBUG_OP}", tensor=array_to_proto(np.asarray(value)))
            path = os.path.join(place, f"{os.path.basename(node.name)}_{slot}_{_DEBUG_OP}_{stamp}")
            with open(path, "wb") as file:
                file.write(frame(event.SerializeToString()))


class DebugTensorDatum:
    """One dumped tensor; its value is read when it is asked for."""

    def __init__(self, path: str, device: str, node_name: str) -> None:
        self.file_path, self.device_name = path, device
        base, slot, self.debug_op, stamp = os.path.basename(path).rsplit("_", 3)
        self.node_name = f"{node_name}/{base}" if node_name else base
        self.output_slot, self.timestamp = int(slot), int(stamp)
        self.tensor_name = f"{self.node_name}:{self.output_slot}"
        self.watch_key = f"{self.tensor_name}:{self.debug_op}"
        self.dump_size_bytes = os.path.getsize(path)

    def get_tensor(self) -> np.ndarray:
        """The value."""
        with open(self.file_path, "rb") as file:
            (record,) = RecordReader(file)
        return proto_to_array(Event.FromString(record).summary.value[0].tensor)

    def __repr__(self) -> str:
        return f"{{DebugTensorDatum ({self.device_name}) {self.tensor_name} @ {self.debug_op} @ {self.timestamp}}}"


class DebugDumpDir:
    """``tf_debug.DebugDumpDir(folder)``: the tensors of one run, in the order of time, and the graph they come from."""

    def __init__(self, dump_root: str, partition_graphs: Any = None, validate: bool = True) -> None:
        if not os.path.isdir(dump_root):
            raise OSError(f"Dump root directory {dump_root} does not exist")
        self._root = dump_root
        self._data = sorted(self._load(), key=lambda datum: (datum.timestamp, datum.node_name))
        with open(os.path.join(dump_root, _GRAPH_FILE), "rb") as file:
            (record,) = RecordReader(file)
        self._nodes = {node.name: node for node in GraphDef.FromString(Event.FromString(record).graph_def).node}

    def _load(self) -> list[DebugTensorDatum]:
        data = []
        for entry in sorted(os.listdir(self._root)):
            if not entry.startswith("_tfdbg_device_"):
                continue
            device = entry.removeprefix("_tfdbg_device_").replace(",", "/").replace("_", ":")
            top = os.path.join(self._root, entry)
            for folder, _, files in os.walk(top):
                scope = os.path.relpath(folder, top).replace(os.sep, "/")
                data += [DebugTensorDatum(os.path.join(folder, name), device, "" if scope == "." else scope) for name in files]
        return data

    @property
    def dumped_tensor_data(self) -> list[DebugTensorDatum]:
        """All tensors, the first computed first."""
        return list(self._data)

    @property
    def size(self) -> int:
        """How many tensors there are."""
        return len(self._data)

    @property
    def t0(self) -> int:
        """The time of the first one, in microseconds since 1970."""
        return self._data[0].timestamp

    def find(self, predicate: Callable[[DebugTensorDatum, np.ndarray], bool], first_n: int = 0, device_name: str | None = None,
             exclude_node_names: str | None = None) -> list[DebugTensorDatum]:
        """The tensors for which ``predicate(datum, value)`` holds, in the order of time; with ``first_n`` at most that many.

        Nodes whose names match the regular expression ``exclude_node_names`` are left out.
        """
        matches = []
        for datum in self._data:
            left_out = exclude_node_names is not None and re.match(exclude_node_names, datum.node_name)
            if not left_out and device_name in (None, datum.device_name) and predicate(datum, datum.get_tensor()):
                matches.append(datum)
                if len(matches) == first_n:
                    break
        return matches

    def get_tensors(self, node_name: str, output_slot: int, debug_op: str, device_name: str | None = None) -> list[np.ndarray]:
        """The values of one output."""
        return [datum.get_tensor() for datum in self._matching(node_name, output_slot, debug_op, device_name)]

    def get_rel_timestamps(self, node_name: str, output_slot: int, debug_op: str, device_name: str | None = None) -> list[int]:
        """When one output was computed, in microseconds since ``t0``."""
        return [datum.timestamp - self.t0 for datum in self._matching(node_name, output_slot, debug_op, device_name)]

    def _matching(self, node_name: str, output_slot: int, debug_op: str, device_name: str | None) -> list[DebugTensorDatum]:
        wanted = (node_name, output_slot, debug_op)
        matches = [datum for datum in self._data
                 if (datum.node_name, datum.output_slot, datum.debug_op) == wanted and device_name in (None, datum.device_name)]
        if not matches:
            raise ValueError(f"Watch key \"{node_name}:{output_slot}:{debug_op}\" does not exist in the debug dump")
        return matches

    def devices(self) -> list[str]:
        """The devices that dumped something."""
        return sorted({datum.device_name for datum in self._data})

    def nodes(self, device_name: str | None = None) -> list[str]:
        """The names of all nodes of the graph."""
        return list(self._nodes)

    def node_exists(self, node_name: str, device_name: str | None = None) -> bool:
        """Is there a node of this name?"""
        return node_name in self._nodes

    def node_op_type(self, node_name: str, device_name: str | None = None) -> str:
        """The op type of a node."""
        return str(self._node(node_name).op)

    def node_inputs(self, node_name: str, is_control: bool = False, device_name: str | None = None) -> list[str]:
        """The nodes that feed a node."""
        return [text.lstrip("^").partition(":")[0] for text in self._node(node_name).input if text.startswith("^") == is_control]

    def transitive_inputs(self, node_name: str, include_control: bool = True, device_name: str | None = None) -> list[str]:
        """All nodes behind a node."""
        reached: dict[str, None] = {}
        waiting = [node_name]
        while waiting:
            name = waiting.pop()
            sources = self.node_inputs(name) + (self.node_inputs(name, True) if include_control else [])
            fresh = [source for source in sources if source not in reached]
            reached.update(dict.fromkeys(fresh))
            waiting += fresh
        return list(reached)

    def _node(self, name: str) -> Any:
        if name not in self._nodes:
            raise ValueError(f"Node '{name}' is not found in the graph of this run")
        return self._nodes[name]


def has_inf_or_nan(datum: Any, tensor: Any) -> bool:
    """A predicate for ``find``: is there an element that is infinite or not a number?"""
    array = np.asarray(tensor)
    return array.dtype.kind in "fc" and not bool(np.isfinite(array).all())


def LocalCLIDebugWrapperSession(*args: Any, **kwargs: Any) -> Any:
    """TensorFlow's debugger on a terminal: not in Penstock."""
    raise NotImplementedError("The interactive screen of tfdbg is not in this version of Penstock: use tf_debug.DumpingDebugWrapperSession and "
                              "search its dumps with tf_debug.DebugDumpDir(folder).find(tf_debug.has_inf_or_nan).")
