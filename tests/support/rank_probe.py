"""Which ranks does an op accept for an input, when nothing is known of the others? Runs under Penstock and under TensorFlow 1 (Python 3.7).

    python tests/support/rank_probe.py nodes.json        # under Penstock: the nodes of the example table
    python3.7 tests/support/rank_probe.py nodes.json tests/graph/data/ranks.json.gz    # under TensorFlow 1.15: which ranks it accepts

A node is [op type, NodeDef as base64, types per argument]; a type above 100 is a reference to a variable.
"""
import base64
import gzip
import json
import os
import sys

RANKS = range(6)


def accepts(tf, graph_def, node, types, argument, rank):
    """True if a graph with this node, and ``rank`` for one argument, can be imported. ``graph_def`` and ``node`` are empty and full protos."""
    names = []
    for index, dtypes in enumerate(types):
        for number in dtypes:
            made = graph_def.node.add(name="in{}".format(len(names)), op="VariableV2" if number > 100 else "Placeholder")
            made.attr["dtype"].type = number % 100
            if index == argument:
                made.attr["shape"].shape.SetInParent()
                for _ in range(rank):
                    made.attr["shape"].shape.dim.add(size=-1)
            else:
                made.attr["shape"].shape.unknown_rank = True
            names.append(made.name)
    copy = graph_def.node.add()
    copy.CopyFrom(node)
    copy.name = "probe"
    copy.input.extend(names)
    with tf.Graph().as_default():
        try:
            tf.import_graph_def(graph_def, name="")
        except (ValueError, tf.errors.OpError):
            return False
    return True


def accepted_ranks(tf, new_graph, node, types):
    """Per argument the accepted ranks; None if the node is not even accepted when nothing is known."""
    if not accepts(tf, new_graph(), node, types, None, 0):
        return None
    return [[rank for rank in RANKS if accepts(tf, new_graph(), node, types, argument, rank)] for argument in range(len(types))]


def example_nodes():
    """The nodes of the example table, made with Penstock."""
    from penstock.graph.graph import Graph
    from penstock.graph.opdef import REGISTRY
    from support import build
    from support.examples import load
    for op_type, examples in sorted(load().items()):
        definition = REGISTRY.get(op_type)
        if definition is None or not definition.inputs:
            continue
        with Graph().as_default():
            call = build.Call(examples[0], build.as_constant)
        node = call.op.node_def
        node.ClearField("input")
        node.attr.pop("_class", None)
        types = [[tensor.dtype.base_dtype.as_datatype_enum + 100 * arg.is_ref for tensor in tensors]
                 for arg, tensors in zip(definition.inputs, call.arguments)]
        yield op_type, node, types


def write_nodes(target):
    """The first command."""
    with open(target, "w") as file:
        json.dump([[op_type, base64.b64encode(node.SerializeToString()).decode(), types] for op_type, node, types in example_nodes()], file)


def record(nodes, target):
    """The second command. Some shape functions of TensorFlow crash: each op is tried in a process of its own."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf
    from tensorflow.core.framework import graph_pb2, node_def_pb2
    found = {}
    with open(nodes) as file:
        entries = json.load(file)
    for op_type, text, types in entries:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            node = node_def_pb2.NodeDef.FromString(base64.b64decode(text))
            ranks = accepted_ranks(tf, lambda: graph_pb2.GraphDef(versions={"producer": 134}), node, types)
            os.write(writing, json.dumps(ranks).encode())
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as pipe:
            answer = pipe.read()
        os.waitpid(child, 0)
        if answer and answer != "null":
            found[op_type] = json.loads(answer)
    with gzip.GzipFile(target, "wb", mtime=0) as file:
        file.write(json.dumps(found, sort_keys=True).encode())
    print("{} of {} ops".format(len(found), len(entries)))


if __name__ == "__main__":
    if len(sys.argv) == 2:
        here = os.path.dirname(os.path.abspath(__file__))
        sys.path[:0] = [os.path.dirname(here), os.path.join(os.path.dirname(os.path.dirname(here)), "src")]
        write_nodes(sys.argv[1])
    else:
        record(*sys.argv[1:])
