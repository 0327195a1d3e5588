"""``tf.contrib.graph_editor``: views that are connected, exchanged, detached and bypassed."""
from __future__ import annotations

import pytest

import penstock as tf

ge = tf.contrib.graph_editor
pytestmark = pytest.mark.process


@pytest.fixture
def chain():
    """a + b = c; c * d = e, in a graph."""
    with tf.Graph().as_default() as graph:
        a, b, d = (tf.constant(value, name=name) for value, name in ((1.0, "a"), (2.0, "b"), (5.0, "d")))
        c = tf.add(a, b, name="c")
        tf.multiply(c, d, name="e")
        yield graph


def value(graph, name, feeds=None):
    with tf.Session(graph=graph) as session:
        return session.run(f"{name}:0", {f"{key}:0": fed for key, fed in (feeds or {}).items()})


def test_detached_inputs_are_placeholders(chain):
    view, inputs = ge.detach_inputs(ge.sgv("c", graph=chain))
    assert [tensor.op.type for tensor in inputs] == ["Placeholder"] * 2 and view.inputs == inputs
    with tf.Session(graph=chain) as session:
        assert session.run("e:0", {inputs[0]: 3.0, inputs[1]: 4.0}) == 35.0


def test_detached_outputs_leave_placeholders_for_their_users(chain):
    _, outputs = ge.detach_outputs(ge.sgv("c", graph=chain))
    assert [tensor.op.type for tensor in outputs] == ["Placeholder"]
    with tf.Session(graph=chain) as session:
        assert session.run("e:0", {outputs[0]: 7.0}) == 35.0 and session.run("c:0") == 3.0


def test_detach_does_both(chain):
    _, inputs, outputs = ge.detach(ge.sgv("c", graph=chain))
    assert len(inputs) == 2 and len(outputs) == 1


def test_bypass(chain):
    view = ge.sgv("c", graph=chain).remap_inputs([0])
    ge.bypass(view)
    assert value(chain, "e") == 5.0  # a instead of c


def test_connect(chain):
    with chain.as_default():
        x = tf.constant(10.0, name="x")
        y = tf.identity(x, name="y")
    ge.connect(ge.sgv("y", graph=chain), ge.sgv("e", graph=chain).remap_inputs([0]))
    assert value(chain, "e") == 50.0 and y.consumers()


def test_swaps(chain):
    with chain.as_default():
        tf.subtract(tf.constant(10.0, name="p"), tf.constant(4.0, name="q"), name="r")
    first, second = ge.sgv("c", graph=chain), ge.sgv("r", graph=chain)
    ge.swap_inputs(first, second)
    assert [tensor.op.name for tensor in first.inputs] == ["p", "q"] and [tensor.op.name for tensor in second.inputs] == ["a", "b"]
    assert value(chain, "c") == 14.0 and value(chain, "r") == -1.0
    ge.reroute_outputs(second, first)  # what used c uses r
    assert value(chain, "e") == -5.0
    with pytest.raises(ValueError, match="Wrong graph"), tf.Graph().as_default() as other:
        tf.constant(1.0, name="z")
        ge.swap_ios(first, ge.sgv("z", graph=other))


def test_control_inputs(chain):
    with chain.as_default(), tf.control_dependencies(["a"]):
        tf.no_op(name="waits")
    ge.detach_control_inputs(ge.sgv("waits", graph=chain))
    assert chain.get_operation_by_name("waits").control_inputs == []
    with pytest.raises(TypeError, match="ControlOutputs"):
        ge.detach_control_outputs(ge.sgv("a", graph=chain), None)


def test_tensors_around_operations():
    a, b = tf.constant(1.0), tf.constant(2.0)
    total = a + a + b
    graph = tf.get_default_graph()
    assert tf.contrib.graph_editor.select._get_input_ts(graph) == [a, total.op.inputs[0], b]
    assert len(tf.contrib.graph_editor.select._get_output_ts(graph)) == 4


def test_gradients_and_their_copies_know_the_operation_that_they_belong_to():
    w = tf.placeholder(tf.float32, [], name="w")
    y = tf.multiply(tf.multiply(w, w, name="square"), w, name="cube")
    (slope,) = tf.gradients(y, w, name="slope")
    product = slope.graph.get_operation_by_name("slope/cube_grad/Mul_1")
    assert product._original_op is y.op and y.op._original_op is None
    copied = ge.graph_replace(slope, {w: tf.constant(2.0)}, dst_scope="copy")
    assert slope.graph.get_operation_by_name("copy/slope/square_grad/Mul_1")._original_op.name == "copy/square"
    with tf.Session() as session:
        assert session.run(copied) == 12.0
