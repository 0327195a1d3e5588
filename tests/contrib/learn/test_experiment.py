"""Experiment, learn_runner and RunConfig of tf.contrib.learn: schedules, exports, TF_CONFIG."""
from __future__ import annotations

import json
import os

import pytest

import penstock as tf

pytestmark = pytest.mark.process
learn = tf.contrib.learn
run = learn.learn_runner.run


def model_fn(features, labels, mode):
    w = tf.get_variable("w", [], initializer=tf.zeros_initializer())
    loss = tf.square(w - 4.0)
    return {"w": w + features["x"]}, loss, tf.train.GradientDescentOptimizer(0.25).minimize(loss, tf.train.get_global_step())


def inputs():
    return {"x": tf.zeros([2, 1])}, tf.zeros([2, 1])


def serving():
    x = tf.placeholder(tf.float32, [None, 1])
    return learn.InputFnOps({"x": x}, None, {"x": x})


def experiment(config, steps=6, **options):
    model = learn.Estimator(model_fn, config=config)
    options = {"train_steps": steps, "eval_steps": 1, "eval_delay_secs": 0, "continuous_eval_throttle_secs": 0, **options}
    return learn.Experiment(model, inputs, inputs, **options)


@pytest.fixture
def config(tmp_path, monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    return learn.RunConfig(model_dir=str(tmp_path), save_checkpoints_steps=2)


def test_train_and_evaluate(config):
    tried = experiment(config, check_interval_secs=0, export_strategies=[learn.make_export_strategy(serving, exports_to_keep=1)])
    metrics, exports = tried.train_and_evaluate()
    assert metrics["global_step"] == 6 and os.path.exists(os.path.join(exports[0].decode(), "saved_model.pb"))
    assert os.path.dirname(exports[0].decode()) == os.path.join(config.model_dir, "export", "Servo")
    assert tried.train_and_evaluate()[0]["global_step"] == 6  # nothing left to train


def test_every_checkpoint_is_exported(config):
    exported = []
    strategy = learn.ExportStrategy("mine", lambda estimator, folder, checkpoint_path, eval_result: exported.append(
        (os.path.basename(checkpoint_path), eval_result["global_step"])))
    metrics, results = experiment(config, checkpoint_and_export=True, export_strategies=strategy).train_and_evaluate()
    assert metrics["global_step"] == 6 and results == [None]
    assert [step for _, step in exported] == sorted({step for _, step in exported}) and exported[-1] == ("model.ckpt-6", 6)


def test_schedules(config):
    tried = experiment(config)
    assert tried.test()["global_step"] == 1
    tried.train(delay_secs=0)
    assert tried.evaluate(delay_secs=0, name="mine")["global_step"] == 6 and os.path.isdir(os.path.join(config.model_dir, "eval_mine"))
    tried.continuous_eval()  # ends at the last step
    seen = []
    tried.continuous_eval_on_train_data(continuous_eval_predicate_fn=lambda result: seen.append(result) or len(seen) < 2)
    assert seen[0] is None and seen[1]["global_step"] == 6
    with pytest.raises(ValueError, match="must be a callable"):
        tried.continuous_eval(continuous_eval_predicate_fn=3)


def test_in_turns(config):
    paths = []
    tried = experiment(config, train_steps_per_iteration=4)
    result, _ = tried.continuous_train_and_eval(lambda eval_result, checkpoint_path: paths.append(checkpoint_path) or True)
    assert result["global_step"] == 8 and [path and os.path.basename(path) for path in paths] == [None, "model.ckpt-4", "model.ckpt-8"]
    assert experiment(config, 9, local_eval_frequency=3).local_run()[0]["global_step"] == 9


def test_core_estimators(config):
    def core_fn(features, labels, mode):
        predictions, loss, train_op = model_fn(features, labels, mode)
        return tf.estimator.EstimatorSpec(mode, predictions, loss, train_op)
    model = tf.estimator.Estimator(core_fn, config=config)
    metrics, _ = learn.Experiment(model, inputs, inputs, train_steps=3, eval_steps=1).train_and_evaluate()
    assert metrics["global_step"] == 3
    with pytest.raises(ValueError, match="`eval_metrics` must be `None`"):
        learn.Experiment(model, inputs, inputs, eval_metrics={})


def test_hooks_and_strategies(config):
    tried, hook = experiment(config), tf.train.StepCounterHook()
    tried.extend_train_hooks([hook])
    strategy = learn.ExportStrategy("a", lambda estimator, folder: folder)
    assert tried.reset_export_strategies(strategy) == () and tried.reset_export_strategies() == (strategy,)
    with pytest.raises(ValueError, match="must be an ExportStrategy"):
        tried.reset_export_strategies([3])
    with pytest.raises(ValueError, match="must also accept checkpoint_path"):
        learn.ExportStrategy("a", lambda estimator, folder, eval_result: folder).export(None, "x")


def test_best_model(config, tmp_path):
    utils = learn.utils.saved_model_export_utils
    selector = utils.BestModelSelector()
    assert selector.update("a", {"loss": 3.0}) == ("a", {"loss": 3.0}) and selector.update("b", {"loss": 4.0}) == ("", None)
    strategy = utils.make_best_model_export_strategy(serving)
    _, exports = experiment(config, export_strategies=strategy).train_and_evaluate()
    assert "best_model/model.ckpt-6" in exports[0].decode()
    extended = utils.extend_export_strategy(learn.make_export_strategy(serving), lambda export, folder: _moved(export, folder), "more")
    made = extended.export(experiment(config).estimator, str(tmp_path / "more"), None)
    assert made == str(tmp_path / "more" / "moved") and os.listdir(tmp_path / "more") == ["moved"]
    assert utils.get_temp_export_dir("/a/123") == b"/a/temp-123"


def _moved(export, folder):
    os.rename(export.decode(), os.path.join(folder, "moved"))
    return os.path.join(folder, "moved")


# --- the runner ------------------------------------------------------------------------------------------------------

def test_runner(config):
    made = []

    def experiment_fn(run_config, hparams):
        made.append(hparams.steps)
        return experiment(run_config, hparams.steps)
    metrics, _ = run(experiment_fn, run_config=config, hparams=tf.contrib.training.HParams(steps=4))
    assert made == [4] and metrics["global_step"] == 4
    assert run(experiment_fn, run_config=config, schedule="evaluate", hparams=tf.contrib.training.HParams(steps=4))["global_step"] == 4
    for schedule, error in (("fly", ValueError), ("train_steps", TypeError)):
        with pytest.raises(error, match=r"There are .*train_and_evaluate"):
            run(experiment_fn, run_config=config, schedule=schedule, hparams=tf.contrib.training.HParams(steps=4))


def test_runner_with_another_configuration(config, tmp_path):
    def other(run_config, hparams):
        return experiment(learn.RunConfig(model_dir=str(tmp_path / "other")))
    with pytest.raises(RuntimeError, match="expected to be used by the `Estimator`"):
        run(other, run_config=config)
    with pytest.raises(TypeError, match="did not return an Experiment"):
        run(lambda run_config, hparams: None, run_config=config)
    with pytest.raises(ValueError, match="Must specify a model directory"):
        run(other, run_config=learn.RunConfig())


def test_tuner(config):
    class Tuner:
        trials = 2

        def next_trial(self):
            self.trials -= 1
            return self.trials >= 0

        def run_experiment(self, experiment_fn):
            experiment_fn(config, tf.contrib.training.HParams()).test()
    learn.learn_runner.tune(lambda run_config, hparams: experiment(run_config), Tuner())
    assert tf.train.latest_checkpoint(config.model_dir).endswith("-2")


CLUSTER = {"ps": ["a:1"], "master": ["b:2"], "worker": ["c:3", "d:4"]}


def task(monkeypatch, job, index=0, environment="cloud", cluster=CLUSTER):
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster, "task": {"type": job, "index": index}, "environment": environment}))
    return learn.RunConfig(model_dir="x")


def test_configuration_of_a_task(monkeypatch):
    config = task(monkeypatch, "worker", 1)
    assert (config.task_type, config.task_id, config.is_chief, config.master) == ("worker", 1, False, "grpc://d:4")
    assert (config.num_ps_replicas, config.num_worker_replicas, config.environment) == (1, 3, "cloud")
    assert task(monkeypatch, "master").is_chief and not task(monkeypatch, "worker").is_chief
    assert task(monkeypatch, "worker", environment="local").is_chief
    with pytest.raises(ValueError, match="chief is not a valid task_type"):
        task(monkeypatch, "chief")
    with pytest.raises(ValueError, match="2 is not a valid task_id for task_type worker"):
        task(monkeypatch, "worker", 2)


def test_schedule_of_a_task(monkeypatch):
    schedules = []
    for name in ("train", "train_and_evaluate", "run_std_server"):
        monkeypatch.setattr(learn.Experiment, name, lambda self, name=name: schedules.append(name))
    for job in ("worker", "master", "ps"):
        run(lambda run_config, hparams: experiment(run_config), run_config=task(monkeypatch, job))
    assert schedules == ["train", "train_and_evaluate", "run_std_server"]
    with pytest.raises(ValueError, match="No default schedule for task type: odd"):
        run(lambda run_config, hparams: experiment(run_config), run_config=task(monkeypatch, "odd", cluster={**CLUSTER, "odd": ["e:5"]}))


def test_configuration(monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    config = learn.RunConfig(tf_random_seed=3, num_cores=2)
    assert (config.save_checkpoints_secs, config.save_checkpoints_steps, config.is_chief, config.task_type) == (600, None, True, None)
    assert config.tf_config.intra_op_parallelism_threads == 2 and isinstance(config, tf.estimator.RunConfig)
    assert learn.RunConfig(save_checkpoints_steps=5).save_checkpoints_secs is None
    assert config.uid() == learn.RunConfig(tf_random_seed=4, num_cores=2).uid() != learn.RunConfig(num_cores=2, master="a").uid()
    assert config.replace(model_dir="y").model_dir == "y" and learn.RunConfig.get_task_id() == 0
