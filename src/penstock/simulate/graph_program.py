"""The program of ``penstock simulate graph.pb``: imports a GraphDef and runs one of its operations as a worker does, with zeros for what is fed.

    python -m penstock.simulate.graph_program GRAPH TARGET BATCH

Operations whose device names no job go where ``tf.train.replica_device_setter`` would put them: variables to the parameter servers.
"""
from __future__ import annotations

import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf import text_format
from google.protobuf.message import DecodeError
from tensorboard.compat.proto.graph_pb2 import GraphDef

tf: Any = importlib.import_module("penstock")  # its names come from tables, which type checkers do not see
SUFFIXES = (".pb", ".pbtxt")
_INITIALIZERS = ("Assign", "AssignVariableOp")


def load(path: str) -> GraphDef:
    """The graph in a file; ValueError if there is none."""
    graph_def = GraphDef()
    try:
        if path.endswith(".pbtxt"):
            text_format.Parse(Path(path).read_text(encoding="utf-8"), graph_def)
        else:
            graph_def.ParseFromString(Path(path).read_bytes())
    except (DecodeError, text_format.ParseError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} holds no GraphDef: {error}") from None
    if not graph_def.node:
        raise ValueError(f"{path} holds a GraphDef without nodes")
    return graph_def


def target_of(graph_def: GraphDef, named: str) -> str:
    """The operation to run: the one that is named, or the one that nothing else uses. ValueError if there is not exactly one."""
    names = {node.name for node in graph_def.node}
    if named:
        if named not in names:
            raise ValueError(f"there is no operation {named!r} in the graph (--target)")
        return named
    used = {text.lstrip("^").partition(":")[0] for node in graph_def.node for text in node.input}
    ends = [node.name for node in graph_def.node if node.name not in used and node.op not in (*_INITIALIZERS, "Const", "Placeholder")
            and not node.name.startswith(("init", "save/"))]
    if len(ends) != 1:
        some = ", ".join(ends[-8:]) or "none"
        raise ValueError(f"which operation is the step? --target NAME says it; those that no other operation uses: {some}")
    return ends[0]


def zeros_for(graph: Any, batch: int) -> dict[Any, np.ndarray]:
    """Something to feed to each placeholder; unknown sizes are that of the batch."""
    feeds = {}
    for operation in graph.get_operations():
        if operation.type in ("Placeholder", "PlaceholderV2"):
            tensor = operation.outputs[0]
            sizes = tensor.shape.as_list() if tensor.shape.ndims is not None else []
            kind = tensor.dtype.as_numpy_dtype
            feeds[tensor] = np.zeros([batch if size is None else size for size in sizes], np.object_ if tensor.dtype is tf.string else kind)
    return feeds


def main(path: str, named: str, batch: int) -> int:
    """The worker."""
    config = json.loads(os.environ["TF_CONFIG"])
    cluster, index = config["cluster"], config["task"]["index"]
    server = tf.train.Server(cluster, job_name="worker", task_index=index)
    try:
        graph_def = load(path)
        target = target_of(graph_def, named)
    except ValueError as error:
        print(f"penstock simulate: {error}", file=sys.stderr)
        return 1
    worker = f"/job:worker/task:{index}"
    with tf.Graph().as_default() as graph:
        with tf.device(tf.train.replica_device_setter(len(cluster.get("ps", ())), worker_device=worker) or worker):
            tf.import_graph_def(graph_def, name="")
        feeds = zeros_for(graph, batch)
        step = graph.get_operation_by_name(target)
        initialise = [operation for operation in graph.get_operations() if operation.type in _INITIALIZERS and operation.name.endswith("/Assign")]
        with tf.Session(server.target) as session:
            session.run(initialise)
            while True:
                session.run(step, feeds)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
