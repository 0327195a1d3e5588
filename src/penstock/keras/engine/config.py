"""Graph networks as configurations, and back.

A configuration lists the layers, each with the calls that reach it: for every input [layer, index of its call, index of the tensor, arguments].
"""
from __future__ import annotations

import json
from typing import Any

import numpy as np

from penstock.graph import nest
from penstock.graph.node import Tensor
from penstock.graph.shape import TensorShape
from penstock.keras.engine.topology import node_key
from penstock.keras.layer_classes import deserialize
from penstock.layers import settings
from penstock.layers.nodes import history_of
from penstock.layers.sessions import initialized_session
from penstock.ops.constant import placeholder
from penstock.platform import logging

# --- to a configuration ----------------------------------------------------------------------------------------------


class _Leaf:
    """A list that a nest takes for one element."""

    def __init__(self, value: list[Any]) -> None:
        self.value = value


def network_config(network: Any) -> dict[str, Any]:
    """The configuration of a graph network."""
    kept = network.kept_node_indices()

    def place(tensor: Any) -> _Leaf:
        layer, index, tensor_index = tensor._keras_history
        return _Leaf([layer.name, kept[node_key(layer.name, index)], tensor_index])

    def ends(nested: Any) -> Any:
        placed = nest.map_structure(place, nested)
        return _unwrap(placed if nest.is_nested(placed) else [placed])

    layers = [{"name": layer.name, "class_name": type(layer).__name__, "config": layer.get_config(),
               "inbound_nodes": [_node_config(node, kept) for index, node in enumerate(layer._inbound_nodes)
                                 if node_key(layer.name, index) in kept and node.inbound_layers]}
              for layer in network.layers]
    return {"name": network.name, "layers": layers, "input_layers": ends(network._nested_inputs), "output_layers": ends(network._nested_outputs)}


def _node_config(node: Any, kept: dict[str, int]) -> Any:
    arguments = _plain_arguments(node)
    places = [_Leaf([layer.name, kept.get(node_key(layer.name, index), 0), tensor_index, arguments])
              for layer, index, tensor_index, _ in node.iterate_inbound()]
    packed = nest.pack_sequence_as(node.input_tensors, places)
    return _unwrap(packed if nest.is_nested(packed) else [packed])


def _unwrap(nested: Any) -> Any:
    return nest.map_structure(lambda leaf: leaf.value, nested)


def _plain_arguments(node: Any) -> dict[str, Any]:
    """The arguments of a call besides its inputs; tensors by their places, values as lists."""
    def plain(value: Any) -> Any:
        history = history_of(value)
        if history is not None:
            return [history.layer.name, history.node_index, history.tensor_index]
        if isinstance(value, Tensor):
            return initialized_session().run(value).tolist()
        return value.tolist() if isinstance(value, np.ndarray) else value

    arguments = {key: nest.map_structure(plain, value) for key, value in (node.arguments or {}).items()}
    try:
        json.dumps(arguments)
    except TypeError:
        logging.warning("Layer %s was passed non-serializable keyword arguments: %s. They will not be included in the serialized model (and thus "
                        "will be missing at deserialization time).", node.outbound_layer.name, node.arguments)
        return {}
    return arguments


# --- and back --------------------------------------------------------------------------------------------------------


def _is_place(value: Any) -> bool:
    """Whether a part of a configuration is [layer, index of the call, index of the tensor, ...]."""
    return isinstance(value, (list, tuple)) and len(value) in (3, 4) and isinstance(value[0], str) and all(isinstance(i, int) for i in value[1:3])


def _wrap(nested: Any) -> Any:
    """The nest with its places as leaves."""
    if _is_place(nested):
        return _Leaf(list(nested))
    if isinstance(nested, dict):
        return {key: _wrap(value) for key, value in nested.items()}
    return [_wrap(value) for value in nested] if isinstance(nested, (list, tuple)) else nested


class _Rebuilder:
    """Makes the layers of a configuration, and calls each as soon as its inputs are there."""

    def __init__(self, custom_objects: Any) -> None:
        self.layers: dict[str, Any] = {}
        self._custom_objects = custom_objects

    def add(self, data: dict[str, Any]) -> None:
        """Makes a layer."""
        self.layers[data["name"]] = deserialize({"class_name": data["class_name"], "config": data["config"]}, self._custom_objects)

    def tensor(self, place: list[Any]) -> Any:
        """The tensor at a place; None if it is not computed yet."""
        nodes = self.layers[place[0]]._inbound_nodes
        return nest.flatten(nodes[place[1]].output_tensors)[place[2]] if place[1] < len(nodes) else None

    def call(self, layer: Any, node: Any) -> bool:
        """Calls a layer as a node of the configuration says; False if an input is not there yet."""
        node = _wrap(node)
        places = [leaf.value for leaf in nest.flatten(node)]
        tensors = [self.tensor(place) for place in places]
        arguments = {key: self._argument(value) for key, value in (places[-1][3] if len(places[-1]) == 4 else {}).items()}
        if any(tensor is None for tensor in tensors):
            return False
        inputs = nest.pack_sequence_as(node, tensors)
        layer(tensors[0] if len(tensors) == 1 and not isinstance(inputs, dict) else inputs, **arguments)
        return True

    def _argument(self, value: Any) -> Any:
        if _is_place(value) and value[0] in self.layers:
            return self.tensor(list(value))
        return [self._argument(item) for item in value] if isinstance(value, list) and value and all(map(_is_place, value)) else value


def rebuild(config: dict[str, Any], custom_objects: Any = None) -> tuple[Any, Any, list[Any]]:
    """(inputs, outputs, layers) of the network that a configuration describes."""
    builder = _Rebuilder(custom_objects)
    pending: list[tuple[Any, list[Any]]] = []
    for data in config["layers"]:
        builder.add(data)
        pending.append((builder.layers[data["name"]], list(data["inbound_nodes"])))
    while any(nodes for _, nodes in pending):
        before = sum(len(nodes) for _, nodes in pending)
        for layer, nodes in pending:
            while nodes and builder.call(layer, nodes[0]):
                nodes.pop(0)
        if before == sum(len(nodes) for _, nodes in pending):
            waiting = [layer.name for layer, nodes in pending if nodes]
            raise ValueError(f"The configuration is not complete: {waiting} need tensors that no layer gives.")

    def ends(nested: Any) -> Any:
        tensors = nest.map_structure(lambda leaf: builder.tensor(leaf.value), _wrap(nested))
        return tensors

    return ends(config["input_layers"]), ends(config["output_layers"]), list(builder.layers.values())


# --- shapes ----------------------------------------------------------------------------------------------------------


def flat_shapes(shapes: Any) -> list[Any]:
    """The shapes in a nest of them; a shape is a TensorShape, or a tuple or list of numbers and Nones."""
    if isinstance(shapes, TensorShape) or not isinstance(shapes, (list, tuple, dict)):
        return [shapes]
    if isinstance(shapes, (list, tuple)) and all(extent is None or not isinstance(extent, (list, tuple, dict, TensorShape)) for extent in shapes):
        return [shapes]
    return [flat for inner in (shapes.values() if isinstance(shapes, dict) else shapes) for flat in flat_shapes(inner)]


def placeholders(shapes: Any) -> Any:
    """Placeholders of a shape, or of each shape in a list."""
    if isinstance(shapes, list) and shapes and isinstance(shapes[0], (list, tuple, TensorShape)):
        return [placeholders(shape) for shape in shapes]
    return placeholder(settings.floatx(), shape=TensorShape(shapes))
