"""Layout choice: images are computed with their channels last, and transposes that meet their inverse vanish, also across elementwise ops.

Kernels read and write images with their channels last. A graph made for other devices has them first: its convolutions, poolings and
normalisations are given the other format here, and all that stands between them is transposed with them (``orders.py`` says what), so that
transposes are left only where tensors come from outside, or are seen there. Sums over transposed tensors may be rounded differently.
"""
from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from penstock.graph.dtypes import DType, int32
from penstock.ops.array.gather import GatherV2
from penstock.ops.array.permute import Transpose
from penstock.ops.array.shape_ops import ExpandDims
from penstock.ops.constant import Const
from penstock.program.ir import Edge, Node, Program
from penstock.program.passes.orders import (
    Order,
    Orders,
    axes_of,
    compose_orders,
    format_with_channels_last,
    inverse,
    permutation,
    rank_of,
    transposed_inputs,
    transposed_outputs,
)
from penstock.program.passes.walk import Walk, constant_of


def choose_layout(program: Program) -> Program:
    """With channels last, and with fewer transposes."""
    if not any(node.definition.permutes or format_with_channels_last(node) for node in program.nodes):
        return program
    walk = Walk(program)
    orders = Orders(walk)
    return walk.rewrite(_LayoutRewriter(walk, orders.transposed).visit) if orders.transposed else program


class _LayoutRewriter:
    """Puts transposed nodes in the place of others. ``_sources`` knows of transposed edges what they are transposes of."""

    def __init__(self, walk: Walk, transposed: dict[Node, Order]) -> None:
        self._walk, self._orders = walk, transposed
        self._sources: dict[Edge, tuple[Edge, Order]] = {}

    def visit(self, node: Node, nodes: list[Node]) -> list[Edge] | None:
        """See ``Walk.rewritten``."""
        if node.definition.permutes:
            return self._transpose(node)
        order = self._orders.get(node)
        return None if order is None else self._transpose_node(node, order, nodes)

    def _transpose(self, node: Node) -> list[Edge] | None:
        order = permutation(node)
        if order is None:
            return None
        source, first = self._sources.get(node.inputs[0], (None, order))
        if source is not None and compose_orders(first, order) == tuple(range(len(order))) and node not in self._walk.fetched \
                and self._walk.is_plain(node, source):
            return [source]
        self._sources[node, 0] = node.inputs[0], order
        return None

    def _transpose_node(self, node: Node, order: Order, nodes: list[Node]) -> list[Edge]:
        positions = set(transposed_inputs(node))
        names = [arg.name for arg, edges in node.definition.group(node.inputs, node.attrs) for _ in edges]
        inputs: list[Edge] = []
        for position, (name, edge) in enumerate(zip(names, node.inputs)):
            given, first = edge, len(nodes)
            if position in positions:
                edge = self._transposed_input(node, position, order, nodes)
            elif name == node.definition.axes:
                axes = np.array([order[axis] for axis in axes_of(node, len(order)) or ()])
                edge = _add_constant(node, axes.reshape(constant_of(edge).shape), edge[0].output_dtypes[edge[1]], nodes)  # type: ignore[union-attr]
            elif name in node.definition.per_axis:
                edge = _reorder_entries(node, edge, order, nodes)
            inputs.append(edge)
            if self._walk.carries_reference(given):
                _read_in_time(node, given, nodes[first:])
        made = replace(node, inputs=inputs, attrs=_attributes(node, order))
        nodes.append(made)
        results = [(made, index) for index in range(len(made.output_dtypes))]
        for index in transposed_outputs(node):
            results[index] = back = _transpose_edge(node, results[index], order, nodes)
            self._sources[back] = (made, index), order
        return results

    def _transposed_input(self, node: Node, position: int, order: Order, nodes: list[Node]) -> Edge:
        """What an input is the transpose of."""
        edge, rank = node.inputs[position], rank_of(node, position)
        if rank == 0:
            return edge
        source, existing = self._sources.get(edge, (None, order))
        if source is not None and existing == order and source[0].device == node.device:
            return source
        for _ in range(len(order) - (rank or 0)):
            edge = _add_node(node, ExpandDims, [edge, _add_constant(node, np.array(0), int32, nodes)], {"Tdim": int32}, nodes)
        return _transpose_edge(node, edge, inverse(order), nodes)


def _read_in_time(node: Node, edge: Edge, made: list[Node]) -> None:
    """A reference is read when the node would read it."""
    for reader in made:
        if edge in reader.inputs:
            reader.control = list(dict.fromkeys([*node.control, *(producer for producer, _ in node.inputs if producer is not edge[0])]))


def _attributes(node: Node, order: Order) -> dict[str, Any]:
    """Those of the transposed node."""
    changed: dict[str, Any] = {name: tuple(_rows(node.attrs[name], order).tolist()) for name in node.definition.per_axis
                               if name in node.attrs and len(node.attrs[name])}
    if node.definition.images:
        changed["data_format"] = format_with_channels_last(node)
    return {**node.attrs, **changed}


def _rows(value: Any, order: Order) -> np.ndarray:
    """What belongs to each axis, in the order of the transposed axes."""
    array = np.asarray(value)
    return array.reshape(len(order), -1)[list(inverse(order))].reshape(array.shape)


def _reorder_entries(node: Node, edge: Edge, order: Order, nodes: list[Node]) -> Edge:
    """An input with an entry per axis."""
    value, dtype = constant_of(edge), edge[0].output_dtypes[edge[1]].base_dtype
    if value is not None:
        return _add_constant(node, _rows(value, order), dtype, nodes)
    indices = _add_constant(node, np.array(inverse(order)), int32, nodes)
    attributes = {"batch_dims": 0, "Tparams": dtype, "Tindices": int32, "Taxis": int32}
    return _add_node(node, GatherV2, [edge, indices, _add_constant(node, np.array(0), int32, nodes)], attributes, nodes)


def _transpose_edge(node: Node, edge: Edge, order: Order, nodes: list[Node]) -> Edge:
    return _add_node(node, Transpose, [edge, _add_constant(node, np.array(order), int32, nodes)], {"Tperm": int32}, nodes)


def _add_node(node: Node, definition: Any, inputs: list[Edge], attributes: dict[str, Any], nodes: list[Node]) -> Edge:
    """A node that stands beside another one, for its layout."""
    producer, index = inputs[0]
    attrs = attributes if "Tparams" in attributes else {"T": producer.output_dtypes[index].base_dtype, **attributes}
    nodes.append(Node(definition, f"{node.name}/_layout", attrs, inputs, device=node.device))
    return nodes[-1], 0


def _add_constant(node: Node, value: np.ndarray, dtype: DType, nodes: list[Node]) -> Edge:
    nodes.append(Node(Const, f"{node.name}/_axes", {"value": value.astype(dtype.np), "dtype": dtype}, device=node.device))
    return nodes[-1], 0
