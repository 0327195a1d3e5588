"""Transposes of transposes, and reshapes of reshapes."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from support.programs import types_after

pytestmark = pytest.mark.process


def test_transposes_that_cancel():
    x = tf.placeholder(tf.float32, [2, 3, 4])
    back = tf.transpose(tf.transpose(x, [2, 0, 1]), [1, 2, 0])
    assert types_after([tf.exp(back)], [x]) == ["Exp"]


def test_transposes_that_add_up():
    x = tf.placeholder(tf.float32, [2, 3, 4])
    twice = tf.exp(tf.transpose(tf.transpose(x, [2, 0, 1]), [0, 2, 1]))
    assert sorted(types_after([twice], [x])) == ["Const", "Exp", "Transpose"]
    value = np.arange(24, dtype=np.float32).reshape(2, 3, 4) / 24
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(twice, {x: value}), np.exp(value.transpose(2, 0, 1).transpose(0, 2, 1)))


def test_transpose_of_unknown_rank_stays():
    x = tf.placeholder(tf.float32)
    assert "Transpose" in types_after([tf.exp(tf.transpose(x, [0, 1]))], [x])


def test_reshapes_that_cancel():
    x = tf.placeholder(tf.float32, [2, 6])
    back = tf.reshape(tf.expand_dims(tf.reshape(x, [3, 4]), 0), [2, 6])
    assert types_after([tf.exp(back)], [x]) == ["Exp"]


def test_reshapes_that_add_up():
    x = tf.placeholder(tf.float32, [2, 6])
    assert types_after([tf.exp(tf.reshape(tf.reshape(x, [3, 4]), [12]))], [x]) == ["Const", "Reshape", "Exp"]


def test_reshape_that_may_fail_stays():
    x = tf.placeholder(tf.float32, [None])
    assert types_after([tf.reshape(tf.reshape(x, [3, 4]), [12])], [x]).count("Reshape") == 2
