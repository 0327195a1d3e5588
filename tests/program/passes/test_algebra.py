"""Algebraic simplification, bit for bit."""
from __future__ import annotations

import pytest

import penstock as tf
from support.programs import types_after

pytestmark = pytest.mark.process


@pytest.mark.parametrize("simple", [lambda x: x * 1.0, lambda x: 1.0 * x, lambda x: x - 0.0, lambda x: x / 1.0, lambda x: x + -0.0,
                                    lambda x: tf.negative(-x)])
def test_neutral_elements_go(simple):
    x = tf.placeholder(tf.float32, [2])
    assert types_after([tf.exp(simple(x))], [x]) == ["Exp"]


@pytest.mark.parametrize("other", [lambda x: x + 0.0, lambda x: x - -0.0, lambda x: x * 2.0, lambda x: 1.0 - x, lambda x: x * [[1.0], [1.0]]])
def test_what_only_looks_neutral_stays(other):
    x = tf.placeholder(tf.float32, [2])
    assert len(types_after([tf.exp(other(x))], [x])) == 3


def test_neutral_array_of_the_same_shape():
    x = tf.placeholder(tf.float32, [2])
    assert types_after([tf.exp(x * [1.0, 1.0])], [x]) == ["Exp"]
    unknown = tf.placeholder(tf.float32)
    assert len(types_after([tf.exp(unknown * [1.0, 1.0])], [unknown])) == 3


def test_rounding_twice():
    x = tf.placeholder(tf.float32, [2])
    assert types_after([tf.exp(tf.floor(tf.floor(x)))], [x]) == ["Floor", "Exp"]
    assert types_after([tf.exp(tf.ceil(tf.floor(x)))], [x]) == ["Floor", "Ceil", "Exp"]
