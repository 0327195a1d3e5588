"""NodeDefs as operations. What is wrong with a node is reported with its name; nothing in it is trusted."""
from __future__ import annotations

import re
from collections import Counter
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from tensorboard.compat.proto.attr_value_pb2 import AttrValue
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.node_def_pb2 import NodeDef

from penstock.errors import NotFoundError
from penstock.graph import attrs as attr_module
from penstock.graph.attrs import REQUIRED
from penstock.graph.dtypes import DType
from penstock.graph.graph import Graph
from penstock.graph.node import Operation, Tensor
from penstock.graph.opdef import REGISTRY, OpDef
from penstock.graph.opnames import VALID_OP_NAME
from penstock.graph.shape import TensorShape, unknown_shape

if TYPE_CHECKING:
    from penstock.graph.function_def import FunctionLibrary


_SCALARS_ARE_KNOWN = 22  # graphs of producers before this version say [] of a placeholder whose shape is not known, too


def _has_default_shape(definition: OpDef, attributes: dict[str, Any]) -> bool:
    """Whether a node has the shape [] where it need not have one."""
    shape = definition.attrs.get("shape")
    is_optional = shape is not None and isinstance(shape.default, TensorShape) and shape.default.ndims is None
    return is_optional and not definition.inputs and attributes["shape"].ndims == 0


def check_types(graph_def: GraphDef, library: FunctionLibrary) -> None:
    """NotFoundError, with all unknown op types, if the GraphDef has any; functions of its library are known."""
    unknown = Counter(node.op for node in graph_def.node if node.op not in REGISTRY and node.op not in library)
    if unknown:
        listed = ", ".join(f"{op_type or repr(op_type)} ({count} node{'s' if count > 1 else ''})" for op_type, count in sorted(unknown.items()))
        raise NotFoundError(None, None, f"Op types not registered in this version of Penstock: {listed}.")


class Importer:
    """Adds the nodes in an order in which inputs come first.

    ``known`` are operations that nodes may refer to besides each other; where it is given, names are taken as they are.
    """

    def __init__(self, graph: Graph, graph_def: GraphDef, scope: str, mapped: dict[str, Tensor], known: dict[str, Operation] | None = None,
                 runtime_names: bool = False, *, library: FunctionLibrary) -> None:
        self._library = library
        self._graph, self._scope, self._mapped, self._used = graph, scope, mapped, set[str]()
        self._exact = known is not None
        self._scalars_are_known = self._exact or graph_def.versions.producer >= _SCALARS_ARE_KNOWN  # (an extended graph has a version)
        self._nodes: dict[str, NodeDef] = {}
        for node in graph_def.node:
            if not VALID_OP_NAME.match(node.name.lstrip("_") if runtime_names else node.name):
                raise ValueError(f"Node {node.name!r} has no valid name")
            if node.name in self._nodes:
                raise ValueError(f"Duplicate name {node.name!r} in GraphDef.")
            self._nodes[node.name] = node
        self._ops: dict[str, Operation] = dict(known or {})
        self._full_names: dict[str, str] = {}

    def run(self) -> None:
        """Adds all nodes."""
        for node in self._in_order():
            self._ops[node.name] = self._add(node)
        self._close_loops()
        if not self._exact:
            self._take_devices_of_colocated()
        unused = [key for key in self._mapped if key not in self._used and not self._has(key)]
        if unused:
            raise ValueError(f"Attempted to map inputs that were not found in graph_def: [{', '.join(unused)}]")

    def _has(self, text: str) -> bool:
        """Whether the GraphDef has the node, or the output of a node, that a name means."""
        op_name, _, index = text.lstrip("^").partition(":")
        return op_name in self._nodes and (not index or (index.isdigit() and int(index) < len(self._ops[op_name].outputs)))

    def _take_devices_of_colocated(self) -> None:
        """A node that shares the device of others has the name of that from the first that has one, whatever it says itself."""
        for name in self._nodes:
            op = self._ops[name]
            others = [self._graph._by_name[text] for group in op._colocation
                      if (text := group.decode().removeprefix("loc:@")) != op.name and text in self._graph._by_name]
            if others:
                op._device = next((other._device for other in others if other._device), "")

    def _close_loops(self) -> None:
        for name, node in self._nodes.items():
            for index, text in enumerate(text for text in node.input if not text.startswith("^")):
                if self._closes_loop(text) and not self._is_mapped(text):
                    self._ops[name]._update_input(index, self._tensor(node, text))

    def element(self, text: str) -> Operation | Tensor:
        """What a name of ``return_elements`` means."""
        op_name, colon, index = text.partition(":")
        if text in self._mapped:
            return self._mapped[text]
        missing = f"Requested return_element {text!r} not found in graph_def."
        if colon and not index.isdigit():
            raise ValueError(f"Cannot convert {text!r} to a tensor name. {missing}")
        if op_name not in self._ops:
            raise ValueError(missing)
        op = self._ops[op_name]
        if colon and int(index) >= len(op.outputs):
            raise ValueError(f"Invalid return output {index} of node '{op_name}', which has {len(op.outputs)} output(s). {missing}")
        return op.outputs[int(index)] if colon else op

    def _source(self, text: str) -> str:
        return text.lstrip("^").partition(":")[0]

    def _is_mapped(self, text: str) -> bool:
        return text in self._mapped or (text.endswith(":0") and text[:-2] in self._mapped) or f"{text}:0" in self._mapped

    def _in_order(self) -> list[NodeDef]:
        """Nodes sorted so that inputs come first; ValueError for a missing input or a cycle."""
        order: list[NodeDef] = []
        state: dict[str, int] = {}
        for root in self._nodes:
            stack = [root]
            while stack:
                name = stack[-1]
                if state.get(name) == 2:
                    stack.pop()
                    continue
                waiting = [source for source in self._dependencies(self._nodes[name]) if state.get(source) != 2]
                if not waiting:
                    state[name] = 2
                    order.append(self._nodes[stack.pop()])
                elif state.get(name) == 1:
                    raise ValueError(f"graph_def has a cycle through node {name!r}; only a NextIteration may close one")
                else:
                    state[name] = 1
                    stack.extend(waiting)
        return order

    def _closes_loop(self, text: str) -> bool:
        """True for an input that comes from the iteration before: it cannot stand before the node that takes it."""
        source = self._nodes.get(self._source(text))
        return source is not None and source.op in REGISTRY and REGISTRY[source.op].control_flow == "next"

    def _dependencies(self, node: NodeDef) -> list[str]:
        sources = []
        for text in node.input:
            if self._is_mapped(text) or self._closes_loop(text):
                continue
            source = self._source(text)
            if source not in self._nodes and source in self._ops:
                continue
            if source not in self._nodes:
                if not re.fullmatch(r"\^?[^:]+(:\d+)?", text):
                    raise ValueError(f"Cannot convert {text!r} to a tensor name.")
                what = "Control input" if text.startswith("^") else "Input tensor"
                raise ValueError(f"Node {node.name!r}: Unknown input node {text!r}. {what} {text!r} not found in graph_def.")
            sources.append(source)
        return sources

    def _tensor(self, node: NodeDef, text: str) -> Tensor:
        name, _, index = text.partition(":")
        number = index or "0"
        for key in (f"{name}:{number}", name if number == "0" else ""):
            if key in self._mapped:
                self._used.add(key)
                return self._mapped[key]
        if not number.isdigit():
            raise ValueError(f"Cannot convert {text!r} to a tensor name.")
        op = self._ops[name]
        if int(number) >= len(op.outputs):
            raise ValueError(f"Node {node.name!r}: Connecting to invalid output {number} of source node {name} which has {len(op.outputs)} outputs. "
                             f"Input tensor {text!r} not found in graph_def.")
        return op.outputs[int(number)]

    def _add(self, node: NodeDef) -> Operation:
        definition = self._library.definition(node.op)
        texts = [text for text in node.input if not text.startswith("^")]
        forward = [text for text in texts if self._is_mapped(text) or not self._closes_loop(text)]
        if texts and not forward:
            raise ValueError(f"Node {node.name!r} ({node.op}) has no input from outside of its loop")
        stand_in = forward[0] if forward else ""  # for what comes from the next iteration, until that is there
        inputs = tuple(self._tensor(node, text if text in forward else stand_in) for text in texts)
        attributes = attributes_of(definition, node)
        attributes.update((name, self._library.get(value)) for name, value in attributes.items()
                          if definition.attrs[name].kind == "func" and name not in definition.implied)
        self._library.count_outputs(node, sum(attributes[arg.number_attr] for arg in definition.outputs if arg.number_attr is not None))
        _check_inputs(definition, node, self._full_name(node.name), inputs, attributes)
        full_name = self._full_name(node.name)
        with self._graph.device(node.device) if node.device else nullcontext():
            op = definition.add_node(self._graph, full_name, inputs, attributes)
        if len(forward) < len(texts) or (not self._scalars_are_known and _has_default_shape(definition, attributes)):
            for tensor in op.outputs:
                tensor._shape = unknown_shape()  # it may change from one iteration to the next, or was not given
        op._control_inputs.extend(self._waited_for(node, text) for text in node.input if text.startswith("^") and not self._is_mapped(text))
        self._set_extras(op, node)
        return op

    def _full_name(self, name: str) -> str:
        """What a node of the GraphDef is called here."""
        if name not in self._full_names:
            if name not in self._nodes:
                return name
            if self._scope or self._exact:
                full_name = self._graph._name_for(self._scope + name + "/")
                self._graph._names[full_name.lower()] = self._graph._names.get(full_name.lower(), 0) + 1
            else:
                full_name = self._graph.unique_name(name)
            self._full_names[name] = full_name
        return self._full_names[name]

    def _waited_for(self, node: NodeDef, text: str) -> Operation:
        op = self._ops.get(self._source(text))
        if op is None:
            raise ValueError(f"Input {text!r} of node {node.name!r} ({node.op}) closes a cycle; only a NextIteration that is a data input may")
        return op

    def _set_extras(self, op: Operation, node: NodeDef) -> None:
        for key, value in node.attr.items():
            if key == "_class":
                op._colocation = tuple(self._group(node, group) for group in value.list.s)
            elif key == "_output_shapes":
                for tensor, shape in zip(op.outputs, value.list.shape):
                    try:
                        tensor.set_shape(TensorShape(shape))
                    except ValueError as error:
                        raise ValueError(f"Attribute '_output_shapes' of node {node.name!r} ({node.op}): {error}") from None
            elif key not in op.definition.attrs and not (key == "_gradient_op_type" and _is_of_process(value)):
                op._extra[key] = value


    def _group(self, node: NodeDef, group: bytes) -> bytes:
        """The name of a colocation group here: its operation may be called otherwise than in the GraphDef, and may come later than the node."""
        name = group.decode().removeprefix("loc:@")
        if name not in self._nodes and not self._exact:
            raise ValueError(f"Node {node.name!r} expects to be colocated with unknown node {name!r}: it does not exist during import")
        return b"loc:@" + self._full_name(name).encode()


def _is_of_process(gradient: AttrValue) -> bool:
    """Whether the gradient of a call is one that TensorFlow registered only in the process that wrote the graph: "PartitionedCall-7"."""
    return re.fullmatch(r"\w*PartitionedCall-\d+", gradient.s.decode()) is not None


def attributes_of(definition: OpDef, node: NodeDef) -> dict[str, Any]:
    """The attributes of a NodeDef as plain values, with the defaults of those that it leaves out."""
    attributes: dict[str, Any] = {}
    for name, attr in definition.attrs.items():
        if name in node.attr:
            try:
                attributes[name] = attr.check(definition.type, name, attr_module.from_proto(attr.kind, node.attr[name]))
            except (TypeError, ValueError) as error:
                raise ValueError(f"Attribute '{name}' of node {node.name!r} ({node.op}): {error}") from None
        elif attr.default is not REQUIRED:
            attributes[name] = attr.default
        else:
            raise ValueError(f"Node {node.name!r} ({node.op}) lacks the attribute '{name}'")
    return attributes


def _check_inputs(definition: OpDef, node: NodeDef, name: str, inputs: tuple[Tensor, ...], attributes: dict[str, Any]) -> None:
    """Number and types of a node's inputs must be what its attributes say."""
    wanted: list[DType] = []
    for arg in definition.inputs:
        if arg.type_list_attr is not None:
            types = list(attributes[arg.type_list_attr])
        else:
            number = 1 if arg.number_attr is None else attributes[arg.number_attr]
            if arg.number_attr is not None and number > len(inputs):  # before a list of that length is made
                raise ValueError(f"Node {node.name!r} ({node.op}) has {len(inputs)} inputs; '{arg.name}' needs {number}.")
            types = [attributes[arg.type_attr] if arg.type_attr is not None else arg.dtype] * number
        wanted += [dtype._as_ref for dtype in types] if arg.is_ref else types
    if len(wanted) != len(inputs):
        raise _wrong_number(node, name, inputs, wanted)
    for index, (tensor, dtype) in enumerate(zip(inputs, wanted)):
        if tensor.dtype.base_dtype is not dtype.base_dtype or (dtype.is_ref and not tensor.dtype.is_ref):
            raise ValueError(f"Input {index} of node {name} was passed {_text(tensor.dtype)} from {tensor.name} incompatible with expected "
                             f"{_text(dtype)}. Cannot convert a tensor of type {tensor.dtype.name} to an input of type {dtype.name}.")


def _wrong_number(node: NodeDef, name: str, inputs: tuple[Tensor, ...], wanted: list[DType]) -> ValueError:
    if len(inputs) > len(wanted):
        extra = ", ".join(repr(text) for text in node.input[len(wanted):len(inputs)])
        what = f"More inputs specified ({extra}) than the op expects"
    else:
        expected, given = (", ".join(dtype.name for dtype in types) for types in (wanted, [tensor.dtype.base_dtype for tensor in inputs]))
        what = f"Input types mismatch (expected '{expected}' but got '{given}')"
    return ValueError(f"NodeDef expected inputs '{', '.join(map(_text, wanted))}' do not match {len(inputs)} inputs specified; {what}; "
                      f"NodeDef: {{{{node {name}}}}}")


def _text(dtype: DType) -> str:
    """A type as TensorFlow's runtime calls it."""
    return dtype.name.replace("float32", "float").replace("float64", "double").replace("float16", "half")
