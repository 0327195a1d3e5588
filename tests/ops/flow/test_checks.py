"""Checks of values: what their errors show."""
from __future__ import annotations

import pytest

import penstock as tf

pytestmark = pytest.mark.process


@pytest.mark.parametrize("data", [None, ["the data"]])
@pytest.mark.parametrize("check", [tf.assert_equal, tf.assert_none_equal, tf.assert_less, tf.assert_less_equal, tf.assert_greater,
                                   tf.assert_greater_equal])
def test_a_message_is_shown_also_with_data_of_ones_own(check, data):
    x, y = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.float32, [2])
    checked = check(x, y, data=data, message="the message", summarize=9)
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="the message") as failure:
        session.run(checked, {x: [1.0, 2.0], y: [1.0, 3.0] if check in (tf.assert_equal, tf.assert_none_equal) else [-1.0, 3.0]})
    assert data is None or "the data" in str(failure.value)
