"""Checkpoints of objects: variables are named by the objects that hold them; a graph of objects says which name each one had in the program."""
from __future__ import annotations

import numpy as np
from tensorboard.compat.proto.trackable_object_graph_pb2 import TrackableObjectGraph

from penstock.checkpoint.contents import CheckpointReader

GRAPH_KEY = "_CHECKPOINTABLE_OBJECT_GRAPH"


def stored_object_graph(reader: CheckpointReader) -> TrackableObjectGraph | None:
    """The graph of objects that a checkpoint holds; None if it is one of a ``tf.train.Saver``, which names variables as the program does."""
    if not reader.has_tensor(GRAPH_KEY):
        return None
    graph = TrackableObjectGraph()
    graph.ParseFromString(bytes(np.asarray(reader.get_tensor(GRAPH_KEY), object).item()))
    return graph


def keys_by_name(reader: CheckpointReader) -> dict[str, str] | None:
    """{name that a variable had in the program: its key in the checkpoint}; None if the checkpoint has no objects."""
    graph = stored_object_graph(reader)
    if graph is None:
        return None
    return {attribute.full_name: attribute.checkpoint_key for node in graph.nodes for attribute in node.attributes if attribute.full_name}
