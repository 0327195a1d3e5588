"""A view of a variable that is needed after the variable is written: what was there before counts."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf

pytestmark = pytest.mark.process


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("is_fetched", [False, True])
def test_a_view_in_the_group_of_the_write(use_resource, is_fetched):
    v = tf.Variable(np.float32(3.0), use_resource=use_resource)
    w = tf.Variable(np.zeros(64, np.float32), use_resource=True)
    x = tf.placeholder(tf.float32, [2])
    seen = tf.reshape(tf.identity(v), [1])
    first = tf.concat([seen, tf.zeros([63])], 0)[0:1]
    step = tf.reshape(tf.concat([x, tf.zeros([3])], 0)[0:1], [])
    with tf.control_dependencies([first, step]):
        added = tf.scatter_add(w, [5], -first * 0.5)
        lowered = v.assign_sub(step)
    fetches = [added.op, lowered.op, *([seen] if is_fetched else [])]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        results = [session.run(fetches, {x: [1.0, 2.0]}) for _ in range(4)]
        assert session.run([v, w[5]]) == [-1.0, -0.5 * (3.0 + 2.0 + 1.0 + 0.0)]
    assert not is_fetched or [float(each[2][0]) for each in results] == [3.0, 2.0, 1.0, 0.0]


@pytest.mark.parametrize("see", [
    lambda x: tf.reduce_prod(x, np.zeros(0, np.int32)), lambda x: tf.reduce_sum(tf.reshape(x, [17, 1]), 1),
    lambda x: tf.broadcast_to(x, [1, 17])[0], lambda x: tf.broadcast_to(x, [2, 17])[1], lambda x: tf.reduce_max(x[:, None], 1, keepdims=True)[:, 0]],
    ids=["no axes", "axis of one element", "broadcast", "broadcast to more", "kept axis"])
@pytest.mark.parametrize("use_resource", [False, True])
def test_reductions_and_broadcasts_that_hand_on_a_view(see, use_resource):
    """An op that only sees a variable in another shape may share its memory, whatever the op is called."""
    v = tf.Variable(np.arange(1, 18, dtype=np.float32), use_resource=use_resource)
    w = tf.Variable(np.float32(2.0), use_resource=use_resource)
    x = tf.identity(v)
    seen = tf.reshape(see(x)[:1], [])
    with tf.control_dependencies([x, seen]):
        steps = [w.assign_add(seen).op, v.assign_sub(x).op]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(2):
            session.run(steps)
        assert session.run(w) == 3.0 and not session.run(v).any()


@pytest.mark.parametrize("view", [lambda c: tf.reshape(c, [3, 1]), tf.squeeze, lambda c: tf.expand_dims(c, 0), lambda c: tf.reduce_sum(c[None], 0)],
                         ids=["reshape", "squeeze", "expand", "sum"])
@pytest.mark.parametrize("use_resource", [False, True])
def test_a_view_between_two_writes(use_resource, view):
    """It waits for the first one, and the second waits for it: it has the value between them, though one loop does it all."""
    c = tf.get_variable("c", [3], initializer=tf.zeros_initializer(), use_resource=use_resource)
    with tf.control_dependencies([tf.assign_add(c, [1.0, 2.0, 3.0])]):
        between = view(c)
    with tf.control_dependencies([between]):
        last = tf.assign_sub(c, tf.reshape(10.0 * between, [3])).op
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        expected = np.zeros(3)
        for _ in range(4):
            expected += [1.0, 2.0, 3.0]
            np.testing.assert_allclose(session.run([between, last])[0].ravel(), expected)
            expected -= 10 * expected
        np.testing.assert_allclose(session.run(c), expected)
