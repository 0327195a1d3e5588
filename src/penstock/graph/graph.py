"""Graph: the container of operations, with its names, scopes and collections.

What must stay true: operations are only ever added; an op's inputs exist before it, so creation order is a topological order (loops of
imported graphs are the one exception); names are unique, compared without regard to case.
"""
from __future__ import annotations

import re
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from tensorboard.compat.proto.attr_value_pb2 import AttrValue
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.versions_pb2 import VersionDef

from penstock.graph.collections import Collections
from penstock.graph.counts import OperationCounts
from penstock.graph.device import DeviceSpec, canonical_name, merge
from penstock.graph.dtypes import DType, as_dtype
from penstock.graph.node import Operation, Tensor
from penstock.graph.opnames import VALID_OP_NAME, VALID_SCOPE_NAME
from penstock.graph.shape import TensorShape
from penstock.graph.stacks import DefaultStack

__all__ = ["Graph", "Operation", "Tensor", "default_graph", "reset_default_graph"]

PRODUCER_VERSION = 134  # of the GraphDef format, as TensorFlow 1.15 writes it


class _ThreadState(threading.local):
    """What ``with`` blocks set for the ops made inside them, per thread."""

    def __init__(self) -> None:
        self.devices: list[Any] = []  # canonical names, functions, or None (forget the outer ones)
        self.colocation: list[Any] = []  # Operations, or None
        self.outside: list[Any] = []  # the devices outside all blocks of colocation
        self.control: list[_Controller] = []
        self.original: Operation | None = None


class _Controller:
    """One ``control_dependencies`` block: what its ops wait for, and which ops were made in it."""

    def __init__(self, ops: list[Operation], fresh: bool) -> None:
        self.ops, self.fresh, self.seen = ops, fresh, set[Operation]()


class Graph(Collections, OperationCounts):
    """A dataflow graph: operations as nodes, tensors as edges.

    >>> import penstock as tf
    >>> with tf.Graph().as_default() as graph:
    ...     three = tf.constant(1.0, name="one") + 2.0
    >>> [op.name for op in graph.get_operations()]
    ['one', 'add/y', 'add']
    """

    imperative = False  # True for the one in which operations give values: see ``imperative/``

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.RLock()
        self._ops: list[Operation] = []
        self._by_name: dict[str, Operation] = {}
        self._names: dict[str, int] = {}
        self._name_stack = ""
        self._state = _ThreadState()
        self._finalized = False
        self._mutations = 0
        self._versions = VersionDef(producer=PRODUCER_VERSION)
        self._ids = 0  # of operations
        self.traces: weakref.WeakKeyDictionary[Any, dict[Any, Any]] = weakref.WeakKeyDictionary()  # of ``tf.function``: {function: {key: trace}}
        self._gradient_overrides: dict[str, str] = {}
        self._kernel_labels: dict[str, str] = {}
        self._extra_attrs: dict[str, Any] = {}
        self._container = ""
        self._unfeedable: set[Tensor] = set()
        self._unfetchable: set[Any] = set()
        self._functions: dict[str, Any] = {}
        self._handle_feeders: dict[str, DType] = {}  # placeholders for handles of tensors, and the types of those: see ``session/handles.py``
        self._handle_nodes: dict[Any, Any] = {}  # what sessions added to read, move and delete tensors behind handles

    # --- adding operations -------------------------------------------------------------------------------------------

    def _next_id(self) -> int:
        self._ids += 1
        return self._ids

    def _add(self, definition: Any, name: str, inputs: tuple[Tensor, ...], attributes: dict[str, Any],
             outputs: list[tuple[DType, TensorShape]], colocate: list[Operation]) -> Operation:
        """Adds a node whose name is already unique; called by ``OpDef`` and the importer only."""
        with self._lock:
            if self._finalized:
                raise RuntimeError(f"Graph is finalized and cannot be modified: '{name}' ({definition.type}) cannot be added.")
            op = Operation(self, definition, name, inputs, attributes, outputs)
            for key, value in self._extra_attrs.items():
                op._set_attr(key, value)
            state = self._state
            if state.control:
                op._control_inputs = self._control_inputs_for(op)
            if state.devices:
                self._apply_devices(op)
            if state.colocation or colocate:
                self._apply_colocation(op, colocate)
            op._original_op = state.original
            if self._gradient_overrides and definition.type in self._gradient_overrides:
                op._extra["_gradient_op_type"] = AttrValue(s=self._gradient_overrides[definition.type].encode())
            if self._kernel_labels and definition.type in self._kernel_labels:
                op._extra["_kernel"] = AttrValue(s=self._kernel_labels[definition.type].encode())
            self._ops.append(op)
            self._by_name[name] = op
            return op

    def _add_op(self, op: Operation) -> None:
        """Adds an operation that was made without its inputs: see late_inputs.py."""
        with self._lock:
            self._note_change()
            self._names[op.name.lower()] = self._names.get(op.name.lower(), 0) + 1
            self._ops.append(op)
            self._by_name[op.name] = op

    @property
    def _colocation_stack(self) -> list[Any]:
        return self._state.colocation

    def _record_op_seen_by_control_dependencies(self, op: Operation) -> None:
        for controller in self._active_controllers():
            controller.seen.add(op)

    def call(self, definition: Any, values: Any, given: dict[str, Any], name: str | None) -> Any:
        """What calling an op gives, in imperative style."""
        raise NotImplementedError

    def _note_change(self) -> None:
        if self._finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")
        self._mutations += 1  # an existing op changed: plans made before are void

    def _control_inputs_for(self, op: Operation) -> list[Operation]:
        """The control inputs of the blocks around a new op, less those that its inputs already wait for."""
        input_ops = {tensor.op for tensor in op._inputs}
        wanted: dict[Operation, None] = {}
        for controller in self._active_controllers():
            if not input_ops & controller.seen:
                wanted.update((waited, None) for waited in controller.ops if waited not in input_ops)
            controller.seen.add(op)
        return list(wanted)

    def _active_controllers(self) -> list[_Controller]:
        stack = self._state.control
        for index in range(len(stack) - 1, -1, -1):
            if stack[index].fresh:
                return stack[index:]
        return stack

    def _apply_devices(self, op: Operation) -> None:
        """From the inside out: names complete what is there, functions see it and have the last word."""
        for device in reversed(self._state.devices):
            if device is None:
                break
            op._device = canonical_name(device(op)) if callable(device) else merge(device, op._device)

    def _apply_device_functions(self, op: Any) -> None:
        """TensorFlow's name for it. Libraries ask by it where they are, with an object of their own: Keras 2 has one with ``_set_device``."""
        name = ""
        for device in reversed(self._state.devices):
            if device is None:
                break
            name = canonical_name(device(op)) if callable(device) else merge(device, name)
            if hasattr(op, "_set_device_from_string"):
                op._set_device_from_string(name)
            else:
                op._set_device(DeviceSpec.from_string(name))

    def _apply_colocation(self, op: Operation, required: list[Operation]) -> None:
        others = list(required)
        for other in reversed(self._state.colocation):
            if other is None:
                break
            others.append(other)
        groups = {group for other in others if other is not op for group in other.colocation_groups()}
        if not groups:
            return
        op._colocation = tuple(sorted(groups))
        if required:  # a write goes where its variable is, whatever the blocks around it say
            op._device = required[0]._device
        else:
            op._device = next((other._device for other in reversed(others) if other._device), op._device)  # of nested blocks, the outer one's

    # --- names -------------------------------------------------------------------------------------------------------

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """``name`` under the current name scope, with ``_1``, ``_2`` ... behind it if it is taken."""
        full = f"{self._name_stack}/{name}" if self._name_stack else name
        names = self._names
        key = full.lower()
        count = names.get(key, 0)
        if mark_as_used:
            names[key] = count + 1
        if not count:
            return full
        unique = f"{full}_{count}"
        while unique.lower() in names:
            count += 1
            unique = f"{full}_{count}"
        if mark_as_used:
            names[key] = count + 1
            names[unique.lower()] = 1
        return unique

    def _name_for(self, name: str | bytes) -> str:
        """The full name of a new op: ``name`` ends in "/" if it is full and reserved already."""
        if isinstance(name, bytes):
            name = name.decode()
        if name and name[-1] == "/":
            if name[:-1] in self._by_name:
                raise ValueError(f"Duplicate node name in graph: '{name[:-1]}'")
            return name[:-1]
        if not VALID_OP_NAME.match(name) and not (self._name_stack and VALID_SCOPE_NAME.match(name)):
            raise ValueError(f"'{name}' is not a valid node name")
        return self.unique_name(name)

    @contextmanager
    def name_scope(self, name: str | None) -> Iterator[str]:
        """Puts ``name/`` in front of the names of ops made inside; a name that ends in "/" re-enters that scope as it is."""
        outer = self._name_stack
        try:
            yield self.enter_name_scope(name)
        finally:
            self._name_stack = outer

    def enter_name_scope(self, name: str | None) -> str:
        """Begins a name scope, which ends when the caller sets the stack back; returns its prefix."""
        if not name:
            self._name_stack = ""
            return ""
        if not (VALID_SCOPE_NAME if self._name_stack else VALID_OP_NAME).match(name):
            raise ValueError(f"'{name}' is not a valid scope name")
        self._name_stack = new = name[:-1] if name[-1] == "/" else self.unique_name(name)
        return new + "/" if new else ""

    def get_name_scope(self) -> str:
        """The current name scope, without a slash at its end."""
        return self._name_stack

    # --- finding -----------------------------------------------------------------------------------------------------

    def get_operations(self) -> list[Operation]:
        """All operations, in the order they were made."""
        return list(self._ops)

    def get_operation_by_name(self, name: str) -> Operation:
        """The operation called ``name``; KeyError if there is none."""
        if not isinstance(name, str):
            raise TypeError(f"Operation names are strings (or similar), not {type(name).__name__}.")
        element = self.as_graph_element(name, allow_tensor=False, allow_operation=True)
        assert isinstance(element, Operation)
        return element

    def get_tensor_by_name(self, name: str) -> Tensor:
        """The tensor called ``op_name:index``; KeyError if there is none."""
        if not isinstance(name, str):
            raise TypeError(f"Tensor names are strings (or similar), not {type(name).__name__}.")
        element = self.as_graph_element(name, allow_tensor=True, allow_operation=False)
        assert isinstance(element, Tensor)
        return element

    def as_graph_element(self, obj: Any, allow_tensor: bool = True, allow_operation: bool = True) -> Operation | Tensor:
        """The Operation or Tensor that ``obj`` is, names or stands for (a Variable stands for its tensor)."""
        if not allow_tensor and not allow_operation:
            raise ValueError("allow_tensor and allow_operation can't both be False.")
        convert = getattr(obj, "_as_graph_element", None)
        if convert is not None:
            obj = convert()
        if isinstance(obj, bytes):
            obj = obj.decode()
        if isinstance(obj, str):
            return self._element_by_name(obj, allow_tensor, allow_operation)
        if (isinstance(obj, Tensor) and allow_tensor) or (isinstance(obj, Operation) and allow_operation):
            if obj.graph is not self:
                raise ValueError(f"{obj} is not an element of this graph.")
            return obj
        wanted = " or ".join((["Tensor"] if allow_tensor else []) + (["Operation"] if allow_operation else []))
        raise TypeError(f"Can not convert a {type(obj).__name__} into a {wanted}.")

    def _element_by_name(self, name: str, allow_tensor: bool, allow_operation: bool) -> Operation | Tensor:
        op_name, colon, index = name.partition(":")
        if colon and allow_tensor:
            if not re.fullmatch(r"\d+", index):
                raise ValueError(f"The name {name!r} looks like a Tensor name, but its index is not a number.")
            op = self._by_name.get(op_name)
            if op is None:
                raise KeyError(f"The name {name!r} refers to a Tensor which does not exist. "
                               f"The operation, {op_name!r}, does not exist in the graph.")
            if int(index) >= len(op.outputs):
                raise KeyError(f"The name {name!r} refers to a Tensor which does not exist. "
                               f"The operation, {op_name!r}, exists but only has {len(op.outputs)} outputs.")
            return op.outputs[int(index)]
        if colon:
            raise ValueError(f"Name {name!r} appears to refer to a Tensor, not a Operation.")
        if not allow_operation:
            raise ValueError(f"The name {name!r} refers to an Operation, not a Tensor. "
                             "Tensor names must be of the form \"<op_name>:<output_index>\".")
        op = self._by_name.get(name)
        if op is None:
            raise KeyError(f"The name {name!r} refers to an Operation not in the graph.")
        return op

    # --- scopes ------------------------------------------------------------------------------------------------------

    @contextmanager
    def as_default(self) -> Iterator[Graph]:
        """Makes this the default graph of the thread inside a ``with`` block."""
        with _graphs.using(self):
            yield self

    @contextmanager
    def device(self, device_name_or_function: Any) -> Iterator[None]:
        """Ops made inside run on this device: a name, a DeviceSpec, a function of the op, or None to forget outer blocks."""
        device = device_name_or_function
        self._state.devices.append(device if device is None or callable(device) else canonical_name(device))
        try:
            yield
        finally:
            self._state.devices.pop()

    @contextmanager
    def colocate_with(self, op: Any, ignore_existing: bool = False) -> Iterator[None]:
        """Ops made inside run where ``op`` runs."""
        if op is not None and not isinstance(op, Operation):
            handle = getattr(op, "handle", None)  # of a variable: what reads it may be anywhere
            op = self.as_graph_element(handle if isinstance(handle, Tensor) else op)
            op = op.op if isinstance(op, Tensor) else op
        elif op is None and not ignore_existing:
            raise ValueError("Trying to reset colocation (op is None) but ignore_existing is not True")
        state, devices, entered = self._state, self._state.devices, 1 + bool(ignore_existing and op is not None)
        if not state.colocation:
            state.outside = devices
        state.colocation.extend([None, op][-entered:])
        state.devices = []  # a colocated op takes its device from the other op, not from the blocks around it
        try:
            yield
        finally:
            state.devices = devices
            del state.colocation[-entered:]

    @contextmanager
    def control_dependencies(self, control_inputs: Any) -> Iterator[None]:
        """Ops made inside run after ``control_inputs``; None forgets outer blocks."""
        controller = _Controller([self._control_op(item) for item in control_inputs or ()], control_inputs is None)
        self._state.control.append(controller)
        try:
            yield
        finally:
            self._state.control.pop()

    def _control_op(self, item: Any) -> Operation:
        item = getattr(item, "op", item) if not isinstance(item, (Operation, Tensor, str)) else item
        element = self.as_graph_element(item)
        return element.op if isinstance(element, Tensor) else element

    @contextmanager
    def gradient_override_map(self, op_type_map: dict[str, str]) -> Iterator[None]:
        """Ops of these types made inside take the gradient registered under another name."""
        with self._with_types("_gradient_overrides", "op_type_map", op_type_map):
            yield

    @contextmanager
    def _kernel_label_map(self, op_to_kernel_label_map: dict[str, str]) -> Iterator[None]:
        """Ops of these types made inside carry a label for one of several kernels; Penstock's ops have one each, which they keep."""
        with self._with_types("_kernel_labels", "op_to_kernel_label_map", op_to_kernel_label_map):
            yield

    @contextmanager
    def _with_types(self, field: str, argument: str, new: dict[str, str]) -> Iterator[None]:
        """Adds entries to a dictionary by op types, inside the block."""
        if not isinstance(new, dict) or not all(isinstance(text, str) for pair in new.items() for text in pair):
            raise TypeError(f"{argument} must be a dictionary mapping strings to strings")
        outer = getattr(self, field)
        setattr(self, field, {**outer, **new})
        try:
            yield
        finally:
            setattr(self, field, outer)

    @contextmanager
    def _attr_scope(self, attrs: dict[str, Any]) -> Iterator[None]:
        outer = self._extra_attrs
        self._extra_attrs = {k: v for k, v in {**outer, **attrs}.items() if v is not None}
        try:
            yield
        finally:
            self._extra_attrs = outer

    @contextmanager
    def _original_op(self, op: Operation) -> Iterator[None]:
        """Ops made inside note that they were made for the sake of ``op``: those of its gradient."""
        outer, self._state.original = self._state.original, op
        try:
            yield
        finally:
            self._state.original = outer

    @contextmanager
    def container(self, container_name: str) -> Iterator[str]:
        """Variables and queues made inside live in this resource container."""
        outer, self._container = self._container, container_name
        try:
            yield container_name
        finally:
            self._container = outer

    # --- state -------------------------------------------------------------------------------------------------------

    @property
    def version(self) -> int:
        """A number that grows with every operation: that of the newest, in the order in which they were made."""
        return self._ids

    _last_id = version

    @property
    def _nodes_by_name(self) -> dict[str, Operation]:
        """{name: operation}: libraries (Edward) read it."""
        return self._by_name

    @property
    def graph_def_versions(self) -> VersionDef:
        """The versions of the GraphDef format."""
        return self._versions

    def _take_versions(self, versions: VersionDef) -> None:
        """Nodes of a GraphDef are about to be added: ValueError if it cannot be read; the graph is then as old as it."""
        if versions.producer < 0:
            raise ValueError(f"GraphDef producer version {versions.producer} below min producer 0 supported by Penstock.  "
                             "Please regenerate your graph.")
        if versions.min_consumer > PRODUCER_VERSION:
            raise ValueError(f"GraphDef min consumer version {versions.min_consumer} above current version {PRODUCER_VERSION} for Penstock.  "
                             "Please upgrade Penstock.")
        known = self._versions
        known.producer, known.min_consumer = min(known.producer, versions.producer), max(known.min_consumer, versions.min_consumer)
        known.bad_consumers.extend(number for number in versions.bad_consumers if number not in known.bad_consumers)

    @property
    def finalized(self) -> bool:
        """True if no op can be added any more."""
        return self._finalized

    @property
    def building_function(self) -> bool:
        """True for the graph of a function body."""
        return False

    def finalize(self) -> None:
        """From now on the graph is read-only; sharing it between threads is safe then."""
        self._finalized = True

    def _unsafe_unfinalize(self) -> None:
        self._finalized = False

    def _get_control_flow_context(self) -> None:
        """None: see ``Operation._get_control_flow_context``."""

    def can_capture(self, graph: Graph) -> bool:
        """True if tensors of another graph may be used here: only the graphs of functions can."""
        return False

    def capture(self, tensor: Tensor) -> Tensor:
        """The tensor of this graph for ``tensor``: itself, if it is from this graph, and a constant for a value of imperative style."""
        if tensor.op.graph is not self:
            if tensor.op.graph.imperative:
                return _Later.constant(self, tensor)
            raise ValueError(f"{tensor} must be from the graph it is used in.")
        return tensor

    def outer_tensor(self, inner: Tensor) -> Tensor | None:
        """The tensor outside of a function that an input of it stands for; None elsewhere."""
        return None

    def prevent_feeding(self, tensor: Tensor) -> None:
        """Makes a tensor unfeedable."""
        self._unfeedable.add(tensor)

    def is_feedable(self, tensor: Any) -> bool:
        """True if ``tensor`` may be a key of a ``feed_dict``."""
        return tensor not in self._unfeedable

    def prevent_fetching(self, op: Any) -> None:
        """Makes an op unfetchable."""
        self._unfetchable.add(op)

    def is_fetchable(self, tensor_or_op: Any) -> bool:
        """True if the op or the tensor's op may be fetched."""
        return (tensor_or_op.op if isinstance(tensor_or_op, Tensor) else tensor_or_op) not in self._unfetchable

    def as_graph_def(self, from_version: int | None = None, add_shapes: bool = False) -> GraphDef:
        """The graph as a GraphDef proto, from the op made after ``from_version`` on."""
        return _Later.export(self, from_version, add_shapes)

    def create_op(self, op_type: str, inputs: Any, dtypes: Any = None, input_types: Any = None, name: str | None = None,
                  attrs: dict[str, Any] | None = None, op_def: Any = None, compute_shapes: bool = True,
                  compute_device: bool = True) -> Operation:
        """Adds an op by its type name: what generated TensorFlow code calls. ``attrs`` are AttrValue protos or plain values.

        ``dtypes`` are the types of its outputs. A type that Penstock does not have can be in a graph, but not run.
        """
        outputs, taken_as = (None if types is None else [as_dtype(each) for each in types] for types in (dtypes, input_types))
        return _Later.create_op(self, op_type, list(inputs), outputs, taken_as, name, attrs or {})


class _Later:
    """What modules above this one, which need Graph, give it: see opdef.py and export.py."""

    constant: Callable[..., Tensor]
    create_op: Callable[..., Operation]
    export: Callable[..., GraphDef]


class _GraphStack(DefaultStack):
    """Below the stack of each thread lies one global graph, shared by all threads, made when first asked for."""

    entered: ClassVar[list[None]] = []  # its own: see DefaultStack


_graphs = _GraphStack()
_global_graph: Graph | None = None


def default_graph() -> Graph:
    """``tf.get_default_graph()``: the graph that ops are added to."""
    global _global_graph
    if _GraphStack.entered and (items := _graphs.items):
        graph: Graph = items[-1]
        return graph
    if _global_graph is None:
        _global_graph = Graph()
    return _global_graph


def reset_default_graph() -> None:
    """``tf.reset_default_graph()``: starts over with an empty global graph."""
    global _global_graph
    if _global_graph is not None and _global_graph.imperative:
        for name in _global_graph.collections:  # the global step
            _global_graph.clear_collection(name)
        return
    if _graphs.items:
        raise AssertionError("Do not use tf.reset_default_graph() to clear nested graphs. If you need a cleared graph, exit the nesting "
                             "and create a new graph.")
    _global_graph = Graph()


def set_global_graph(graph: Graph) -> None:
    """Makes ``graph`` the one that lies below the stacks of all threads: for ``tf.enable_eager_execution``."""
    global _global_graph
    _global_graph = graph


def has_global_graph() -> bool:
    """True once operations were added to the global graph."""
    return _global_graph is not None and bool(_global_graph._ops)
