"""Variables in branches and loops: made outside of them, read and written inside."""
from __future__ import annotations

import pytest

import penstock as tf
from penstock.ops.flow.control_flow import cond, while_loop
from support.variables import KINDS


@KINDS
def test_made_inside_lives_outside(sess, resource):
    def branch():
        return tf.get_variable("v", [], initializer=tf.constant_initializer(3.0), use_resource=resource) * 2.0

    result = cond(tf.constant(True), branch, lambda: tf.constant(0.0))
    (v,) = tf.global_variables()
    assert v.graph is sess.graph and v.initializer.graph is sess.graph and tf.trainable_variables() == [v]
    sess.run(tf.global_variables_initializer())
    assert sess.run(result) == 6
    with pytest.raises(ValueError, match="use a lambda as the initializer"):
        cond(tf.constant(True), lambda: tf.Variable(tf.ones([]), use_resource=resource) + 1.0, lambda: tf.constant(0.0))


@KINDS
def test_read_and_written_in_a_branch(sess, resource):
    v = tf.Variable(1.0, use_resource=resource)
    sess.run(v.initializer)
    up = tf.placeholder(tf.bool, [])
    result = cond(up, lambda: tf.identity(v.assign_add(10.0)), lambda: v * 2.0)
    assert sess.run(result, {up: False}) == 2 and sess.run(v) == 1
    assert sess.run(result, {up: True}) == 11 and sess.run(v) == 11


@KINDS
def test_loop_over_a_variable(sess, resource):
    v = tf.Variable([1.0, 2.0, 3.0], use_resource=resource)
    sess.run(v.initializer)
    total = while_loop(lambda i, t: i < 3, lambda i, t: (i + 1, t + v[i]), [0, 0.0])[1]
    assert sess.run(total) == 6
    assert sess.run(tf.gradients(total * total, v)[0]).tolist() == [12, 12, 12]
