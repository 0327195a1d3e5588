"""``tf.gradients``: paths that end on the way. (What it computes is compared with TensorFlow in ``golden/cases/gradients.py``.)"""
from __future__ import annotations

import penstock as tf


def test_a_source_behind_what_has_no_gradient():
    """The gradient of an op may be None, and one of its ancestors a source as well: that one is just not connected."""
    x = tf.constant([1.0, 0.0])
    y = tf.cast(tf.cast(x, tf.bool), tf.float32)
    by_x, by_y = tf.gradients(y * 2.0, [x, y])
    assert by_x is None
    with tf.Session() as session:
        assert session.run(by_y).tolist() == [2.0, 2.0]
