"""Conditionals whose branches give different shapes, or save values of unknown shapes for their gradients, as native code, against NumPy."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from penstock.graph.opdef import lookup
from penstock.native.config import config
from penstock.native.specialise import cases
from support.plans import nodes_of

pytestmark = pytest.mark.process
ROWS = np.random.RandomState(0).uniform(-1, 1, (5, 6)).astype(np.float32)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


@pytest.fixture
def python_branches(monkeypatch):
    """The conditionals that NumPy ran, by name."""
    names = []
    definition = lookup("If")
    kernel = definition.kernel

    def counted(ctx, cond, input, then_branch, else_branch):
        names.append(ctx.node.name)
        return kernel(ctx, cond, input, then_branch, else_branch)
    monkeypatch.setattr(definition, "kernel", counted)
    return names


def check(monkeypatch, fetches, feeds):
    """Compares both ways of running, for all feeds in turn; the conditionals and loops that are not in a region of the native one."""
    results = []
    for mode in ("off", "eager"):
        monkeypatch.setattr(config, "mode", mode)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            results.append([session.run(fetches, feed) for feed in [*feeds, *feeds]])
            outside = [node.name for node in nodes_of(session) if node.definition.captures]
    for wanted, found in zip(*results):
        for one, other in zip(wanted, found):
            assert one.dtype == other.dtype and one.shape == other.shape
            np.testing.assert_allclose(other, one, rtol=2e-4, atol=1e-6 * np.abs(one).max())
    return outside


@pytest.fixture
def inputs():
    """Rows, a flag that is computed (one that is fed would be decided before the step), and feeds for both of its values."""
    x, number = tf.placeholder(tf.float32, [None, 6]), tf.placeholder(tf.int32, [])
    return x, number > 0, [{x: ROWS, number: 1}, {x: ROWS, number: 0}]


def test_what_uses_different_shapes_is_written_out_for_both(inputs, python_branches, monkeypatch):
    x, flag, feeds = inputs
    part = tf.cond(flag, lambda: tf.exp(x), lambda: x[1:3, :4] * 2)
    loss = tf.reduce_sum(tf.square(tf.reshape(part, [-1])) * tf.cast(tf.size(part), tf.float32))
    assert not check(monkeypatch, [loss, part, *tf.gradients(loss, [x])], feeds)
    assert len(python_branches) == 8  # without the compiler: four runs, and their gradients


def test_the_condition_is_computed_in_the_step(inputs, python_branches, monkeypatch):
    x, _, _ = inputs
    part = tf.cond(tf.reduce_sum(x) > 0, lambda: x, lambda: x[:1])
    total = tf.reduce_sum(part, 0) + 1
    check(monkeypatch, [total, part], [{x: ROWS}, {x: -ROWS}])
    assert len(python_branches) == 4


def test_loops_and_branches_of_different_shapes(inputs, python_branches, monkeypatch):
    x, flag, feeds = inputs
    part = tf.cond(flag, lambda: x, lambda: x[1:3])
    looped = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.sin(y)), (0, part), shape_invariants=(tf.TensorShape([]), part.shape))[1]
    again = tf.cond(flag, lambda: looped * 2, lambda: tf.concat([looped, looped], 0))
    check(monkeypatch, [tf.reduce_sum(again), again], feeds)
    assert len(python_branches) == 8


def test_several_conditions_are_left_to_numpy(inputs, python_branches, monkeypatch):
    x, flag, feeds = inputs
    part = tf.cond(flag, lambda: x, lambda: x[1:3])
    other = tf.cond(tf.reduce_sum(x) > 0, lambda: part * 2, lambda: part[:1])
    check(monkeypatch, [tf.reduce_sum(other), other], feeds)
    assert len(python_branches) > 8


def test_many_users_are_native_for_one_shape_at_a_time(inputs, python_branches, monkeypatch):
    x, flag, feeds = inputs
    part = tf.cond(flag, lambda: x, lambda: x[1:3])
    for _ in range(cases.MOST + 1):
        part = tf.sin(part)
    check(monkeypatch, [tf.reduce_sum(part)], feeds)
    assert len(python_branches) == 8


def test_a_variable_does_not_take_different_shapes(inputs, monkeypatch):
    x, flag, feeds = inputs
    variable = tf.Variable(ROWS, validate_shape=False, use_resource=False)
    assigned = tf.assign(variable, tf.cond(flag, lambda: x, lambda: x[1:3]), validate_shape=False)
    check(monkeypatch, [tf.reduce_sum(assigned)], feeds)


def test_values_that_branches_save_for_their_gradients(inputs, monkeypatch):
    x, flag, feeds = inputs
    w = tf.Variable(ROWS.T)

    def inner(y):
        return tf.cond(tf.reduce_sum(y) > 0, lambda: tf.tanh(y * y), lambda: tf.exp(y))

    loss = tf.reduce_sum(tf.square(tf.cond(flag, lambda: inner(tf.matmul(x, w)), lambda: tf.sigmoid(tf.matmul(x, w) * 2))))
    assert not check(monkeypatch, [loss, *tf.gradients(loss, [x, w])], [*feeds, {**feeds[0], x: -ROWS}])


def test_values_that_branches_in_a_loop_save(inputs, monkeypatch):
    x, _, _ = inputs

    def body(i, y):
        return i + 1, tf.cond(tf.reduce_sum(y) > 0.2, lambda: tf.tanh(y * x), lambda: y - x)

    looped = tf.while_loop(lambda i, y: i < 4, body, (0, x))[1]
    assert not check(monkeypatch, [looped, *tf.gradients(looped, [x])], [{x: ROWS}, {x: -ROWS}])


def test_of_a_condition_that_shapes_tell_only_one_branch_is_made(inputs, python_branches, monkeypatch):
    x, _, _ = inputs
    part = tf.cond(tf.shape(x)[0] > 3, lambda: x[:3], lambda: tf.zeros([7, 6]) + x[0])
    assert not check(monkeypatch, [part * 2, *tf.gradients(part, [x])], [{x: ROWS}, {x: ROWS[:2]}])
    assert len(python_branches) == 8


def test_an_error_in_one_case_names_the_node(inputs):
    x, flag, feeds = inputs
    index = tf.placeholder(tf.int32, [])
    part = tf.cond(flag, lambda: x, lambda: x[1:3])
    row = tf.gather(part, index, name="row")
    with tf.Session() as session:
        for feed, rows in zip(feeds, (5, 2)):
            assert session.run(row, {**feed, index: 1}).shape == (6,)
            with pytest.raises(tf.errors.InvalidArgumentError, match=rf"indices = 7 is not in \[0, {rows}\)") as caught:
                session.run(row, {**feed, index: 7})
            assert caught.value.op.name == "row"
