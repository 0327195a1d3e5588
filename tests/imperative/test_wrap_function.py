"""Wrapped functions in imperative style, and what only Penstock says. Recordings of graphs are in ``tests/golden``."""
from __future__ import annotations

import pytest

import penstock as tf
from penstock.imperative.context import eager_mode

pytestmark = pytest.mark.process


def count(x):
    v = tf.Variable(1.0)
    added = v.assign_add(x)
    with tf.control_dependencies([added]):
        value = tf.identity(v.read_value(), name="read")
    return value, x * 3.0


def test_imperative():
    with tf.Graph().as_default(), eager_mode():
        wrapped = tf.wrap_function(count, [tf.TensorSpec([], tf.float32, name="x")])
        assert [float(value) for value in wrapped(tf.constant(2.0))] == [3.0, 6.0]
        tripled = wrapped.prune(wrapped.inputs[0], wrapped.outputs[1])
        assert float(tripled(tf.constant(5.0))) == 15.0
        assert float(wrapped.graph.variables[0].numpy()) == 3.0, "a part updates nothing that it does not need"
        assert [float(value) for value in wrapped(tf.constant(1.0))] == [4.0, 3.0]
        with tf.GradientTape() as tape:
            x = tf.constant(2.0)
            tape.watch(x)
            y = tripled(x)
        assert float(tape.gradient(y, x)) == 3.0


def test_operations_and_missing_arguments():
    with tf.Graph().as_default(), tf.Session() as session:
        wrapped = tf.wrap_function(count, [tf.TensorSpec([], tf.float32)], name="counted")
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"(?s)function 'counted_.*' needs its argument .* try: prune with"):
            wrapped.prune([], wrapped.outputs[1])
        with pytest.raises(ValueError, match="not an element of this graph"):
            wrapped.prune(wrapped.inputs[0], tf.constant(1.0))
        session.run(tf.global_variables_initializer())
        first, tripled = session.run(wrapped(tf.constant(2.0)))
        assert (float(first), float(tripled)) == (3.0, 6.0)
