"""Debuggers look at every node, stop behind some, and change values: in local sessions and on a cluster alike."""
from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest

import penstock as tf
from penstock.execute.trace import Probe
from support.cluster import LocalCluster


class Looker(Probe):
    """Notes the nodes that it is told of, and answers with other outputs for some."""

    def __init__(self, instead=None, stops=()):
        self.seen, self.instead, self.stops, self.functions = {}, instead or {}, stops, []

    def __call__(self, device, node, start, end, outputs):
        self.seen.setdefault(node.name, []).append((device, [np.asarray(value) if value is not None else None for value in outputs]))
        return [self.instead[node.name]] if node.name in self.instead else None

    @contextmanager
    def inside(self, function):
        self.functions.append(function)
        yield

    def stops_at(self, operation):
        return operation.name in self.stops


def model(ps=None, worker=None):
    with tf.device(ps):
        v = tf.get_variable("v", [2], initializer=tf.ones_initializer())
    with tf.device(worker):
        x = tf.placeholder(tf.float32, [2], name="x")
        product = tf.multiply(x, v, name="product")
        noise = tf.random_uniform([2], seed=3, name="noise")
        total = tf.add(product, noise, name="total")
    with tf.control_dependencies([tf.assign_add(v, total, name="update")]):
        done = tf.no_op("done")
    return v, x, total, done


@pytest.fixture(params=["here", "cluster"])
def session(request):
    if request.param == "here":
        model()
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            yield session
    else:
        model("/job:ps/task:0", "/job:worker/task:0")
        cluster = LocalCluster({"ps": 1, "worker": 1})
        session = cluster.session("/job:worker/replica:0/task:0")
        session.run(tf.global_variables_initializer())
        yield session
        session.close()


def named(*names):
    return [tf.get_default_graph().as_graph_element(name) for name in names]


def test_every_node_is_seen_once_and_runs_once(session):
    v, x, total, done = named("v:0", "x:0", "total:0", "done")
    looker = Looker()
    [value, _] = session.run_recorded([total, done], looker, {x: np.float32([1.0, 2.0])})
    assert {"product", "total", "update", "done"} <= set(looker.seen) and all(len(calls) == 1 for calls in looker.seen.values())
    np.testing.assert_array_equal(looker.seen["product"][0][1][0], [1.0, 2.0])
    np.testing.assert_array_equal(looker.seen["total"][0][1][0], value)
    np.testing.assert_array_equal(session.run(v), 1.0 + value)  # updated once


@pytest.mark.parametrize("stops", [(), ("product",), ("product", "noise", "total", "update", "done")])
def test_stops_change_no_number(session, stops):
    x, product, done, first = named("x:0", "product:0", "done", "v/Assign")
    values = []
    for looker in (Looker(), Looker(stops=stops)):
        session.run(first)
        values.append(session.run_recorded([product, done], looker, {x: np.float32([1.0, 2.0])})[0])
    np.testing.assert_array_equal(*values)


def test_a_changed_value_is_what_later_nodes_get(session):
    v, x, total, done = named("v:0", "x:0", "total:0", "done")
    looker = Looker({"product": np.float32([10.0, 20.0]), "noise": np.float32([0.5, 0.5])}, stops=("product", "noise"))
    value, _ = session.run_recorded([total, done], looker, {x: np.float32([1.0, 2.0])})
    np.testing.assert_array_equal(value, [10.5, 20.5])
    np.testing.assert_array_equal(session.run(v), [11.5, 21.5])


def test_inside_of_a_loop():
    total = tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, tf.add(s, tf.cast(i, tf.float32), name="sum")), [0, 10.0])[1]
    with tf.Session() as session:
        looker = Looker()
        assert session.run_recorded(total, looker) == 13.0
        assert [float(outputs[0]) for _, outputs in looker.seen["while/sum"]] == [10.0, 11.0, 13.0]
        assert looker.functions.count("while_body") == 3 and looker.functions.count("while_cond") == 4
        changing = Looker({"while/sum": np.float32(0.0)})
        assert session.run_recorded(total, changing) == 0.0
        assert session.run(total) == 13.0  # what is not debugged is as it was
