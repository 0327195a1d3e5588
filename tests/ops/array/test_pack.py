"""What ``tf.concat`` says of shapes that do not fit: TensorFlow 1.15's words, which libraries' tests look for."""
from __future__ import annotations

import pytest

import penstock as tf


@pytest.mark.parametrize("one, other, axis, message", [
    ([5, 5, 4, 12], [5, 4, 5, 11], -1, r"Dimension 1 in both shapes must be equal, but are 5 and 4\. Shapes are \[5,5,4\] and \[5,4,5\]\."),
    ([2, 3], [2, 4], 0, r"Dimension 0 in both shapes must be equal, but are 3 and 4\. Shapes are \[3\] and \[4\]\.")])
def test_shapes_that_do_not_fit(one, other, axis, message):
    with pytest.raises(ValueError, match=message):
        tf.concat([tf.zeros(one), tf.zeros(other)], axis)


def test_what_is_known_of_other_axes_is_put_together():
    one, other = tf.placeholder(tf.float32, [None, 3, None]), tf.placeholder(tf.float32, [2, 4, None])
    assert tf.concat([one, other], 1).shape.as_list() == [2, 7, None]
