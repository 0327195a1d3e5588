"""Estimator: training, evaluation, predictions, exports; what a model function may return; hooks in every mode."""
from __future__ import annotations

import os

import numpy as np
import pytest

import penstock as tf

pytestmark = pytest.mark.process
X = np.array([[1.0], [2.0], [3.0]], np.float32)


def model_fn(features, labels, mode, params):
    w = tf.get_variable("w", [1, 1], initializer=tf.zeros_initializer())
    y = tf.matmul(features["x"], w)
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions={"y": y, "twice": 2 * y}, prediction_hooks=params["hooks"])
    loss = tf.losses.mean_squared_error(labels, y)
    train = tf.train.GradientDescentOptimizer(0.01).minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train, eval_metric_ops={"mean": tf.metrics.mean(y)}, training_hooks=params["hooks"],
                                      evaluation_hooks=params["hooks"])


class Calls(tf.train.SessionRunHook):
    """Counts runs."""

    runs = 0

    def after_run(self, run_context, run_values):
        self.runs += 1

    def __deepcopy__(self, memo):
        return self


def inputs(epochs=None, size=3):
    return tf.estimator.inputs.numpy_input_fn({"x": X}, 4 * X, batch_size=size, num_epochs=epochs, shuffle=False)


@pytest.fixture
def model(tmp_path):
    return tf.estimator.Estimator(model_fn, str(tmp_path), params={"hooks": [Calls()]})


def test_training_goes_on_from_its_checkpoint(model):
    model.train(inputs(), steps=3)
    assert model.train(inputs(), max_steps=5).latest_checkpoint().endswith("model.ckpt-5")
    want = 4 * (1 - (1 - 0.02 * (X ** 2).mean()) ** 5)
    np.testing.assert_allclose(model.get_variable_value("w"), [[want]], rtol=1e-5)
    model.train(inputs(), max_steps=5)  # nothing left to do
    assert model.params["hooks"][0].runs == 5


def test_evaluation_and_predictions(model):
    model.train(inputs(), steps=1)
    hook = Calls()
    result = model.evaluate(inputs(1, size=2), hooks=[hook], name="other")
    w = model.get_variable_value("w")[0, 0]
    assert result["global_step"] == 1 and hook.runs == 2
    np.testing.assert_allclose(result["mean"], 2 * w, rtol=1e-5)
    assert any(name.startswith("events") for name in os.listdir(model.eval_dir("other")))
    predictions = list(model.predict(inputs(1, size=2), predict_keys="twice"))
    assert [set(each) for each in predictions] == [{"twice"}] * 3
    np.testing.assert_allclose([each["twice"][0] for each in predictions], [2 * w, 4 * w, 6 * w], rtol=1e-5)
    assert [len(batch["y"]) for batch in model.predict(inputs(1, size=2), yield_single_examples=False)] == [2, 1]


def test_evaluation_stops_after_its_steps(model):
    hook = Calls()
    model.evaluate(inputs(), steps=4, hooks=[hook])  # without a checkpoint: initial values
    assert hook.runs == 4


def test_an_export_is_loaded(model, tmp_path):
    model.train(inputs(), steps=1)
    receiver = tf.estimator.export.build_parsing_serving_input_receiver_fn({"x": tf.FixedLenFeature([1], tf.float32)})
    path = model.export_saved_model(str(tmp_path / "export"), receiver)
    example = tf.train.Example(features=tf.train.Features(feature={"x": tf.train.Feature(float_list=tf.train.FloatList(value=[2.0]))}))
    with tf.Graph().as_default(), tf.Session() as sess:
        signature = tf.saved_model.load(sess, ["serve"], path.decode()).signature_def["serving_default"]
        assert set(signature.outputs) == {"y", "twice"}
        value = sess.run(signature.outputs["y"].name, {signature.inputs["examples"].name: [example.SerializeToString()]})
    np.testing.assert_allclose(value, 2 * model.get_variable_value("w"), rtol=1e-6)


def test_warm_start(model, tmp_path):
    model.train(inputs(), steps=2)
    other = tf.estimator.Estimator(model_fn, str(tmp_path / "other"), params={"hooks": []}, warm_start_from=model.model_dir)
    assert other.evaluate(inputs(1))["mean"] == pytest.approx(2 * model.get_variable_value("w")[0, 0])


def test_train_and_evaluate(model):
    class Listed(tf.estimator.Exporter):
        name = "listed"
        finals: list = []

        def export(self, estimator, export_path, checkpoint_path, eval_result, is_the_final_export):
            self.finals.append((int(eval_result["global_step"]), is_the_final_export))
            return os.path.basename(export_path)

    config = tf.estimator.RunConfig(model_dir=model.model_dir, save_checkpoints_steps=2)
    trained = tf.estimator.Estimator(model_fn, config=config, params={"hooks": []})
    spec = tf.estimator.EvalSpec(inputs(1), steps=None, exporters=Listed(), throttle_secs=0, start_delay_secs=0)
    metrics, exports = tf.estimator.train_and_evaluate(trained, tf.estimator.TrainSpec(inputs(), max_steps=5), spec)
    assert metrics["global_step"] == 5 and exports == ["listed"] and Listed.finals == [(2, False), (4, False), (5, True)]
    assert tf.estimator.train_and_evaluate(trained, tf.estimator.TrainSpec(inputs(), max_steps=5), spec) == (None, None), "no step is left"


@pytest.mark.parametrize(("given", "error", "message"), [
    ({"mode": "train", "loss": 1}, ValueError, "Missing train_op"), ({"mode": "eval"}, ValueError, "Missing loss"),
    ({"mode": "infer"}, ValueError, "Missing predictions"), ({"mode": "eval", "loss": [1.0, 2.0]}, ValueError, "Loss must be scalar"),
    ({"mode": "infer", "predictions": 3}, TypeError, "predictions must be Tensor")])
def test_specs_are_checked(given, error, message):
    with tf.Graph().as_default():
        if "loss" in given:
            given = {**given, "loss": tf.constant(given["loss"])}
        with pytest.raises(error, match=message):
            tf.estimator.EstimatorSpec(**given)


def test_tensors_of_another_graph_are_refused():
    with tf.Graph().as_default():
        loss = tf.constant(1.0)
    with tf.Graph().as_default(), pytest.raises(ValueError, match="must be from the default graph"):
        tf.estimator.EstimatorSpec("eval", loss=loss)


def test_bad_model_functions(tmp_path):
    with pytest.raises(ValueError, match="must include features"):
        tf.estimator.Estimator(lambda labels: None, str(tmp_path))
    with pytest.raises(ValueError, match=r"not expected args: \['x'\]"):
        tf.estimator.Estimator(lambda features, x: None, str(tmp_path))
    with pytest.raises(ValueError, match="model_fn should return an EstimatorSpec"):
        tf.estimator.Estimator(lambda features, labels: None, str(tmp_path)).train(inputs(), steps=1)


@pytest.mark.parametrize(("epochs", "sizes"), [(1, [2, 1]), (2, [2, 2, 2])])
def test_batches_run_over_the_ends_of_epochs(epochs, sizes):
    with tf.Graph().as_default(), tf.Session() as sess:
        features, labels = inputs(epochs, size=2)()
        seen = []
        with pytest.raises(tf.errors.OutOfRangeError):
            while True:
                batch, targets = sess.run([features["x"], labels])
                np.testing.assert_array_equal(targets, 4 * batch)
                seen.append(len(batch))
        assert seen == sizes
