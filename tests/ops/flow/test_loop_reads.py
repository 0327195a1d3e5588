"""Reads of variables leave the bodies of loops that do not change them."""
import numpy as np
import pytest

import penstock as tf

pytestmark = pytest.mark.process


def body_types(graph):
    """The types of the ops in the bodies of the graph's loops."""
    return [op.type for loop in graph.get_operations() if "body" in loop.attrs for op in loop.attrs["body"].get_operations()
            if any(tensor.consumers() for tensor in op.outputs)]


def test_a_gradient_does_not_save_what_a_variable_holds():
    graph = tf.Graph()
    with graph.as_default(), tf.Session() as sess:
        w = tf.get_variable("w", [2, 2], initializer=tf.constant_initializer([[1, 2], [0, 1]]), use_resource=True)
        _, y = tf.while_loop(lambda i, _: i < 3, lambda i, x: (i + 1, tf.matmul(x, w)), (0, tf.ones([1, 2])))
        grad = tf.gradients(y, w)[0]
        sess.run(w.initializer)
        np.testing.assert_array_equal(sess.run(y), [[1, 7]])
        np.testing.assert_array_equal(sess.run(grad), [[9, 3], [19, 9]])
        forward = next(op for op in graph.get_operations() if "body" in op.attrs)
        pushed = [op.inputs[1].shape.as_list() for op in forward.attrs["body"].get_operations() if op.type == "TensorListPushBack"]
    assert pushed == [[1, 2]]


def test_what_a_body_changes_is_read_in_every_iteration():
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        v = tf.get_variable("v", [], initializer=tf.zeros_initializer(), use_resource=True)

        def body(i, total):
            with tf.control_dependencies([v.assign_add(1.0)]):
                return i + 1, total + v.read_value()

        _, total = tf.while_loop(lambda i, _: i < 3, body, (0, 0.0), parallel_iterations=1)
        sess.run(v.initializer)
        assert sess.run(total) == 6
    assert "ReadVariableOp" in body_types(graph)


def test_a_read_waits_for_what_the_loop_waits_for():
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        v = tf.get_variable("v", [], initializer=tf.zeros_initializer(), use_resource=True)
        start = v.assign_add(5.0, read_value=True) * 0.0
        _, by_value = tf.while_loop(lambda i, _: i < 2, lambda i, x: (i + 1, x + v), (0, start))
        with tf.control_dependencies([v.assign_add(1.0)]):
            _, by_control = tf.while_loop(lambda i, _: i < 2, lambda i, x: (i + 1, x + v), (0, 0.0))
        assert "ReadVariableOp" not in body_types(graph)
        for _ in range(3):  # also in compiled steps
            sess.run(v.initializer)
            assert sess.run(by_value) == 10
            sess.run(v.initializer)
            assert sess.run(by_control) == 2
