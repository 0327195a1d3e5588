"""Initialization: order, lists of variables, and the initializers."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf


@pytest.fixture
def sess():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def test_initial_values_that_depend_on_each_other(sess):
    a = tf.Variable(2.0, name="a")
    b = tf.Variable(a * 3.0, name="b")
    c = tf.Variable(a + b, name="c")
    sess.run(tf.variables_initializer([c, b, a]))
    assert sess.run([a, b, c]) == [2, 6, 8]
    sess.run(a.assign(10.0))
    sess.run(b.initializer)  # from the value that a has by now
    assert sess.run(b) == 30
    assert {"a/read_b", "mul_b"} <= {op.name for op in sess.graph.get_operations()}


@pytest.mark.parametrize("resource", [False, True])
def test_initialized_value(sess, resource):
    v = tf.Variable(2.0, use_resource=resource)
    twice = v.initialized_value() * 2.0
    assert sess.run(twice) == 4
    sess.run(v.assign(5.0))
    assert sess.run(twice) == 10


def test_reports(sess):
    a, b = tf.Variable(1.0, name="a"), tf.Variable(1.0, name="b", use_resource=True)
    report, check = tf.report_uninitialized_variables(), tf.assert_variables_initialized()
    sess.run(a.initializer)
    assert sess.run(report).tolist() == [b"b"] and sess.run([tf.is_variable_initialized(v) for v in (a, b)]) == [True, False]
    with pytest.raises(tf.errors.FailedPreconditionError, match="b"):
        sess.run(check)
    sess.run(tf.global_variables_initializer())
    assert sess.run(report).tolist() == []
    sess.run(check)
    with tf.Graph().as_default():
        assert tf.report_uninitialized_variables().shape == (0,) and tf.assert_variables_initialized() is None


def test_old_names(sess):
    v, local = tf.Variable(1.0), tf.Variable(2.0, trainable=False, collections=[tf.GraphKeys.LOCAL_VARIABLES])
    assert tf.all_variables() == [v]
    sess.run([tf.initialize_all_variables(), tf.initialize_local_variables(), tf.initialize_variables([v])])
    assert sess.run([v, local]) == [1, 2]


def test_no_variables(sess):
    init = tf.global_variables_initializer()
    assert init.type == "NoOp" and sess.run(init) is None


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
