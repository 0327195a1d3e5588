"""Constant folding: what is computed when the plan is made, and what must not be."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from support.programs import only, types_after

pytestmark = pytest.mark.process


def test_constants_are_folded():
    assert types_after([tf.reduce_sum(tf.constant([1.0, 2.0]) * 3.0)]) == ["Const"]


def test_folded_value():
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(tf.transpose([[1, 2], [3, 4]]) + 1), [[2, 4], [3, 5]])


def test_shapes_are_folded():
    x = tf.placeholder(tf.float32, [3, 4])
    assert types_after([tf.shape(tf.exp(x)) * 2], [x]) == ["Const"]
    unknown = tf.placeholder(tf.float32, [None, 4])
    assert "Shape" in types_after([tf.shape(unknown) * 2], [unknown])


def test_long_shape_type():
    x = tf.placeholder(tf.float32, [3, 4])
    with tf.Session() as session:
        assert session.run(tf.shape(x, out_type=tf.int64), {x: np.zeros((3, 4))}).dtype == np.int64


def test_large_results_are_not_folded():
    large = tf.fill([1000], 2.0)
    assert types_after([large], options=only(constants=True, folded_bytes=100)) == ["Const", "Const", "Fill"]
    assert types_after([large], options=only(constants=True, folded_bytes=4000)) == ["Const"]


def test_much_is_not_made_of_little():
    """A plan keeps its constants: the zeros that variables begin with would never go."""
    assert "Fill" in types_after([tf.zeros([1000, 1000])])
    assert types_after([tf.constant(np.ones((1000, 1000), np.float32)) * 2.0]) == ["Const"]


def test_random_numbers_are_not_folded():
    assert "RandomUniform" in types_after([tf.random_uniform([2])])


def test_several_outputs():
    a, b = tf.split(tf.constant([1.0, 2.0]), 2)
    with tf.Session() as session:
        assert session.run([a, b]) == [[1.0], [2.0]]
    assert types_after([a, b]) == ["Const", "Const"]


def test_error_of_a_constant_comes_when_it_runs():
    quotient = tf.div(tf.constant([1]), tf.constant([0]), name="quotient")
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="quotient"):
        session.run(quotient)


def test_folded_constant_keeps_its_waits():
    v = tf.Variable(1.0, use_resource=False)
    with tf.control_dependencies([v.assign_add(1.0)]):
        late = tf.constant(1.0)
    total = tf.add(late, 1.0)
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(total) == 2.0
        assert session.run(v) == 2.0
