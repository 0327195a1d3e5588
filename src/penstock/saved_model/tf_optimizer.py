"""``tensorflow.python.grappler.tf_optimizer``: sessions optimise graphs when they plan a step, so there is little to do ahead of it."""
from __future__ import annotations

from typing import Any

from tensorboard.compat.proto.graph_pb2 import GraphDef

from penstock.errors import UnimplementedError


def OptimizeGraph(config_proto: Any, metagraph: Any, verbose: bool = True, graph_id: bytes = b"graph_to_optimize", cluster: Any = None,
                  strip_default_attributes: bool = False) -> GraphDef:
    """The graph of a MetaGraphDef as it is. UnimplementedError where it is to be replicated.

    Up to TensorFlow 1.12 the first argument was a RewriterConfig; it still may be.
    """
    rewrites = config_proto.graph_options.rewrite_options if hasattr(config_proto, "graph_options") else config_proto
    if rewrites.auto_parallel.enable or "autoparallel" in rewrites.optimizers:
        raise UnimplementedError(None, None, "AutoParallel: the graph of a model cannot be replicated over devices afterwards; build it once per "
                                             "device, or under a tf.distribute strategy")
    result = GraphDef()
    result.CopyFrom(metagraph.graph_def)
    return result
