"""Graphs for inference without masks: each masked weight becomes one constant."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.node_def_pb2 import NodeDef

from penstock.checkpoint.checkpoint_state import latest_checkpoint
from penstock.contrib.model_pruning.masks import MASKED_WEIGHT_NAME
from penstock.graph.graph import Graph
from penstock.graph.graph_def import import_graph_def
from penstock.graph.graph_util import convert_variables_to_constants, extract_sub_graph, subset
from penstock.graph.tensor_proto import make_tensor_proto
from penstock.platform import logging
from penstock.session.session import Session
from penstock.train.saver import import_meta_graph


def graph_def_from_checkpoint(checkpoint_dir: str, output_node_names: Sequence[str]) -> GraphDef:
    """The graph of the latest checkpoint of a folder, as far as the named nodes need it, with constants in the place of variables."""
    path = latest_checkpoint(checkpoint_dir)
    if path is None:
        raise ValueError(f"Could not find a checkpoint at: {checkpoint_dir}.")
    with Graph().as_default() as graph, Session(graph=graph) as sess:
        import_meta_graph(path + ".meta", clear_devices=True).restore(sess, path)
        return convert_variables_to_constants(sess, graph.as_graph_def(), list(output_node_names))


def strip_pruning_vars_fn(input_graph_def: GraphDef, output_node_names: Sequence[str]) -> GraphDef:
    """A graph of constants with the products of weights and masks computed. What only they need is left out."""
    names = [node.name for node in input_graph_def.node if node.name.endswith(MASKED_WEIGHT_NAME)]
    with Graph().as_default() as graph, Session(graph=graph) as sess:
        import_graph_def(input_graph_def, name="")
        values: dict[str, Any] = sess.run({name: graph.get_tensor_by_name(f"{name}:0") for name in names})
    logging.info("Replaced %d masked weights by constants", len(names))
    nodes = [_constant(node, values[node.name]) if node.name in values else node for node in input_graph_def.node]
    return extract_sub_graph(subset(input_graph_def, nodes), list(output_node_names))


def _constant(node: NodeDef, value: Any) -> NodeDef:
    """A constant with the name of ``node``."""
    result = NodeDef(op="Const", name=node.name)
    result.attr["dtype"].type = node.attr["T"].type
    result.attr["value"].tensor.CopyFrom(make_tensor_proto(value))
    return result
