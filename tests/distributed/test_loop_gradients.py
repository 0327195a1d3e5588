"""Gradients of loops that span tasks: as real TensorFlow computes them, wherever the loop and its gradient are placed."""
from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

import penstock as tf
from support.cluster import LocalCluster

DATA = Path(__file__).parent / "data"
PS, WORKER = "/job:ps/task:0", "/job:worker/task:0"
TASKS = {PS: "/job:ps/replica:0/task:0", WORKER: "/job:worker/replica:0/task:0"}
GOLDEN = json.loads((DATA / "loop_gradients.json").read_text())

_spec = importlib.util.spec_from_file_location("loop_gradients", DATA / "loop_gradients.py")
assert _spec is not None and _spec.loader is not None
loops = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(loops)


@pytest.fixture
def cluster():
    return LocalCluster({"ps": 1, "worker": 1})


@pytest.mark.parametrize("master", [PS, WORKER])
@pytest.mark.parametrize("backward", [None, PS, WORKER])
@pytest.mark.parametrize("outer", [None, PS, WORKER])
@pytest.mark.parametrize("case", sorted(GOLDEN))
def test_as_in_tensorflow(cluster, case, outer, backward, master):
    (start, times), wanted = loops.build(tf, case, PS, WORKER, outer, backward)
    session = cluster.session(TASKS[master])
    session.run(tf.global_variables_initializer())
    for count, expected in zip(loops.TIMES, GOLDEN[case]):
        found = session.run(wanted, {start: loops.X, times: count}, options=tf.RunOptions(timeout_in_ms=20_000))
        for value, golden in zip(found, expected):
            np.testing.assert_allclose(value, golden, rtol=1e-4, atol=1e-6)


def test_both_tasks_take_part(cluster):
    """Forwards and backwards: what was asked to run on a task runs there, in each iteration."""
    (start, times), wanted = loops.build(tf, "plain", PS, WORKER)
    session = cluster.session(TASKS[WORKER])
    session.run(tf.global_variables_initializer())
    metadata = tf.RunMetadata()
    session.run(wanted, {start: loops.X, times: 3}, tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), metadata)
    runs = {stats.device.split("/device")[0]: [node.node_name for node in stats.node_stats] for stats in metadata.step_stats.dev_stats}
    assert sum(name == "while/mul" for name in runs[TASKS[PS]]) >= 3, "also in the last round, in which its inputs are dead"
    assert sum(name == "while/Tanh" for name in runs[TASKS[WORKER]]) >= 3
    assert "while/mul" not in runs[TASKS[WORKER]] and "while/Tanh" not in runs[TASKS[PS]]


def test_second_derivatives(cluster):
    """More than TensorFlow offers; compared with a session of one process."""
    def build(a, b):
        (start, times), (_, _, gradient) = loops.build(tf, "plain", a, b)
        return {start: loops.X, times: 3}, tf.gradients(tf.reduce_sum(gradient * gradient), start)

    with tf.Graph().as_default(), tf.Session() as session:
        feeds, wanted = build(None, None)
        session.run(tf.global_variables_initializer())
        expected = session.run(wanted, feeds)
    feeds, wanted = build(PS, WORKER)
    session = cluster.session(TASKS[PS])
    session.run(tf.global_variables_initializer())
    np.testing.assert_allclose(session.run(wanted, feeds), expected, rtol=1e-4)
