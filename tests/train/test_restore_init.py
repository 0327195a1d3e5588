"""Initial values from a checkpoint."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from support.checkpoints import saved


def test_init_from_checkpoint(tmp_path):
    path = saved(tmp_path, **{"old/a": [1.0, 2.0], "old/b": [3.0], "table": np.arange(6.0).reshape(3, 2)})
    with tf.Graph().as_default(), tf.Session() as sess:
        with tf.variable_scope("new"):
            a, b = tf.get_variable("a", [2]), tf.get_variable("b", [1], use_resource=True)
        table = tf.get_variable("table", [3, 2], tf.float64, partitioner=tf.fixed_size_partitioner(2))
        tf.train.init_from_checkpoint(path, {"old/": "new/", "table": "table"})
        sess.run(tf.global_variables_initializer())
        assert sess.run(a).tolist() == [1, 2] and sess.run(b).tolist() == [3]
        assert sess.run(table.as_tensor()).tolist() == [[0, 1], [2, 3], [4, 5]]
        with pytest.raises(ValueError, match=r"doesn't match with shape of tensor old/b"):
            tf.train.init_from_checkpoint(str(tmp_path), {"old/b": a})
        with pytest.raises(ValueError, match="is not found in"):
            tf.train.init_from_checkpoint(path, {"other": a})
        with pytest.raises(ValueError, match="Couldn't find"):
            tf.train.init_from_checkpoint(str(tmp_path / ".."), {"other": a})
