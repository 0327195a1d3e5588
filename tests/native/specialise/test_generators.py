"""Random numbers inside of conditionals and loops: native code draws what NumPy would, and only where a branch is taken."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from penstock.native.config import config
from support.plans import nodes_of

pytestmark = pytest.mark.process


def draw(mode, monkeypatch, build, feeds):
    """What several steps give; the types of the nodes of the plan."""
    monkeypatch.setattr(config, "mode", mode)
    with tf.Graph().as_default():
        tf.set_random_seed(7)
        flag = tf.placeholder(tf.int32, [])
        fetches = build(flag > 0)  # (a fed bool would be decided before the step)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            values = [session.run(fetches, {flag: each}) for each in feeds]
            return values, sorted(node.definition.type for node in nodes_of(session))


def check(build, monkeypatch, drawing, feeds=(True, False, False, True, True)):
    """Both ways agree, and the conditional or loop is part of a region beside its generators."""
    (wanted, _), (found, types) = (draw(mode, monkeypatch, build, feeds) for mode in ("off", "eager"))
    for one, other in zip(wanted, found):
        np.testing.assert_allclose(other, one, rtol=1e-5)
    assert types == [*["_Generator"] * drawing, "_Region"]
    return found


def test_a_branch_draws_only_if_it_is_taken(monkeypatch):
    def build(flag):
        return tf.cond(flag, lambda: tf.random_uniform([3], seed=1), lambda: tf.zeros([3]) + tf.random_normal([], seed=2) * 0) * 2 + 1
    found = check(build, monkeypatch, 2)
    always, _ = draw("eager", monkeypatch, build, [True] * 3)
    np.testing.assert_array_equal([found[0], found[3], found[4]], always)
    assert len(np.unique(always)) == 9


def test_dropout_in_a_branch_and_its_gradient(monkeypatch):
    x = np.linspace(1, 2, 12).reshape(3, 4).astype(np.float32)

    def build(flag):
        given = tf.placeholder_with_default(x, [None, 4]) * 1
        dropped = tf.cond(flag, lambda: tf.nn.dropout(given, 0.5, seed=3), lambda: given)
        return [dropped, *tf.gradients(tf.reduce_sum(dropped * dropped), [given])]

    (wanted, _), (found, types) = (draw(mode, monkeypatch, build, [True, False, True]) for mode in ("off", "eager"))
    for one, other in zip(wanted, found):
        for left, right in zip(one, other):
            np.testing.assert_allclose(right, left, rtol=1e-6)
    assert "If" not in types


def test_a_loop_draws_in_each_iteration(monkeypatch):
    def build(flag):
        def body(i, total):
            noise = tf.random_normal([2], seed=5) + tf.cond(flag, lambda: tf.random_uniform([2], seed=4), lambda: tf.zeros([2]))
            return i + 1, tf.concat([total[1:], [noise]], 0)
        return tf.while_loop(lambda i, _: i < 4, body, (0, tf.zeros([4, 2])))[1]
    found = check(build, monkeypatch, 2)
    assert len(np.unique(found)) == np.size(found)


def test_dropout_in_a_recurrent_network(monkeypatch):
    def build(flag):
        cell = tf.nn.rnn_cell.DropoutWrapper(tf.nn.rnn_cell.BasicRNNCell(4), output_keep_prob=0.5, state_keep_prob=0.8, seed=1)
        outputs, _ = tf.nn.dynamic_rnn(cell, tf.ones([2, 3, 4]), dtype=tf.float32)
        return tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(outputs ** 2)), outputs
    (wanted, _), (found, types) = (draw(mode, monkeypatch, build, [True] * 3) for mode in ("off", "eager"))
    for (_, one), (_, other) in zip(wanted, found):
        np.testing.assert_allclose(other, one, rtol=1e-4, atol=1e-6)
    assert "While" not in types
