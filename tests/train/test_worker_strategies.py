"""Strategies over several processes: the numbers are those of one worker that has the whole batch."""
from __future__ import annotations

import contextlib
import json

import numpy as np
import pytest

import penstock as tf
from support.cluster import free_ports
from support.strategy_job import BATCH, STEPS, Job, fit, keras_model, model_loss, rows, train_op


def trained_alone():
    """The variables after all steps, by one session."""
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = tf.data.Dataset.from_tensor_slices(rows()).batch(BATCH).make_one_shot_iterator().get_next()
        train = train_op(model_loss(x, y))
        session.run(tf.global_variables_initializer())
        for _ in range(STEPS):
            session.run(train)
        return session.run(tf.trainable_variables())


def started(stack, how, folder, **sizes):
    """The processes of a cluster with so many tasks of each job."""
    ports = iter(free_ports(sum(sizes.values())))
    cluster = {job: [f"127.0.0.1:{next(ports)}" for _ in range(count)] for job, count in sizes.items()}
    return [stack.enter_context(Job(how, folder, cluster, job, index)) for job, count in sizes.items() for index in range(count)]


@pytest.mark.cluster
@pytest.mark.parametrize(("how", "sizes"), [("session", {"worker": 3}), ("estimator", {"worker": 2}), ("estimator", {"chief": 1, "worker": 1})])
def test_workers_in_step(tmp_path, how, sizes):
    """They begin with different weights, of which those of the first one count."""
    with contextlib.ExitStack() as stack:
        results = [job.values() for job in started(stack, how, tmp_path, **sizes)]
    want = trained_alone()
    for values in results:
        for value, first, expected in zip(values, results[0], want, strict=True):
            np.testing.assert_array_equal(value, first)
            np.testing.assert_allclose(value, expected, rtol=2e-6, atol=1e-6)
    assert tf.train.load_variable(str(tmp_path), "global_step") == STEPS
    np.testing.assert_array_equal(tf.train.load_variable(str(tmp_path), "dense/kernel"), results[0][0])


@pytest.mark.cluster
def test_keras_on_workers(tmp_path):
    """What is reported, and the weights, are those of one process with whole batches; the first worker saves them."""
    with contextlib.ExitStack() as stack:
        results = [job.values() for job in started(stack, "keras", tmp_path, worker=2)]
    with tf.Graph().as_default(), tf.Session():
        alone = keras_model()
        want = [*fit(alone), *alone.get_weights()]
    for values in results:
        for value, expected in zip(values, want, strict=True):
            np.testing.assert_allclose(value, expected, rtol=1e-5, atol=1e-6)
        for weight, first in zip(values[-4:], results[0][-4:], strict=True):  # the bits of the validation are each worker's own
            np.testing.assert_array_equal(weight, first)
    assert (tmp_path / "0" / "2.index").exists() and not (tmp_path / "1").exists()


@pytest.mark.cluster
def test_parameter_servers(tmp_path):
    with contextlib.ExitStack() as stack:
        _, *workers = started(stack, "servers", tmp_path, ps=1, worker=2)
        results = [job.values() for job in workers]
    for values in results:
        np.testing.assert_array_equal(values, [[-STEPS * (1.0 + 2.0)] * 2])


@pytest.mark.graph
def test_tasks_that_are_no_workers(monkeypatch):
    cluster = {"worker": ["127.0.0.1:1", "127.0.0.1:2"]}
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster, "task": {"type": "worker", "index": 2}}))
    with pytest.raises(ValueError, match="/job:worker/task:2, is not one of the cluster's workers"):
        tf.distribute.experimental.MultiWorkerMirroredStrategy()
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster, "task": {"type": "evaluator", "index": 0}}))
    assert tf.distribute.experimental.MultiWorkerMirroredStrategy().num_replicas_in_sync == 1


@pytest.mark.graph
def test_what_workers_are_told(monkeypatch):
    cluster = {"chief": ["127.0.0.1:1"], "worker": ["127.0.0.1:2"]}
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster, "task": {"type": "worker", "index": 0}}))
    strategy = tf.contrib.distribute.CollectiveAllReduceStrategy()
    assert strategy.num_replicas_in_sync == 2 and not strategy.extended.should_checkpoint and strategy.extended.experimental_between_graph
    assert strategy.extended.worker_devices == ("/job:worker/task:0/device:CPU:0",)
    seen = []
    with strategy.scope():
        strategy.make_input_fn_iterator(lambda context: seen.append(context) or tf.data.Dataset.range(3))
        strategy.experimental_run_v2(lambda: seen.append(tf.distribute.get_replica_context().replica_id_in_sync_group))
    assert (seen[0].num_input_pipelines, seen[0].input_pipeline_id, seen[0].num_replicas_in_sync, seen[1]) == (2, 1, 2, 1)
    config = strategy.update_config_proto(tf.ConfigProto(device_filters=["/job:worker/task:0"], allow_soft_placement=True))
    assert not config.device_filters and config.allow_soft_placement


@pytest.mark.graph
def test_keras_says_what_it_cannot_do(monkeypatch):
    cluster = {"ps": ["127.0.0.1:1"], "worker": ["127.0.0.1:2", "127.0.0.1:3"]}
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster, "task": {"type": "worker", "index": 0}}))
    with tf.distribute.experimental.ParameterServerStrategy().scope(), pytest.raises(NotImplementedError, match="with parameter servers"):
        tf.keras.Sequential([tf.keras.layers.Dense(1)])


@pytest.mark.graph
def test_a_strategy_for_the_whole_program():
    strategy, other = tf.distribute.OneDeviceStrategy("/cpu:0"), tf.distribute.OneDeviceStrategy("/cpu:1")
    with tf.Graph().as_default():
        try:
            for each in (strategy, other):
                tf.distribute.experimental_set_strategy(each)
                assert tf.distribute.get_strategy() is each and tf.contrib.distribute.get_cross_replica_context() is each
            assert tf.get_variable("v", []).device == "/device:CPU:1"
        finally:
            tf.distribute.experimental_set_strategy(None)
        assert not tf.distribute.has_strategy() and tf.contrib.distribute.get_cross_replica_context() is None
        with strategy.scope(), pytest.raises(RuntimeError, match="Must not be called inside"):
            tf.distribute.experimental_set_strategy(other)
        seen = []
        strategy.experimental_run_v2(lambda: seen.append(tf.contrib.distribute.require_replica_context(tf.distribute.get_replica_context())))
        assert seen == [None]
        outside = tf.distribute.get_replica_context()
        tf.contrib.distribute.require_replica_context(outside)
        with strategy.scope(), pytest.raises(RuntimeError, match="call_for_each_replica"):
            tf.contrib.distribute.require_replica_context(outside)
        with pytest.raises(RuntimeError, match="Mismatching"):
            strategy.experimental_run_v2(lambda: tf.contrib.distribute.require_replica_context(outside))


@pytest.mark.graph
def test_servers_without_a_cluster(monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    with pytest.raises(ValueError, match='"cluster" is not found'):
        tf.contrib.distribute.run_standard_tensorflow_server()
