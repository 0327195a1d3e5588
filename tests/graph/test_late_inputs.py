"""TensorFlow's private constructor of operations: the inputs come after the operation, as Edward copies graphs."""
from __future__ import annotations

import pytest

import penstock as tf
from penstock.graph.late_inputs import set_shapes_for_outputs

pytestmark = pytest.mark.process


def copied(op, graph):
    node_def = op.node_def
    node_def.name = f"copy/{op.name}"
    copy = tf.Operation(node_def, graph, [], op._output_types, [], [], op, op.op_def)
    graph._add_op(copy)
    return copy


def test_inputs_come_after_the_operation():
    graph = tf.get_default_graph()
    x = tf.placeholder(tf.float32, [2], name="x")
    y = tf.multiply(x, 3.0, name="y")
    copy = copied(y.op, graph)
    assert copy._original_op is y.op and graph.get_operation_by_name("copy/y") is copy and copy.outputs[0].shape.ndims is None
    with tf.control_dependencies([tf.no_op(name="first")]):
        later = tf.add(x, 1.0, name="later")
        graph._record_op_seen_by_control_dependencies(copy)
    for tensor in (later, y.op.inputs[1]):
        copy._add_input(tensor)
    copy._add_control_inputs([graph.get_operation_by_name("first")])
    set_shapes_for_outputs(copy)
    (result,) = copy.outputs
    assert result.shape.as_list() == [2] and isinstance(copy, tf.Operation) and tf.multiply(x, x, name="copy/y").op.name == "copy/y_1"
    with tf.Session() as session:
        values, slope = session.run([result, tf.gradients(result, x)[0]], {x: [1.0, 2.0]})
    assert values.tolist() == [6, 9] and slope.tolist() == [3, 3]
