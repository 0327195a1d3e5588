"""tf.contrib.tpu on CPUs, and tf.contrib.cluster_resolver."""
from __future__ import annotations

import json

import numpy as np
import pytest

import penstock as tf

pytestmark = pytest.mark.process
tpu = tf.contrib.tpu
X = np.arange(8, dtype=np.float32)[:, None]


def input_fn(params):
    data = tf.data.Dataset.from_tensor_slices(({"x": X}, 2 * X))
    return data.repeat().batch(params["batch_size"], drop_remainder=True)


def model_fn(features, labels, mode, params):
    assert params["use_tpu"] is False
    w = tf.get_variable("w", [1, 1], initializer=tf.zeros_initializer())
    y = tf.matmul(features["x"], w)
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tpu.TPUEstimatorSpec(mode, predictions={"y": y, "size": tf.fill([params["batch_size"]], params["batch_size"])})
    loss = tf.losses.mean_squared_error(labels, y)
    optimizer = tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(params["rate"]))
    calls = tf.get_variable("calls", [], tf.int64, tf.zeros_initializer(), trainable=False)
    return tpu.TPUEstimatorSpec(
        mode, loss=loss, train_op=optimizer.minimize(loss, tf.train.get_global_step()),
        eval_metrics=(lambda labels, y: {"off": tf.metrics.mean_absolute_error(labels, y)}, [labels, y]),
        host_call=(lambda loss: tf.assign_add(calls, 1).op, {"loss": loss}))


@pytest.fixture
def model(tmp_path):
    config = tpu.RunConfig(model_dir=str(tmp_path), tpu_config=tpu.TPUConfig(iterations_per_loop=5, num_shards=8),
                           cluster=tf.contrib.cluster_resolver.TPUClusterResolver("a-tpu", zone="z", project="p"))
    return tpu.TPUEstimator(model_fn, config=config, params={"rate": 0.01}, use_tpu=True, train_batch_size=4, eval_batch_size=2,
                            predict_batch_size=8)


def test_it_trains_evaluates_and_predicts(model):
    model.train(input_fn, max_steps=3)
    assert model.get_variable_value("global_step") == model.get_variable_value("calls") == 3
    w = model.get_variable_value("w")[0, 0]
    result = model.evaluate(input_fn, steps=4)
    assert result["off"] == pytest.approx(np.abs(2 * X - w * X).mean(), rel=1e-5)
    predicted = next(iter(model.predict(input_fn)))
    assert predicted["size"] == 8 and predicted["y"] == 0


def test_an_estimator_is_exported_for_serving(tmp_path):
    columns = [tf.feature_column.numeric_column("x")]
    linear = tf.estimator.LinearRegressor(columns, str(tmp_path / "model"))
    linear.train(tf.estimator.inputs.numpy_input_fn({"x": X}, 2 * X, batch_size=4, shuffle=False), steps=2)
    receiver = tf.estimator.export.build_parsing_serving_input_receiver_fn(tf.feature_column.make_parse_example_spec(columns))
    folder = tpu.export_estimator_savedmodel(linear, str(tmp_path / "export"), receiver).decode()
    served = tf.contrib.predictor.from_saved_model(folder)
    example = tf.train.Example(features=tf.train.Features(feature={"x": tf.train.Feature(float_list=tf.train.FloatList(value=[3.0]))}))
    expected = next(linear.predict(tf.estimator.inputs.numpy_input_fn({"x": X[3:4]}, shuffle=False)))["predictions"]
    np.testing.assert_allclose(served({"inputs": [example.SerializeToString()]})["outputs"][0], expected, rtol=1e-6)


def test_that_there_are_no_tpus_is_said_once(tmp_path, capfd):
    for _ in range(2):
        tpu.TPUEstimator(model_fn, config=tpu.RunConfig(model_dir=str(tmp_path)), params={"rate": 0.1}, train_batch_size=4)
    assert capfd.readouterr().err.count("there are no TPUs") <= 1


def test_the_configuration():
    config = tpu.RunConfig(master="grpc://a:1", tpu_config=tpu.TPUConfig(per_host_input_for_training=tpu.InputPipelineConfig.PER_HOST_V2),
                           save_checkpoints_steps=7)
    assert (config.master, config.evaluation_master, config.save_checkpoints_steps) == ("grpc://a:1", "grpc://a:1", 7)
    other = config.replace(tpu_config=tpu.TPUConfig(9), model_dir="/m")
    assert (other.tpu_config.iterations_per_loop, other.model_dir, config.tpu_config.iterations_per_loop) == (9, "/m", 2)
    assert tf.estimator.tpu.RunConfig is tpu.python.tpu.tpu_config.RunConfig


@pytest.mark.parametrize(("make", "error", "message"), [
    (lambda: tpu.TPUConfig(0), ValueError, "must be positive"), (lambda: tpu.TPUConfig(num_cores_per_replica=3), ValueError, "got 3"),
    (lambda: tpu.TPUEstimator(model_fn, config=tf.estimator.RunConfig()), ValueError, "tpu_config.RunConfig"),
    (lambda: tpu.TPUEstimator(model_fn, config=tpu.RunConfig(), params={"batch_size": 1}), ValueError, "reserved keys"),
    (lambda: tpu.TPUEstimator(model_fn, config=tpu.RunConfig(), params={}), ValueError, "`train_batch_size` cannot be `None`"),
    (lambda: tpu.TPUEstimator(lambda features: 0, config=tpu.RunConfig(), train_batch_size=1), ValueError, "does not include params"),
    (lambda: tpu.TPUEstimatorSpec("eval", eval_metrics=3), ValueError, "tuple with length 2"),
    (lambda: tpu.TPUEstimatorSpec("eval", host_call=(lambda a: a, [1, 2])), RuntimeError, "which takes 1"),
    (lambda: tpu.RunConfig(master="a", cluster=tf.contrib.cluster_resolver.TPUClusterResolver()), ValueError, "Both master and cluster")])
def test_bad_arguments(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_functions():
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.constant(3.0)
        assert sess.run(tpu.rewrite(lambda a: a * 2, [x])) == [6.0]
        assert sess.run(tpu.repeat(4, lambda a: a + 1, [x])) == 7.0
        assert sess.run(tpu.while_loop(lambda a: a < 10, lambda a: a * 2, [x])) == 12.0
        assert sess.run(tpu.cross_replica_sum(x)) == 3.0
        sess.run([tpu.initialize_system(), tpu.shutdown_system()])
        with tpu.bfloat16_scope():
            v = tf.get_variable("v", [2], tf.bfloat16, tf.ones_initializer())
        assert v.dtype == tf.bfloat16 and tf.global_variables()[0].dtype.base_dtype == tf.float32


class TestResolvers:
    spec = tf.train.ClusterSpec({"worker": ["a:1", "b:2"], "ps": ["c:3"]})

    def test_simple(self):
        resolver = tf.contrib.cluster_resolver.SimpleClusterResolver(self.spec, master="m:1", task_type="ps", task_id=0, rpc_layer="grpc")
        assert resolver.cluster_spec() == self.spec and resolver.master() == "m:1" and resolver.master("worker", 1) == "grpc://b:2"
        with pytest.raises(TypeError, match="ClusterSpec"):
            tf.contrib.cluster_resolver.SimpleClusterResolver({})

    def test_tf_config(self, monkeypatch):
        monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": self.spec.as_dict(), "task": {"type": "worker", "index": "1"}}))
        resolver = tf.contrib.cluster_resolver.TFConfigClusterResolver()
        assert (resolver.task_type, resolver.task_id, resolver.master()) == ("worker", 1, "grpc://b:2")
        assert resolver.cluster_spec() == self.spec

    def test_union(self):
        simple = tf.contrib.cluster_resolver.SimpleClusterResolver
        other = tf.train.ClusterSpec({"worker": {5: "d:4"}})
        union = tf.contrib.cluster_resolver.UnionClusterResolver(simple(self.spec, master="m"), simple(other))
        assert union.cluster_spec().task_address("worker", 5) == "d:4" and union.cluster_spec().task_address("ps", 0) == "c:3"
        assert union.master() == "m"
        lists = tf.contrib.cluster_resolver.UnionClusterResolver(simple(self.spec), simple(tf.train.ClusterSpec({"ps": ["z:1"]})))
        assert lists.cluster_spec().as_dict()["ps"] == ["c:3", "z:1"]
        clash = tf.contrib.cluster_resolver.UnionClusterResolver(simple(other), simple(tf.train.ClusterSpec({"worker": {5: "z:1"}})))
        with pytest.raises(KeyError, match="d:4 and z:1"):
            clash.cluster_spec()

    def test_tpu(self):
        resolver = tf.contrib.cluster_resolver.TPUClusterResolver
        assert resolver("").master() == resolver("some-name").master() == "" and not resolver("").cluster_spec()
        assert resolver("grpc://h:8470").master() == "grpc://h:8470" and resolver(["grpc://h:8470"]).get_job_name() == "worker"


def test_checkpoints_are_written_beside_the_training(tmp_path):
    class Listener(tf.train.CheckpointSaverListener):
        def __init__(self):
            self.saved, self.ended = [], None

        def after_save(self, session, global_step_value):
            self.saved.append(global_step_value)

        def end(self, session, global_step_value):
            self.ended = global_step_value

    listener, folder = Listener(), str(tmp_path)
    step = tf.assign_add(tf.train.get_or_create_global_step(), 1)
    scaffold = tf.train.Scaffold()
    hook = tf.contrib.tpu.AsyncCheckpointSaverHook(folder, save_steps=2, scaffold=scaffold, listeners=[listener])
    with tf.train.SingularMonitoredSession([hook], scaffold) as session:
        while session.run(step) < 5:
            pass
    assert listener.saved[0] == 0 and listener.saved[-1] == listener.ended == 5 and listener.saved == sorted(set(listener.saved))
    assert tf.train.load_variable(folder, "global_step") == 5


def test_an_error_while_saving_is_told(tmp_path):
    class Failing(tf.train.CheckpointSaverListener):
        def after_save(self, session, global_step_value):
            raise RuntimeError("no room left")

    step = tf.assign_add(tf.train.get_or_create_global_step(), 1)
    scaffold = tf.train.Scaffold()
    hook = tf.contrib.tpu.AsyncCheckpointSaverHook(str(tmp_path), save_secs=1000, scaffold=scaffold, listeners=[Failing()])
    with pytest.raises(RuntimeError, match="no room left"), tf.train.SingularMonitoredSession([hook], scaffold) as session:
        session.run(step)
