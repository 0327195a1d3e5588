"""The cost of a sparse step does not grow with the table: an update never copies it, even while another worker gathers from it."""
from __future__ import annotations

import gc
import threading

import numpy as np
import pytest

import penstock as tf
from penstock.native.config import config
from penstock.state import resources
from support.cluster import PATIENCE, LocalCluster

pytestmark = pytest.mark.process
PS, ROWS, WIDTH, STEPS, SESSIONS = "/job:ps/replica:0/task:0", 1 << 14, 64, 60, 3


@pytest.fixture(params=["off", "eager"])
def mode(request, monkeypatch, tmp_path):
    """With NumPy's kernels, and natively."""
    monkeypatch.setenv("PENSTOCK_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(config, "mode", request.param)
    monkeypatch.setattr(resources, "_COPIED", 1e6)  # a busy machine must not make a writer lose its patience


@pytest.fixture
def uncollected():
    """Without the collector, what hides in a cycle is held for good."""
    gc.disable()
    yield
    gc.enable()


def build(resource):
    """(the table, ids, a step that gathers rows and takes 1 from each)"""
    with tf.device("/job:ps/task:0"):
        table = tf.get_variable("table", [ROWS, WIDTH], initializer=tf.zeros_initializer(), use_resource=resource)
    with tf.device("/job:worker/task:0"):
        ids = tf.placeholder(tf.int32)  # of any shape: shapes are checked when they are known
        with tf.device("/job:ps/task:0"):
            found = tf.gather(table, ids)
        gradient = tf.IndexedSlices(tf.ones([4, WIDTH]) + 0.0 * found, ids, [ROWS, WIDTH])
        step = tf.train.GradientDescentOptimizer(1.0).apply_gradients([(gradient, table)])
    return table, ids, step


def train(cluster, ids, step):
    session = cluster.session("/job:worker/replica:0/task:0")
    for number in range(STEPS):
        session.run(step, {ids: np.arange(4) + 4 * (number % 8)})
    session.close()


@pytest.mark.parametrize("resource", [False, True])
def test_concurrent_steps_do_not_copy_the_table(mode, uncollected, resource):
    cluster = LocalCluster({"ps": 1, "worker": 1})
    table, ids, step = build(resource)
    session = cluster.session("/job:worker/replica:0/task:0")
    session.run(table.initializer)
    (ref,) = [held for _, held in cluster.workers[PS].resources.items()]
    address = ref.value.ctypes.data
    threads = [threading.Thread(target=train, args=(cluster, ids, step), daemon=True) for _ in range(SESSIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert ref.value.ctypes.data == address, "the table was copied"
    assert session.run(table).sum() == -WIDTH * 4 * STEPS * SESSIONS, "updates were lost"
    session.close()
