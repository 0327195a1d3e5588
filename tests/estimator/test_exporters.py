"""Exporters: the last model, each one, or each that is better; vocabulary files in exports; Keras models and DenseFeatures."""
from __future__ import annotations

import os

import numpy as np
import pytest

import penstock as tf

pytestmark = pytest.mark.process
X = np.array([[1.0], [2.0], [3.0]], np.float32)


class Model:
    """An estimator that exports an empty folder, and counts."""

    def __init__(self, folder):
        self.model_dir, self.exported = str(folder), []

    def export_saved_model(self, export_dir_base, receiver_fn, assets_extra=None, as_text=False, checkpoint_path=None):
        path = os.path.join(export_dir_base, str(1000 + len(self.exported)))
        os.makedirs(path)
        self.exported.append(checkpoint_path)
        return path.encode()


def export(exporter, model, step, loss=1.0, final=False):
    return exporter.export(model, os.path.join(model.model_dir, exporter.name), f"ckpt-{step}", {"loss": loss, "global_step": step}, final)


def test_final(tmp_path):
    model, exporter = Model(tmp_path), tf.estimator.FinalExporter("final", lambda: None)
    assert export(exporter, model, 1) is None and export(exporter, model, 2, final=True).endswith(b"final/1000")
    assert model.exported == ["ckpt-2"]


def test_latest_keeps_some(tmp_path):
    model, exporter = Model(tmp_path), tf.estimator.LatestExporter("latest", lambda: None, exports_to_keep=2)
    for step in range(4):
        export(exporter, model, step)
    assert model.exported == [f"ckpt-{step}" for step in range(4)]
    assert sorted(os.listdir(tmp_path / "latest")) == ["1002", "1003"]


def test_best(tmp_path):
    model = Model(tmp_path)
    exporter = tf.estimator.BestExporter("best", lambda: None, exports_to_keep=1)
    for step, loss in enumerate([3.0, 2.0, 2.5, 1.0, 1.0]):
        export(exporter, model, step, loss)
    assert model.exported == ["ckpt-0", "ckpt-1", "ckpt-3"] and os.listdir(tmp_path / "best") == ["1002"]


def test_best_knows_earlier_runs(tmp_path):
    writer = tf.summary.FileWriter(str(tmp_path / "eval"))
    writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="loss", simple_value=0.5)]), 7)
    writer.close()
    model, exporter = Model(tmp_path), tf.estimator.BestExporter("best", lambda: None)
    assert export(exporter, model, 8, loss=0.7) is None
    assert export(exporter, model, 9, loss=0.4) is not None


def test_a_first_result_is_not_better_than_itself(tmp_path):
    """As in TensorFlow 1.15: the event files have it before it is compared."""
    def model_fn(features, labels, mode):
        weight = tf.get_variable("w", [], initializer=tf.constant_initializer(1.0))
        outputs = {"serving_default": tf.estimator.export.PredictOutput({"p": features * weight})}
        if mode == tf.estimator.ModeKeys.PREDICT:
            return tf.estimator.EstimatorSpec(mode, {"p": features * weight}, export_outputs=outputs)
        loss = tf.losses.mean_squared_error(labels, features * weight)
        train = tf.train.GradientDescentOptimizer(0.05).minimize(loss, tf.train.get_global_step())
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train, export_outputs=outputs)

    estimator = tf.estimator.Estimator(model_fn, str(tmp_path), tf.estimator.RunConfig(save_checkpoints_steps=2))
    receiver = lambda: tf.estimator.export.TensorServingInputReceiver(*[tf.placeholder(tf.float32, [None, 1])] * 2)
    exporter = tf.estimator.BestExporter("best", receiver)
    data = lambda: tf.data.Dataset.from_tensors((X, 3 * X)).repeat()
    tf.estimator.train_and_evaluate(estimator, tf.estimator.TrainSpec(data, max_steps=2),
                                    tf.estimator.EvalSpec(data, 2, exporters=exporter, throttle_secs=0))
    assert not os.path.exists(tmp_path / "export" / "best")
    tf.estimator.train_and_evaluate(estimator, tf.estimator.TrainSpec(data, max_steps=4),
                                    tf.estimator.EvalSpec(data, 2, exporters=exporter, throttle_secs=0))
    assert len(os.listdir(tmp_path / "export" / "best")) == 1


def test_best_by_another_measure(tmp_path):
    def larger(best_eval_result, current_eval_result):
        return current_eval_result["loss"] > best_eval_result["loss"]
    model, exporter = Model(tmp_path), tf.estimator.BestExporter("best", lambda: None, compare_fn=larger)
    for step, loss in enumerate([1.0, 0.5, 2.0]):
        export(exporter, model, step, loss)
    assert model.exported == ["ckpt-0", "ckpt-2"]


@pytest.mark.parametrize("make", [lambda: tf.estimator.LatestExporter("a", lambda: None, exports_to_keep=0),
                                  lambda: tf.estimator.BestExporter("a", lambda: None, exports_to_keep=-1)])
def test_the_number_of_exports(make):
    with pytest.raises(ValueError, match="positive number"):
        make()


def example(**features):
    made = {key: tf.train.Feature(bytes_list=tf.train.BytesList(value=value)) if isinstance(value[0], bytes)
            else tf.train.Feature(float_list=tf.train.FloatList(value=value)) for key, value in features.items()}
    return tf.train.Example(features=tf.train.Features(feature=made)).SerializeToString()


def test_a_vocabulary_file_goes_with_the_export(tmp_path):
    vocabulary = tmp_path / "words.txt"
    vocabulary.write_text("red\ngreen\n")
    words = tf.feature_column.categorical_column_with_vocabulary_file("word", str(vocabulary), num_oov_buckets=1)
    model = tf.estimator.LinearClassifier([words, tf.feature_column.numeric_column("x")], str(tmp_path / "model"))
    inputs = tf.estimator.inputs.numpy_input_fn({"x": X, "word": np.array([["red"], ["green"], ["blue"]])}, np.array([0, 1, 1]), batch_size=3,
                                                num_epochs=None, shuffle=False)
    model.train(inputs, steps=5)
    spec = tf.feature_column.make_parse_example_spec([words, tf.feature_column.numeric_column("x")])
    path = model.export_saved_model(str(tmp_path / "export"), tf.estimator.export.build_parsing_serving_input_receiver_fn(spec)).decode()
    vocabulary.unlink()
    assert (tmp_path / "export" / os.path.basename(path) / "assets" / "words.txt").read_text() == "red\ngreen\n"
    serve = tf.contrib.predictor.from_saved_model(path, "predict")
    found = serve({"examples": [example(word=[b"red"], x=[1.0]), example(word=[b"green"], x=[2.0]), example(word=[b"black"], x=[3.0])]})["logistic"]
    assert found.shape == (3, 1) and found[0] < 0.5 < found[1] < found[2]


def test_a_keras_model_as_an_estimator(tmp_path):
    with tf.Graph().as_default(), tf.Session():
        tf.set_random_seed(1)
        model = tf.keras.Sequential([tf.keras.layers.Dense(3, activation="tanh", input_shape=(1,), name="hidden"),
                                     tf.keras.layers.BatchNormalization(), tf.keras.layers.Dense(1, name="out")])
        model.compile(tf.keras.optimizers.SGD(0.05), "mse", metrics=["mae"])
        weights = dict(zip([weight.op.name for weight in model.weights], model.get_weights()))
        estimator = tf.keras.estimator.model_to_estimator(model, model_dir=str(tmp_path))
    inputs = lambda epochs: tf.estimator.inputs.numpy_input_fn(X, 2 * X, batch_size=3, num_epochs=epochs, shuffle=False)
    before = estimator.evaluate(inputs(1))
    estimator.train(inputs(None), steps=1)
    assert estimator.get_variable_value("global_step") == 1
    assert 0 < np.abs(estimator.get_variable_value("out/kernel") - weights["out/kernel"]).max() < 1
    estimator.train(inputs(None), steps=30)
    after = estimator.evaluate(inputs(1))
    assert {"loss", "mean_absolute_error", "global_step"} <= set(after) and after["loss"] < before["loss"]
    predicted = np.array([each["out"] for each in estimator.predict(inputs(1))])
    np.testing.assert_allclose(np.abs(predicted - 2 * X).mean(), after["mean_absolute_error"], rtol=1e-4)


@pytest.mark.parametrize("seed", [3, None])
def test_a_keras_model_without_values_starts_from_the_seed_of_the_estimator(tmp_path, seed):
    """Numbers of TensorFlow 1.15, which looks at the model's own weights only if they have values."""
    with tf.Graph().as_default():
        if seed is not None:
            tf.set_random_seed(seed)
        model = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(2,), name="one"), tf.keras.layers.Dense(1, name="two")])
        model.compile("sgd", loss="mse")
        estimator = tf.keras.estimator.model_to_estimator(model, model_dir=str(tmp_path), config=tf.estimator.RunConfig(tf_random_seed=5))
    folder = str(tmp_path / "keras")
    assert [name for name, _ in tf.train.list_variables(folder)] == ["global_step", "one/bias", "one/kernel", "training/SGD/decay",
                                                                     "training/SGD/learning_rate", "training/SGD/momentum", "two/bias", "two/kernel"]
    np.testing.assert_allclose(tf.train.load_variable(folder, "one/kernel"), [[0.31083226, 0.5582911], [-0.5248297, -0.5776747]], rtol=1e-6)
    estimator.train(lambda: tf.data.Dataset.from_tensors(([[1.0, 2.0]], [[1.0]])).repeat(2))
    np.testing.assert_allclose(estimator.get_variable_value("two/kernel"), [[0.8456966], [-0.8747437]], rtol=1e-6)


def test_a_keras_model_must_fit(tmp_path):
    with tf.Graph().as_default(), tf.Session():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,))])
        with pytest.raises(ValueError, match="has not been compiled yet"):
            tf.keras.estimator.model_to_estimator(model, model_dir=str(tmp_path))
        with pytest.raises(ValueError, match="not both"):
            tf.keras.estimator.model_to_estimator()
        model.compile("sgd", "mse")
        estimator = tf.keras.estimator.model_to_estimator(model, model_dir=str(tmp_path))
    with pytest.raises(KeyError, match="Expected keys"):
        estimator.train(tf.estimator.inputs.numpy_input_fn({"other": X}, X, shuffle=False), steps=1)


def test_dense_features():
    columns = [tf.feature_column.numeric_column("x"), *tf.feature_column.shared_embedding_columns([
        tf.feature_column.categorical_column_with_vocabulary_list(key, ["a", "b"]) for key in ("first", "second")], 2)]
    features = {"x": tf.constant(X), "first": tf.constant([["a"], ["b"], ["z"]]), "second": tf.constant([["b"], ["a"], ["a"]])}
    layer = tf.keras.layers.DenseFeatures(columns)
    output, again = layer(features), layer(features)
    assert [weight.name for weight in layer.trainable_weights] == ["dense_features/first_second_shared_embedding/embedding_weights:0"]
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        found, same, table = session.run([output, again, layer.trainable_weights[0]])
    np.testing.assert_array_equal(found, same)
    np.testing.assert_array_equal(found, np.concatenate([[table[0], table[1], [0, 0]], [table[1], table[0], table[0]], X], axis=1))
    with pytest.raises(ValueError, match="dictionary"):
        layer(tf.constant(X))
    with pytest.raises(ValueError, match="DenseColumn"):
        tf.keras.layers.DenseFeatures([columns[1].categorical_column])


@pytest.mark.parametrize(("make", "names"), [
    (lambda: tf.keras.optimizers.SGD(0.1, momentum=0.9), ["training/SGD/d/kernel/momentum", "training/SGD/decay", "training/SGD/learning_rate",
                                                          "training/SGD/momentum"]),
    (lambda: tf.train.AdamOptimizer(), ["training/beta1_power", "training/beta2_power"])], ids=["of Keras", "of tf.train"])
def test_variables_of_a_keras_model_have_the_names_of_tensorflow(tmp_path, make, names):
    """So that a folder of TensorFlow 1.15 goes on here."""
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, use_bias=False, input_shape=(1,), name="d")])
    model.compile(make(), "mse")
    estimator = tf.keras.estimator.model_to_estimator(model, model_dir=str(tmp_path))
    estimator.train(lambda: tf.data.Dataset.from_tensors(({"d_input": [[1.0]]}, [[2.0]])))
    assert [name for name in sorted(estimator.get_variable_names()) if name.startswith("training")] == names


@pytest.mark.parametrize(("compare", "missing"), [(lambda result: True, "best_eval_result"), (lambda best_eval_result: True, "current_eval_result")])
def test_a_comparison_takes_both_results(compare, missing):
    with pytest.raises(ValueError, match=f"must include {missing} argument"):
        tf.estimator.BestExporter("best", lambda: None, compare_fn=compare)


def test_results_come_in_the_order_of_tensorflow(tmp_path):
    """By name, the global step last: programs print them."""
    def model_fn(features, labels, mode):
        return tf.estimator.EstimatorSpec(mode, loss=tf.reduce_mean(features), train_op=tf.train.get_global_step().assign_add(1),
                                          eval_metric_ops={"z": tf.metrics.mean(features), "mae": tf.metrics.mean(features)})
    estimator = tf.estimator.Estimator(model_fn, str(tmp_path))
    inputs = lambda: tf.data.Dataset.from_tensors([1.0, 2.0])
    estimator.train(inputs)
    assert list(estimator.evaluate(inputs)) == ["loss", "mae", "z", "global_step"]


def test_a_keras_model_that_was_trained_is_an_estimator_inside_of_a_session(tmp_path):
    with tf.Graph().as_default():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,), name="d")])
        model.compile("adam", "mse")
        model.fit(X, 2 * X, epochs=1, verbose=0)
        with tf.Session():
            tried = tf.keras.estimator.model_to_estimator(model, model_dir=str(tmp_path))
        data = tf.estimator.inputs.numpy_input_fn({"d_input": X}, 2 * X, shuffle=False)
        before = tried.evaluate(data)["loss"]
        assert tried.train(data, steps=1).evaluate(data)["loss"] < before
        wrong = tf.estimator.inputs.numpy_input_fn({"other": X}, 2 * X, shuffle=False)
        for kind in (KeyError, ValueError):
            with pytest.raises(kind, match="does not have the expected inputs keys"):
                tried.train(wrong, steps=1)


@pytest.mark.parametrize("nested", [False, True])
def test_weights_of_samples_among_the_features_of_a_keras_model(tmp_path, nested):
    x = np.random.RandomState(0).rand(8, 3).astype(np.float32)
    weights = np.array([0, 1, 2, 0, 1, 1, 1, 3], np.float32)

    def inputs():
        features = {"features": {"a": x} if nested else x, "sample_weights": weights}
        return tf.data.Dataset.from_tensor_slices((features, x.sum(1, keepdims=True))).batch(4).repeat()

    with tf.Graph().as_default():
        layers = tf.keras.layers
        start = layers.Input((3,), name="a")
        model = tf.keras.Model(start, layers.Dense(1, kernel_initializer="ones", name="out")(
            layers.Dense(4, "relu", kernel_initializer="ones")(start)))
        model.compile(tf.keras.optimizers.SGD(0.1), "mse")
        estimator = tf.keras.estimator.model_to_estimator(model, model_dir=str(tmp_path))
    estimator.train(inputs, steps=3)
    assert estimator.evaluate(inputs, steps=2)["loss"] == pytest.approx(3.5184, abs=1e-4)  # TensorFlow 1.15


def test_errors_of_models_that_cannot_become_estimators():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])
    with pytest.raises(ValueError, match="has not been compiled yet"):
        tf.keras.estimator.model_to_estimator(model)
    model.compile("sgd", "mse")
    with pytest.raises(ValueError, match=r"Checkpoint format must be one of .* Got xyz"):
        tf.keras.estimator.model_to_estimator(model, checkpoint_format="xyz")
