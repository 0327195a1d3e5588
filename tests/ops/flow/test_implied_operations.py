"""Random ops without seeds of their own get TensorFlow's numbers after conditionals and loops, too: their seeds follow from how many nodes there are.

The numbers are those of TensorFlow 1.15.5: ``seed2`` of a tf.random_uniform that is made after each of these.
"""
from __future__ import annotations

import pytest

import penstock as tf
from penstock.train.global_step import global_step_read


def vector():
    return tf.constant([1.0, 2.0])


def flag():
    return tf.placeholder(tf.bool, [])


def images():
    return tf.placeholder(tf.float32, [None, 8, 8, 3])


def cond(one, other, given=vector):
    x, pred = given(), flag()
    return tf.cond(pred, lambda: one(x), lambda: other(x))


def nested():
    x, pred = vector(), flag()
    return tf.cond(pred, lambda: tf.cond(pred, lambda: x, lambda: x + 3.0), lambda: x * 2)


def variable(use_resource=False):
    return tf.get_variable("v", [2], use_resource=use_resource)


def loop(step):
    x = vector()
    return tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, step(i, s, x)), [0, x])


def assertions():
    tf.Assert(flag(), ["x"])
    tf.assert_equal(tf.placeholder(tf.int32, []), 3)


def read_step():
    tf.train.get_or_create_global_step()
    return global_step_read("a test")


CASES = {
    "cond": (lambda: cond(lambda x: x + 1, lambda x: x * 2), 16),
    "nested": (nested, 24),
    "several results": (lambda: cond(lambda x: (x, x + 1, tf.constant(3)), lambda x: (x * 2, x, tf.constant(4))), 20),
    "operations": (lambda: tf.cond(flag(), lambda: tf.group(tf.no_op()), tf.no_op), 14),
    "assignment": (lambda: cond(lambda v: tf.assign_add(v, [1.0, 1.0]), lambda v: v, variable), 23),
    "resource variable": (lambda: cond(lambda v: v + 1, lambda v: v * 2, lambda: variable(True)), 28),
    "case": (lambda: (lambda x, pred: tf.case([(pred, lambda: x)], default=lambda: x + 1))(vector(), flag()), 14),
    "loop": (lambda: loop(lambda i, s, x: s + x), 24),
    "cond in a loop": (lambda: loop(lambda i, s, x: tf.cond(i > 1, lambda: s + x, lambda: s)), 34),
    "map_fn": (lambda: tf.map_fn(lambda x: x * 2, vector()), 60),
    "scan": (lambda: tf.scan(lambda s, x: s + x, vector()), 69),
    "batch_normalization": (lambda: (lambda pred: tf.layers.batch_normalization(images(), training=pred))(flag()), 57),
    "batch_norm": (lambda: (lambda pred: tf.contrib.layers.batch_norm(images(), is_training=pred))(flag()), 54),
    "dropout": (lambda: (lambda pred: tf.layers.dropout(tf.placeholder(tf.float32, [None, 3]), training=pred))(flag()), 29),
    "initialized_value": (lambda: variable().initialized_value(), 22),
    "initialized_value of a resource": (lambda: variable(True).initialized_value(), 24),
    "global step": (read_step, 18),
    "assertions": (assertions, 19),
}


@pytest.mark.parametrize("name", CASES)
def test_seeds_after(name):
    build, expected = CASES[name]
    tf.set_random_seed(1)
    build()
    tf.random_uniform([1], name="after")
    assert tf.get_default_graph().get_operation_by_name("after/RandomUniform").get_attr("seed2") == expected
