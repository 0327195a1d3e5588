"""A dataset as bytes, so that an iterator can go on where there is nothing that makes its dataset: a GraphDef with the ops that made it, one after
the other, and with the values that they were given; the functions that they call are its library. A dataset whose functions use variables or tables
has no such form: what these hold is not part of it.
"""
from __future__ import annotations

from typing import Any

import numpy as np
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.node_def_pb2 import NodeDef

from penstock.errors import invalid_argument
from penstock.graph.attrs import from_proto, to_proto
from penstock.graph.function import FuncGraph
from penstock.graph.function_def import FunctionLibrary, called_functions, to_function_def
from penstock.graph.graph import Graph
from penstock.graph.members import parameters_of
from penstock.graph.opdef import REGISTRY
from penstock.graph.tensor_proto import array_to_proto, proto_to_array
from penstock.ops.data.dataset_core import Source

_LIST = "list"  # the op of a node that stands for a list of values


class _NotStorable(Exception):
    """The dataset has a part without a form as bytes."""


def dataset_to_bytes(source: Source) -> bytes:
    """The bytes of a dataset; none if it cannot be stored."""
    graph, functions = GraphDef(), dict[str, FuncGraph]()
    try:
        _add(graph, source, functions)
    except _NotStorable:
        return b""
    called = called_functions(op for function in functions.values() for op in function._ops)
    graph.library.function.extend(to_function_def(function) for function in dict.fromkeys([*functions.values(), *called]))
    return graph.SerializeToString(deterministic=True)


def dataset_from_bytes(stored: bytes, ctx: Any) -> Source:
    """The dataset that was stored; its functions run in the context of the kernel that asks. InvalidArgumentError if the bytes are none of
    `dataset_to_bytes`.
    """
    graph, made = GraphDef(), dict[str, Any]()
    try:
        graph.ParseFromString(stored)
        library = FunctionLibrary(graph, Graph())
        for node in graph.node:
            made[node.name] = _make(node, made, library, ctx)
        source = made[graph.node[-1].name]
    except (KeyError, IndexError, ValueError, TypeError) as error:  # ValueError: also protobuf's DecodeError
        raise invalid_argument(f"a stored dataset cannot be read: {error!r}") from error
    if not isinstance(source, Source):
        raise invalid_argument("what was stored is not a dataset")
    return source


def _add(graph: GraphDef, value: Any, functions: dict[str, FuncGraph]) -> str:
    """Adds the nodes of a value; returns the name of the last one."""
    if isinstance(value, Source):
        node = _dataset_node(graph, value, functions)
    elif isinstance(value, list):
        node = NodeDef(op=_LIST, input=[_add(graph, item, functions) for item in value])
    elif isinstance(value, (np.ndarray, np.generic)):
        node = NodeDef(op="Const")
        node.attr["value"].tensor.CopyFrom(array_to_proto(np.asarray(value)))
    else:
        raise _NotStorable
    node.name = f"part_{len(graph.node)}"
    graph.node.append(node)
    return node.name


def _dataset_node(graph: GraphDef, source: Source, functions: dict[str, FuncGraph]) -> NodeDef:
    if source.recipe is None:
        raise _NotStorable
    definition = REGISTRY[source.recipe.op_type]
    node = NodeDef(op=definition.type)
    for name, value in source.recipe.arguments.items():
        if name in definition.position:
            node.input.append(f"{name}:{_add(graph, value, functions)}")
        elif name != "ctx":
            node.attr[name].CopyFrom(to_proto(definition.attrs[name].kind, value))
            if isinstance(value, FuncGraph) and functions.setdefault(value.name, value) is not value:
                raise _NotStorable  # functions of two graphs, with one name
    return node


def _make(node: NodeDef, made: dict[str, Any], library: FunctionLibrary, ctx: Any) -> Any:
    if node.op == "Const":
        return proto_to_array(node.attr["value"].tensor)
    if node.op == _LIST:
        return [made[name] for name in node.input]
    definition = REGISTRY[node.op]
    if definition.kernel is None or not definition.calls_later:  # a stored file calls dataset ops only
        raise ValueError(f"{node.op} makes no dataset")
    arguments = {name: made[part] for name, _, part in (entry.partition(":") for entry in node.input)}
    for name, value in node.attr.items():
        kind = definition.attrs[name].kind
        arguments[name] = library.get(value.func.name) if kind == "func" else from_proto(kind, value)
    wanted = parameters_of(definition.kernel)
    return definition.kernel(**arguments, **({"ctx": ctx} if "ctx" in wanted else {}))
