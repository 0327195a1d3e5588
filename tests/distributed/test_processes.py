"""Clusters of real processes: who notices that a task died, how soon, with which error, and how it goes on. See docs/failures.md."""
from __future__ import annotations

import re
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import penstock as tf
from penstock.distributed.client import stop_server
from support.cluster import PATIENCE, Processes

LIMIT = 10.0  # seconds within which a loss is noticed
PS, WORKER = "/job:ps/replica:0/task:0", "/job:worker/replica:0/task:0"


SECRET = "PENSTOCK_CLUSTER_SECRET"


@pytest.fixture(scope="module")
def cluster():
    """One cluster for all tests: each leaves it with all tasks up, but for the last one."""
    with Processes({SECRET: "open sesame, open sesame"}, ps=1, worker=2) as cluster:
        yield cluster


@pytest.fixture(autouse=True)
def secret(monkeypatch):
    monkeypatch.setenv(SECRET, "open sesame, open sesame")


def counter():
    """A variable on the ps, its update, and a step that waits on the ps forever and then needs the worker."""
    with tf.device("/job:ps/task:0"):
        v = tf.get_variable("v", [2], initializer=tf.zeros_initializer())
        value = tf.FIFOQueue(1, tf.float32, shared_name="never").dequeue(name="wait")
    with tf.device("/job:worker/task:1"):
        step = tf.assign_add(v, tf.ones([2]) * 2.0)
        blocked = value * 2.0
    return v, step, blocked


class Waiting:
    """A step under way in a thread; how it ended, and when."""

    def __init__(self, session, fetch):
        self.error, self.at = None, None
        self._thread = threading.Thread(target=self._work, args=(session, fetch), daemon=True)
        self._thread.start()
        self._thread.join(1.0)
        assert self._thread.is_alive(), f"the step did not wait: {self.error}"

    def _work(self, session, fetch):
        try:
            session.run(fetch)
        except tf.errors.OpError as error:
            self.error = error
        self.at = time.monotonic()

    def seconds_after(self, moment):
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive(), "the step hangs"
        return self.at - moment


def test_a_killed_ps(cluster):
    v, step, blocked = counter()
    with tf.Session(cluster.target("worker", 0)) as session:
        session.run(v.initializer)
        session.run(step)
        waiting, moment = Waiting(session, blocked), time.monotonic()
        cluster.kill("ps", 0)
        assert waiting.seconds_after(moment) < LIMIT
        assert isinstance(waiting.error, tf.errors.UnavailableError) and PS in waiting.error.message
        started = time.monotonic()
        with pytest.raises(tf.errors.UnavailableError, match=PS):
            session.run(step)
        assert time.monotonic() - started < LIMIT

        cluster.start("ps", 0)  # its variables are lost, and this is said
        deadline, outcomes = time.monotonic() + LIMIT, []
        while tf.errors.FailedPreconditionError not in outcomes:
            assert time.monotonic() < deadline, outcomes
            with pytest.raises((tf.errors.UnavailableError, tf.errors.AbortedError, tf.errors.FailedPreconditionError)) as caught:
                session.run(step)
            outcomes.append(type(caught.value))
            time.sleep(0.1)
        session.run(v.initializer)
        np.testing.assert_array_equal(session.run(step), [2.0, 2.0])


def test_a_killed_worker_does_not_disturb_others(cluster):
    v, step, blocked = counter()
    with tf.Session(cluster.target("worker", 0)) as session:
        session.run(v.initializer)
        waiting, moment = Waiting(session, blocked), time.monotonic()
        cluster.kill("worker", 1)
        assert waiting.seconds_after(moment) < LIMIT
        assert isinstance(waiting.error, tf.errors.UnavailableError) and "/job:worker/replica:0/task:1" in waiting.error.message
        np.testing.assert_array_equal(session.run(v), [0.0, 0.0])
        cluster.start("worker", 1)
        deadline = time.monotonic() + LIMIT
        while True:  # the state is on the ps: after the restart the step runs as if nothing had been
            try:
                np.testing.assert_array_equal(session.run(step), [2.0, 2.0])
                break
            except (tf.errors.UnavailableError, tf.errors.AbortedError):
                assert time.monotonic() < deadline
                time.sleep(0.1)


def test_a_killed_master(cluster):
    v, step, blocked = counter()
    with tf.Session(cluster.target("worker", 0)) as session, tf.Session(cluster.target("worker", 1)) as other:
        session.run(v.initializer)
        waiting, moment = Waiting(session, blocked), time.monotonic()
        cluster.kill("worker", 0)
        assert waiting.seconds_after(moment) < LIMIT
        assert isinstance(waiting.error, tf.errors.UnavailableError) and cluster.target("worker", 0) in waiting.error.message
        np.testing.assert_array_equal(other.run(step), [2.0, 2.0])
        cluster.start("worker", 0)
        deadline = time.monotonic() + LIMIT
        while True:
            with pytest.raises((tf.errors.UnavailableError, tf.errors.AbortedError)) as caught:
                session.run(step)
            if isinstance(caught.value, tf.errors.AbortedError):
                assert "is not found" in caught.value.message
                break
            assert time.monotonic() < deadline
            time.sleep(0.1)
    with tf.Session(cluster.target("worker", 0)) as session:
        np.testing.assert_array_equal(session.run(step), [4.0, 4.0])


def test_a_ps_that_hangs(cluster):
    v, step, _ = counter()
    with tf.Session(cluster.target("worker", 0)) as session:
        session.run(v.initializer)
        cluster.signal("ps", 0, signal.SIGSTOP)
        started = time.monotonic()
        with pytest.raises(tf.errors.UnavailableError, match=PS):
            session.run(step)
        assert time.monotonic() - started < LIMIT
        cluster.signal("ps", 0, signal.SIGCONT)
        deadline = time.monotonic() + LIMIT
        while True:
            try:
                got = session.run(step)
                break
            except tf.errors.OpError:
                assert time.monotonic() < deadline
                time.sleep(0.2)
        assert got.tolist() in ([2.0, 2.0], [4.0, 4.0]), "the state is still there; the step that was lost was applied once or not at all"


def test_the_secret_of_a_cluster(cluster, monkeypatch):
    with tf.device("/job:ps/task:0"):
        there = tf.constant([1.0]) + 1.0
    for wrong in ("a guess, no more than that", ""):
        monkeypatch.setenv(SECRET, wrong)
        with tf.Session(cluster.target("worker", 0)) as session, pytest.raises(tf.errors.UnauthenticatedError):
            session.run(there)
    monkeypatch.setenv(SECRET, "open sesame, open sesame")
    with tf.Session(cluster.target("worker", 0)) as session:
        assert session.run(there) == 2.0


def _catches(pid, number):
    """Has the process a handler for the signal?"""
    (caught,) = re.findall(r"^SigCgt:\s*(\w+)$", Path(f"/proc/{pid}/status").read_text(), re.M)
    return bool(int(caught, 16) >> (number - 1) & 1)


def test_told_to_stop(cluster):
    deadline = time.monotonic() + LIMIT
    while not _catches(cluster.processes["ps", 0].pid, signal.SIGTERM):  # a signal before it joins ends a process in the usual way
        assert time.monotonic() < deadline
        time.sleep(0.05)
    cluster.signal("ps", 0, signal.SIGTERM)
    stop_server(cluster.target("worker", 1))
    for task in (("ps", 0), ("worker", 1)):
        process = cluster.processes[task]
        assert process.wait(LIMIT) == 0 and process.stdout.read().strip() == "joined"
