"""GraphDefs made ready for inference, as the tools of ``tensorflow.python.tools`` do it: without what only training needs, with batch norms that
have become part of the convolution before them.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.node_def_pb2 import NodeDef

from penstock.graph.graph_util import extract_sub_graph, node_name, remove_training_nodes, subset
from penstock.graph.tensor_proto import array_to_proto, proto_to_array
from penstock.platform import logging

# Batch norms: {type: (the places of input, mean, variance, beta, gamma among their inputs, the attribute of epsilon)}.
_NORMS = {"BatchNormWithGlobalNormalization": ((0, 1, 2, 3, 4), "variance_epsilon"), "FusedBatchNorm": ((0, 3, 4, 2, 1), "epsilon"),
          "FusedBatchNormV3": ((0, 3, 4, 2, 1), "epsilon")}
_CONVOLUTIONS = ("Conv2D", "DepthwiseConv2dNative")


def strip_unused(input_graph_def: GraphDef, input_node_names: Sequence[str], output_node_names: Sequence[str],
                 placeholder_type_enum: Any) -> GraphDef:
    """The nodes between inputs, which become placeholders, and outputs. ``placeholder_type_enum``: the type of all inputs, or a list of theirs."""
    for name in input_node_names:
        if ":" in name:
            raise ValueError(f"Name '{name}' appears to refer to a Tensor, not a Operation.")
    missing = set(input_node_names) - {node.name for node in input_graph_def.node}
    if missing:
        raise KeyError(f"The following input nodes were not found: {missing}")
    each = isinstance(placeholder_type_enum, (list, tuple))
    kinds = dict(zip(input_node_names, placeholder_type_enum if each else [placeholder_type_enum] * len(input_node_names)))
    replaced = GraphDef()
    replaced.CopyFrom(input_graph_def)
    for node in replaced.node:
        if node.name in kinds:
            kept = {name: node.attr[name] for name in ("_output_shapes", "shape") if name in node.attr}
            placeholder = NodeDef(name=node.name, op="Placeholder", attr=kept)
            placeholder.attr["dtype"].type = getattr(kinds[node.name], "as_datatype_enum", kinds[node.name])
            node.CopyFrom(placeholder)
    return extract_sub_graph(replaced, output_node_names)


def optimize_for_inference(input_graph_def: GraphDef, input_node_names: Sequence[str], output_node_names: Sequence[str], placeholder_type_enum: Any,
                           toco_compatible: bool = False) -> GraphDef:
    """A frozen graph, cut down to what leads from inputs to outputs, without nodes of training, with batch norms folded.

    Resizing and padding are left to the convolution's own node: native code joins what it gains from.
    """
    names = [node.name for node in input_graph_def.node]
    if len(set(names)) != len(names):
        raise ValueError(f"Duplicate node names detected: {sorted(name for name in set(names) if names.count(name) > 1)}")
    graph = strip_unused(input_graph_def, input_node_names, output_node_names, placeholder_type_enum)
    return fold_batch_norms(remove_training_nodes(graph, output_node_names))


def fold_batch_norms(input_graph_def: GraphDef) -> GraphDef:
    """The graph with convolutions whose weights are scaled by the batch norm behind them, which becomes an addition."""
    nodes = {node.name: node for node in input_graph_def.node}
    uses: dict[str, int] = {}
    for node in input_graph_def.node:
        for name in node.input:
            uses[node_name(name)] = uses.get(node_name(name), 0) + 1
    new: dict[str, list[NodeDef]] = {}  # what takes the place of a node
    statistics: set[str] = set()
    for node in input_graph_def.node:
        folded = _fold(node, nodes, uses) if node.op in _NORMS else None
        if folded is not None:
            weights, *addition = folded
            new.update({weights.name: [weights], node.name: addition})
            statistics.update(map(node_name, node.input[1:]))
    left = [each for node in input_graph_def.node for each in new.get(node.name, [node])]
    used = {node_name(name) for node in left for name in node.input}
    return subset(input_graph_def, (node for node in left if node.name in used or node.name not in statistics))


def _fold(norm: NodeDef, nodes: dict[str, NodeDef], uses: dict[str, int]) -> list[NodeDef] | None:
    """The weights, the offset and the addition that make a batch norm needless; None, with a warning, where it has to stay."""
    places, epsilon = _NORMS[norm.op]
    convolution, *statistics = (nodes[node_name(norm.input[place])] for place in places)
    if convolution.op not in _CONVOLUTIONS:
        logging.warning("The input of '%s' is not a convolution but %s: it stays as it is", norm.name, convolution.op)
        return None
    weights = nodes[node_name(convolution.input[1])]
    variable = next((node for node in (weights, *statistics) if node.op != "Const"), None)
    if variable is not None:
        logging.warning("'%s' of '%s' is not a constant: has the graph been frozen?", variable.name, norm.name)
        return None
    if uses[convolution.name] > 1 or uses[weights.name] > 1:
        logging.warning("'%s' or its weights have other users than '%s': it stays as it is", convolution.name, norm.name)
        return None
    if norm.op != "BatchNormWithGlobalNormalization" and norm.attr["is_training"].b:
        logging.warning("'%s' computes the statistics of its batch: it stays as it is", norm.name)
        return None
    return _scale_weights(norm, convolution, weights, [_value(node) for node in statistics], norm.attr[epsilon].f)


def _scale_weights(norm: NodeDef, convolution: NodeDef, weights: NodeDef, statistics: list[Any], epsilon: float) -> list[NodeDef]:
    mean, variance, beta, gamma = statistics
    scale = 1.0 / np.sqrt(variance + epsilon)
    if norm.op != "BatchNormWithGlobalNormalization" or norm.attr["scale_after_normalization"].b:
        scale = scale * gamma
    filters = _value(weights)
    per_filter = scale.reshape(filters.shape[2:]) if convolution.op == "DepthwiseConv2dNative" else scale
    addition = NodeDef(name=norm.name, op="BiasAdd", device=norm.device, input=[convolution.name, f"{convolution.name}_bn_offset"])
    addition.input.extend(name for name in norm.input if name.startswith("^"))
    for name in ("T", "data_format"):
        if name in convolution.attr:
            addition.attr[name].CopyFrom(convolution.attr[name])
    return [_constant(weights.name, filters * per_filter, filters.dtype),
            _constant(addition.input[1], beta - mean * scale, mean.dtype), addition]


def _value(node: NodeDef) -> Any:
    return proto_to_array(node.attr["value"].tensor)


def _constant(name: str, value: Any, dtype: Any) -> NodeDef:
    node, tensor = NodeDef(name=name, op="Const"), array_to_proto(value.astype(dtype))
    node.attr["dtype"].type = tensor.dtype
    node.attr["value"].tensor.CopyFrom(tensor)
    return node
