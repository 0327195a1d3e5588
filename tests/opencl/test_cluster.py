"""OpenCL devices of the tasks of a cluster."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from support.cluster import LocalCluster

pytestmark = [pytest.mark.process, pytest.mark.usefixtures("opencl")]
WORKER = "/job:worker/replica:0/task:0"


def test_a_task_with_a_gpu_trains():
    x = tf.placeholder(tf.float32, [None, 2])
    with tf.device("/job:ps/cpu:0"):
        w = tf.get_variable("w", initializer=tf.constant([[1.0], [-1.0]]))
    with tf.device("/job:worker/device:GPU:0"):
        b = tf.get_variable("b", initializer=tf.constant([0.5]))
        loss = tf.reduce_mean(tf.square(tf.matmul(x, w) + b - 1.0))
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    feeds = {x: np.array([[1.0, 0.5], [0.5, 2.0]], np.float32)}
    cluster = LocalCluster({"ps": 1, "worker": 1})
    session = cluster.session(WORKER)
    assert f"{WORKER}/device:GPU:0" in [device.name for device in session.remote.list_devices()]
    session.run(tf.global_variables_initializer())
    first = session.run(loss, feeds)
    for _ in range(10):
        session.run(train, feeds)
    assert session.run(loss, feeds) < first / 2
    session.close()
