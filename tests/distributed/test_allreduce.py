"""All-reduce: every worker gets the same bits, and training without parameter servers goes on when a worker is lost."""
from __future__ import annotations

import contextlib
import threading

import numpy as np
import pytest

import penstock as tf
from penstock.distributed.allreduce import allreduce
from penstock.train.allreduce import AllReduceOptimizer
from support.cluster import PATIENCE, Processes, free_ports
from support.training import Program, weights_after


@contextlib.contextmanager
def servers(count):
    """The servers of so many workers, in this process."""
    spec = tf.train.ClusterSpec({"worker": [f"127.0.0.1:{port}" for port in free_ports(count)]})
    made = [tf.train.Server(spec, "worker", task) for task in range(count)]
    try:
        yield made
    finally:
        for server in made:
            server.stop()


def together(function, count):
    """[function(0), function(1), ...], each on a thread of its own."""
    results, errors = {}, []

    def work(task):
        try:
            results[task] = function(task)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(task,), daemon=True) for task in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    if errors:
        raise errors[0]
    assert len(results) == count, f"only {sorted(results)} have ended"
    return [results[task] for task in range(count)]


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_all_get_the_same_bits(count, reduction):
    rng = np.random.RandomState(0)
    shapes = [(5, 3), (), (0,), (7,)]
    data = [[rng.normal(size=shape).astype(np.float32) for shape in shapes] for _ in range(count)]
    whole = [np.arange(4) * (task + 1) for task in range(count)]

    def worker(task):
        with tf.Graph().as_default(), tf.device(f"/job:worker/task:{task}"):
            fed = [tf.placeholder(tf.float32, shape) for shape in shapes[:3]] + [tf.placeholder(tf.float32)]
            reduced = allreduce([*fed, tf.constant(whole[task])], task, count, reduction=reduction)
            assert [tensor.shape.ndims for tensor in reduced] == [2, 0, 1, None, 1]
            with tf.Session(made[task].target) as session:
                session.run(tf.local_variables_initializer())
                return [session.run(reduced, dict(zip(fed, data[task]))) for _ in range(3)]

    with servers(count) as made:
        results = together(worker, count)
    for outcome in results:
        for again in outcome:
            for got, same in zip(again, results[0][0]):
                np.testing.assert_array_equal(got, same)
    for place in range(len(shapes)):
        want = sum(data[task][place].astype(np.float64) for task in range(count)) / (count if reduction == "mean" else 1)
        np.testing.assert_allclose(results[0][0][place], want, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(results[0][0][-1], sum(whole) // (count if reduction == "mean" else 1))


def test_bad_arguments():
    with pytest.raises(ValueError, match="one of the 2 workers"):
        allreduce([1.0], 2, 2)
    with pytest.raises(ValueError, match="'mean' or 'sum'"):
        allreduce([1.0], 0, 2, reduction="max")
    with pytest.raises(ValueError, match="after apply_gradients"):
        AllReduceOptimizer(tf.train.GradientDescentOptimizer(1.0), 0, 2).make_session_run_hook()


def test_workers_that_are_out_of_step():
    """Without the hook: one worker was restarted, and begins with the first round."""
    with servers(2) as made, contextlib.ExitStack() as stack:
        sessions = []
        for task in range(2):
            with tf.Graph().as_default(), tf.device(f"/job:worker/task:{task}"):
                reduced = allreduce([tf.constant([float(task)])], task, 2)
                session = stack.enter_context(contextlib.closing(tf.Session(made[task].target)))
                initialize = tf.local_variables_initializer()
                session.run(initialize)
                sessions.append((session, reduced, initialize))
        assert together(lambda task: float(sessions[task][0].run(sessions[task][1])[0][0]), 2) == [0.5, 0.5]
        session, _, initialize = sessions[1]
        session.run(initialize)
        with pytest.raises(tf.errors.AbortedError, match=r"not in the same round: expected \[0, ., 0\], got \[0, ., 0\]"):
            together(lambda task: sessions[task][0].run(sessions[task][1]), 2)


class Replica:
    """A worker that fits a line to data of its own."""

    def __init__(self, task, count, last_step, resource=False, batches=None):
        rng = np.random.RandomState(task)
        self.x = rng.normal(size=(20, 3)).astype(np.float32)
        self.y = self.x @ np.array([[1.0], [2.0], [-1.0]], np.float32)
        self.graph = tf.Graph()
        with self.graph.as_default(), tf.device(f"/job:worker/task:{task}"):
            tf.set_random_seed(task)
            step = tf.train.get_or_create_global_step()
            self.w = tf.get_variable("w", [3, 1], initializer=tf.random_normal_initializer(), use_resource=resource)
            loss = tf.reduce_mean(tf.square(tf.matmul(self.x, self.w) - self.y))
            optimizer = AllReduceOptimizer(tf.train.MomentumOptimizer(0.05, 0.5), task, count)
            self.train = optimizer.minimize(loss, global_step=step)
            self.fetches = [step, self.w, optimizer.get_slot(self.w, "momentum")]
            self.hooks = [optimizer.make_session_run_hook(), tf.train.StopAtStepHook(last_step=last_step)]
        self.batches = batches

    def run(self, target):
        """Trains to the end; returns the step, the weights and the momentum."""
        done, seen = 0, None
        with self.graph.as_default(), tf.train.MonitoredTrainingSession(target, hooks=self.hooks) as session:
            while not session.should_stop():
                if done == self.batches:
                    raise tf.errors.OutOfRangeError(None, None, "no more data")
                session.run(self.train)
                done += 1
                seen = session.raw_session().run(self.fetches)
        return seen


@pytest.mark.parametrize("resource", [False, True])
def test_replicas_stay_equal(resource):
    """They start with different weights, of which those of worker 0 count, and have different data."""
    with servers(3) as made:
        results = together(lambda task: Replica(task, 3, 8, resource=resource).run(made[task].target), 3)
    for step, w, momentum in results:
        assert step == 8
        np.testing.assert_array_equal(w, results[0][1])
        np.testing.assert_array_equal(momentum, results[0][2])
    replicas = [Replica(task, 3, 8) for task in range(3)]
    with tf.Graph().as_default():  # one worker with all data takes the same steps
        tf.set_random_seed(0)
        step = tf.train.get_or_create_global_step()
        w = tf.get_variable("w", [3, 1], initializer=tf.random_normal_initializer(), use_resource=resource)
        x, y = (np.concatenate([getattr(replica, name) for replica in replicas]) for name in "xy")
        train = tf.train.MomentumOptimizer(0.05, 0.5).minimize(tf.reduce_mean(tf.square(tf.matmul(x, w) - y)), global_step=step)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for _ in range(8):
                session.run(train)
            np.testing.assert_allclose(session.run(w), results[0][1], rtol=1e-4)


def test_trainings_after_each_other_do_not_meet():
    """The second worker comes first to the second training: the board still shows the epoch of the first one."""
    with servers(2) as made:
        replicas = [Replica(task, 2, 3) for task in range(2)]
        assert [int(step) for step, *_ in together(lambda task: replicas[task].run(made[task].target), 2)] == [3, 3]
        again = [Replica(task, 2, 3) for task in range(2)]
        late = threading.Event()

        def meet(task):
            if task == 0:
                late.wait(0.5)
            with again[task].graph.as_default(), tf.Session(made[task].target) as session:
                hook = again[task].hooks[0]
                hook.begin()
                session.run(tf.global_variables_initializer())
                session.run(tf.local_variables_initializer())
                hook.after_create_session(session, None)
                session.run(again[task].train)
                return session.run(again[task].fetches)

        first, second = together(meet, 2)
    assert first[0] == second[0] == 1
    np.testing.assert_array_equal(first[1], second[1])


def test_the_end_of_one_workers_data_ends_all():
    with servers(3) as made:
        results = together(lambda task: Replica(task, 3, 100, batches=4 if task == 1 else None).run(made[task].target), 3)
    assert [int(step) for step, *_ in results] == [4, 4, 4]


def test_killed_workers(tmp_path):
    """In processes: a worker, then the leader, are killed and started again. All go on from the last checkpoint and end with the same bits."""
    last, cluster = 45, Processes(worker=3)
    with contextlib.ExitStack() as programs:
        def start(task):
            running[task] = programs.enter_context(Program("allreduce", task, cluster, tmp_path, last))

        running: dict[int, Program] = {}
        for task in range(3):
            start(task)
        for victim, at in ((1, 15), (0, 30)):
            running[2].until("step", at)
            running[victim].kill()
            start(victim)
        bits = {program.until("bits") for program in running.values()}
        assert all(program.until("done") == last and program.process.wait(PATIENCE) == 0 for program in running.values())
        restarts = [int(line.split()[1]) for line in running[2].lines if line.startswith("from")]
    assert len(bits) == 1, "all replicas are equal"
    assert len(restarts) >= 3 and restarts[0] == 0 and min(restarts[1:]) >= 10, "each time from the checkpoint of worker 0"
    np.testing.assert_allclose(tf.train.load_variable(str(tmp_path), "w0"), weights_after(last), rtol=1e-5)
