"""``DebugDumpDir``: the folder that one debugged run has left (``session/watches.py``), Penstock's own or TensorFlow's.

The nodes are those that ran, from the graphs of the devices. The graph that the program built, which knows its lines, is given by
``set_python_graph``.
"""
from __future__ import annotations

import contextlib
import json
import math
import os
import re
from collections import defaultdict, namedtuple
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.graph_pb2 import GraphDef

from penstock.execute.probe import is_bad
from penstock.graph import dtypes
from penstock.graph.tensor_proto import proto_to_array
from penstock.session.probing import inner_operations
from penstock.session.watches import CORE, DEVICE, GRAPH, device_folder

# What names of files in a dump begin with, as TensorFlow calls it.
METADATA_FILE_PREFIX, CORE_METADATA_TAG, GRAPH_FILE_TAG, DEVICE_TAG, HASH_TAG = "_tfdbg_", "core_metadata_", "graph_", "device_", "hash"
FETCHES_INFO_FILE_TAG, FEED_KEYS_INFO_FILE_TAG = "fetches_info_", "feed_keys_info_"
_COPY = re.compile(r"__copy_(.+)_(\d+)")  # how TensorFlow's debugger renames the inputs of a node that it watches
_NO_VALUES = (dtypes.resource.as_datatype_enum, dtypes.variant.as_datatype_enum)
CoreMetadata = namedtuple("CoreMetadata", "global_step session_run_index executor_step_index input_names output_names target_nodes")


class InconvertibleTensorProto:
    """What a dump has of a tensor that has no value: one of a variable that was not initialized."""

    def __init__(self, tensor_proto: Any, initialized: bool = True) -> None:
        self._tensor_proto, self._initialized = tensor_proto, initialized

    @property
    def initialized(self) -> bool:
        """Had it a value?"""
        return self._initialized

    def __str__(self) -> str:
        return str(self._tensor_proto) if self._initialized else f"Uninitialized tensor:\n{self._tensor_proto}"


class WatchKeyDoesNotExistInDebugDumpDirError(ValueError):
    """``get_tensors("nothing", 0, "DebugIdentity")``: nothing of that name was dumped. ``debug_watch_keys(node)`` tells what was."""


def load_tensor_from_event(event: Any) -> Any:
    """The value in an Event; an InconvertibleTensorProto if there is none."""
    proto = event.summary.value[0].tensor
    if not (proto.tensor_content or proto.string_val) and math.prod(dim.size for dim in proto.tensor_shape.dim):
        return InconvertibleTensorProto(proto, initialized=False)
    return InconvertibleTensorProto(proto) if proto.dtype in _NO_VALUES else proto_to_array(proto)


def load_tensor_from_event_file(event_file_path: str) -> Any:
    """The value in the file of a dumped tensor."""
    return load_tensor_from_event(_event(event_file_path))


def has_inf_or_nan(datum: Any, tensor: Any) -> bool:
    """A filter: is there an element that is infinite or not a number?"""
    return is_bad(tensor)


def has_nan(datum: Any, tensor: Any) -> bool:
    """A filter: is there an element that is not a number?"""
    return is_bad(tensor) and bool(np.isnan(tensor).any())


BAD_VALUE_FILTERS = (has_inf_or_nan, has_nan)  # they hold for nothing else


def _event(path: str) -> Any:
    with open(path, "rb") as file:
        return Event.FromString(file.read())


def extract_core_metadata_from_event_proto(event: Any) -> CoreMetadata:
    """What was fed and fetched in a run, of the Event that tells it."""
    return CoreMetadata(**json.loads(event.log_message.message))


def device_name_to_device_path(device_name: str) -> str:
    """The folder of a device in a dump."""
    return device_folder(device_name)


def device_path_to_device_name(device_dir: str) -> str:
    """The device that a folder of a dump is of.

    >>> device_path_to_device_name("_tfdbg_device_,job_worker,task_0,device_CPU_0")
    '/job:worker/task:0/device:CPU:0'
    """
    parts = os.path.basename(device_dir).removeprefix(DEVICE).split(",")
    return "/".join(part.replace("device_", "device:").replace("_", ":", 1) for part in parts)


class DebugTensorDatum:
    """One dumped tensor; its value is read when it is asked for."""

    def __init__(self, dump_root: str, debug_dump_rel_path: str) -> None:
        device, _, name = debug_dump_rel_path.replace(os.sep, "/").partition("/")
        self.file_path = os.path.join(dump_root, debug_dump_rel_path)
        self.device_name = device_path_to_device_name(device)
        self.node_name, slot, self.debug_op, self.extended_timestamp = name.rsplit("_", 3)
        self.output_slot = int(slot)
        self.timestamp = int(self.extended_timestamp.partition("-")[0])  # TensorFlow adds "-1" to the name of a file that there is already
        self.dump_size_bytes = os.path.getsize(self.file_path)

    @property
    def tensor_name(self) -> str:
        """``name:0``."""
        return f"{self.node_name}:{self.output_slot}"

    @property
    def watch_key(self) -> str:
        """``name:0:DebugIdentity``."""
        return f"{self.tensor_name}:{self.debug_op}"

    def get_tensor(self) -> Any:
        """The value."""
        return load_tensor_from_event_file(self.file_path)

    def __repr__(self) -> str:
        return f"{{DebugTensorDatum ({self.device_name}) {self.tensor_name} @ {self.debug_op} @ {self.timestamp}}}"


class DebugDumpDir:
    """``tf_debug.DebugDumpDir(folder)``: the tensors of one run, in the order of time, and the nodes that they come from."""

    def __init__(self, dump_root: str, partition_graphs: Any = None, validate: bool = True) -> None:
        if not os.path.isdir(dump_root):
            raise OSError(f"Dump root directory {dump_root} does not exist")
        self._root = dump_root
        self._python_graph: Any = None
        files = [os.path.relpath(os.path.join(folder, name), dump_root) for folder, _, names in os.walk(dump_root) for name in names]
        self._data = sorted((DebugTensorDatum(dump_root, path) for path in files if _is_value(path)),
                            key=lambda datum: (datum.timestamp, datum.node_name, datum.extended_timestamp))
        self._by_key: dict[str, list[DebugTensorDatum]] = defaultdict(list)
        for datum in self._data:
            self._by_key[datum.watch_key].append(datum)
        graphs = [GraphDef.FromString(_event(os.path.join(dump_root, path)).graph_def) for path in sorted(files)
                  if os.path.basename(path).startswith(GRAPH)]
        self._graphs = list(partition_graphs or graphs)
        nodes = [node for graph in self._graphs for node in graph.node if not node.name.startswith(("__copy_", "__dbg_"))]
        self._nodes = {node.name: node for node in nodes}
        self._nodes_by_device = {(node.device, node.name): node for node in nodes}
        self._recipients: dict[tuple[str, bool], list[str]] = defaultdict(list)
        for name in self._nodes:
            for control in (False, True):
                for source in self.node_inputs(name, control):
                    self._recipients[source, control].append(name)

    # --- tensors -----------------------------------------------------------------------------------------------------

    @property
    def dumped_tensor_data(self) -> list[DebugTensorDatum]:
        """All tensors, the first computed first."""
        return list(self._data)

    @property
    def size(self) -> int:
        """How many tensors there are."""
        return len(self._data)

    @property
    def t0(self) -> int | None:
        """The time of the first one, in microseconds since 1970."""
        return self._data[0].timestamp if self._data else None

    def find(self, predicate: Callable[[DebugTensorDatum, Any], bool], first_n: int = 0, device_name: str | None = None,
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

    def watch_key_to_data(self, debug_watch_key: str, device_name: str | None = None) -> list[DebugTensorDatum]:
        """The dumps of ``name:0:DebugIdentity``."""
        return [datum for datum in self._by_key.get(debug_watch_key, []) if device_name in (None, datum.device_name)]

    def debug_watch_keys(self, node_name: str, device_name: str | None = None) -> list[str]:
        """The watch keys of a node."""
        return [key for key, data in self._by_key.items() if data[0].node_name == node_name and device_name in (None, data[0].device_name)]

    def get_tensors(self, node_name: str, output_slot: int, debug_op: str, device_name: str | None = None) -> list[Any]:
        """The values of one output."""
        device = device_name
        with contextlib.suppress(ValueError):  # what is asked for is a tensor: that is what the error tells of
            device = self._device_of(node_name, device_name)
        return [datum.get_tensor() for datum in self._matching(node_name, output_slot, debug_op, device)]

    def get_tensor_file_paths(self, node_name: str, output_slot: int, debug_op: str, device_name: str | None = None) -> list[str]:
        """The files of one output."""
        return [datum.file_path for datum in self._matching(node_name, output_slot, debug_op, self._device_of(node_name, device_name))]

    def get_rel_timestamps(self, node_name: str, output_slot: int, debug_op: str, device_name: str | None = None) -> list[int]:
        """When one output was computed, in microseconds since ``t0``."""
        data = self._matching(node_name, output_slot, debug_op, self._device_of(node_name, device_name))
        return [datum.timestamp - self._data[0].timestamp for datum in data]

    def get_dump_sizes_bytes(self, node_name: str, output_slot: int, debug_op: str, device_name: str | None = None) -> list[int]:
        """The sizes of the files of one output."""
        return [datum.dump_size_bytes for datum in self._matching(node_name, output_slot, debug_op, self._device_of(node_name, device_name))]

    def _device_of(self, node_name: str, device_name: str | None) -> str | None:
        """The device that is named, or the only one that has the node; ValueError if there is none, or more than one. None if no graph is known."""
        if device_name is not None or not self._graphs:
            return device_name
        devices = sorted({device for device, name in self._nodes_by_device if name == node_name})
        if len(devices) > 1:
            raise ValueError(f"There are multiple ({len(devices)}) devices with nodes named '{node_name}' but device_name is not specified.")
        return self._node(node_name).device if not devices else devices[0]

    def _matching(self, node_name: str, output_slot: int, debug_op: str, device: str | None) -> list[DebugTensorDatum]:
        key = f"{node_name}:{output_slot}:{debug_op}"
        matches = self.watch_key_to_data(key, device)
        if not matches:
            raise WatchKeyDoesNotExistInDebugDumpDirError(f'Watch key "{key}" does not exist in the debug dump of device {device}')
        return matches

    # --- the run -----------------------------------------------------------------------------------------------------

    @property
    def core_metadata(self) -> Any:
        """What was fed and fetched; a list of them if several runs went into the folder."""
        texts = [text for _, text in sorted(self._messages(CORE))]
        metadata = [CoreMetadata(**json.loads(text)) for text in texts]
        return metadata[0] if len(metadata) == 1 else metadata

    @property
    def run_fetches_info(self) -> Any:
        """The fetches of the run, as text; an empty list if they were not written down, as only wrapped sessions do."""
        return next((text for _, text in self._messages(METADATA_FILE_PREFIX + FETCHES_INFO_FILE_TAG)), [])

    @property
    def run_feed_keys_info(self) -> Any:
        """The keys of the feeds, as text; an empty list if they were not written down."""
        return next((text for _, text in self._messages(METADATA_FILE_PREFIX + FEED_KEYS_INFO_FILE_TAG)), [])

    def _messages(self, prefix: str) -> Iterator[tuple[str, str]]:
        for name in os.listdir(self._root):
            if name.startswith(prefix):
                yield name, _event(os.path.join(self._root, name)).log_message.message

    # --- nodes -------------------------------------------------------------------------------------------------------

    def partition_graphs(self) -> list[Any]:
        """The nodes that ran, a GraphDef per device."""
        if not self._graphs:
            raise LookupError("No partition graphs have been loaded.")
        return list(self._graphs)

    def loaded_partition_graphs(self) -> bool:
        """Are the nodes known that ran?"""
        return bool(self._graphs)

    def reconstructed_non_debug_partition_graphs(self) -> dict[str, Any]:
        """The nodes that ran, a GraphDef per device, without those that a debugger has added."""
        graphs: dict[str, Any] = {}
        for graph in map(reconstruct_non_debug_graph_def, self.partition_graphs()):
            for node in graph.node:
                graphs.setdefault(node.device, GraphDef(versions=graph.versions)).node.add().CopyFrom(node)
        return graphs

    def devices(self) -> list[str]:
        """The devices that dumped something."""
        return sorted({datum.device_name for datum in self._data})

    def nodes(self, device_name: str | None = None) -> list[str]:
        """The names of the nodes that ran."""
        self.partition_graphs()
        if device_name is None:
            return list(self._nodes)
        names = [name for device, name in self._nodes_by_device if device == device_name]
        if not names:
            raise ValueError(f"Invalid device name: {device_name}")
        return names

    def node_exists(self, node_name: str, device_name: str | None = None) -> bool:
        """Is there a node of this name?"""
        if device_name is None:
            return node_name in self._nodes
        self._check_device(device_name)
        return (device_name, node_name) in self._nodes_by_device

    def node_op_type(self, node_name: str, device_name: str | None = None) -> str:
        """The op type of a node."""
        return str(self._node(node_name, device_name).op)

    def node_device(self, node_name: str) -> str:
        """The device of a node."""
        if node_name not in self._nodes:
            raise ValueError(f"Node '{node_name}' does not exist in partition graphs.")
        return str(self._nodes[node_name].device)

    def node_attributes(self, node_name: str, device_name: str | None = None) -> Any:
        """The attributes of a node, as protos."""
        return self._node(node_name, device_name).attr

    def node_inputs(self, node_name: str, is_control: bool = False, device_name: str | None = None) -> list[str]:
        """The nodes that feed a node."""
        sources = [text.lstrip("^") for text in self._node(node_name, device_name).input if text.startswith("^") == is_control]
        return [_source(text) for text in sources if not text.startswith("__dbg_")]

    def node_recipients(self, node_name: str, is_control: bool = False, device_name: str | None = None) -> list[str]:
        """The nodes that a node feeds."""
        self._node(node_name, device_name)
        return list(self._recipients.get((node_name, is_control), []))

    def find_some_path(self, src_node_name: str, dst_node_name: str, include_control: bool = True, include_reversed_ref: bool = False,
                       device_name: str | None = None) -> list[str] | None:
        """Nodes through which a value goes from one node to another, both included, as few as possible; None if there is no way."""
        self._node(dst_node_name)
        before: dict[str, str] = {src_node_name: ""}
        waiting = [src_node_name]
        for name in waiting:  # (it grows)
            recipients = self.node_recipients(name) + (self.node_recipients(name, True) if include_control else [])
            fresh = [recipient for recipient in dict.fromkeys(recipients) if recipient not in before]
            before.update(dict.fromkeys(fresh, name))
            waiting += fresh
        if dst_node_name not in before:
            return None
        path = [dst_node_name]
        while before[path[0]]:
            path.insert(0, before[path[0]])
        return path

    def transitive_inputs(self, node_name: str, include_control: bool = True, include_reversed_ref: bool = False,
                          device_name: str | None = None) -> list[str]:
        """All nodes behind a node."""
        reached: dict[str, None] = {}
        waiting = [node_name]
        while waiting:
            name = waiting.pop()
            sources = self.node_inputs(name) + (self.node_inputs(name, True) if include_control else [])
            fresh = [source for source in sources if source not in reached and source in self._nodes]
            reached.update(dict.fromkeys(fresh))
            waiting += fresh
        return list(reached)

    def _node(self, name: str, device_name: str | None = None) -> Any:
        node = self._nodes.get(name) if device_name is None else self._nodes_by_device.get((device_name, name))
        if node is None:
            self._check_device(device_name)
            raise ValueError(f"None of the {len(self._graphs)} device(s) has a node named '{name}'.")
        return node

    def _check_device(self, device_name: str | None) -> None:
        if device_name is not None and all(device != device_name for device, _ in self._nodes_by_device):
            raise ValueError(f"The specified device_name '{device_name}' cannot be found.")

    # --- the graph of the program ------------------------------------------------------------------------------------

    def set_python_graph(self, python_graph: Any) -> None:
        """Names the graph that the program built."""
        self._python_graph = python_graph

    @property
    def python_graph(self) -> Any:
        """The graph that the program built, or None."""
        return self._python_graph

    def node_traceback(self, element_name: str) -> list[tuple[str, int, str, str]]:
        """The lines that made a node or tensor: (file, line, function, text), outermost first."""
        if self._python_graph is None:
            raise LookupError("Python graph is not available for traceback lookup")
        name = element_name.partition(":")[0]
        operation = self._python_graph._by_name.get(name) or inner_operations(self._python_graph).get(name)
        if operation is None:
            raise KeyError(f'Cannot find node "{name}" in Python graph')
        return list(operation.traceback)


def reconstruct_non_debug_graph_def(debug_graph_def: Any) -> Any:
    """The nodes of a graph without those that a debugger has added, as TensorFlow's does."""
    graph = GraphDef(versions=debug_graph_def.versions, library=debug_graph_def.library)
    for node in debug_graph_def.node:
        if not node.name.startswith(("__copy_", "__dbg_")):
            added = graph.node.add()
            added.CopyFrom(node)
            added.input[:] = [_COPY.sub(r"\1:\2", text) for text in node.input if not text.startswith("^__dbg_")]
    return graph


def _source(text: str) -> str:
    """The node behind an input, ``name:1``, also as TensorFlow's debugger rewrites it."""
    copy = _COPY.fullmatch(text.partition(":")[0])
    return copy[1] if copy else text.partition(":")[0]


def _is_value(path: str) -> bool:
    return path.startswith(DEVICE) and not os.path.basename(path).startswith(METADATA_FILE_PREFIX)
