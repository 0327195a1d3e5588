"""Bad input: errors name the column, the feature, the variable, the shapes."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf

pytestmark = pytest.mark.process
X = np.array([[1.0], [2.0], [3.0]], np.float32)


def inputs(x=None, y=X):
    return tf.estimator.inputs.numpy_input_fn({"x": X} if x is None else x, y, batch_size=3, num_epochs=None, shuffle=False)


def test_no_loss_and_no_train_op(tmp_path):
    def without(what):
        def model_fn(features, mode):
            loss = tf.reduce_sum(features["x"])
            given = {"loss": loss, "train_op": tf.no_op()}
            return tf.estimator.EstimatorSpec(mode, **{key: value for key, value in given.items() if key != what})
        return tf.estimator.Estimator(model_fn, str(tmp_path))

    for what in ("loss", "train_op"):
        with pytest.raises(ValueError, match=f"Missing {what}"):
            without(what).train(inputs(y=None), steps=1)


@pytest.mark.parametrize(("make", "column"), [
    (lambda word: tf.feature_column.embedding_column(word, 2), "word"),
    (lambda word: tf.feature_column.indicator_column(word), "word_indicator")])
def test_a_feature_that_a_column_names_and_the_data_lack(tmp_path, make, column):
    word = tf.feature_column.categorical_column_with_vocabulary_list("word", ["a"])
    model = tf.estimator.DNNRegressor([2], [make(word)], str(tmp_path))
    with pytest.raises(ValueError, match=rf"Feature word is not in features dictionary. The column '{column}' needs it; features are \['x'\]"):
        model.train(inputs(), steps=1)


@pytest.mark.parametrize("labels", [np.zeros([3, 2], np.float32), np.zeros([3, 1, 1], np.float32)])
def test_labels_of_another_shape(tmp_path, labels):
    model = tf.estimator.LinearRegressor([tf.feature_column.numeric_column("x")], str(tmp_path))
    with pytest.raises(ValueError, match=r"Mismatched label shape. Expected labels dimension=1.*Received \(3, "):
        model.train(inputs(y=labels), steps=1)


def test_labels_whose_shape_is_known_in_the_step_only(tmp_path):
    """A vector against a column would be broadcast to a matrix, silently."""
    def input_fn():
        return {"x": tf.constant(X)}, tf.placeholder_with_default(X[:, 0], None)
    model = tf.estimator.LinearRegressor([tf.feature_column.numeric_column("x")], str(tmp_path))
    with pytest.raises(tf.errors.InvalidArgumentError, match="labels shape must be"):
        model.train(input_fn, steps=1)


def test_labels_out_of_range(tmp_path):
    model = tf.estimator.LinearClassifier([tf.feature_column.numeric_column("x")], str(tmp_path), n_classes=3)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Labels must be <= n_classes - 1: 2"):
        model.train(inputs(y=np.array([0, 1, 3])), steps=1)


def test_no_labels(tmp_path):
    model = tf.estimator.LinearRegressor([tf.feature_column.numeric_column("x")], str(tmp_path))
    with pytest.raises(ValueError, match="You must provide a labels Tensor"):
        model.train(inputs(y=None), steps=1)


def test_a_checkpoint_of_another_model(tmp_path):
    column = tf.feature_column.numeric_column("x")
    tf.estimator.LinearRegressor([column], str(tmp_path)).train(inputs(), steps=1)
    with pytest.raises(tf.errors.NotFoundError, match="dnn/hiddenlayer_0/bias"):
        tf.estimator.DNNRegressor([2], [column], str(tmp_path)).train(inputs(), steps=1)
    wider = tf.estimator.LinearRegressor([tf.feature_column.numeric_column("x", 2)], str(tmp_path))
    with pytest.raises((tf.errors.InvalidArgumentError, ValueError), match="linear/linear_model/x/weights"):
        wider.train(inputs({"x": np.zeros([3, 2], np.float32)}), steps=1)


def test_batches_of_different_sizes():
    columns = [tf.feature_column.numeric_column("a"), tf.feature_column.numeric_column("b")]
    with tf.Graph().as_default(), pytest.raises(ValueError, match=r"Batch size of columns \(a, b\): \(3, 2\)"):
        tf.feature_column.input_layer({"a": tf.zeros([3, 1]), "b": tf.zeros([2, 1])}, columns)


def test_early_stopping_on_a_metric_that_is_not_there(tmp_path):
    model = tf.estimator.LinearRegressor([tf.feature_column.numeric_column("x")], str(tmp_path))
    model.evaluate(inputs(), steps=1)
    hook = tf.estimator.experimental.stop_if_higher_hook(model, "acuracy", 0.5, run_every_secs=None, run_every_steps=1)
    with pytest.raises(KeyError, match=r"no metric 'acuracy'.*average_loss"):
        model.train(inputs(), steps=2, hooks=[hook])


@pytest.mark.parametrize("weights", [[[0.5], [1.0]], [[0.5, 0.2], [1.0, 0.1]]])
@pytest.mark.parametrize("combiner", ["sum", "mean"])
def test_another_number_of_weights_than_of_ids(weights, combiner):
    fc = tf.feature_column
    column = fc.weighted_categorical_column(fc.categorical_column_with_identity("ids", 3), "w")
    with tf.Graph().as_default(), tf.Session() as sess, pytest.raises((tf.errors.InvalidArgumentError, ValueError)):
        ids = tf.SparseTensor([[0, 0], [1, 0], [1, 1]], [0, 2, 1], [2, 2])
        logits = fc.linear_model({"ids": ids, "w": tf.constant(weights)}, [column], sparse_combiner=combiner)
        sess.run(tf.global_variables_initializer())
        sess.run(logits)


def test_a_warm_start_without_a_checkpoint():
    with pytest.raises(ValueError, match="`ckpt_to_initialize_from` MUST be set"):
        tf.estimator.WarmStartSettings("")
    assert tf.estimator.WarmStartSettings("folder") == ("folder", ".*", {}, {})
