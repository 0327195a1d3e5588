"""The table that ``model.summary()`` prints."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from penstock.graph import nest


def count_params(weights: Sequence[Any]) -> int:
    """How many numbers variables hold; each variable once."""
    return sum(math.prod(int(extent) for extent in weight.shape.as_list()) for weight in {id(weight): weight for weight in weights}.values())


def is_chain(model: Any) -> bool:
    """Whether each layer has one input, from the layer before it."""
    if type(model).__name__ == "Sequential" or not model._is_graph_network:
        return True
    levels = list(model._topology.nodes_by_depth.values())
    if any(len(nodes) > 1 or len(nest.flatten(nodes[0].inbound_layers)) > 1 for nodes in levels):
        return False
    own = {nodes[0] for nodes in levels}
    return all(sum(node in own for node in layer._inbound_nodes) <= 1 for layer in model.layers)


def print_summary(model: Any, line_length: int | None = None, positions: Any = None, print_fn: Callable[[str], Any] | None = None) -> None:
    """Prints one row per layer, and the number of weights."""
    show, chain = print_fn or print, is_chain(model)
    line_length = line_length or (65 if chain else 98)
    positions = positions or ([0.45, 0.85, 1.0] if chain else [0.33, 0.55, 0.67, 1.0])
    if positions[-1] <= 1:
        positions = [int(line_length * share) for share in positions]
    heads = ["Layer (type)", "Output Shape", "Param #", *([] if chain else ["Connected to"])]
    show(f'Model: "{model.name}"')
    show("_" * line_length)
    show(_row(heads, positions))
    show("=" * line_length)
    layers = model.layers
    for index, layer in enumerate(layers):
        for fields in _layer_rows(model, layer, chain):
            show(_row(fields, positions))
        show(("=" if index == len(layers) - 1 else "_") * line_length)
    trained = count_params(getattr(model, "_collected_trainable_weights", None) or model.trainable_weights)
    others = count_params(model.non_trainable_weights)
    show(f"Total params: {trained + others:,}")
    show(f"Trainable params: {trained:,}")
    show(f"Non-trainable params: {others:,}")
    show("_" * line_length)


def _layer_rows(model: Any, layer: Any, chain: bool) -> list[list[Any]]:
    try:
        output_shape: Any = layer.output_shape
    except AttributeError:
        output_shape = "multiple"
    row = [f"{layer.name} ({type(layer).__name__})", output_shape, layer.count_params()]
    if chain:
        return [row]
    relevant = set(model._topology.nodes)
    sources = [f"{before.name}[{node_index}][{tensor_index}]" for node in layer._inbound_nodes if node in relevant
               for before, node_index, tensor_index, _ in node.iterate_inbound()]
    return [[*row, sources[0] if sources else ""], *(["", "", "", source] for source in sources[1:])]


def _row(fields: Sequence[Any], positions: Sequence[int]) -> str:
    """The fields, each cut to its column."""
    line = ""
    for index, (field, position) in enumerate(zip(fields, positions)):
        line = (line[:-1] + " " if index else "") + str(field)
        line = line[:position].ljust(position)
    return line
