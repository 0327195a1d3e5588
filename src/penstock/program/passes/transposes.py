"""Layout: transposes of transposes are one or none, and so are reshapes of reshapes.

Shapes have to be known where a node is passed over: one that could not run (a reshape to another size) must still say so.
"""
from __future__ import annotations

from dataclasses import replace

import numpy as np

from penstock.graph.shape import TensorShape
from penstock.ops.constant import Const
from penstock.program.ir import Edge, Node, Program
from penstock.program.passes.orders import compose_orders, permutation
from penstock.program.passes.walk import Walk, constant_of


def simplify_layout(program: Program) -> Program:
    """With fewer changes of layout."""
    walk = Walk(program)
    sources: dict[Node, tuple[Edge, TensorShape]] = {}

    def visit(node: Node, nodes: list[Node]) -> list[Edge] | None:
        if node.control or node not in walk.used:
            return None
        edge: Edge | None = None
        if node.definition.permutes:
            edge = _merge_transposes(walk, node, nodes)
        elif node.definition.keeps_order:
            edge = _merge_reshapes(walk, node, nodes, sources)
        return None if edge is None else [edge]
    return walk.rewrite(visit)


def _copy_with_inputs(node: Node, inputs: list[Edge], nodes: list[Node]) -> Edge:
    """The node with other inputs."""
    nodes.append(replace(node, inputs=inputs))
    return nodes[-1], 0


# --- axes in another order ---------------------------------------------------------------------------------------------------------------

def _merge_transposes(walk: Walk, node: Node, nodes: list[Node]) -> Edge | None:
    """What the node's output equals: the input, or one transpose where there were two; None if the node stays."""
    order = permutation(node)
    if order is None:
        return None
    edge = node.inputs[0]
    inner = edge[0]
    first = permutation(inner) if inner.definition is node.definition and not inner.control else None
    if first is not None and len(first) == len(order) and walk.is_plain(node, inner.inputs[0]):
        edge, order = inner.inputs[0], compose_orders(first, order)
    if order == tuple(range(len(order))):
        return edge if walk.is_plain(node, edge) and node not in walk.fetched else None
    if edge is node.inputs[0]:
        return None
    dtype = node.attrs["Tperm"]
    nodes.append(Node(Const, f"{node.name}/_perm", {"value": np.array(order, dtype.np), "dtype": dtype}, device=node.device))
    return _copy_with_inputs(node, [edge, (nodes[-1], 0)], nodes)


# --- another shape -----------------------------------------------------------------------------------------------------------------------

def _merge_reshapes(walk: Walk, node: Node, nodes: list[Node], sources: dict[Node, tuple[Edge, TensorShape]]) -> Edge | None:
    """What the node's output equals: an edge with that shape, or one reshape where there were several; None if the node stays.

    ``sources`` knows, of nodes that keep the order of the elements, the first edge that has them, and its shape.
    """
    origin = node.origin
    if origin is None or origin.definition is not node.definition or not all(
            tensor.shape.is_fully_defined() for tensor in (origin._inputs[0], origin.outputs[0])):
        return None
    edge, shape = node.inputs[0], origin._inputs[0].shape
    source = sources.get(edge[0])
    if source is not None and walk.is_plain(node, source[0]):
        edge, shape = source
    if shape == origin.outputs[0].shape and node not in walk.fetched and walk.is_plain(node, edge):
        return edge
    sources[node] = edge, shape
    if edge is node.inputs[0] or not _is_shape(node):
        return None
    made = _copy_with_inputs(node, [edge, node.inputs[1]], nodes)
    sources[made[0]] = edge, shape
    return made


def _is_shape(node: Node) -> bool:
    """True if the second input is the whole new shape, so that the first one's does not matter."""
    value = constant_of(node.inputs[1]) if len(node.inputs) > 1 else None
    return value is not None and value.ndim == 1 and node.origin is not None and value.tolist() == node.origin.outputs[0].shape.as_list()
