"""The graph of layers between given inputs and outputs, in the order in which it can be computed.

The order is Keras's, since it is the order of a model's layers and thereby of its weights: layers by their depth, that is, the longest way to an
output; layers of equal depth as a walk from the outputs meets them.
"""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

from penstock.graph import nest
from penstock.layers.nodes import Node


class Topology(NamedTuple):
    """Layers and nodes of a model, first things first. ``keys`` name the nodes, as configurations do."""

    layers: list[Any]
    nodes_by_depth: dict[int, list[Node]]
    keys: set[str]

    @property
    def nodes(self) -> list[Node]:
        """The calls of layers, in an order in which they can be computed."""
        return [node for depth in sorted(self.nodes_by_depth, reverse=True) for node in self.nodes_by_depth[depth]]


def node_key(layer_name: str, node_index: int) -> str:
    """The name of a call of a layer."""
    return f"{layer_name}_ib-{node_index}"


class _Walk:
    """From tensors back to what they are computed of; nodes are listed behind those that they need."""

    def __init__(self) -> None:
        self.keys: set[str] = set()
        self.order: list[Node] = []
        self.met: dict[Any, int] = {}  # {layer: its number}
        self._finished: set[Node] = set()

    def visit(self, tensor: Any) -> None:
        """Goes back from a tensor, without recursion: models may be deep."""
        in_progress: dict[Node, None] = {}
        pending = [self._enter(tensor)]
        while pending:
            node, inputs = pending[-1]
            if node in self._finished:
                pending.pop()
                continue
            in_progress.setdefault(node)
            step = next(inputs, None)
            if step is None:
                pending.pop()
                del in_progress[node]
                self._finished.add(node)
                self.order.append(node)
                continue
            below = self._enter(step[3])
            if below[0] in in_progress:
                raise ValueError(f'The tensor {step[3]} at layer "{step[0].name}" is part of a cycle.')
            pending.append(below)

    def _enter(self, tensor: Any) -> tuple[Node, Any]:
        layer, node_index, _ = tensor._keras_history
        node = layer._inbound_nodes[node_index]
        if node not in self._finished:
            self.keys.add(node_key(layer.name, node_index))
            self.met.setdefault(layer, len(self.met))
        return node, node.iterate_inbound(include_arguments=True)


def topology(inputs: Sequence[Any], outputs: Sequence[Any]) -> Topology:
    """What lies between ``inputs`` and ``outputs``. ValueError if an output needs another input, or if two layers have one name."""
    walk = _Walk()
    for tensor in outputs:
        walk.visit(tensor)
    node_depths, layer_depths = _depths(walk.order)
    for tensor in inputs:  # those that no output needs may still be used by losses and metrics
        layer = tensor._keras_history.layer
        if layer not in layer_depths:
            layer_depths[layer], walk.met[layer], node_depths[layer._inbound_nodes[0]] = 0, -1, 0
            walk.keys.add(node_key(layer.name, 0))
    layers = sorted(layer_depths, key=lambda layer: (-layer_depths[layer], walk.met[layer]))
    nodes_by_depth = defaultdict(list)
    for node, depth in node_depths.items():
        nodes_by_depth[depth].append(node)
    topology = Topology(layers, dict(nodes_by_depth), walk.keys)
    _check_connected(topology, inputs)
    _check_names([layer.name for layer in layers])
    return topology


def _depths(order: list[Node]) -> tuple[dict[Node, int], dict[Any, int]]:
    """The longest way from each node, and from each layer, to an output."""
    nodes: dict[Node, int] = {}
    layers: dict[Any, int] = {}
    for node in reversed(order):
        layer = node.outbound_layer
        depth = nodes[node] = layers[layer] = max(nodes.setdefault(node, 0), layers.get(layer, 0))
        for before, index, _, _ in node.iterate_inbound(include_arguments=True):
            below = before._inbound_nodes[index]
            nodes[below] = max(depth + 1, nodes.get(below, 0))
    return nodes, layers


def _check_connected(topology: Topology, inputs: Sequence[Any]) -> None:
    computable = {id(tensor) for tensor in inputs}
    reached: list[Any] = []
    for node in topology.nodes:
        for tensor in nest.flatten(node.input_tensors):
            if id(tensor) not in computable:
                raise ValueError(f'Graph disconnected: cannot obtain value for tensor {tensor} at layer "{node.outbound_layer.name}". '
                                 f"The following previous layers were accessed without issue: {reached}")
        computable.update(id(tensor) for tensor in nest.flatten(node.output_tensors))
        reached.append(node.outbound_layer.name)


def _check_names(names: list[str]) -> None:
    for name in names:
        if names.count(name) != 1:
            raise ValueError(f'The name "{name}" is used {names.count(name)} times in the model. All layer names should be unique.')
