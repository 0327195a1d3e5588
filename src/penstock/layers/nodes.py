"""Which layer was called on which tensors: the nodes of a Keras model's graph of layers.

A tensor that a layer returned knows that layer, the number of the call and its own place in the result (``tensor._keras_history``). Calls are
recorded only if all inputs have such a history, that is, if they come from ``tf.keras.Input``.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from penstock.graph import nest


class KerasHistory(NamedTuple):
    """Where a tensor comes from: a layer, the index of its inbound node, the index of the tensor in its outputs."""

    layer: Any
    node_index: int
    tensor_index: int


def history_of(tensor: Any) -> KerasHistory | None:
    """The history of a tensor; None for one that no layer of a model returned."""
    return getattr(tensor, "_keras_history", None)


def have_histories(tensors: Any) -> bool:
    """Whether there are tensors, and a layer of a model returned each of them."""
    flat = nest.flatten(tensors)
    return bool(flat) and all(history_of(tensor) is not None for tensor in flat)


# Functions that give tensors a history if they are computed of tensors that have one, such as the sum of two outputs of layers. Keras adds its own.
connectors: list[Callable[[list[Any]], None]] = []


def connect(tensors: Any) -> None:
    """Gives a history to those tensors that are computed of tensors with a history."""
    flat = nest.flatten(tensors)
    if connectors and not all(history_of(tensor) is not None for tensor in flat):
        for connector in connectors:
            connector(flat)


class Node:
    """One call of a layer: inputs, outputs, the other arguments, and the layers that the inputs come from."""

    def __init__(self, outbound_layer: Any, inbound_layers: Any, node_indices: Any, tensor_indices: Any, input_tensors: Any, output_tensors: Any,
                 arguments: dict[str, Any] | None = None) -> None:
        self.outbound_layer, self.inbound_layers = outbound_layer, inbound_layers
        self.node_indices, self.tensor_indices = node_indices, tensor_indices
        self.input_tensors, self.output_tensors, self.arguments = input_tensors, output_tensors, arguments
        self.input_shapes = nest.map_structure(_shape_tuple, input_tensors)
        self.output_shapes = nest.map_structure(_shape_tuple, output_tensors)
        for layer in nest.flatten(inbound_layers):
            if layer is not None:
                layer._outbound_nodes.append(self)
        outbound_layer._inbound_nodes.append(self)

    def iterate_inbound(self, include_arguments: bool = False) -> Iterator[tuple[Any, int, int, Any]]:
        """(layer, node index, tensor index, tensor) of each input; also of the tensors among the other arguments if they are asked for."""
        yield from zip(nest.flatten(self.inbound_layers), nest.flatten(self.node_indices), nest.flatten(self.tensor_indices),
                       nest.flatten(self.input_tensors))
        for value in nest.flatten(self.arguments) if include_arguments and self.arguments else ():
            history = history_of(value)
            if history is not None:
                yield (*history, value)

    def get_config(self) -> dict[str, Any]:
        """Names and indices."""
        names = nest.map_structure(lambda layer: layer.name, self.inbound_layers)
        return {"outbound_layer": self.outbound_layer.name, "inbound_layers": names, "node_indices": self.node_indices,
                "tensor_indices": self.tensor_indices}


def _shape_tuple(tensor: Any) -> tuple[int | None, ...] | None:
    return None if tensor.shape.ndims is None else tuple(tensor.shape.as_list())


class Connected:
    """The part of a layer that knows its calls."""

    def __init__(self) -> None:
        self._inbound_nodes: list[Node] = []
        self._outbound_nodes: list[Node] = []

    inbound_nodes = property(lambda self: self._inbound_nodes, doc="The calls of this layer.")
    outbound_nodes = property(lambda self: self._outbound_nodes, doc="The calls of other layers that take its outputs.")

    def _add_inbound_node(self, input_tensors: Any, output_tensors: Any, arguments: dict[str, Any] | None = None) -> None:
        """Records a call, and gives its outputs their history."""
        def part(name: str) -> Any:
            return nest.map_structure(lambda tensor: getattr(tensor._keras_history, name), input_tensors)

        Node(self, part("layer"), part("node_index"), part("tensor_index"), input_tensors, output_tensors, arguments)
        for index, tensor in enumerate(nest.flatten(output_tensors)):
            tensor._keras_history = KerasHistory(self, len(self._inbound_nodes) - 1, index)

    def _node_attribute(self, node_index: int, attribute: str, what: str) -> Any:
        if not self._inbound_nodes:
            raise RuntimeError(f"The layer has never been called and thus has no defined {what}.")
        if node_index >= len(self._inbound_nodes):
            raise ValueError(f"Asked to get {what} at node {node_index}, but the layer has only {len(self._inbound_nodes)} inbound nodes.")
        values = getattr(self._inbound_nodes[node_index], attribute)
        return values[0] if isinstance(values, list) and len(values) == 1 else values

    def get_input_at(self, node_index: int) -> Any:
        """The inputs of one call."""
        return self._node_attribute(node_index, "input_tensors", "input")

    def get_output_at(self, node_index: int) -> Any:
        """The outputs of one call."""
        return self._node_attribute(node_index, "output_tensors", "output")

    def get_input_shape_at(self, node_index: int) -> Any:
        """The shapes of the inputs of one call."""
        return self._node_attribute(node_index, "input_shapes", "input shape")

    def get_output_shape_at(self, node_index: int) -> Any:
        """The shapes of the outputs of one call."""
        return self._node_attribute(node_index, "output_shapes", "output shape")

    def get_input_mask_at(self, node_index: int) -> Any:
        """The masks of the inputs of one call."""
        return _masks(self.get_input_at(node_index))

    def get_output_mask_at(self, node_index: int) -> Any:
        """The masks of the outputs of one call."""
        return _masks(self.get_output_at(node_index))

    @property
    def input(self) -> Any:
        """The inputs of the first call."""
        if not self._inbound_nodes:
            raise AttributeError(f"Layer {self.name} is not connected, no input to return.")  # type: ignore[attr-defined]
        return self.get_input_at(0)

    @property
    def output(self) -> Any:
        """The outputs of the first call."""
        if not self._inbound_nodes:
            raise AttributeError(f"Layer {self.name} has no inbound nodes.")  # type: ignore[attr-defined]
        return self.get_output_at(0)

    input_mask = property(lambda self: _masks(self.input), doc="The masks of the inputs of the first call.")
    output_mask = property(lambda self: _masks(self.output), doc="The masks of the outputs of the first call.")
    input_shape = property(lambda self: self._only_shape("input"), doc="The shapes of the inputs, equal in all calls.")
    output_shape = property(lambda self: self._only_shape("output"), doc="The shapes of the outputs, equal in all calls.")

    def _only_shape(self, what: str) -> Any:
        if not self._inbound_nodes:
            raise AttributeError(f"The layer has never been called and thus has no defined {what} shape.")
        shapes = [getattr(node, f"{what}_shapes") for node in self._inbound_nodes]
        if len({str(shape) for shape in shapes}) > 1:
            raise AttributeError(f'The layer "{self.name}" has multiple inbound nodes, with different {what} shapes. '  # type: ignore[attr-defined]
                                 f'Hence the notion of "{what} shape" is ill-defined for the layer. Use `get_{what}_shape_at(node_index)` instead.')
        return shapes[0]


def _masks(tensors: Any) -> Any:
    if isinstance(tensors, list):
        return [getattr(tensor, "_keras_mask", None) for tensor in tensors]
    return getattr(tensors, "_keras_mask", None)
