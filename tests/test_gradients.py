"""``tf.gradients``: paths that end on the way. (What it computes is compared with TensorFlow in ``golden/cases/gradients.py``.)"""
from __future__ import annotations

import numpy as np

import penstock as tf


def test_a_source_behind_what_has_no_gradient():
    """The gradient of an op may be None, and one of its ancestors a source as well: that one is just not connected."""
    x = tf.constant([1.0, 0.0])
    y = tf.cast(tf.cast(x, tf.bool), tf.float32)
    by_x, by_y = tf.gradients(y * 2.0, [x, y])
    assert by_x is None
    with tf.Session() as session:
        assert session.run(by_y).tolist() == [2.0, 2.0]


def test_gradients_inside_of_a_branch():
    """By tensors outside of it: what it uses itself, what operations outside are made of, and gradients of gradients. (Values of TensorFlow 1.15.)"""
    x, v, flag = tf.constant(3.0), tf.Variable(2.0), tf.placeholder(tf.bool, [])
    outside, = tf.gradients(x * x * x, x)

    def twice():
        return tf.gradients(tf.gradients(x * x * x, x)[0], x)[0]

    def mixed():
        return tf.gradients(tf.gradients(v * v * x, [v])[0], [x])[0]

    def of_outside():
        return tf.gradients(outside, x)[0]

    def nested():
        return tf.cond(flag, lambda: tf.gradients(tf.sin(x) * v, [x, v])[0], lambda: v * 1.0)

    results = [tf.cond(flag, branch, lambda: x * 0.0) for branch in (twice, mixed, of_outside, nested)]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_allclose(session.run(results, {flag: True}), [18.0, 4.0, 18.0, 2.0 * np.cos(3.0)], rtol=1e-6)
        np.testing.assert_allclose(session.run(tf.gradients(results[0], x), {flag: True}), [6.0], rtol=1e-6)


def test_gradients_inside_of_a_loop_by_what_is_outside():
    x = tf.constant(2.0)
    _, total = tf.while_loop(lambda i, total: i < 3, lambda i, total: (i + 1, total + tf.gradients(x * x * total, [x])[0]), [0, 1.0])
    with tf.Session() as session:
        assert session.run(total) == 5.0 ** 3


def test_of_sums_of_scalars_whose_rank_is_not_known():
    """A program that feeds its examples one by one does so."""
    x, w = tf.placeholder(tf.float32), tf.Variable(1.0)
    slope, = tf.gradients(tf.reduce_sum(tf.square(x * w - 3.0)), [w])
    with tf.Session() as session:
        session.run(w.initializer)
        for _ in range(3):
            assert session.run(slope, {x: 2.0}) == -4.0
        assert session.run(slope, {x: [2.0, 1.0]}) == -8.0


def test_gradients_stay_with_operations_on_several_devices():
    """A sum hands its gradient on as it came, from another device: there it waits for those of the other inputs, as in TensorFlow."""
    weights, offsets, parts = [], [], []
    x = tf.constant([[1.0, 2.0]])
    for index in range(2):
        with tf.device(f"/cpu:{index}"):
            weights.append(tf.get_variable(f"w{index}", initializer=np.full([2, 3], index + 1.0, np.float32)))
            offsets.append(tf.get_variable(f"b{index}", initializer=np.zeros(3, np.float32)))
            parts.append(tf.matmul(x, weights[-1]) + offsets[-1])
    with tf.device("/cpu:0"):
        loss = tf.reduce_sum(tf.square(tf.concat(parts, 1)))
        pairs = tf.train.GradientDescentOptimizer(1.0).compute_gradients(loss, colocate_gradients_with_ops=True)
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        session.run(tf.global_variables_initializer())
        by_name = {variable.op.name: grad for (_, variable), grad in zip(pairs, session.run([grad for grad, _ in pairs]))}
    np.testing.assert_array_equal(by_name["w1"], [[12.0] * 3, [24.0] * 3])
    np.testing.assert_array_equal(by_name["b1"], [12.0] * 3)
