"""tf.vectorized_map: the values of map_fn, with and without a loop."""
import numpy as np
import pytest

import penstock as tf
from penstock.imperative.context import eager_mode

pytestmark = pytest.mark.process


def has_loop():
    return any(op.type == "While" for op in tf.get_default_graph().get_operations())


def test_elementwise_functions_need_no_loop():
    x, w = tf.constant(np.arange(6.0).reshape(3, 2)), tf.constant([2.0, 3.0], tf.float64)
    y = tf.vectorized_map(lambda row: {"a": row * w, "b": tf.exp(row) + 1.0}, x)
    assert not has_loop() and y["a"].shape.as_list() == [3, 2]
    gradient = tf.gradients(y["a"], [x, w])
    with tf.Session() as session:
        values, slopes = session.run([y, gradient])
    np.testing.assert_array_equal(values["a"], np.arange(6.0).reshape(3, 2) * [2.0, 3.0])
    np.testing.assert_allclose(values["b"], np.exp(np.arange(6.0).reshape(3, 2)) + 1.0)
    np.testing.assert_array_equal(slopes[0], np.tile([2.0, 3.0], (3, 1)))
    np.testing.assert_array_equal(slopes[1], [6.0, 9.0])


def test_other_functions_are_a_loop():
    """Also those that draw numbers: each slice has its own."""
    matrices = tf.constant(np.random.default_rng(0).normal(size=(4, 3, 3)))
    inverses, drawn = tf.vectorized_map(lambda pair: (tf.matrix_inverse(pair[0]), pair[1] + tf.random_uniform([])), (matrices, tf.zeros([4])))
    assert has_loop()
    with tf.Session() as session:
        values, numbers, given = session.run([inverses, drawn, matrices])
    np.testing.assert_allclose(values, np.linalg.inv(given))
    assert len(set(numbers.tolist())) == 4


def test_in_imperative_style():
    with eager_mode():
        assert tf.vectorized_map(lambda x: x * x, tf.constant([1.0, 2.0])).numpy().tolist() == [1.0, 4.0]
