"""Stacks of the graph."""
from __future__ import annotations

import pytest

import penstock as tf


def test_stack():
    stack = tf.raw_ops.StackV2(max_size=2, elem_type=tf.float32)
    first = tf.raw_ops.StackPushV2(handle=stack, elem=1.0)
    with tf.control_dependencies([first]):
        second = tf.raw_ops.StackPushV2(handle=stack, elem=[2.0, 3.0])
    with tf.control_dependencies([second]):
        third, top = tf.raw_ops.StackPushV2(handle=stack, elem=1.0), tf.raw_ops.StackPopV2(handle=stack, elem_type=tf.float32)
        closed = tf.raw_ops.StackCloseV2(handle=stack)
    with tf.control_dependencies([closed]):
        late = tf.raw_ops.StackPopV2(handle=stack, elem_type=tf.float32)
    empty = tf.raw_ops.StackPopV2(handle=tf.raw_ops.StackV2(max_size=-1, elem_type=tf.float32), elem_type=tf.float32)
    with tf.Session() as session:
        assert session.run(top).tolist() == [2, 3]
        for tensor, message in ((third, r"overflowed its max_size \(2\)"), (empty, r"is empty when calling Pop\(\)"), (late, "already been closed")):
            with pytest.raises(tf.errors.InvalidArgumentError, match=message):
                session.run(tensor)
