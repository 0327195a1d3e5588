"""Optionals: elements that may be missing."""
from __future__ import annotations

import pytest

import penstock as tf

Dataset, experimental = tf.data.Dataset, tf.data.experimental


def test_optionals():
    optional = experimental.get_next_as_optional(Dataset.range(1).make_one_shot_iterator())
    some, value = optional.has_value(), optional.get_value()
    with tf.Session() as sess:
        assert [list(map(int, sess.run([some, value]))), bool(sess.run(some))] == [[1, 0], False]
        with pytest.raises(tf.errors.InvalidArgumentError, match="does not have a value"):
            sess.run(value)
        made = experimental.Optional.from_value({"a": [1, 2]})
        assert sess.run(made.get_value())["a"].tolist() == [1, 2]
