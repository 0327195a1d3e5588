"""Gradients of first and second order through loops, arrays and recurrent networks, against differences."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import penstock as tf

X = np.random.RandomState(0).normal(size=(2, 3, 2))


def slope(function: Callable[[np.ndarray], float], at: np.ndarray, eps: float = 1e-6) -> np.ndarray:
    """The gradient by central differences."""
    found = np.zeros_like(at)
    for index in np.ndindex(*at.shape):
        shift = np.zeros_like(at)
        shift[index] = eps
        found[index] = (function(at + shift) - function(at - shift)) / (2 * eps)
    return found


def gru(units: int, **options: Any) -> Any:
    return tf.nn.rnn_cell.GRUCell(units, **options)


CASES: dict[str, Callable[[Any], Any]] = {
    "loop": lambda p: tf.while_loop(lambda i, t: i < 3, lambda i, t: (i + 1, tf.sin(t) * p), [0, p])[1],
    "loop in loop": lambda p: tf.while_loop(lambda i, t: i < 3, lambda i, t: (i + 1, tf.while_loop(
        lambda j, u: j < 2, lambda j, u: (j + 1, tf.sin(u) * t + p), [0, t])[1]), [0, p])[1],
    "loop in cond": lambda p: tf.cond(tf.reduce_sum(p) > -1e9, lambda: tf.while_loop(
        lambda i, t: i < 3, lambda i, t: (i + 1, tf.sin(t) * p), [0, p])[1], lambda: p),
    "cond in loop": lambda p: tf.while_loop(lambda i, t: i < 3, lambda i, t: (i + 1, tf.cond(
        tf.equal(i, 1), lambda: tf.sin(t) * p, lambda: t * t)), [0, p])[1],
    "cond in cond": lambda p: tf.cond(tf.reduce_sum(p) > -1e9, lambda: tf.cond(p[0, 0, 0] < -1e9, lambda: p, lambda: tf.sin(p) * p), lambda: p),
    "array": lambda p: tf.TensorArray(tf.float64, 2).unstack(p ** 3).concat(),
    "array read twice": lambda p: (lambda a: tf.sin(a.read(0)) * a.read(0) * a.read(1))(
        tf.TensorArray(tf.float64, 2, clear_after_read=False).unstack(p)),
    "map": lambda p: tf.map_fn(lambda row: tf.sin(row) * row, p),
    "map of map": lambda p: tf.map_fn(lambda row: tf.map_fn(lambda q: tf.sin(q) * q, row), p),
    "scan": lambda p: tf.scan(lambda a, row: tf.sin(a * row), p),
    "dynamic_rnn": lambda p: tf.nn.dynamic_rnn(gru(3), p, dtype=tf.float64)[0],
    "dynamic_rnn with lengths": lambda p: tf.nn.dynamic_rnn(tf.nn.rnn_cell.LSTMCell(3), p, sequence_length=[3, 1], dtype=tf.float64)[0],
    "bidirectional": lambda p: tf.concat(tf.nn.bidirectional_dynamic_rnn(gru(2), gru(3), p, sequence_length=[3, 1], dtype=tf.float64)[0], 2),
    "rnn in map": lambda p: tf.map_fn(lambda row: tf.nn.dynamic_rnn(gru(2, name="g", reuse=tf.AUTO_REUSE), row[None], dtype=tf.float64)[0], p),
}


@pytest.mark.parametrize("name", CASES)
def test_both_orders(name):
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(1)
        x = tf.placeholder(tf.float64, X.shape)
        y = tf.reduce_sum(CASES[name](x))
        dx = tf.gradients(y, x)[0]
        z = tf.reduce_sum(tf.square(dx) * np.arange(X.size).reshape(X.shape))
        dz = tf.gradients(z, x)[0]
        session.run(tf.global_variables_initializer())
        first, second = session.run([dx, dz], {x: X})
        np.testing.assert_allclose(first, slope(lambda value: session.run(y, {x: value}), X), rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(second, slope(lambda value: session.run(z, {x: value}), X), rtol=1e-5, atol=1e-5)


def test_two_gradients_of_an_array_do_not_mix():
    with tf.Graph().as_default(), tf.name_scope("gradients"), tf.Session() as session:
        x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
        rows = tf.TensorArray(tf.float32, 2, clear_after_read=False).unstack(x)
        one, two = tf.gradients(rows.read(0), x)[0], tf.gradients(rows.read(0) * 5.0, x)[0]
        assert [value.tolist() for value in session.run([one, two])] == [[[1, 1], [0, 0]], [[5, 5], [0, 0]]]


def test_no_gradient_where_no_path_leads():
    with tf.Graph().as_default():
        v, w = tf.get_variable("v", initializer=1.0), tf.get_variable("w", initializer=2.0)
        y = tf.while_loop(lambda i, t: i < 3, lambda i, t: (i + 1, t * w + tf.stop_gradient(v)), [0, tf.constant(1.0)])[1]
        dv, dw = tf.gradients(y, [v, w])
        assert dv is None and dw is not None


def test_what_nobody_reads_after_a_loop_has_no_gradient():
    """As in TensorFlow; an export would lack the writes to an array that only its own gradient needs."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 5, 4], name="x")
        v = tf.get_variable("v", [], initializer=tf.ones_initializer())
        _, unused, used = tf.while_loop(lambda i, a, b: i < 3, lambda i, a, b: (i + 1, a * v, b * 2.0), [0, 1.0, v])
        state = tf.nn.dynamic_rnn(gru(8), x, dtype=tf.float32)[1]
        weights = tf.trainable_variables()
        found = tf.gradients(tf.reduce_sum(state), weights[1:]) + tf.gradients(used, v) + tf.gradients(unused, v)
        assert tf.gradients(tf.while_loop(lambda i, a, b: i < 3, lambda i, a, b: (i + 1, a * v, b * 2.0), [0, 1.0, 1.0])[2], v) == [None]
    with tf.Graph().as_default() as imported:
        tf.import_graph_def(graph.as_graph_def(), name="")
    results = []
    for each in (graph, imported):
        with tf.Session(graph=each) as session:
            for index, weight in enumerate(weights):
                value = np.random.RandomState(index).normal(size=weight.shape.as_list()).astype(np.float32)
                session.run(f"{weight.op.name}/Assign", {weight.initializer.inputs[1].name: value})
            results.append([session.run([tensor.name for tensor in found], {"x:0": np.ones((2, 5, 4))}) for _ in range(2)])
    for values in (results[0][1], *results[1]):
        for value, expected in zip(values, results[0][0]):
            np.testing.assert_allclose(value, expected, rtol=1e-5)
