"""One trace of a step on several tasks: the devices of all of them, on one time axis."""
from __future__ import annotations

import json

import numpy as np
import pytest

import penstock as tf
from penstock.debug.timeline import Timeline
from penstock.execute.trace import Trace
from support.cluster import LocalCluster

pytestmark = pytest.mark.process
HOUR = 3600 * 10**9


@pytest.fixture
def session():
    session = LocalCluster({"ps": 2, "worker": 1}).session("/job:worker/replica:0/task:0")
    yield session
    session.close()


def traced(session):
    with tf.device("/job:ps/task:0"):
        a = tf.add(tf.placeholder_with_default(np.ones((50, 50), np.float32), [50, 50]), 1.0, name="a")
    with tf.device("/job:ps/task:1"):
        b = tf.matmul(a, a, name="b")
    with tf.device("/job:worker/task:0"):
        c = tf.reduce_sum(b, name="c")
    metadata = tf.RunMetadata()
    assert session.run(c, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata) == 50 * 50 * 50 * 4
    return metadata.step_stats


def times(stats):
    return {node.node_name: (device.device, node.all_start_micros, node.all_start_micros + node.all_end_rel_micros)
            for device in stats.dev_stats for node in device.node_stats}


def check(stats):
    found = times(stats)
    assert {where.rpartition("/device")[0] for where, _, _ in found.values()} == {
        "/job:ps/replica:0/task:0", "/job:ps/replica:0/task:1", "/job:worker/replica:0/task:0"}
    begin = min(start for _, start, _ in found.values())
    assert max(end for _, _, end in found.values()) - begin < 30e6, "the tasks are not on one time axis"
    return found


def test_all_tasks_are_in_the_trace(session):
    stats = traced(session)
    found = check(stats)
    assert found["a"][1] <= found["b"][1] <= found["c"][1]
    trace = json.loads(Timeline(stats).generate_chrome_trace_format())["traceEvents"]
    processes = {event["pid"]: event["args"]["name"] for event in trace if event["name"] == "process_name"}
    ran = {event["args"]["name"]: processes[event["pid"]] for event in trace if event["ph"] == "X"}
    assert "/job:ps/replica:0/task:0" in ran["a"] and "/job:ps/replica:0/task:1" in ran["b"] and "/job:worker" in ran["c"]


def test_a_node_is_told_where_it_ran_and_nowhere_else(session):
    places = [(node.node_name, device.device) for device in traced(session).dev_stats for node in device.node_stats]
    assert {device for name, device in places if name.startswith("a/") or name == "a"} == {"/job:ps/replica:0/task:0/device:CPU:0"}



@pytest.mark.parametrize("off", [HOUR, -HOUR])
def test_clocks_that_are_off(session, monkeypatch, off):
    """The hosts of the ps tasks have another idea of the time than the master's."""
    step_stats = Trace.step_stats

    def skewed(self):
        if any("/job:ps" in row[0] for row in self._rows):
            self._offset += off
        return step_stats(self)

    monkeypatch.setattr(Trace, "step_stats", skewed)
    check(traced(session))
