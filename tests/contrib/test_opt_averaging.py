"""``tf.contrib.opt``: two workers of a cluster that average their models, and what a swapping saver writes."""
from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import penstock as tf

pytestmark = pytest.mark.process


@pytest.fixture
def cluster():
    """A parameter server and two workers, in this process."""
    spec = {"ps": ["averages:1"], "worker": ["averages:2", "averages:3"]}
    servers = [tf.train.Server(spec, job, task, protocol="local") for job, task in (("ps", 0), ("worker", 0), ("worker", 1))]
    yield servers[1:]
    for server in servers:
        server.stop()


def _worker(server: Any, task: int, make: Any, results: dict[int, Any], begun: threading.Barrier) -> None:
    device = f"/job:worker/task:{task}"
    with tf.Graph().as_default(), tf.device(tf.train.replica_device_setter(ps_tasks=1, worker_device=device)):
        step = tf.train.get_or_create_global_step()
        train_op, weight, centre, init = make(device, task, step)
        with tf.Session(server.target) as session:
            if task == 0:
                session.run(tf.global_variables_initializer())
            begun.wait(30)
            session.run(tf.local_variables_initializer())
            session.run(init)
            begun.wait(30)
            for _ in range(4):
                session.run(train_op)
            begun.wait(30)
            results[task] = session.run([weight, centre, step])
            begun.wait(30)  # a session that ends would reset nothing, but the other may still read


def _train(cluster: Any, make: Any) -> dict[int, Any]:
    results: dict[int, Any] = {}
    begun = threading.Barrier(2)
    threads = [threading.Thread(target=_worker, args=(server, task, make, results, begun)) for task, server in enumerate(cluster)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(results) == 2
    return results


def test_two_workers_go_on_with_the_mean_of_their_models(cluster):
    def make(device: str, task: int, step: Any) -> Any:
        getter = tf.contrib.opt.ModelAverageCustomGetter(device)
        with tf.variable_scope("", custom_getter=getter):
            weight = tf.get_variable("weight", initializer=tf.constant([1.0, 2.0]))
        optimizer = tf.contrib.opt.ModelAverageOptimizer(tf.train.GradientDescentOptimizer(1.0), 2, task == 0, getter, interval_steps=2)
        train_op = optimizer.minimize(tf.reduce_sum(weight) * (1.0 + task), global_step=step)
        return train_op, weight, getter._global_map[weight], optimizer.get_init_op()

    for weight, centre, step in _train(cluster, make).values():  # twice two steps, of 1 and of 2: the mean has moved by 2 * 3
        np.testing.assert_allclose(weight, [-5.0, -4.0])
        np.testing.assert_allclose(centre, [-5.0, -4.0])
        assert step == 2


def test_two_workers_pull_at_one_centre(cluster):
    def make(device: str, task: int, step: Any) -> Any:
        getter = tf.contrib.opt.ElasticAverageCustomGetter(device)
        with tf.variable_scope("", custom_getter=getter):
            weight = tf.get_variable("weight", initializer=tf.constant(1.0))
        optimizer = tf.contrib.opt.ElasticAverageOptimizer(tf.train.GradientDescentOptimizer(0.1), 2, getter, communication_period=2,
                                                           synchronous=True)
        train_op = optimizer.minimize(tf.square(weight - 3.0), global_step=step)
        return train_op, weight, getter._global_map[weight], optimizer.get_init_op(task)

    results = _train(cluster, make)
    assert results[0][1] == results[1][1] > 1.3  # one centre, which both have pulled at
    assert all(1.5 < weight < 3.0 and step == 4 for weight, _, step in results.values())


def test_a_swapping_saver_writes_the_centres(tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        getter = tf.contrib.opt.ElasticAverageCustomGetter("")
        with tf.variable_scope("", custom_getter=getter):
            weight = tf.get_variable("weight", initializer=tf.constant(1.0))
        optimizer = tf.contrib.opt.ElasticAverageOptimizer(tf.train.GradientDescentOptimizer(0.1), 1, getter)
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        session.run(getter._global_map[weight].assign(7.0))
        path = optimizer.swapping_saver().save(session, str(tmp_path / "model"))
        assert tf.train.load_variable(path, "weight") == 7.0
