"""A Saver restores checkpoints of objects by the names of variables."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf

pytestmark = pytest.mark.process


def saved(folder):
    with tf.Graph().as_default(), tf.Session() as session:
        layer = tf.keras.layers.Dense(2, name="d")
        layer(tf.zeros([1, 3]))
        session.run(tf.global_variables_initializer())
        path = tf.train.Checkpoint(layer=layer).save(str(folder / "objects"), session=session)
        return path, session.run(layer.weights)


@pytest.mark.parametrize("finalized", [False, True])
def test_variables_are_found_by_their_names(tmp_path, finalized):
    path, values = saved(tmp_path)
    with tf.Graph().as_default() as graph, tf.Session() as session:
        variables = [tf.get_variable("d/kernel", [3, 2]), tf.get_variable("d/bias", [2])]
        saver = tf.train.Saver(variables)
        if finalized:
            graph.finalize()
        saver.restore(session, path)
        for found, value in zip(session.run(variables), values):
            np.testing.assert_array_equal(found, value)


def test_parts_of_a_variable(tmp_path):
    path, values = saved(tmp_path)
    with tf.Graph().as_default(), tf.Session() as session:
        kernel = tf.get_variable("d/kernel", [3, 2], partitioner=tf.fixed_size_partitioner(2))
        tf.train.Saver([kernel]).restore(session, path)
        np.testing.assert_array_equal(session.run(kernel.as_tensor()), values[0])


def test_what_is_missing_is_named(tmp_path):
    path, _ = saved(tmp_path)
    with tf.Graph().as_default(), tf.Session() as session:
        saver = tf.train.Saver([tf.get_variable("d/bias", [2]), tf.get_variable("other", [2])])
        with pytest.raises(tf.errors.NotFoundError, match=r"does not have: \['other'\].*do not exist now: \['d/kernel', .*1 names did match"):
            saver.restore(session, path)


def test_a_warm_start(tmp_path):
    path, values = saved(tmp_path)
    with tf.Graph().as_default(), tf.Session() as session:
        kernel = tf.get_variable("d/kernel", [3, 2])
        tf.train.warm_start(path)
        session.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(session.run(kernel), values[0])
        tf.get_variable("other", [2])
        with pytest.raises(ValueError, match=r"checkpoint of objects.*missing from the checkpoint are: \['other'\]"):
            tf.train.warm_start(path)
