"""Workers that join and leave a running job, stop and go on; and what is left when all is over. See docs/failures.md."""
from __future__ import annotations

import gc
import signal
import subprocess
import sys
import time
import weakref

import numpy as np
import pytest

import penstock as tf
from penstock.distributed.steps import Steps
from support.cluster import Processes, free_ports
from support.process import environment

LIMIT = 10.0
LATE = 7


@pytest.fixture(scope="module")
def cluster():
    """A ps and a worker, neither of which is told that there will be a worker 7."""
    with Processes(ps=1, worker=1) as cluster:
        cluster.late = f"127.0.0.1:{free_ports(1)[0]}"
        cluster.views["worker", LATE] = {"ps": cluster.spec["ps"], "worker": {LATE: cluster.late}}
        yield cluster


def replica(target: str, index: int):
    """The session of a worker with a graph of its own, and its step: the update is computed on the worker and fetched by the ps."""
    graph = tf.Graph()
    with graph.as_default(), tf.device(tf.train.replica_device_setter(ps_tasks=1, worker_device=f"/job:worker/task:{index}")):
        v = tf.get_variable("v", [4], initializer=tf.zeros_initializer())
        step = tf.assign_add(v, tf.random_uniform([4]) * 0.0 + 1.0)
    return tf.Session(target, graph=graph), v.initializer, step


def test_a_worker_joins_and_leaves(cluster):
    first, initializer, step = replica(cluster.target("worker", 0), 0)
    with first:
        first.run(initializer)
        np.testing.assert_array_equal(first.run(step), 1.0)
        for expected in (2.0, 4.0):  # it joins, leaves by kill -9, and joins again
            cluster.start("worker", LATE)
            joined, _, late_step = replica(f"grpc://{cluster.late}", LATE)
            with joined:
                np.testing.assert_array_equal(joined.run(late_step), expected)
                cluster.kill("worker", LATE)
                started = time.monotonic()
                with pytest.raises(tf.errors.UnavailableError, match=cluster.late):
                    joined.run(late_step)
                assert time.monotonic() - started < LIMIT
            np.testing.assert_array_equal(first.run(step), expected + 1.0)


def test_a_worker_that_hangs_disturbs_nobody(cluster):
    """Neither the others, nor itself when it goes on: its session is as it was."""
    cluster.start("worker", LATE)
    first, initializer, step = replica(cluster.target("worker", 0), 0)
    late, _, late_step = replica(f"grpc://{cluster.late}", LATE)
    with first, late:
        first.run(initializer)
        late.run(late_step)
        cluster.signal("worker", LATE, signal.SIGSTOP)
        started = time.monotonic()
        for _ in range(20):
            first.run(step)
        assert time.monotonic() - started < 5.0
        started = time.monotonic()
        with pytest.raises(tf.errors.UnavailableError, match=cluster.late):
            late.run(late_step)
        assert time.monotonic() - started < LIMIT
        cluster.signal("worker", LATE, signal.SIGCONT)
        deadline = time.monotonic() + LIMIT
        while True:
            try:
                got = late.run(late_step)
                break
            except tf.errors.UnavailableError:
                assert time.monotonic() < deadline
                time.sleep(0.1)
        assert got[0] in (22.0, 23.0), "the step that was lost ran once or not at all"
    cluster.kill("worker", LATE)


LEAKS = """
import gc, os, sys, threading, time
import numpy as np
import penstock as tf
target, servers = sys.argv[1], sys.argv[2:]

def sockets(process):  # and pipes and the like; not shared memory, of which connections keep some for later
    found = 0
    for name in os.listdir(f"/proc/{process}/fd"):
        try:
            found += "memfd" not in os.readlink(f"/proc/{process}/fd/{name}")
        except FileNotFoundError:
            continue
    return found

def used():
    gc.collect()
    threads = sorted(thread.name for thread in threading.enumerate() if not thread.name.startswith("penstock-kernel"))
    shared = sorted(name for name in os.listdir("/dev/shm") if f"-{os.getpid()}-" in name)
    return len(os.listdir("/proc/self/fd")), *map(sockets, servers), threads, shared

def round_trip():
    tf.reset_default_graph()
    with tf.device("/job:ps/task:0"):
        v = tf.get_variable("leaks", [1 << 18], initializer=tf.zeros_initializer())
    with tf.Session(target) as session:
        session.run(v.initializer)
        session.run(v.assign_add(np.ones(1 << 18)))
        try:
            session.run(tf.check_numerics(v / 0.0, "a failed step"))
        except tf.errors.InvalidArgumentError:
            failed = True
        assert failed
    server = tf.train.Server.create_local_server()
    with tf.Session(server.target) as session:
        session.run(tf.constant(1))
    server.stop()

for _ in range(3):  # what is made once and kept
    round_trip()
time.sleep(1.0)
before = used()
for _ in range(6):
    round_trip()
deadline = time.monotonic() + 10.0
while used() != before and time.monotonic() < deadline:
    time.sleep(0.2)
after = used()
assert all(now <= then for now, then in zip(after[:3], before)) and after[3:] == before[3:], (before, after)
print("nothing left")
"""


def test_sessions_and_servers_leave_nothing(cluster):
    """Descriptors (sockets among them), threads and shared memory of a client, after sessions, failed steps and servers; and of the servers."""
    servers = [str(cluster.processes[task, 0].pid) for task in ("ps", "worker")]
    result = subprocess.run([sys.executable, "-c", LEAKS, cluster.target("worker", 0), *servers], env=environment(), capture_output=True, text=True,
                            timeout=60)
    assert result.stdout == "nothing left\n", result.stderr


def test_a_failed_step_is_remembered_without_its_tensors():
    """The numbers of steps that failed are kept for long, with their errors: those must not keep what the step computed."""
    steps = Steps("/job:ps/replica:0/task:0", lambda task, step, deliver: lambda: None)

    def fail():
        tensor = np.ones(1000)
        seen.append(weakref.ref(tensor))
        raise tf.errors.InternalError(None, None, "the step failed")

    seen = []
    steps.begin(1, 0)
    with pytest.raises(tf.errors.InternalError) as caught:
        fail()
    steps.end(1, caught.value)
    del caught
    gc.collect()
    assert seen[0]() is None
    with pytest.raises(tf.errors.InternalError, match="the step failed"):
        steps.begin(1, 0)
