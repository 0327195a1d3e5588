"""``tensorflow.tools.graph_transforms``: a GraphDef goes through transforms that are given as text, ``"remove_nodes(op=Identity)"``."""
from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.node_def_pb2 import NodeDef

from penstock.errors import InvalidArgumentError, UnimplementedError
from penstock.graph.dtypes import as_dtype, float32
from penstock.graph.graph import Graph
from penstock.graph.graph_def import import_graph_def
from penstock.graph.graph_util import extract_sub_graph, node_name, past, subset
from penstock.graph.opdef import REGISTRY
from penstock.graph.shape import TensorShape
from penstock.graph.tensor_proto import array_to_proto
from penstock.saved_model import inference_graphs
from penstock.session.session import Session

Parameters = dict[str, list[str]]


class _Ends(NamedTuple):
    """The nodes that a graph is fed at, and those that are wanted of it."""

    inputs: list[str]
    outputs: list[str]


def TransformGraph(input_graph_def: GraphDef, inputs: Sequence[str], outputs: Sequence[str], transforms: Sequence[str]) -> GraphDef:
    """The graph after ``transforms``, in their order.

    >>> graph = Graph()
    >>> with graph.as_default():
    ...     from penstock.api import root as tf
    ...     y = tf.add(tf.identity(tf.placeholder(tf.float32, name="x")), 1.0, name="y")
    >>> [node.name for node in TransformGraph(graph.as_graph_def(), ["x"], ["y"], ["remove_nodes(op=Identity)"]).node]
    ['x', 'y/y', 'y']
    """
    ends, graph = _Ends([node_name(name) for name in inputs], [node_name(name) for name in outputs]), input_graph_def
    for text in transforms:
        name, parameters = _parse(text)
        if name not in _TRANSFORMS:
            raise UnimplementedError(None, None, f"The transform '{name}' is not in this version of Penstock, which has {sorted(_TRANSFORMS)}")
        graph = _TRANSFORMS[name](graph, ends, parameters)
    return graph


def _parse(text: str) -> tuple[str, Parameters]:
    match = re.fullmatch(r"\s*(\w+)\s*(?:\((.*)\))?\s*", text, re.DOTALL)
    if match is None:
        raise InvalidArgumentError(None, None, f"'{text}' is not a transform: name(parameter=value, ...)")
    parameters: Parameters = {}
    for name, quoted, plain in re.findall(r'(\w+)\s*=\s*(?:"([^"]*)"|([^,"]*))', match[2] or ""):
        parameters.setdefault(name, []).append(quoted or plain.strip())
    return match[1], parameters


def _strip_unused_nodes(graph: GraphDef, ends: _Ends, parameters: Parameters) -> GraphDef:
    """What the outputs need; inputs become placeholders, of the given types and shapes."""
    names = parameters.get("name", [])
    kinds = dict(zip(names, parameters.get("type_for_name", [])))
    shapes = dict(zip(names, parameters.get("shape_for_name", [])))
    default = parameters.get("type", [""])[0]
    nodes = {node.name: node for node in graph.node}
    types = [as_dtype(kinds.get(name) or default or _type_of(nodes.get(name))).as_datatype_enum for name in ends.inputs]
    result = inference_graphs.strip_unused(graph, ends.inputs, ends.outputs, types)
    for node in result.node:
        text = shapes.get(node.name) or (parameters.get("shape", [""])[0] if node.name in ends.inputs else "")
        if text:
            node.attr["shape"].shape.CopyFrom(TensorShape([int(extent) for extent in text.split(",")]).as_proto())
    return result


def _type_of(node: NodeDef | None) -> Any:
    return next((node.attr[name].type for name in ("dtype", "T") if name in node.attr), float32) if node is not None else float32


def _remove_nodes(graph: GraphDef, ends: _Ends, parameters: Parameters) -> GraphDef:
    """The graph without nodes of some types that hand their first input on."""
    kept, types = {*ends.inputs, *ends.outputs}, set(parameters.get("op", []))
    controls = {node_name(name) for node in graph.node for name in node.input if name.startswith("^")}
    passed = {node.name: node.input[0] for node in graph.node
              if node.op in types and node.name not in kept | controls and len(node.input) == 1 and not node.input[0].startswith("^")}
    left = GraphDef()
    left.CopyFrom(graph)
    for node in left.node:
        node.input[:] = [past(name, passed) for name in node.input]
    return subset(left, [node for node in left.node if node.name not in passed])


def _fold_constants(graph: GraphDef, ends: _Ends, parameters: Parameters) -> GraphDef:
    """The graph with constants where nothing depends on an input, a variable or chance."""
    nodes = {node.name: node for node in graph.node}
    fixed: dict[str, bool] = {}
    for node in _in_topological_order(graph):
        definition = REGISTRY.get(node.op)
        fixed[node.name] = node.op == "Const" or (
            node.name not in ends.inputs and definition is not None and not definition.stateful and bool(node.input)
            and not any(name.startswith("^") for name in node.input) and all(fixed.get(node_name(name), False) for name in node.input))
    wanted = {name for node in graph.node if not fixed[node.name] for name in node.input
              if not name.startswith("^") and fixed[node_name(name)] and nodes[node_name(name)].op != "Const"}
    wanted |= {name for name in ends.outputs if fixed.get(name) and nodes[name].op != "Const"}
    wanted = {name for name in wanted if ":" not in name}
    with Graph().as_default() as own:
        import_graph_def(extract_sub_graph(graph, sorted(wanted)), name="")
        with Session(graph=own) as session:
            values = session.run({name: f"{name}:0" for name in wanted})
    constants = {name: NodeDef(name=name, op="Const", device=nodes[name].device) for name in wanted}
    for name, node in constants.items():
        tensor = array_to_proto(np.asarray(values[name]))
        node.attr["dtype"].type = tensor.dtype
        node.attr["value"].tensor.CopyFrom(tensor)
    folded = subset(graph, [constants.get(node.name, node) for node in graph.node])
    return extract_sub_graph(folded, [name for name in dict.fromkeys([*ends.inputs, *ends.outputs]) if name in nodes])


def _in_topological_order(graph: GraphDef) -> list[NodeDef]:
    """The nodes, each behind those that it needs; loops end where they are entered again."""
    nodes, placed = {node.name: node for node in graph.node}, dict[str, NodeDef]()
    for root in graph.node:
        waiting = [(root, iter(root.input))]
        seen = {root.name}
        while waiting and root.name not in placed:
            node, rest = waiting[-1]
            below = next((nodes[node_name(name)] for name in rest if node_name(name) not in placed and node_name(name) not in seen), None)
            if below is None:
                placed[node.name] = node
                waiting.pop()
            else:
                seen.add(below.name)
                waiting.append((below, iter(below.input)))
    return list(placed.values())


def _with_nodes(graph: GraphDef, change: Callable[[NodeDef], None]) -> GraphDef:
    result = GraphDef()
    result.CopyFrom(graph)
    for node in result.node:
        change(node)
    return result


def _remove_device(graph: GraphDef, ends: _Ends, parameters: Parameters) -> GraphDef:
    return _with_nodes(graph, lambda node: node.ClearField("device"))


def _set_device(graph: GraphDef, ends: _Ends, parameters: Parameters) -> GraphDef:
    device, only_default = parameters.get("device", [""])[0], parameters.get("if_default", ["false"])[0] == "true"

    def change(node: NodeDef) -> None:
        if not (only_default and node.device):
            node.device = device

    return _with_nodes(graph, change)


def _remove_attribute(graph: GraphDef, ends: _Ends, parameters: Parameters) -> GraphDef:
    types, names = parameters.get("op_name", ["*"]), parameters.get("attribute_name", [])

    def change(node: NodeDef) -> None:
        for name in names if "*" in types or node.op in types else ():
            node.attr.pop(name, None)

    return _with_nodes(graph, change)


def _rename_op(graph: GraphDef, ends: _Ends, parameters: Parameters) -> GraphDef:
    (old,), (new,) = parameters["old_op_name"], parameters["new_op_name"]

    def change(node: NodeDef) -> None:
        node.op = new if node.op == old else node.op

    return _with_nodes(graph, change)


_TRANSFORMS: dict[str, Callable[[GraphDef, _Ends, Parameters], GraphDef]] = {
    "fold_batch_norms": lambda graph, ends, parameters: inference_graphs.fold_batch_norms(graph),
    "fold_old_batch_norms": lambda graph, ends, parameters: inference_graphs.fold_batch_norms(graph),
    "fold_constants": _fold_constants, "remove_attribute": _remove_attribute, "remove_device": _remove_device, "remove_nodes": _remove_nodes,
    "rename_op": _rename_op, "set_device": _set_device,
    "sort_by_execution_order": lambda graph, ends, parameters: subset(graph, _in_topological_order(graph)),
    "strip_unused_nodes": _strip_unused_nodes,
}
