"""GraphDefs that ask for the impossible: small files must not become large in memory, and every error names its node."""
from __future__ import annotations

import tracemalloc

import pytest

import penstock as tf


def graph_def(**node):
    definition = tf.GraphDef()
    definition.node.add(**node)
    return definition


def importing(definition):
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(definition, name="")
    return graph


@pytest.mark.parametrize("kind", ["DT_INT32", "DT_STRING"])
def test_a_large_constant_of_one_value_takes_no_memory(kind):
    definition = graph_def(name="c", op="Const")
    definition.node[0].attr["dtype"].type = tf.as_dtype(kind[3:].lower()).as_datatype_enum
    tensor = definition.node[0].attr["value"].tensor
    tensor.dtype = definition.node[0].attr["dtype"].type
    tensor.tensor_shape.dim.add(size=2**31 - 1)
    tracemalloc.start()
    try:
        graph = importing(definition)
        assert tracemalloc.get_traced_memory()[1] < 10 << 20
    finally:
        tracemalloc.stop()
    assert graph.get_tensor_by_name("c:0").shape.as_list() == [2**31 - 1]


def test_more_inputs_than_there_are():
    definition = graph_def(name="a", op="AddN")
    definition.node[0].attr["N"].i = 2**40
    definition.node[0].attr["T"].type = tf.float32.as_datatype_enum
    with pytest.raises(ValueError, match=r"Node 'a' \(AddN\) has 0 inputs; 'inputs' needs 1099511627776"):
        importing(definition)


def test_more_outputs_than_anybody_needs():
    definition = graph_def(name="x", op="Placeholder")
    definition.node[0].attr["dtype"].type = tf.float32.as_datatype_enum
    definition.node.add(name="u", op="Unpack", input=["x"])
    definition.node[1].attr["num"].i = 2**40
    definition.node[1].attr["T"].type = tf.float32.as_datatype_enum
    with pytest.raises(ValueError, match=r"Node 'u' \(Unpack\) declares 1099511627776 outputs"):
        importing(definition)


def loop():
    with tf.Graph().as_default() as graph:
        tf.identity(tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0]), name="out")
    return graph.as_graph_def()


def test_a_control_edge_that_closes_a_cycle():
    definition = loop()
    nodes = {node.op: node for node in definition.node}
    nodes["Merge"].input.append("^" + nodes["NextIteration"].name)
    with pytest.raises(ValueError, match="closes a cycle"):
        importing(definition)


def test_a_circle_without_a_loop():
    definition = graph_def(name="a", op="NoOp", input=["^b"])
    definition.node.add(name="b", op="NoOp", input=["^a"])
    with pytest.raises(ValueError, match=r"has a cycle through node '[ab]'"):
        importing(definition)


def test_shapes_that_contradict_name_their_node():
    with tf.Graph().as_default() as graph:
        tf.constant([1.0, 2.0], name="c")
    definition = graph.as_graph_def(add_shapes=True)
    definition.node[0].attr["_output_shapes"].list.shape[0].dim[0].size = 3
    with pytest.raises(ValueError, match="'_output_shapes' of node 'c'"):
        importing(definition)
