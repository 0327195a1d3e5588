"""Initial values that depend on other variables."""
from __future__ import annotations

import pytest

import penstock as tf


def test_initial_values_that_depend_on_each_other(sess):
    a = tf.Variable(2.0, name="a")
    b = tf.Variable(a * 3.0, name="b")
    c = tf.Variable(a + b, name="c")
    sess.run(tf.variables_initializer([c, b, a]))
    assert sess.run([a, b, c]) == [2, 6, 8]
    sess.run(a.assign(10.0))
    sess.run(b.initializer)  # from the value that a has by now
    assert sess.run(b) == 30
    assert {"a/read_b", "mul_b"} <= {op.name for op in sess.graph.get_operations()}


@pytest.mark.parametrize("resource", [False, True])
def test_initialized_value(sess, resource):
    v = tf.Variable(2.0, use_resource=resource)
    twice = v.initialized_value() * 2.0
    assert sess.run(twice) == 4
    sess.run(v.assign(5.0))
    assert sess.run(twice) == 10
