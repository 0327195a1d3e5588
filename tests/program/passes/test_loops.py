"""Loop variables that are not needed do not run."""
from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import penstock as tf
from penstock.program import ir
from penstock.program.passes import PassOptions, optimise
from penstock.program.passes.options import NONE

pytestmark = pytest.mark.process
SIZE = 4096


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def loop(turns=100, body=lambda v: tf.tanh(v * 1.5)):
    x = tf.placeholder(tf.float32, [SIZE])
    end = tf.while_loop(lambda i, v: i < turns, lambda i, v: (i + 1, body(v)), (tf.constant(0), x))[1]
    return x, end


def variables_of(fetches, feeds, options=PassOptions()):
    """How many variables each loop of a step has."""
    program = optimise(ir.prune(fetches, (), feeds), options)
    return [len(node.inputs) for node in program.nodes if node.definition.repeats]


def test_what_gradients_have_added_is_dropped_unless_they_are_fetched():
    x, end = loop()
    plain = variables_of([end], [x])
    slope = tf.gradients(end, x)[0]
    assert variables_of([end], [x]) == plain
    assert variables_of([end], [x], NONE) > plain
    assert variables_of([slope], [x])[0] > plain[0]


def test_memory_does_not_grow_with_the_trip_count():
    x, end = loop(turns=200)
    slope = tf.gradients(end, x)[0]
    with tf.Session() as session:
        feeds = {x: np.ones(SIZE, np.float32)}
        expected = session.run([end, slope], feeds)[0]
        session.run(end, feeds)
        tracemalloc.start()
        found = session.run(end, feeds)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    np.testing.assert_array_equal(found, expected)
    assert peak < 50 * SIZE * 4  # a list of one value per iteration would have 200


def test_nested_loops():
    x, end = loop(3, lambda v: tf.while_loop(lambda j, u: j < 3, lambda j, u: (j + 1, tf.sin(u)), (tf.constant(0), v))[1])
    slope = tf.gradients(end, x)[0]
    with tf.Session() as session:
        feeds = {x: np.full(SIZE, 0.5, np.float32)}
        both = session.run([end, slope], feeds)
        np.testing.assert_array_equal(session.run(end, feeds), both[0])
        np.testing.assert_array_equal(session.run(slope, feeds), both[1])


def test_variables_that_others_depend_on_stay():
    values = (tf.constant(0), tf.constant(1.0), tf.constant(2.0), tf.constant(3.0))
    _, a, _, _ = tf.while_loop(lambda i, a, b, c: i < 3, lambda i, a, b, c: (i + 1, a + b, b + c, c), values)
    assert variables_of([a], []) == [4]
    _, a, _, _ = tf.while_loop(lambda i, a, b, c: i < 3, lambda i, a, b, c: (i + 1, a + 1.0, b + c, c), values)
    assert variables_of([a], []) == [2]
    _, a, _, _ = tf.while_loop(lambda i, a, b, c: b < 9.0, lambda i, a, b, c: (i + 1, a + 1.0, b + c, c), values)
    assert variables_of([a], []) == [3]


def test_variables_with_effects_stay():
    seen = []

    def body(i, a, b):
        return i + 1, a + 1.0, tf.ensure_shape(tf.py_func(lambda v: seen.append(v) or v, [b], tf.float32), [])

    a = tf.while_loop(lambda i, a, b: i < 3, body, (tf.constant(0), tf.constant(0.0), tf.constant(5.0)))[1]
    with tf.Session() as session:
        assert session.run(a) == 3.0 and len(seen) == 3


def test_a_gradient_that_is_built_later_is_seen():
    x, end = loop(turns=4)
    with tf.Session() as session:
        feeds = {x: np.full(SIZE, 0.1, np.float32)}
        before = session.run(end, feeds)
        tf.gradients(end, x)
        np.testing.assert_array_equal(session.run(end, feeds), before)
        slope = tf.gradients(tf.reduce_sum(end * end), x)[0]
        value, _ = session.run([end, slope], feeds)
        np.testing.assert_array_equal(value, before)


def test_what_only_dropped_variables_read_need_not_be_initialized():
    """From the first run on, which is not optimised otherwise."""
    weights = tf.get_variable("weights", [3, 3])
    counted = tf.while_loop(lambda i, s, n: i < 3, lambda i, s, n: (i + 1, tf.matmul(s, weights), n + 1.0), [0, tf.ones([2, 3]), 0.0])[2]
    for level in (tf.OptimizerOptions.L0, tf.OptimizerOptions.L1):
        options = tf.GraphOptions(optimizer_options=tf.OptimizerOptions(opt_level=level))
        with tf.Session(config=tf.ConfigProto(graph_options=options)) as session:
            assert [session.run(counted) for _ in range(3)] == [3.0] * 3
