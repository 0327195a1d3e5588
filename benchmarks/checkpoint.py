"""Saving and restoring 1 GB of variables with tf.train.Saver. One process measures one of the two and prints it as JSON, as core.py does.

Usage: python checkpoint.py FRAMEWORK MEASUREMENT     (FRAMEWORK: penstock or tensorflow)

Both leave it to the operating system when the bytes reach the disk. `sync` is Penstock that waits for them (PENSTOCK_FSYNC=1), which TensorFlow
cannot; its number is that of `save`. This file also runs inside TensorFlow 1's Python 3.7.
"""
from __future__ import annotations

import os
import shutil
import tempfile
import time

import core

VARIABLES = 16
ELEMENTS = (1 << 30) // 4 // VARIABLES
ROUNDS = 3


def _with_saver(framework, action):
    """Calls ``action(tf, session, saver, folder)`` with 1 GB of variables that have values."""
    tf = core.load(framework)
    folder = tempfile.mkdtemp()
    try:
        with tf.Graph().as_default(), tf.Session() as session:
            for number in range(VARIABLES):
                tf.get_variable("v%d" % number, [ELEMENTS], initializer=tf.random_uniform_initializer(), use_resource=False)
            saver = tf.train.Saver(max_to_keep=1)
            session.run(tf.global_variables_initializer())
            return action(tf, session, saver, folder)
    finally:
        shutil.rmtree(folder)


def _best(function):
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        function()
        best = min(best, time.perf_counter() - start)
    return best


def measure_save(framework):
    """Seconds of ``Saver.save``, to a new name each time."""
    def action(tf, session, saver, folder):
        steps = iter(range(ROUNDS))
        return _best(lambda: saver.save(session, os.path.join(folder, "model"), global_step=next(steps), write_meta_graph=False))
    return _with_saver(framework, action)


def measure_sync(framework):
    """``measure_save``, with the bytes on the disk when it returns."""
    os.environ["PENSTOCK_FSYNC"] = "1"
    return measure_save(framework)


def measure_restore(framework):
    """Seconds of ``Saver.restore`` from a file that the operating system has in memory."""
    def action(tf, session, saver, folder):
        path = saver.save(session, os.path.join(folder, "model"), write_meta_graph=False)
        return _best(lambda: saver.restore(session, path))
    return _with_saver(framework, action)


core.MEASUREMENTS = {"save": measure_save, "sync": measure_sync, "restore": measure_restore}

if __name__ == "__main__":
    import sys

    core.main(*sys.argv[1:])
