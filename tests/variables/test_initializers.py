"""The initializers: their configurations, their values, and what they refuse."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf

INITIALIZERS = [
    tf.zeros_initializer(), tf.ones_initializer(tf.float64), tf.constant_initializer([1, 2]), tf.random_uniform_initializer(-1, 2, 3),
    tf.random_normal_initializer(1.0, 2.0, 3), tf.truncated_normal_initializer(1.0, 2.0, 3), tf.uniform_unit_scaling_initializer(2.0, 3),
    tf.variance_scaling_initializer(2.0, "fan_out", "uniform", 3), tf.orthogonal_initializer(2.0, 3), tf.glorot_uniform_initializer(3),
    tf.glorot_normal_initializer(3), tf.initializers.identity(2.0)]


@pytest.mark.parametrize("initializer", INITIALIZERS, ids=lambda i: type(i).__name__)
def test_config_makes_an_equal_initializer(sess, initializer):
    again = type(initializer).from_config(initializer.get_config())
    first, second = sess.run([initializer([4, 4]), again([4, 4])])
    np.testing.assert_array_equal(first, second)
    assert first.dtype == initializer.dtype.np


@pytest.mark.parametrize("rows", [3, 8])
def test_orthogonal(sess, rows):
    matrix = sess.run(tf.orthogonal_initializer(seed=1, dtype=tf.float64)([rows, 5]))
    small = matrix.T @ matrix if rows > 5 else matrix @ matrix.T
    np.testing.assert_allclose(small, np.eye(len(small)), atol=1e-12)


@pytest.mark.parametrize("make", [
    lambda: tf.variance_scaling_initializer(-1.0), lambda: tf.variance_scaling_initializer(mode="fan"),
    lambda: tf.variance_scaling_initializer(distribution="gauss"), lambda: tf.random_normal_initializer(dtype=tf.int32),
    lambda: tf.orthogonal_initializer()([3]), lambda: tf.initializers.identity()([3])])
def test_initializers_refuse(make):
    with pytest.raises(ValueError):
        make()


def test_constant_initializer_checks_its_value():
    with pytest.raises(TypeError, match="Invalid type for initial value"):
        tf.constant_initializer({1: 2})
    with pytest.raises(TypeError, match="Expected Tensor's shape"):
        tf.constant_initializer([1.0, 2.0], verify_shape=True)([3])
