"""tf.graph_util: cutting graphs down, freezing variables."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf


def types(graph_def):
    return {node.name: node.op for node in graph_def.node}


def test_extract_sub_graph():
    with tf.Graph().as_default() as graph:
        a, b = tf.constant(1.0, name="a"), tf.constant(2.0, name="b")
        with tf.control_dependencies([b]):
            tf.negative(a, name="c")
        tf.add(a, b, name="other")
    part = tf.graph_util.extract_sub_graph(graph.as_graph_def(), ["c"])
    assert list(types(part)) == ["a", "b", "c"] and part.versions.producer
    with pytest.raises(AssertionError, match="nowhere is not in graph"):
        tf.graph_util.extract_sub_graph(part, ["nowhere"])
    with pytest.raises(TypeError, match="list"):
        tf.graph_util.extract_sub_graph(part, "c")


@pytest.mark.parametrize("use_resource", [False, True])
def test_freezing(use_resource):
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        w = tf.get_variable("w", initializer=np.float32([[1], [2]]), use_resource=use_resource)
        table = tf.get_variable("table", initializer=np.float32([10, 20, 30]), use_resource=use_resource)
        tf.add(tf.matmul(x, w)[:, 0], tf.gather(table, [2]), name="y")
        tf.Variable(0.0, name="unused")
        sess.run(tf.global_variables_initializer())
        frozen = tf.graph_util.convert_variables_to_constants(sess, graph.as_graph_def(), ["y"])
        partly = tf.graph_util.convert_variables_to_constants(sess, graph.as_graph_def(), ["y"], variable_names_blacklist=["w"])
    assert not set(types(frozen).values()) & {"VariableV2", "VarHandleOp", "ReadVariableOp", "ResourceGather", "Assign"}
    assert types(frozen)["w"] == "Const" and "unused" not in types(frozen) and types(partly)["w"] in ("VariableV2", "VarHandleOp")
    with tf.Graph().as_default(), tf.Session() as sess:
        (y,) = tf.import_graph_def(frozen, return_elements=["y:0"], name="")
        assert sess.run(y, {"x:0": [[1, 1]]}).tolist() == [33]


def test_removing_training_nodes():
    with tf.Graph().as_default() as graph, tf.Session():
        a = tf.constant(1.0, name="a")
        checked = tf.check_numerics(tf.identity(a, name="plain"), "bad", name="checked")
        tf.negative(checked, name="end")
        kept = tf.identity(a, name="kept")
        with tf.control_dependencies([tf.identity(a, name="waited_for")]):
            tf.add(kept, kept, name="sum")
        tf.identity(a, name="protected")
    smaller = tf.graph_util.remove_training_nodes(graph.as_graph_def(), ["protected"])
    nodes = {node.name: node for node in smaller.node}
    assert set(nodes) == {"a", "end", "sum", "waited_for", "protected"}
    assert list(nodes["end"].input) == ["a"] and list(nodes["sum"].input) == ["a", "a", "^waited_for"]


def test_small_helpers():
    with tf.Graph().as_default() as graph:
        floats, ints = tf.constant([1.0, 2.0], name="floats"), tf.constant(1, name="ints")
        assert not tf.graph_util.must_run_on_cpu(floats.op) and tf.graph_util.must_run_on_cpu(ints.op.node_def)
        v = tf.Variable(1.0, name="v")
        assert tf.graph_util.must_run_on_cpu(v.op, pin_variables_on_cpu=True) and not tf.graph_util.must_run_on_cpu(v.op)
        assert tf.graph_util.tensor_shape_from_node_def_name(graph, "floats") == [2]
