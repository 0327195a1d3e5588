"""A variable without a value is FailedPreconditionError wherever it is read: recovery depends on the class."""
from __future__ import annotations

import pytest

import penstock as tf
from penstock.distributed import client
from penstock.distributed.server import Server


def plain(v):
    return v + 1.0


def loop(v):
    return tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a + v), [0, 0.0])[1]


def conditional(v):
    return tf.cond(tf.placeholder_with_default(True, []), lambda: v + 1.0, lambda: 0.0)


def recurrent(v):
    return tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicRNNCell(3), tf.ones([2, 4, 3]) * v, dtype=tf.float32)[1]


@pytest.fixture(scope="module")
def target():
    server = Server.create_local_server()
    yield server.target
    server.stop()


@pytest.mark.parametrize("where", ["local", "cluster", "imported"])
@pytest.mark.parametrize("build", [plain, loop, conditional, recurrent])
@pytest.mark.parametrize("resource", [False, True], ids=["reference", "resource"])
def test_a_variable_without_a_value(target, monkeypatch, build, resource, where):
    monkeypatch.setattr(client, "in_process", {})
    with tf.Graph().as_default() as graph, tf.variable_scope("", use_resource=resource):
        y = build(tf.get_variable("v", [], initializer=tf.ones_initializer()))
    if where == "imported":
        with tf.Graph().as_default() as imported:
            (y,) = tf.import_graph_def(graph.as_graph_def(), return_elements=[y.name], name="")
        graph = imported
    with tf.Session(target if where == "cluster" else "", graph=graph) as session:
        for _ in range(2):
            with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized"):
                session.run(y)
