"""Training goes on when tasks are killed, and ends at the step and the weights that it would have ended at. Real processes; see docs/failures.md."""
from __future__ import annotations

import contextlib
import threading
import time

import numpy as np
import pytest

import penstock as tf
from support.cluster import PATIENCE, Processes
from support.training import Program, Servers, Watch, model, training_session, weights_after

LAST, KILL_AT = 60, 25
LIMIT = 10.0  # seconds within which a loss is noticed


@pytest.mark.parametrize(("ps", "pause"), [(1, 0.0), (2, 1.5)], ids=["restarted at once", "one of two, down for a while"])
def test_a_killed_ps(ps, pause, tmp_path):
    seen, enough, stop = [], threading.Event(), threading.Event()
    with Processes(ps=ps, worker=2) as cluster:
        step, variables, train = model(ps)

        def restart():
            time.sleep(pause)
            cluster.start("ps", ps - 1)

        def kill():
            cluster.kill("ps", ps - 1)
            restarting.start()

        def follow():
            """A second worker, which only looks."""
            with step.graph.as_default(), tf.train.MonitoredTrainingSession(cluster.target("worker", 1), is_chief=False) as session:
                while not stop.is_set():
                    seen.append(session.run([step, *variables]))
                    if len(seen) > 10:
                        enough.set()
                    time.sleep(0.02)

        watch, restarting, follower = Watch({KILL_AT: kill}), threading.Thread(target=restart), threading.Thread(target=follow)
        with training_session(cluster.target("worker", 0), str(tmp_path), LAST, [watch]) as session:
            follower.start()
            while not session.should_stop():
                session.run(train)
                time.sleep(0.01)
            ended = session.raw_session().run([step, *variables])
            looked_on = enough.wait(PATIENCE)  # it may begin late, where the machine has much to do
            stop.set()
            follower.join(PATIENCE)
        restarting.join()
    assert looked_on and not follower.is_alive()
    assert watch.sessions == [0, 20], "restored once, from the last checkpoint before the kill"
    assert ended[0] == LAST and tf.train.load_variable(str(tmp_path), "global_step") == LAST
    for w in ended[1:]:
        np.testing.assert_array_equal(w, weights_after(LAST))
    for at, *found in seen:  # the other worker never sees weights that do not belong to training; the chief goes on while it reads
        near = [weights_after(n) for n in range(max(int(at) - 3, 0), int(at) + 4)]
        assert all(any(np.array_equal(w, value) for value in near) for w in found), (at, found)


def test_without_recovery_the_loss_is_an_error(tmp_path):
    with Processes(ps=1, worker=1) as cluster:
        _, _, train = model()
        with pytest.raises(tf.errors.UnavailableError, match="/job:ps/replica:0/task:0"):
            with tf.train.SingularMonitoredSession(master=cluster.target("worker", 0)) as session:
                session.run(train)
                cluster.kill("ps", 0)
                started = time.monotonic()
                session.run(train)
        assert time.monotonic() - started < LIMIT


def test_a_killed_chief(tmp_path):
    """Its program, server and all. The other worker and the ps are not disturbed; started again, it goes on from its last checkpoint."""
    with Servers(ps=1, worker=2) as cluster:
        cluster.start("worker", 1)
        with Program("async", 0, cluster, tmp_path, LAST) as chief:
            assert chief.until("from") == 0
            chief.until("step", KILL_AT)
            chief.kill()
        step, variables, _ = model()
        with tf.Session(cluster.target("worker", 1)) as session:
            assert KILL_AT <= session.run(step) < LAST
            with Program("async", 0, cluster, tmp_path, LAST) as chief:
                assert chief.until("from") == 20
                assert chief.until("done") == LAST and chief.process.wait(PATIENCE) == 0
            at, w = session.run([step, *variables])
    assert at == LAST and tf.train.load_variable(str(tmp_path), "global_step") == LAST
    np.testing.assert_array_equal(w, weights_after(LAST))


def test_workers_come_and_go(tmp_path):
    """A second worker joins a running job, is killed, joins again and leaves: the chief is not disturbed, and its session stays the same."""
    with Servers(ps=1, worker=2) as cluster, Program("async", 0, cluster, tmp_path, 10**6) as chief:
        chief.until("step", 5)
        with Program("async", 1, cluster, tmp_path, 10**6) as worker:
            joined = worker.until("from")
            assert worker.until("step") > joined >= 5
            worker.kill()
        with Program("async", 1, cluster, tmp_path, 10) as worker:
            left = worker.until("done")
            assert left >= 10 and worker.process.wait(PATIENCE) == 0
        chief.until("step", left + 10)
        assert [line for line in chief.lines if line.startswith("from")] == ["from 0"]


def test_synchronous_training_goes_on(tmp_path):
    """Two workers, two gradients per update: no worker can be spared. Each task is killed and started again; all end, at the step asked for."""
    with Servers(ps=1, worker=2) as cluster, contextlib.ExitStack() as programs:
        def start(task):
            running[task] = programs.enter_context(Program("sync", task, cluster, tmp_path, LAST))

        running: dict[int, Program] = {}
        start(0)
        start(1)
        running[0].until("step", 12)
        running[1].kill()
        start(1)
        running[0].until("step", 24)
        running[0].kill()
        start(0)
        running[1].until("step", 36)
        cluster.kill("ps", 0)
        cluster.start("ps", 0)
        for program in running.values():
            assert program.until("done") >= LAST and program.process.wait(PATIENCE) == 0
    assert tf.train.load_variable(str(tmp_path), "global_step") == LAST
    np.testing.assert_allclose(tf.train.load_variable(str(tmp_path), "w0"), [1.0, -2.0], atol=0.01)
