"""Equal nodes become one."""
from __future__ import annotations

import pytest

import penstock as tf
from support.programs import types_after

pytestmark = pytest.mark.process


def test_equal_nodes_are_one():
    x = tf.placeholder(tf.float32, [2])
    assert types_after([tf.exp(x) + tf.exp(x)], [x]) == ["Exp", "AddV2"]


def test_order_of_inputs_matters_unless_it_does_not():
    x, y = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.float32, [2])
    assert types_after([x * y + y * x], [x, y]) == ["Mul", "AddV2"]
    assert types_after([(x - y) + (y - x)], [x, y]) == ["Sub", "Sub", "AddV2"]


def test_attributes_matter():
    x = tf.placeholder(tf.float32, [2, 2])
    product = tf.matmul(x, x) + tf.matmul(x, x, transpose_a=True)
    assert types_after([product], [x]) == ["MatMul", "MatMul", "AddV2"]


def test_random_numbers_are_drawn_apart():
    assert types_after([tf.random_uniform([2]) + tf.random_uniform([2])]).count("RandomUniform") == 2


def test_fetched_twins_are_separate_arrays():
    x = tf.placeholder(tf.float32, [2])
    with tf.Session() as session:
        a, b = session.run([tf.exp(x), tf.exp(x)], {x: [0.0, 0.0]})
    a[0] = 7.0
    assert b[0] == 1.0


def test_reads_of_a_variable_are_not_merged():
    v = tf.Variable([1.0], use_resource=False)
    before = tf.exp(v)
    with tf.control_dependencies([v.assign_add(before)]):
        after = tf.exp(v)
    with tf.Session() as session:
        session.run(v.initializer)
        first, second = session.run([before, after])
    assert first != second
