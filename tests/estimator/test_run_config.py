"""RunConfig: what TF_CONFIG says, what may be replaced, what is refused."""
from __future__ import annotations

import json

import pytest

import penstock as tf

pytestmark = pytest.mark.graph
CLUSTER = {"chief": ["h0:1"], "worker": ["h1:1", "h2:1"], "ps": ["h3:1", "h4:1"]}


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)


def configured(monkeypatch, **tf_config):
    monkeypatch.setenv("TF_CONFIG", json.dumps(tf_config))
    return tf.estimator.RunConfig()


def test_alone():
    config = tf.estimator.RunConfig()
    assert (config.task_type, config.task_id, config.is_chief, config.master, config.num_worker_replicas) == ("worker", 0, True, "", 1)
    assert (config.save_checkpoints_secs, config.save_checkpoints_steps, config.session_config) == (600, None, None)


@pytest.mark.parametrize(("job", "index", "number", "filters"), [
    ("chief", 0, 0, ["/job:ps", "/job:chief"]), ("worker", 1, 2, ["/job:ps", "/job:worker/task:1"]),
    ("ps", 1, 4, ["/job:ps", "/job:worker", "/job:chief", "/job:master"])])
def test_tasks_of_a_cluster(monkeypatch, job, index, number, filters):
    config = configured(monkeypatch, cluster=CLUSTER, task={"type": job, "index": index})
    assert (config.master, config.global_id_in_cluster, config.is_chief) == (f"grpc://{CLUSTER[job][index]}", number, job == "chief")
    assert (config.num_ps_replicas, config.num_worker_replicas) == (2, 3)
    assert list(config.session_config.device_filters) == filters


def test_evaluator_is_in_no_cluster(monkeypatch):
    config = configured(monkeypatch, cluster=CLUSTER, task={"type": "evaluator", "index": 0}, model_dir="/m")
    assert (config.master, config.num_ps_replicas, config.global_id_in_cluster) == ("", 0, None)
    assert not config.cluster_spec and config.model_dir == "/m"


@pytest.mark.parametrize(("tf_config", "message"), [
    ({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 0}}, 'must have one "chief"'),
    ({"cluster": {"chief": ["a:1", "b:1"]}, "task": {"type": "chief", "index": 0}}, 'only one "chief"'),
    ({"cluster": CLUSTER, "task": {"index": 0}}, "task type must be set"),
    ({"cluster": CLUSTER, "task": {"type": "ps"}}, "task index must be set. That of the ps is missing"),
    ({"cluster": CLUSTER, "task": {"type": "ps", "index": "first"}}, "index of the task 'ps' in TF_CONFIG must be a number: 'first'"),
    ({"cluster": CLUSTER, "task": "ps"}, "\"task\" in TF_CONFIG must be a JSON object .*'ps'"),
    ({"cluster": ["a:1"]}, '"cluster" in TF_CONFIG must be a JSON object'),
    ({"cluster": CLUSTER, "task": {"type": "ps", "index": -1}}, "non-negative.*ps in TF_CONFIG is -1"),
    ({"cluster": CLUSTER, "task": {"type": "ps", "index": 2}}, "2 is not a valid task_id for task_type ps"),
    ({"cluster": CLUSTER, "task": {"type": "cook", "index": 0}}, "cook is not a valid task_type"),
    ({"task": {"type": "ps", "index": 0}}, "task type must be WORKER"),
    ({"cluster": {"chief": ["a:1"], "ps": ["b:1", "a:1"]}, "task": {"type": "chief", "index": 0}}, "chief.*ps.*same address: a:1"),
    ({"cluster": {**CLUSTER, "master": ["m:1"]}, "task": {"type": "chief", "index": 0}}, "job `chief` is not supported")])
def test_a_contradiction_is_named(monkeypatch, tf_config, message):
    with pytest.raises(ValueError, match=message):
        configured(monkeypatch, **tf_config)


def test_what_is_no_json_is_named(monkeypatch):
    monkeypatch.setenv("TF_CONFIG", "{cluster:")
    with pytest.raises(ValueError, match="TF_CONFIG environment variable must be JSON"):
        tf.estimator.RunConfig()


@pytest.mark.parametrize("text, kind", [("3", AttributeError), ("[]", AttributeError), ("null", AttributeError), ('{"cluster": 3}', TypeError),
                                        ("{bad", json.JSONDecodeError), ("", json.JSONDecodeError)])
def test_the_class_of_an_error_is_tensorflows(monkeypatch, text, kind):
    monkeypatch.setenv("TF_CONFIG", text)
    with pytest.raises(kind, match=r"TF_CONFIG.* must be (JSON|a JSON object)"):
        tf.estimator.RunConfig()
    with pytest.raises(ValueError):
        tf.estimator.RunConfig()


@pytest.mark.parametrize("name, method", [("train_distribute", "train"), ("eval_distribute", "evaluate")])
def test_what_is_no_strategy_is_refused_when_it_is_used(tmp_path, name, method):
    estimator = tf.estimator.Estimator(lambda features, labels, mode: None, str(tmp_path), tf.estimator.RunConfig(**{name: 3}))
    with pytest.raises(AttributeError, match=f"{name} of the RunConfig must be a tf.distribute.Strategy, not 3"):
        getattr(estimator, method)(lambda: None, steps=1)


def test_replace():
    config = tf.estimator.RunConfig(save_checkpoints_steps=5)
    other = config.replace(save_checkpoints_secs=7, model_dir="/m")
    assert (other.save_checkpoints_steps, other.save_checkpoints_secs, other.model_dir) == (None, 7, "/m")
    assert (config.save_checkpoints_steps, config.save_checkpoints_secs, config.model_dir) == (5, None, None)
    with pytest.raises(ValueError, match="Replacing master is not supported"):
        config.replace(master="x")
    with pytest.raises(AttributeError):
        config.model_dir = "/n"


@pytest.mark.parametrize(("options", "message"), [
    ({"save_checkpoints_steps": 1, "save_checkpoints_secs": 1}, "cannot be both set"), ({"model_dir": ""}, "non-empty"),
    ({"tf_random_seed": 1.5}, "must be integer"), ({"log_step_count_steps": 0}, "> 0"), ({"device_fn": lambda a, b: ""}, "one argument")])
def test_bad_values(options, message):
    with pytest.raises(ValueError, match=message):
        tf.estimator.RunConfig(**options)


def test_strategies_are_shared_by_copies():
    strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
    config = tf.estimator.RunConfig(experimental_distribute=tf.contrib.distribute.DistributeConfig(train_distribute=strategy))
    assert config.train_distribute is config.replace(model_dir="/n").train_distribute is strategy and config.eval_distribute is None


def test_attributes_of_ones_own():
    """Programs hand further settings to their model functions."""
    config = tf.estimator.RunConfig()
    config.my_option = 3
    assert config.my_option == 3
    with pytest.raises(AttributeError, match="can't set attribute 'tf_random_seed'"):
        config.tf_random_seed = 1
