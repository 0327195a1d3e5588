"""GradientsDebugger: which tensors are the gradients of which, and their values in a dump. What TensorFlow 1.15 does was found out by running it."""
from __future__ import annotations

import pytest

import penstock as tf
from penstock.debug.tfdbg.dump_dir import DebugDumpDir
from penstock.debug.tfdbg.gradients import GradientsDebugger, gradient_values_from_dump
from penstock.debug.tfdbg.watching import watch_graph

pytestmark = pytest.mark.process


@pytest.fixture
def product():
    u, v = tf.Variable(2.0, name="u"), tf.Variable(3.0, name="v")
    return u, v, tf.multiply(u.value(), v.value(), name="w")


def test_a_tensor_that_goes_through_the_debugger(product, tmp_path):
    u, v, w = product
    debugger = GradientsDebugger()
    watched = debugger.identify_gradient(w)
    assert watched.name.startswith("w_0/gradient_debug_")
    y = tf.multiply(watched, 5.0, name="y")
    with pytest.raises(LookupError, match="has not received any gradient tensor for x-tensor w:0"):
        debugger.gradient_tensor(w)
    grads = tf.gradients(y, [u, v])
    assert list(debugger.gradient_tensors()) == ["w:0"] and debugger.gradient_tensor("w:0") is debugger.gradient_tensor(w)
    with pytest.raises(ValueError, match="already contains"):
        debugger.identify_gradient(w)
    options = tf.RunOptions()
    watch_graph(options, w.graph, debug_urls=f"file://{tmp_path}")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(grads, options=options) == [15.0, 10.0]
    dump = DebugDumpDir(str(tmp_path))
    dump.set_python_graph(w.graph)
    assert gradient_values_from_dump(debugger, w, dump) == [5.0]
    with pytest.raises(TypeError, match="must be a str"):
        debugger.gradient_tensor(5)


@pytest.mark.parametrize("by_name", [False, True])
def test_tensors_that_are_used_already(product, by_name):
    u, _v, w = product
    loss = tf.square(w, name="loss")
    with GradientsDebugger() as other, tf.Graph().as_default():
        pass
    debugger = GradientsDebugger()
    with (debugger.watch_gradients_by_tensor_names(w.graph, "w:0$") if by_name else debugger.watch_gradients_by_tensors(w.graph, [w])):
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    assert not other.gradient_tensors()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(debugger.gradient_tensor("w:0")) == 12.0
        session.run(train)
        assert session.run(u) == pytest.approx(2.0 - 0.1 * 12.0 * 3.0)


def test_a_variable_is_watched_where_it_is_read(product):
    u, _v, w = product
    debugger = GradientsDebugger().watch_gradients_by_tensor_names(w.graph, "u:0$")
    train = tf.train.GradientDescentOptimizer(0.1).minimize(w)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(debugger.gradient_tensor(u)) == 3.0
        session.run(train)
        assert session.run(u) == pytest.approx(1.7)
