"""SyncReplicasOptimizer: whose gradients make an update, which are dropped, and that no worker is left waiting. Servers of one process."""
from __future__ import annotations

import contextlib
import threading
import time

import numpy as np
import pytest

import penstock as tf
from penstock.train import sync_replicas_hook
from penstock.train.sync_replicas_hook import LOST_WORKER_SECS
from support.cluster import PATIENCE, free_ports

SOON = 0.3  # seconds; what waits, waits at least so long


class Call:
    """A function on a thread of its own."""

    def __init__(self, function):
        self._function, self.error, self.result = function, None, None
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def _work(self):
        try:
            self.result = self._function()
        except Exception as error:
            self.error = error

    def ended(self, seconds=PATIENCE):
        self._thread.join(seconds)
        if self.error is not None:
            raise self.error
        return not self._thread.is_alive()


@pytest.fixture
def cluster():
    """(cluster spec, servers by task) of a ps and three workers."""
    ports = free_ports(4)
    spec = tf.train.ClusterSpec({"ps": [f"127.0.0.1:{ports[0]}"], "worker": [f"127.0.0.1:{port}" for port in ports[1:]]})
    servers = {("ps", 0): tf.train.Server(spec, "ps", 0), **{("worker", task): tf.train.Server(spec, "worker", task) for task in range(3)}}
    yield spec, servers
    for server in servers.values():
        server.stop()


class Replica:
    """A worker: pushes gradients that are given to it, for w (two numbers) or, if ``sparse``, for rows of a table."""

    def __init__(self, cluster, task, aggregate=2, total=3, num_tokens=0, sparse=False, lost_worker_secs=LOST_WORKER_SECS, hooks=(), **session):
        spec, servers = cluster
        with tf.Graph().as_default(), tf.device(tf.train.replica_device_setter(cluster=spec, worker_device=f"/job:worker/task:{task}")):
            step = tf.train.get_or_create_global_step()
            self.gradient = tf.placeholder(tf.float32, [None, 1] if sparse else [2])
            self.rows = tf.placeholder(tf.int32, [None])
            w = tf.get_variable("w", [4, 1] if sparse else [2], initializer=tf.zeros_initializer())
            loss = tf.reduce_sum((tf.gather(w, self.rows) if sparse else w) * self.gradient)
            optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(1.0), aggregate, total)
            self.train = optimizer.minimize(loss, global_step=step)
            self.dropped, self.w, self.step = optimizer.num_dropped_gradients(), w, step
            hook = optimizer.make_session_run_hook(task == 0, num_tokens, lost_worker_secs)
            self.session = tf.train.MonitoredTrainingSession(servers["worker", task].target, is_chief=task == 0, hooks=[hook, *hooks],
                                                             stop_grace_period_secs=2, **session)

    def push(self, value, rows=()):
        feeds = {self.gradient: value if rows else [value, 10 * value], self.rows: rows}
        return Call(lambda: self.session.run(self.train, feeds))

    def look(self):
        w, step, dropped = self.session.raw_session().run([self.w, self.step, self.dropped])
        return w.ravel().tolist(), int(step), int(dropped)

    def close(self):
        self.session.close()


@contextlib.contextmanager
def replicas(*all_of_them):
    try:
        yield all_of_them
    finally:
        for replica in reversed(all_of_them):
            if not replica.session._closed:
                replica.close()


def test_backup_workers_and_stale_gradients(cluster):
    with replicas(*[Replica(cluster, task) for task in range(3)]) as (a, b, c):
        first = a.push(1.0)
        assert not first.ended(SOON) and a.look() == ([0.0, 0.0], 0, 0)
        assert b.push(3.0).ended() and first.ended() and a.look() == ([-2.0, -20.0], 1, 0)
        assert c.push(1000.0).ended() and a.look() == ([-2.0, -20.0], 1, 1), "too late: dropped, and counted"
        first = c.push(5.0)
        assert not first.ended(SOON) and a.push(7.0).ended() and first.ended()
        assert a.look() == ([-8.0, -80.0], 2, 1)


def test_sparse_gradients(cluster):
    with replicas(*[Replica(cluster, task, total=2, sparse=True) for task in range(2)]) as (a, b):
        calls = [a.push([[2.0], [4.0]], rows=[0, 2]), b.push([[8.0], [10.0]], rows=[2, 3])]
        assert all(call.ended() for call in calls)
        assert a.look() == ([-2.0, 0.0, -6.0, -10.0], 1, 0), "a row is averaged over the gradients that have it"


def test_tokens_in_advance(cluster):
    with replicas(Replica(cluster, 0, total=2, num_tokens=-1)) as (a,):
        assert all(a.push(value).ended() for value in (1.0, 3.0)), "with tokens in advance one worker may give both gradients of the first round"
        assert a.look() == ([-2.0, -20.0], 1, 0)
    with tf.Graph().as_default():
        loss = tf.get_variable("w", []) * 1.0
        optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(1.0), 4, 2)
        with pytest.raises(ValueError, match="Global step is required"):
            optimizer.minimize(loss)
        optimizer.minimize(loss, global_step=tf.train.create_global_step())
        with pytest.raises(ValueError, match="Too few tokens to finish the first step: 1"):
            optimizer.get_init_tokens_op(1)


def test_a_worker_that_ends_lets_the_others_go_on(cluster):
    """The end of its data: what is missing of a round comes from the others."""
    with replicas(*[Replica(cluster, task, total=2) for task in range(2)]) as (a, b):
        calls = [a.push(1.0), b.push(3.0)]
        assert all(call.ended() for call in calls)
        waiting = a.push(5.0)
        assert not waiting.ended(SOON)
        with b.session:
            raise tf.errors.OutOfRangeError(None, None, "no more data")
        assert waiting.ended() and a.push(7.0).ended()
        assert a.look() == ([-8.0, -80.0], 2, 0)


def test_the_end_of_the_chief_ends_all(cluster):
    with replicas(*[Replica(cluster, task) for task in range(3)]) as (a, b, c):
        waiting = b.push(1.0)
        assert not waiting.ended(SOON) and not b.session.should_stop()
        a.close()
        assert waiting.ended()
        if not b.session.should_stop():  # it had looked before the chief ended
            assert b.push(1.0).ended()
        assert b.session.should_stop()
        for _ in range(2):  # one that came to wait only now
            if not c.session.should_stop():
                assert c.push(1.0).ended()
        assert c.session.should_stop()


def test_the_next_job_on_the_same_servers(cluster, monkeypatch):
    monkeypatch.setattr(sync_replicas_hook, "_CHIEF_PATIENCE", PATIENCE)
    with replicas(*[Replica(cluster, task, total=2) for task in range(2)]) as (a, b):
        calls = [a.push(1.0), b.push(1.0)]
        assert all(call.ended() for call in calls)
        b.close()
    early = Call(lambda: Replica(cluster, 1, total=2))  # before its chief: it waits, and does not take the end of the last job for its own
    assert not early.ended(SOON)
    with replicas(Replica(cluster, 0, total=2)) as (a,):
        assert early.ended()
        with replicas(early.result) as (b,):
            for _ in range(3):
                calls = [a.push(1.0), b.push(1.0)]
                assert all(call.ended() for call in calls)
            assert not b.session.should_stop() and a.look()[1] >= 1


@pytest.mark.parametrize("options", [{}, {"lost_worker_secs": 1.0}])
def test_a_worker_that_is_lost_for_good(cluster, options):
    """It took a token and will never give a gradient for it."""
    with replicas(Replica(cluster, 0, total=2, **options), Replica(cluster, 1, total=2)) as (a, b):
        calls = [a.push(1.0), b.push(3.0)]
        assert all(call.ended() for call in calls)
        b.session._close(RuntimeError)  # without a word
        first, start = a.push(5.0), time.monotonic()
        assert not first.ended(SOON), "the round is not complete"
        assert first.ended(), "another token came"
        assert time.monotonic() - start < 10.0
        assert a.push(7.0).ended() and a.look() == ([-8.0, -80.0], 2, 0)


def test_a_worker_that_is_started_again(cluster):
    with replicas(*[Replica(cluster, task, total=2) for task in range(2)]) as (a, b):
        calls = [a.push(1.0), b.push(3.0)]
        assert all(call.ended() for call in calls)
        b.session._close(RuntimeError)
        waiting = a.push(5.0)
        assert not waiting.ended(SOON)
        with replicas(Replica(cluster, 1, total=2)) as (again,):
            assert again.push(7.0).ended() and waiting.ended()
            assert a.look() == ([-8.0, -80.0], 2, 0)


def test_a_chief_that_is_started_again(cluster, tmp_path):
    """The other worker waits for a token of a round that will never end; the new chief starts another one."""
    options = {"checkpoint_dir": str(tmp_path), "save_checkpoint_steps": 1, "save_checkpoint_secs": None}
    with replicas(Replica(cluster, 0, total=2, **options), Replica(cluster, 1, total=2)) as (a, b):
        calls = [a.push(1.0), b.push(3.0)]
        assert all(call.ended() for call in calls)
        waiting = b.push(5.0)
        assert not waiting.ended(SOON)
        a.session._close(RuntimeError)
        with replicas(Replica(cluster, 0, total=2, **options)) as (again,):
            assert again.look()[1] == 1 and waiting.ended()
            before = np.array(again.look()[0])
            calls = [again.push(2.0), b.push(2.0)]
            assert all(call.ended() for call in calls) and again.look()[1] >= 2
            assert (np.array(again.look()[0]) < before).all()
            b.close()


def test_under_a_supervisor(cluster):
    """As programs of the first releases did it: the chief starts the queue runner and puts the tokens itself."""
    spec, servers = cluster
    with tf.device(tf.train.replica_device_setter(cluster=spec, worker_device="/job:worker/task:0")):
        step = tf.train.get_or_create_global_step()
        w = tf.get_variable("w", [], initializer=tf.zeros_initializer())
        optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(1.0), 1)
        train = optimizer.minimize(w, global_step=step)
    runner, tokens = optimizer.get_chief_queue_runner(), optimizer.get_init_tokens_op()
    supervisor = tf.train.Supervisor(local_init_op=optimizer.chief_init_op, ready_for_local_init_op=optimizer.ready_for_local_init_op)
    session = supervisor.prepare_or_wait_for_session(servers["worker", 0].target)
    supervisor.start_queue_runners(session, [runner])
    session.run(tokens)
    for _ in range(4):
        session.run(train)
    assert session.run(step) >= 3 and session.run(w) <= -3.0
    supervisor.request_stop()
    session.close()  # ends the wait of the thread that applies updates
    supervisor.stop()


def test_averages_and_slots():
    averages = tf.train.ExponentialMovingAverage(0.5)
    step = tf.train.create_global_step()
    w = tf.get_variable("w", [], initializer=tf.zeros_initializer())
    optimizer = tf.train.SyncReplicasOptimizer(tf.train.MomentumOptimizer(1.0, 0.0), 1, variable_averages=averages, variables_to_average=[w])
    train = optimizer.minimize(w, global_step=step)
    assert optimizer.get_slot_names() == ["momentum"] and optimizer.get_slot(w, "momentum") in optimizer.variables()
    with tf.train.MonitoredTrainingSession(hooks=[optimizer.make_session_run_hook(True)], stop_grace_period_secs=2) as session:
        for _ in range(3):  # the first token was there in advance, so this waits for two updates; their averages come a little later
            session.run(train)
        seen = session.run(averages.average(w))
    assert seen in (-0.5, -1.25, -2.125)
