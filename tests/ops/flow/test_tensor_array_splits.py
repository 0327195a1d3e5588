"""Values that are split into an array which grows later. Numbers are TensorFlow 1.15's."""
from __future__ import annotations

import pytest

import penstock as tf

pytestmark = pytest.mark.process


def test_gradient_of_a_split_into_an_array_that_grows():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant([1.0, 2.0, 3.0])
        array = tf.TensorArray(tf.float32, size=3, dynamic_size=True).split(x, [1, 1, 1]).write(3, [4.0])
        whole = array.concat()
        gradient, = tf.gradients(whole * [1.0, 2.0, 3.0, 4.0], x)
        values = session.run([whole, gradient])
        assert [value.tolist() for value in values] == [[1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0]]
