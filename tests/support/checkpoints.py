"""Checkpoints for tests."""
from __future__ import annotations

import os

import penstock as tf


def files(folder):
    """The names in a folder."""
    return sorted(os.listdir(folder))


def saved(folder, **values):
    """Saves variables with these values; returns the path of the checkpoint."""
    with tf.Graph().as_default(), tf.Session() as sess:
        for name, value in values.items():
            tf.Variable(value, name=name)
        sess.run(tf.global_variables_initializer())
        return tf.train.Saver().save(sess, str(folder / "model"), write_meta_graph=False)
