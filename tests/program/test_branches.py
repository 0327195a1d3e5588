"""Feeds that choose branches: which ones do, and that a step gives the same without the conditionals."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from penstock.program.branches import deciding_feeds, take_branches
from penstock.program.ir import check, prune
from penstock.program.stages import Observer, observing

X = np.arange(-4.0, 4.0, dtype=np.float32).reshape(2, 4)


class _Nodes(Observer):
    """The types of the nodes of each program that is optimised."""

    def __init__(self):
        self.types = []

    def program(self, stage, program):
        if stage == "optimised":
            self.types.append([node.definition.type for node in program.nodes])


def _deciding(fetches, *feeds):
    return deciding_feeds(prune([fetches], [], feeds))


def test_what_decides():
    train, other = tf.placeholder(tf.bool), tf.placeholder(tf.bool, [])
    x = tf.placeholder(tf.float32, [2, 4])
    assert _deciding(tf.cond(train, lambda: x, lambda: -x), x, train) == (1,)
    assert _deciding(tf.cond(tf.logical_and(tf.logical_not(train), tf.constant(True)), lambda: x, lambda: -x), train, x) == (0,)
    assert _deciding(tf.cond(tf.logical_or(train, other), lambda: x, lambda: -x), train, x, other) == (0, 2)
    assert _deciding(tf.cond(tf.reduce_all(x > 0), lambda: x, lambda: -x), x, train) == ()
    assert _deciding(tf.cond(tf.logical_and(train, tf.reduce_all(x > 0)), lambda: x, lambda: -x), x, train) == ()
    assert _deciding(tf.where(train, x, -x), x, train) == ()


def test_many_feeds_decide_when_it_runs():
    """Each of them would double the number of plans."""
    feeds = [tf.placeholder(tf.bool, []) for _ in range(5)]
    total = tf.add_n([tf.cond(feed, lambda: 1.0, lambda: 2.0) for feed in feeds])
    assert _deciding(total, *feeds) == ()
    with tf.Session() as session:
        assert session.run(total, dict.fromkeys(feeds, True)) == 5.0


def test_conditionals_inside_of_one():
    train, x = tf.placeholder(tf.bool), tf.placeholder(tf.float32, [2, 4])
    y = tf.cond(train, lambda: tf.cond(tf.logical_not(train), lambda: x * 2, lambda: x * 3),
                lambda: tf.cond(x[0, 0] > 0, lambda: x * 5, lambda: x * 7))
    program = prune([y], [], [x, train])
    for value, conditionals in ((True, 0), (False, 1)):
        taken = take_branches(program.copy(), {1: value})
        check(taken)
        assert sum(node.definition.branch is not None for node in taken.nodes) == conditionals
    with tf.Session() as session:
        for _ in range(3):
            np.testing.assert_array_equal(session.run(y, {x: X, train: True}), X * 3)
            np.testing.assert_array_equal(session.run(y, {x: X, train: False}), X * 7)


@pytest.mark.parametrize("use_resource", [False, True])
def test_a_step_of_normalised_layers_has_no_conditional(use_resource):
    """The usual model with ``training=placeholder``: the same numbers as with True and False in the graph."""
    def run(training):
        with tf.Graph().as_default(), tf.Session() as session:
            tf.set_random_seed(3)
            phase = tf.placeholder(tf.bool) if training is None else training
            x = tf.placeholder(tf.float32, [2, 4])
            with tf.variable_scope("model", use_resource=use_resource):
                h = tf.layers.batch_normalization(tf.layers.dense(x, 8, kernel_initializer=tf.ones_initializer()), training=phase)
                loss = tf.reduce_sum(tf.square(tf.layers.dense(h, 1, kernel_initializer=tf.ones_initializer())))
            with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
                step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
            session.run(tf.global_variables_initializer())
            feeds = {x: X} if training is not None else {x: X, phase: True}
            nodes = _Nodes()
            with observing(nodes):
                losses = [session.run([loss, step], feeds)[0] for _ in range(3)]
            assert not any("If" in types for types in nodes.types)
            return losses, session.run(tf.global_variables())

    (losses, variables), (expected, expected_variables) = run(None), run(True)
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    for value, other in zip(variables, expected_variables):
        np.testing.assert_allclose(value, other, rtol=1e-5, atol=1e-6)


def test_effects_of_the_branch_that_is_not_taken_do_not_happen():
    train, count = tf.placeholder(tf.bool), tf.Variable(0)
    update = tf.cond(train, lambda: tf.assign_add(count, 1), lambda: tf.identity(count))
    with tf.control_dependencies([update]):
        after = tf.identity(count) * 10
    with tf.Session() as session:
        session.run(count.initializer)
        assert [session.run(after, {train: value}) for value in (True, False, True, False)] == [10, 10, 20, 20]


def test_random_numbers_do_not_depend_on_how_it_runs():
    """A run that is recorded draws from the same generators."""
    train, x = tf.placeholder(tf.bool), tf.ones([64])
    y = tf.layers.dropout(x, 0.5, training=train, seed=7)
    runs = []
    for traced in ((), (1,), (0, 2)):
        with tf.Session() as session:
            options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
            runs.append([session.run(y, {train: True}, **({"options": options, "run_metadata": tf.RunMetadata()} if turn in traced else {}))
                         for turn in range(4)])
    np.testing.assert_array_equal(runs[0], runs[1])
    np.testing.assert_array_equal(runs[0], runs[2])


def test_a_condition_that_is_not_a_scalar_is_decided_when_it_runs():
    train = tf.placeholder(tf.bool)
    y = tf.cond(train, lambda: 1.0, lambda: 2.0)
    with tf.Session() as session:
        assert session.run(y, {train: True}) == 1.0
        assert session.run(y, {train: False}) == 2.0
        assert session.run(y, {train: np.bool_(True)}) == 1.0
