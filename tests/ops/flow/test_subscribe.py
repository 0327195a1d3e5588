"""Side effects that run before a tensor is read."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from penstock.ops.flow.subscribe import is_subscribed_identity, subscribe


def test_consumers_and_waiting_operations_see_the_effect():
    seen = []
    with tf.Graph().as_default(), tf.Session() as sess:
        c = tf.add(1, 1)
        with tf.control_dependencies([c]):
            waiting = tf.constant(42)
        negative = tf.negative(c)

        def effect(t):
            return tf.py_func(lambda value: seen.append(int(value)) or value, [t], [t.dtype])

        result = subscribe(c, effect)
        assert is_subscribed_identity(result) and result.op in waiting.op.control_inputs and c.op not in waiting.op.control_inputs
        assert sess.run([result, negative]) == [2, -2] and seen == [2]
        assert sess.run(waiting) == 42 and seen == [2, 2]
        assert subscribe(c, effect) is result and subscribe(result, []) is result
        sess.run(negative)
        assert seen == [2] * 4  # two effects


def test_structures():
    with tf.Graph().as_default():
        a, b = tf.constant(1), tf.constant(2)
        made = subscribe({"x": (a, [b])}, [])
        assert is_subscribed_identity(made["x"][0]) and is_subscribed_identity(made["x"][1][0])
        table = tf.contrib.lookup.MutableHashTable(tf.string, tf.int64, -1)
        assert subscribe(table.resource_handle, []) is table.resource_handle
        with pytest.raises(TypeError, match="invalid type"):
            subscribe("a:0", [])


def test_a_variable():
    seen = []
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.Variable(3.0)
        total = v + 1.0
        subscribe(v, lambda t: [tf.py_func(lambda value: seen.append(float(value)) or np.int64(0), [t], tf.int64)])
        sess.run(v.initializer)
        assert not seen and sess.run(total) == 4 and seen == [3.0]
