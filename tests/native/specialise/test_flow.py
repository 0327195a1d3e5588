"""Loops that run natively: what their errors say, and what they do not wait for."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from penstock.native.config import config
from support.plans import nodes_of

pytestmark = pytest.mark.process
ROWS = np.ones((5, 3), np.float32)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def message_of(fetch, feeds):
    """What a step that fails says."""
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError) as caught:
        session.run(fetch, feeds)
    return caught.value.message


def summing(table, index, turns, name):
    """A loop that adds up rows of a table."""
    return tf.while_loop(lambda i, total: i < turns, lambda i, total: (i + 1, total + tf.reduce_sum(tf.gather(table, index(i)))),
                         (tf.constant(0), tf.constant(0.0)), name=name)[1]


def plan_types(fetch, feeds):
    with tf.Session() as session:
        session.run(fetch, feeds)
        return [node.definition.type for node in nodes_of(session)]


def test_a_lone_loop_is_native():
    x = tf.placeholder(tf.float32, [5, 3])
    assert plan_types(summing(x, lambda i: i, 5, "good"), {x: ROWS}) == ["_Region"]


def test_an_error_names_the_loop_the_iteration_and_the_line(monkeypatch):
    x = tf.placeholder(tf.float32, [5, 3])
    total = summing(x, lambda i: i * 2, 10, "rows")
    native = message_of(total, {x: ROWS})
    assert "indices = 6 is not in [0, 5)" in native and "in iteration 3 of the loop 'rows/While', made at" in native and "test_flow.py" in native
    monkeypatch.setattr(config, "mode", "off")
    assert message_of(total, {x: ROWS}) == native


def test_an_error_names_all_loops_around_it(monkeypatch):
    x = tf.placeholder(tf.float32, [5, 3])
    total = tf.while_loop(lambda j, total: j < 10, lambda j, total: (j + 1, total + summing(x, lambda i: j * 2 + i, 3, "inner")),
                          (tf.constant(0), tf.constant(0.0)), name="outer")[1]
    native = message_of(total, {x: ROWS})
    assert native.index("in iteration 1 of the loop 'outer/inner/While'") < native.index("in iteration 2 of the loop 'outer/While'")
    monkeypatch.setattr(config, "mode", "off")
    assert message_of(total, {x: ROWS}) == native


def test_an_error_in_the_condition():
    x = tf.placeholder(tf.float32, [5, 3])
    count = tf.while_loop(lambda i: tf.reduce_sum(tf.gather(x, i)) > 0.0, lambda i: i + 1, (tf.constant(0),), name="search")
    assert "in iteration 5 of the loop 'search/While'" in message_of(count, {x: ROWS})


def test_iterations_are_counted_anew_in_each_step():
    x, start = tf.placeholder(tf.float32, [5, 3]), tf.placeholder(tf.int32, [])
    total = summing(x, lambda i: i + start, 5, "rows")
    with tf.Session() as session:
        for first, iteration in ((0, None), (3, 2), (0, None), (1, 4)):
            if iteration is None:
                assert session.run(total, {x: ROWS, start: first}) == 15.0
                continue
            with pytest.raises(tf.errors.InvalidArgumentError, match=f"in iteration {iteration} of the loop"):
                session.run(total, {x: ROWS, start: first})


@pytest.mark.parametrize("use_list", [False, True])
def test_a_loop_whose_gradient_comes_by_way_of_another_device_does_not_wait_for_it(use_list, monkeypatch):
    """Forward and backward loop share lists, so they would be one region; but the other device waits for the forward one."""
    with tf.device("/cpu:0"):
        x = tf.placeholder(tf.float32, [3, 4])
        if use_list:
            y = tf.map_fn(tf.tanh, x)
        else:
            y = tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, tf.tanh(v) * 1.5), [0, x])[1]
    with tf.device("/cpu:1"):
        loss = tf.reduce_sum(tf.square(y) * tf.sigmoid(y))
    grad, = tf.gradients(loss, [x], colocate_gradients_with_ops=True)
    results = []
    for mode in ("eager", "off"):
        monkeypatch.setattr(config, "mode", mode)
        with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2}, operation_timeout_in_ms=10000)) as session:
            results.append(session.run(grad, {x: np.linspace(-1, 1, 12).reshape(3, 4)}))
    np.testing.assert_allclose(*results, rtol=1e-5)
