"""tf.create_partitioned_variables."""
from __future__ import annotations

import pytest

import penstock as tf


def test_create_partitioned_variables(sess):
    parts = tf.create_partitioned_variables([5, 2], [2, 1], tf.ones([5, 2]), name="p")
    sess.run(tf.global_variables_initializer())
    assert [v.name for v in parts] == ["p/part_0:0", "p/part_1:0"] and [v.shape.as_list() for v in parts] == [[3, 2], [2, 2]]
    assert parts[1]._save_slice_info.spec == "5 2 3,2:0,2"
    proto = parts[1].to_proto()
    assert tf.Variable.from_proto(proto)._save_slice_info.full_name == "p"
    with pytest.raises(ValueError, match="must have the length"):
        tf.create_partitioned_variables([5], [2, 1], tf.ones([5]))
