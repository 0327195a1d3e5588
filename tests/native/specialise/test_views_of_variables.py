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
