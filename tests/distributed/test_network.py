"""Links between tasks that are cut, fall silent or are slow. See docs/failures.md."""
from __future__ import annotations

import contextlib
import time

import numpy as np
import pytest

import penstock as tf
from penstock.distributed.messages import Message
from penstock.distributed.security import Access
from penstock.distributed.transport_grpc import GrpcTransport
from support.cluster import Processes
from support.proxy import Proxy

LIMIT = 10.0  # seconds within which a loss is noticed
PS = "/job:ps/replica:0/task:0"
FAR_APART = "from penstock.distributed import unix_sockets\nunix_sockets.connect = lambda name, ticket: None\n"  # as on two hosts


@pytest.fixture(scope="module")
def cluster():
    """A ps that the worker reaches through a proxy, as on another host."""
    cluster = Processes(ps=1, worker=1)
    cluster.prelude = FAR_APART
    with Proxy(cluster.spec["ps"][0]) as proxy:
        cluster.views["worker", 0] = {**cluster.spec, "ps": [proxy.address]}
        with cluster:
            cluster.proxy = proxy
            yield cluster


def model(size: int = 2):
    with tf.device("/job:ps/task:0"):
        v = tf.get_variable(f"v{size}", [size], initializer=tf.zeros_initializer())
    with tf.device("/job:worker/task:0"):
        return v, tf.assign_add(v, tf.ones([size]))


def until_it_runs(session, step):
    """The step's value once the link is back."""
    deadline = time.monotonic() + LIMIT
    while True:
        with contextlib.suppress(tf.errors.UnavailableError, tf.errors.AbortedError):
            return session.run(step)
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.parametrize("how", ["cut", "silent"])
def test_a_link_that_is_gone(cluster, how):
    v, step = model()
    with tf.Session(cluster.target("worker", 0)) as session:
        session.run(v.initializer)
        before = session.run(step)
        if how == "cut":
            cluster.proxy.cut()
        else:
            cluster.proxy.silent = True
        for _ in range(2):
            started = time.monotonic()
            with pytest.raises(tf.errors.UnavailableError, match=f"^{PS} at {cluster.proxy.address} cannot be reached"):
                session.run(step)
            assert time.monotonic() - started < LIMIT
        cluster.proxy.heal()
        after = until_it_runs(session, step)
        assert after.tolist() in ([2.0, 2.0], [3.0, 3.0], [4.0, 4.0]) and before.tolist() == [1.0, 1.0], "lost steps ran once or not at all"


def test_a_task_that_is_far_away(cluster):
    """To connect takes several ways there and back: a task that waits for the first one is not taken for lost."""
    with Proxy(cluster.spec["ps"][0]) as proxy:
        proxy.delay = 0.3
        transport = GrpcTransport(Access.from_environment())
        try:
            assert "devices" in transport.call(proxy.address, Message("GetStatus")).fields
        finally:
            transport.close()


def test_a_link_that_is_slow(cluster):
    """A task that is only slow is waited for, longer than it takes to give up one that is silent."""
    v, step = model(2 << 20)
    with tf.Session(cluster.target("worker", 0)) as session:
        session.run(v.initializer)
        cluster.proxy.rate, started = 1e6, time.monotonic()
        session.run(step.op)
        seconds = time.monotonic() - started
        cluster.proxy.heal()
        assert 7.0 < seconds < 40.0, "8 MB at 1 MB/s, which is more than its buffers hold"
        np.testing.assert_array_equal(session.run(v), 1.0)
