"""Filters of exports, optimizers by name, the tasks of ``train_and_evaluate``, heads of GANs."""
from __future__ import annotations

import json
import os
from unittest import mock

import pytest

import penstock as tf
from penstock.estimator import gc, train_and_evaluate
from penstock.estimator.canned.optimizers import optimizer_instance

pytestmark = pytest.mark.process


def test_filters_of_exports(tmp_path):
    paths = [gc.Path("/foo", version) for version in range(10)]

    def versions(keep, of=tuple(paths)):
        return [path.export_version for path in keep(of)]
    assert versions(gc.largest_export_versions(3)) == [7, 8, 9] and versions(gc.largest_export_versions(20)) == list(range(10))
    assert versions(gc.one_of_every_n_export_versions(3)) == [3, 6, 9] and versions(gc.mod_export_version(4)) == [0, 4, 8]
    assert versions(gc.one_of_every_n_export_versions(3), [gc.Path("/a", 0), gc.Path("/a", 4), gc.Path("/a", 5), gc.Path("/a", None)]) == [0, 5]
    assert versions(gc.union(gc.mod_export_version(4), gc.largest_export_versions(1))) == [0, 4, 8, 9]
    assert versions(gc.negation(gc.largest_export_versions(8))) == [0, 1]
    for name in ("1", "12", "other"):
        (tmp_path / name).mkdir()
    found = gc.get_paths(os.fsencode(tmp_path), lambda path: path._replace(export_version=int(os.path.basename(path.path)))
                         if os.path.basename(path.path).isdigit() else None)
    assert found == [gc.Path(str(tmp_path / "1"), 1), gc.Path(str(tmp_path / "12"), 12)]


def test_optimizers_by_name_need_a_rate():
    assert optimizer_instance("Ftrl", 0.3)._learning_rate == 0.3 and optimizer_instance("RMSProp", 0.2)._decay == 0.9
    with pytest.raises(ValueError, match="learning_rate must be specified when opt is string"):
        optimizer_instance("SGD")
    assert isinstance(optimizer_instance(lambda: tf.train.AdamOptimizer(0.1)), tf.train.AdamOptimizer)


def executor(task: str, index: int = 0, environment: str | None = None, **cluster):
    config = {"cluster": {"chief": ["a:1"], "worker": ["b:2", "c:3"], "ps": ["d:4"], **cluster}, "task": {"type": task, "index": index}}
    if environment:
        config["environment"] = environment
    with mock.patch.dict(os.environ, TF_CONFIG=json.dumps(config)):
        estimator = mock.Mock(spec=tf.estimator.Estimator, config=tf.estimator.RunConfig())
        return train_and_evaluate.TrainingExecutor(estimator, tf.estimator.TrainSpec(lambda: 1, max_steps=3), None), config


def test_tasks_start_servers():
    with mock.patch.object(train_and_evaluate, "Server") as server, mock.patch.object(train_and_evaluate.time, "sleep") as sleep:
        made, _ = executor("chief")
        made.run()
        assert server.call_args.kwargs["job_name"] == "chief" and server.return_value.start.called and not sleep.called
        made, _ = executor("worker", 1)
        made.run()
        sleep.assert_called_once_with(10)
        assert made.estimator.train.call_args.kwargs["max_steps"] == 3
        made, _ = executor("ps")
        made.run()
        assert server.return_value.join.called


def test_servers_that_are_there_already():
    with mock.patch.object(train_and_evaluate, "Server") as server:
        made, config = executor("chief", environment="google")
        with mock.patch.dict(os.environ, TF_CONFIG=json.dumps(config)):
            made.run_chief()
        assert not server.called and made.estimator.train.called


def test_errors_of_tasks():
    made, _ = executor("chief")
    made.estimator.config = mock.Mock(cluster_spec=tf.train.ClusterSpec({"chief": ["a:1"]}), task_type="local")
    with pytest.raises(ValueError, match=r"`task.type` in TF_CONFIG cannot be `local`"):
        made.run()
    made.estimator.config.task_type = "lion"
    with pytest.raises(ValueError, match=r"Task type lion is not supported. Supported task types are"):
        made.run()
    cluster = tf.train.ClusterSpec({"chief": ["a:1"], "worker": ["b:2"]})
    made.estimator.config = mock.Mock(cluster_spec=cluster, task_type="chief", task_id=0, master="")
    with pytest.raises(RuntimeError, match=r"Could not start server"):
        made.run()
    with pytest.raises(TypeError, match=r"`train_spec` must have type `tf.estimator.TrainSpec`"):
        train_and_evaluate.TrainingExecutor(made.estimator, 3, None)
    with pytest.raises(TypeError, match=r"`eval_spec` must have type"):
        made.run_evaluator()


def test_stopping_by_the_clock():
    hook, context = train_and_evaluate.StopAtSecsHook(10.0), mock.Mock()
    with mock.patch.object(train_and_evaluate.time, "time", side_effect=[100.0, 105.0, 111.0]):
        hook.begin()
        hook.after_run(context, None)
        assert not context.request_stop.called
        hook.after_run(context, None)
        assert context.request_stop.called


@pytest.mark.parametrize("mode", [tf.estimator.ModeKeys.TRAIN, tf.estimator.ModeKeys.EVAL, tf.estimator.ModeKeys.PREDICT])
def test_heads_of_gans(mode):
    head = tf.contrib.gan.estimator.gan_head(lambda model, add_summaries: tf.reduce_sum(model.discriminator_gen_outputs),
                                             lambda model, add_summaries: tf.reduce_sum(model.discriminator_real_outputs),
                                             tf.train.GradientDescentOptimizer(1.0), lambda: tf.train.GradientDescentOptimizer(1.0))
    with tf.Graph().as_default():
        tf.train.get_or_create_global_step()
        model = tf.contrib.gan.gan_model(lambda z: z * tf.get_variable("g", initializer=1.0), lambda x, _: x * tf.get_variable("d", initializer=2.0),
                                         tf.ones([2]), tf.ones([2]))
        spec = head.create_estimator_spec(None, mode, model)
        assert (spec.loss is None) == (mode == "infer") and isinstance(head, tf.contrib.gan.estimator.GANHead)


def test_subclasses_replace_the_parts_by_tensorflows_names(tmp_path):
    """As AdaNet, and estimators that train on their own, do."""
    called = []

    class Parts(tf.estimator.Estimator):
        def _create_global_step(self, graph):
            called.append("global step")
            return super()._create_global_step(graph)

        def _call_input_fn(self, input_fn, mode, input_context=None):
            called.append("input")
            return super()._call_input_fn(input_fn, mode, input_context)

        def _train_model(self, input_fn, hooks, saving_listeners):
            called.append([type(hook).__name__ for hook in hooks])
            return super()._train_model(input_fn, hooks, saving_listeners)

        def _train_with_estimator_spec(self, estimator_spec, worker_hooks, hooks, global_step_tensor, saving_listeners):
            called.append(global_step_tensor.name)
            return super()._train_with_estimator_spec(estimator_spec, worker_hooks, hooks, global_step_tensor, saving_listeners)

        def _extract_keys(self, predictions, predict_keys):
            return super()._extract_keys(predictions, "twice")

    def model(features, labels, mode):
        predictions = {"once": features, "twice": 2 * features}
        train = tf.assign_add(tf.train.get_global_step(), 1)
        return tf.estimator.EstimatorSpec(mode, predictions, tf.reduce_sum(features), train)

    estimator = Parts(model, str(tmp_path))
    data = lambda: tf.data.Dataset.from_tensors(([1.0], [0.0])).repeat(3)
    estimator.train(data, steps=2)
    assert called == [["StopAtStepHook"], "global step", "input", "global_step:0"]
    assert list(next(estimator.predict(data))) == ["twice"] and called[-2:] == ["global step", "input"]
    with tf.Graph().as_default() as graph:
        step = estimator._create_and_assert_global_step(graph)
        features, labels, hooks = estimator._get_features_and_labels_from_input_fn(data, "train")
        assert step is tf.train.get_global_step() and features.shape == labels.shape == [1] and len(hooks) == 1
