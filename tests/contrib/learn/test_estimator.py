"""tf.contrib.learn.Estimator: arrays, data frames and iterators as inputs; model functions; checkpoints that go on; exports; predictors."""
from __future__ import annotations

import os

import numpy as np
import pytest

import penstock as tf

pytestmark = pytest.mark.process
learn = tf.contrib.learn
X = np.array([[1.0], [2.0], [3.0]], np.float32)


def model_fn(features, targets, mode, params):
    x = features["x"] if isinstance(features, dict) else features
    w = tf.get_variable("w", [1, 1], initializer=tf.zeros_initializer())
    y = tf.matmul(tf.cast(x, tf.float32), w)
    if mode == learn.ModeKeys.INFER:
        return learn.ModelFnOps(mode, {"y": y})
    loss = tf.losses.mean_squared_error(tf.reshape(targets, [-1, 1]), y)
    return {"y": y}, loss, tf.train.GradientDescentOptimizer(params["rate"]).minimize(loss, tf.train.get_global_step())


def inputs():
    return {"x": tf.constant(X)}, tf.constant(4 * X)


@pytest.fixture
def model(tmp_path):
    return learn.Estimator(model_fn, str(tmp_path / "model"), params={"rate": 0.01})


def after(steps):
    return 4 * (1 - (1 - 0.02 * (X ** 2).mean()) ** steps)


def test_training_goes_on_from_its_checkpoint(model):
    model.fit(input_fn=inputs, steps=3)
    other = learn.Estimator(model_fn, model.model_dir, params={"rate": 0.01}).fit(input_fn=inputs, max_steps=5)
    np.testing.assert_allclose(other.get_variable_value("w"), [[after(5)]], rtol=1e-5)
    assert other.fit(input_fn=inputs, max_steps=5).partial_fit(input_fn=inputs).get_variable_value("global_step") == 6
    assert set(other.get_variable_names()) == {"w", "global_step"}


def test_evaluation_and_predictions(model):
    with pytest.raises(learn.NotFittedError, match="Couldn't find trained model"):
        model.evaluate(input_fn=inputs, steps=1)
    model.fit(input_fn=inputs, steps=1)
    w = model.get_variable_value("w")[0, 0]
    metrics = {"error": learn.MetricSpec(tf.metrics.mean_absolute_error, "y")}
    result = model.evaluate(input_fn=inputs, steps=2, metrics=metrics, name="other")
    assert result["global_step"] == 1 and os.listdir(os.path.join(model.model_dir, "eval_other"))
    np.testing.assert_allclose([result["loss"], result["error"]], [((4 - w) ** 2 * X ** 2).mean(), (4 - w) * 2], rtol=1e-5)
    np.testing.assert_allclose([each["y"] for each in model.predict(input_fn=inputs)], w * X, rtol=1e-6)
    assert model.predict(input_fn=inputs, as_iterable=False)["y"].shape == (3, 1)
    assert [len(each["y"]) for each in model.predict({"x": X}, batch_size=2, iterate_batches=True)] == [2, 1]
    with pytest.raises(ValueError, match="Expected to run at least one output from"):
        model.predict(input_fn=inputs, outputs=["z"])  # the graph is built before the first prediction is asked for


def test_other_inputs_than_before(model):
    model.fit(input_fn=inputs, steps=1)
    with pytest.raises(ValueError, match="Features are incompatible with given information: x"):
        model.fit(input_fn=lambda: ({"x": tf.zeros([3, 2])}, tf.zeros([3, 1])), steps=1)
    with pytest.raises(ValueError, match="Labels are incompatible"):
        model.evaluate(input_fn=lambda: ({"x": tf.zeros([3, 1])}, tf.zeros([3, 1], tf.int32)), steps=1)


def test_arrays_dicts_and_iterators(tmp_path):
    def fitted(name, x, y, **options):
        return learn.Estimator(model_fn, str(tmp_path / name), params={"rate": 0.01}).fit(x, y, steps=4, **options).get_variable_value("w")
    whole = fitted("array", X, 4 * X)
    np.testing.assert_allclose(whole, [[after(4)]], rtol=1e-5)
    np.testing.assert_array_equal(fitted("dict", {"x": X}, 4 * X[:, 0]), whole)
    np.testing.assert_array_equal(fitted("stream", iter(list(X) * 4), iter(list(4 * X) * 4), batch_size=3), whole)
    with pytest.raises(ValueError, match="same length; y has 2 rows"):
        fitted("short", X, X[:2])
    with pytest.raises(ValueError, match="Both x and y should be iterators"):
        fitted("half", iter(X), X)


class Frame:
    """As much of a data frame as is used."""

    def __init__(self, columns):
        self.columns, self.iloc = list(columns), None
        self.dtypes = {name: np.asarray(values).dtype for name, values in columns.items()}
        self.values = np.stack([np.asarray(values) for values in columns.values()], axis=1)


def test_data_frames():
    extract = learn.extract_pandas_data
    assert extract(Frame({"a": [1, 2], "b": [3, 4]})).tolist() == [[1.0, 3.0], [2.0, 4.0]]
    with pytest.raises(ValueError, match="'b' type <U1"):
        extract(Frame({"a": [1, 2], "b": ["x", "y"]}))
    with pytest.raises(ValueError, match="Only one column for labels"):
        learn.extract_pandas_labels(Frame({"a": [1], "b": [2]}))
    assert learn.extract_pandas_matrix(X) is X and learn.extract_pandas_labels(None) is None


def test_columns_of_arrays():
    columns = learn.infer_real_valued_columns_from_input({"a": np.zeros([5, 3]), "b": np.zeros(5, np.int32)})
    assert sorted((column.name, column.dimension, column.dtype) for column in columns) == [("a", 3, tf.float64), ("b", 1, tf.int32)]
    assert learn.infer_real_valued_columns_from_input(np.zeros([5, 2, 2], np.float32))[0].key == (
        "_RealValuedColumn(column_name=, dimension=4, default_value=None, dtype=<dtype: 'float32'>)")


def test_missing_feature_is_named():
    layers = tf.contrib.layers
    model = learn.LinearClassifier([layers.real_valued_column("width")])
    with pytest.raises(KeyError, match=r"Feature width is not in features dictionary.*features are \['x'\]"):
        model.fit(input_fn=inputs, steps=1)


def test_exports_and_predictors(model, tmp_path):
    model.fit(input_fn=inputs, steps=2)
    w = model.get_variable_value("w")[0, 0]

    def serving():
        x = tf.placeholder(tf.float32, [None, 1])
        return learn.InputFnOps({"x": x}, None, {"x": x})
    folder = model.export_savedmodel(str(tmp_path / "export"), serving, assets_extra={"notes/a.txt": __file__}).decode()
    assert os.path.exists(os.path.join(folder, "assets.extra", "notes", "a.txt"))
    saved, direct = tf.contrib.predictor.from_saved_model(folder), tf.contrib.predictor.from_contrib_estimator(model, serving)
    for predict in (saved, direct):
        np.testing.assert_allclose(predict({"x": [[2.0]]})["y"], [[2 * w]], rtol=1e-6)
    with pytest.raises(TypeError, match="call from_contrib_estimator"):
        tf.contrib.predictor.from_estimator(model, serving)
    with pytest.raises(NotImplementedError, match="graph_rewrite_specs"):
        model.export_savedmodel(str(tmp_path), serving, graph_rewrite_specs=[(["a"], ["b"])])


def test_predictor_of_a_core_estimator(tmp_path):
    model = tf.estimator.LinearRegressor([tf.feature_column.numeric_column("x")], str(tmp_path))
    model.train(lambda: ({"x": tf.constant(X)}, tf.constant(X)), steps=2)
    receive = tf.estimator.export.build_raw_serving_input_receiver_fn({"x": tf.zeros([1, 1])})
    predict = tf.contrib.predictor.from_estimator(model, receive, output_key="predict")
    wanted = model.get_variable_value("linear/linear_model/x/weights") * 3 + model.get_variable_value("linear/linear_model/bias_weights")
    np.testing.assert_allclose(predict({"x": [[3.0]]})["predictions"], wanted, rtol=1e-5)
    with pytest.raises(KeyError, match="output_key must be one of"):
        tf.contrib.predictor.from_estimator(model, receive, output_key="z")


def test_model_dir_twice(tmp_path):
    with pytest.raises(ValueError, match="different values"):
        learn.Estimator(model_fn, str(tmp_path), learn.RunConfig(model_dir="other"), {"rate": 1})


def test_a_model_function_that_returns_something_else():
    with pytest.raises(ValueError, match="It returned int in mode 'train'"):
        learn.Estimator(lambda features, labels: 3).fit(input_fn=inputs, steps=1)
