"""Shapes that were unknown while building are checked when they are known: an error that says why, never a wrong result."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from penstock.execute import recheck


def run(build, value):
    x = tf.placeholder(tf.float32)
    with tf.Session() as session:
        return session.run(build(x), {x: value})


@pytest.mark.parametrize("build, value", [
    (lambda x: tf.matmul(x, np.zeros((3, 2), np.float32)), np.zeros((2, 4))),
    (lambda x: tf.matmul(x, np.zeros((3, 2), np.float32)), np.zeros(3)),
    (lambda x: tf.add(x, [1.0, 2.0, 3.0]), [1.0, 2.0]),
    (lambda x: tf.nn.local_response_normalization(x), np.zeros((2, 3))),
    (lambda x: tf.unique(x)[0], np.zeros((2, 3))),
    (lambda x: tf.concat([x, [[1.0]]], 0), [1.0]),
    (lambda x: tf.reshape(x, [4]), [1.0, 2.0, 3.0]),
    (lambda x: tf.stack([x, [1.0]]), [1.0, 2.0]),
    (lambda x: tf.raw_ops.AccumulateNV2(inputs=[x], shape=[5, 3]), [1.0, 2.0]),
])
def test_wrong_shapes_are_errors(build, value):
    with pytest.raises(tf.errors.InvalidArgumentError):
        run(build, value)


def test_the_message_is_that_of_the_graph():
    x = tf.placeholder(tf.float32)
    y = tf.matmul(x, np.zeros((3, 2), np.float32), name="product")
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError) as caught:
        session.run(y, {x: np.zeros((2, 4))})
    assert "product" in str(caught.value) and caught.value.op is y.op


def test_shapes_may_change_from_run_to_run():
    x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    total = tf.add(x, y)
    with tf.Session() as session:
        for shape in ([2], [3], [2, 3], [], [2]):
            assert session.run(total, {x: np.ones(shape), y: np.ones(shape)}).shape == tuple(shape)
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(total, {x: np.ones(2), y: np.ones(3)})
        assert session.run(total, {x: np.ones(3), y: np.ones(3)}).tolist() == [2, 2, 2]


def test_shapes_that_have_passed_are_not_checked_again(monkeypatch):
    """A step on some rows of a table has other shapes each time; each of them is checked once."""
    asked = []
    complaint = recheck.complaint
    monkeypatch.setattr(recheck, "complaint", lambda node, inputs: asked.append(node.name) or complaint(node, inputs))
    x, rows = tf.placeholder(tf.float32, [None, 4]), tf.placeholder(tf.int32, [None])
    y = tf.gather(x, rows)
    with tf.Session() as session:
        for turn in range(9):
            session.run(y, {x: np.ones((3 + turn % 3, 4)), rows: [0, 1]})
    assert len(asked) <= 4  # three shapes, one of which also in the plan of the first run
