"""``tf.contrib.checkpoint``: what is saved through containers comes back, and what they refuse."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf

pytestmark = pytest.mark.process
checkpoint = tf.contrib.checkpoint


def _model(values):
    root = checkpoint.Checkpointable()
    first, second, third, hidden = (tf.Variable(value, use_resource=True) for value in values)
    root.items = checkpoint.List([first])
    root.items += [checkpoint.Mapping(x=second)]
    root.named = checkpoint.UniqueNameTracker()
    root.named.track(third, "layer")
    root.hidden = checkpoint.NoDependency(hidden)
    return root, [first, second, third, hidden]


def test_containers_come_back_and_hidden_attributes_stay(tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        root, variables = _model([1.0, 2.0, 3.0, 4.0])
        session.run(tf.global_variables_initializer())
        path = tf.train.Checkpoint(root=root).save(str(tmp_path / "model"), session=session)
    with tf.Graph().as_default(), tf.Session() as session:
        root, variables = _model([0.0, 0.0, 0.0, 0.0])
        status = tf.train.Checkpoint(root=root).restore(path)
        session.run(tf.global_variables_initializer())
        status.assert_consumed().initialize_or_restore(session)
        np.testing.assert_array_equal(session.run(variables), [1.0, 2.0, 3.0, 0.0])


def test_lists_only_grow_and_hold_objects():
    with tf.Graph().as_default():
        items = checkpoint.List([tf.Variable(1.0)])
        with pytest.raises(TypeError, match="only grows"):
            items[0] = tf.Variable(2.0)
        with pytest.raises(ValueError, match="Only trackable objects"):
            items.append(1.0)
        assert len(items + [tf.Variable(3.0)]) == 2
