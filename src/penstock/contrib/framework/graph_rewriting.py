"""``fuse_op``: a part of a GraphDef becomes one node of another type."""
from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.node_def_pb2 import NodeDef


def fuse_op(graph_def: GraphDef, input_nodes: list[str], output_nodes: list[str], output_dtypes: list[int], output_quantized: bool, op_name: str,
            op_type: str) -> GraphDef:
    """A GraphDef in which one node ``op_name`` of type ``op_type`` computes ``output_nodes`` of ``input_nodes``."""
    if not isinstance(graph_def, GraphDef):
        raise TypeError("graph_def must be a graph_pb2.GraphDef proto.")
    for what, names in (("input_nodes", input_nodes), ("output_nodes", output_nodes)):
        if isinstance(names, str):
            raise TypeError(f"{what} must be a list.")
    nodes = {node.name: node for node in graph_def.node}
    for name in [*input_nodes, *output_nodes]:
        if name not in nodes:
            raise AssertionError(f"{name} is not in graph")
    before, until = _needed_for(input_nodes, nodes), _needed_for(output_nodes, nodes)
    _check_inside(until - before - set(output_nodes), set(input_nodes), before, nodes)
    result = GraphDef(versions=graph_def.versions, library=graph_def.library)
    result.node.extend(node for node in graph_def.node if node.name in before)
    fused = NodeDef(name=op_name, op=op_type, input=input_nodes)
    fused.attr["_output_types"].list.type[:] = output_dtypes
    fused.attr["_output_quantized"].b = output_quantized
    result.node.append(fused)
    for index, name in enumerate(output_nodes):
        output = copy.deepcopy(nodes[name])
        output.input[:] = [f"{op_name}:{index}" if index else op_name]
        result.node.append(output)
    result.node.extend(node for node in graph_def.node if node.name not in before and node.name not in until)
    return result


def _inputs(node: Any) -> list[str]:
    return [name.lstrip("^").partition(":")[0] for name in node.input]


def _needed_for(names: Iterable[str], nodes: dict[str, Any]) -> set[str]:
    """The nodes that these need, and themselves."""
    pending, needed = list(names), set(names)
    while pending:
        new = set(_inputs(nodes[pending.pop()])) - needed
        needed |= new
        pending += new
    return needed


def _check_inside(inside: set[str], inputs: set[str], before: set[str], nodes: dict[str, Any]) -> None:
    """Raises TypeError if a node inside needs something from before that is not an input."""
    for name in inside:
        for used in _inputs(nodes[name]):
            if used in before and used not in inputs:
                raise TypeError(f"Node {name} uses input {used} not in input_nodes.")
