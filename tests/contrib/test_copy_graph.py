"""``tf.contrib.copy_graph``: variables and operations of one graph in another."""
from __future__ import annotations

import pytest

import penstock as tf

pytestmark = pytest.mark.process


def test_copies_of_variables_and_operations():
    copies = tf.contrib.copy_graph
    with tf.Graph().as_default():
        x, a = tf.placeholder(tf.float32, name="x"), tf.Variable(3.0, name="a")
        with tf.control_dependencies([tf.no_op(name="first")]):
            y = tf.add(x * a, 4.0, name="y")
    other = tf.Graph()
    for scope in ("", "scope"):
        variable = copies.copy_variable_to_graph(a, other, scope)
        copied = copies.copy_op_to_graph(y, other, [variable], scope)
        assert copied.graph is other and copied.name == ("scope/" if scope else "") + "y:0" and len(copied.op.inputs[0].op.control_inputs) == 1
        assert copies.copy_op_to_graph(y, other, [variable], scope) is copied and copies.copy_op_to_graph(a, other, [variable], scope) is variable
        with other.as_default(), tf.Session() as session:
            session.run(tf.global_variables_initializer())
            assert session.run(copied, {copies.get_copied_op(x, other, scope): 5.0}) == 19.0
            assert variable in tf.trainable_variables()
    with pytest.raises(ValueError, match="copy it first"):
        copies.copy_op_to_graph(a, tf.Graph(), [])
    with pytest.raises(TypeError, match="Could not copy instance"):
        copies.copy_op_to_graph("y", other, [])
