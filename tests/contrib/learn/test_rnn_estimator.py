"""DynamicRnnEstimator: predictions for sequences and for their steps, lengths, states, bad arguments."""
from __future__ import annotations

import importlib

import numpy as np
import pytest

import penstock as tf

pytestmark = pytest.mark.process
learn, layers = tf.contrib.learn, tf.contrib.layers
CLASSES, NUMBERS = learn.ProblemType.CLASSIFICATION, learn.ProblemType.LINEAR_REGRESSION
SINGLE, MULTIPLE = learn.PredictionType.SINGLE_VALUE, learn.PredictionType.MULTIPLE_VALUE


def inputs(labels):
    def input_fn():
        x = np.sin(np.arange(24)).reshape(4, 3, 2).astype(np.float32)
        lengths, context = tf.constant([3, 2, 1, 3]), tf.constant([[1.0], [2.0], [3.0], [4.0]])
        return {"x": tf.constant(x), "sequence_length": lengths, "c": context}, tf.constant(labels)
    return input_fn


def model(problem, prediction, folder, **options):
    columns = [layers.real_valued_column("x", dimension=2)]
    return learn.DynamicRnnEstimator(problem, prediction, columns, num_units=4, model_dir=str(folder), learning_rate=0.1,
                                     config=learn.RunConfig(tf_random_seed=1), **options)


def test_a_class_per_sequence(tmp_path):
    data = inputs([0, 2, 1, 1])
    tried = model(CLASSES, SINGLE, tmp_path, num_classes=3, cell_type="lstm", predict_probabilities=True, optimizer="Adam",
                  context_feature_columns=[layers.real_valued_column("c")])
    tried.fit(input_fn=data, steps=60)
    assert tried.evaluate(input_fn=data, steps=1)["accuracy"] == 1.0
    found = tried.predict(input_fn=data, as_iterable=False)
    assert found["classes"].tolist() == [0, 2, 1, 1] and found["probabilities"].shape == (4, 3)
    assert found["rnn_cell_state_0"].shape == found["rnn_cell_state_1"].shape == (4, 4)
    assert {"rnn/lstm_cell/kernel", "fully_connected/weights", "OptimizeLoss/learning_rate"} <= set(tried.get_variable_names())


def test_two_classes_per_step(tmp_path):
    data = inputs([[0, 1, 1], [1, 0, 0], [0, 0, 0], [1, 1, 0]])
    tried = model(CLASSES, MULTIPLE, tmp_path, num_classes=2, cell_type="gru", predict_probabilities=True, optimizer="Momentum", momentum=0.9,
                  dropout_keep_probabilities=[1.0, 1.0]).fit(input_fn=data, steps=2)
    assert set(tried.evaluate(input_fn=data, steps=1)) == {"accuracy", "loss", "global_step"}
    found = tried.predict(input_fn=data, as_iterable=False)
    assert found["classes"].shape == (4, 3) and found["probabilities"].shape == (4, 3, 2)


def test_numbers(tmp_path):
    data = inputs([[0.5], [1.0], [-1.0], [0.0]])
    single = model(NUMBERS, SINGLE, tmp_path / "single").fit(input_fn=data, steps=40)
    loss = single.evaluate(input_fn=data, steps=1)["loss"]
    scores = single.predict(input_fn=data, as_iterable=False)["scores"]
    np.testing.assert_allclose(np.mean((scores - [0.5, 1.0, -1.0, 0.0]) ** 2), loss, rtol=1e-4)
    steps = model(NUMBERS, MULTIPLE, tmp_path / "steps").fit(input_fn=inputs(np.ones([4, 3], np.float32)), steps=2)
    found = steps.predict(input_fn=inputs(np.ones([4, 3], np.float32)), as_iterable=False)["scores"]
    mask = np.arange(3) < np.array([[3], [2], [1], [3]])
    np.testing.assert_allclose(np.mean((found[mask] - 1) ** 2), steps.evaluate(input_fn=inputs(np.ones([4, 3], np.float32)), steps=1)["loss"],
                               rtol=1e-5)


def test_the_state_goes_on(tmp_path):
    data = inputs([[0.5], [1.0], [-1.0], [0.0]])
    tried = model(NUMBERS, SINGLE, tmp_path).fit(input_fn=data, steps=2)

    def part(start, stop, state=None):
        features = {"x": tf.constant(np.sin(np.arange(24)).reshape(4, 3, 2).astype(np.float32)[:, start:stop])}
        return {**features, **({} if state is None else {"rnn_cell_state_0": tf.constant(state)})}
    whole = tried.predict(input_fn=lambda: part(0, 3), as_iterable=False)
    first = tried.predict(input_fn=lambda: part(0, 1), as_iterable=False)
    second = tried.predict(input_fn=lambda: part(1, 3, first["rnn_cell_state_0"]), as_iterable=False)
    np.testing.assert_allclose(second["scores"], whole["scores"], rtol=1e-5)
    with pytest.raises(ValueError, match="'rnn_cell_state_0' must have the shape"):
        tried.predict(input_fn=lambda: part(1, 3, np.zeros([4, 9], np.float32)), as_iterable=False)


@pytest.mark.parametrize(("arguments", "message"), [
    ((7, SINGLE), "problem_type must be"), ((CLASSES, 7), "prediction_type must be"), ((CLASSES, SINGLE), "num_classes must be specified")])
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        model(*arguments, "unused")


def test_bad_cells(tmp_path):
    with pytest.raises(ValueError, match="The supported cell types are"):
        model(NUMBERS, SINGLE, tmp_path, cell_type="cloud").fit(input_fn=inputs([[0.0]] * 4), steps=1)
    with pytest.raises(ValueError, match="Got 1 cells and 3 dropout probabilities"):
        model(NUMBERS, SINGLE, tmp_path, dropout_keep_probabilities=[1.0, 1.0, 1.0]).fit(input_fn=inputs([[0.0]] * 4), steps=1)


@pytest.mark.filterwarnings("ignore:Converting sparse IndexedSlices")  # TensorFlow's too: the gradient of a boolean mask is clipped
@pytest.mark.parametrize(("problem", "options"), [("CLASSIFICATION", {"num_classes": 2, "num_units": 4, "cell_type": "lstm"}),
                                                  ("LINEAR_REGRESSION", {"num_units": [4, 3], "cell_type": "gru"})])
def test_states_are_carried_from_segment_to_segment(problem, options, tmp_path):
    """A sequence of 13 steps is four segments."""
    values = np.sin(np.arange(13) / 2).astype(np.float32)

    def input_fn():
        labels = tf.constant((values > 0).astype(np.int64))
        return {"s": tf.constant(values[:, None])}, labels if problem == "CLASSIFICATION" else tf.cast(labels, tf.float32)
    model = tf.contrib.learn.StateSavingRnnEstimator(
        getattr(tf.contrib.learn.ProblemType, problem), num_unroll=4, batch_size=2, queue_capacity=8, learning_rate=0.3, model_dir=str(tmp_path),
        sequence_feature_columns=[tf.contrib.layers.real_valued_column("s")], config=tf.contrib.learn.RunConfig(tf_random_seed=1), **options)
    before = model.fit(input_fn=input_fn, steps=1).evaluate(input_fn=input_fn, steps=4)["loss"]
    after = model.fit(input_fn=input_fn, steps=40).evaluate(input_fn=input_fn, steps=4)
    assert after["loss"] < before and after["global_step"] == 41
    predictions = model.predict(input_fn=lambda: (input_fn()[0], None), as_iterable=False)
    states = {key: value.shape for key, value in predictions.items() if key.startswith("rnn_cell_state")}
    assert states == ({"rnn_cell_state_0": (2, 2, 4)} if problem == "CLASSIFICATION" else {"rnn_cell_state_0": (2, 4), "rnn_cell_state_1": (2, 3)})


def test_segments_need_their_features(tmp_path):
    model = tf.contrib.learn.StateSavingRnnEstimator(tf.contrib.learn.ProblemType.LINEAR_REGRESSION, 4, 2, num_units=3, model_dir=str(tmp_path),
                                                     sequence_feature_columns=[tf.contrib.layers.real_valued_column("s")])
    with pytest.raises(ValueError, match=r"No key in features for sequence feature: s. There are \['t'\]"):
        model.fit(input_fn=lambda: ({"t": tf.zeros([5, 1])}, tf.zeros([5])), steps=1)
    with pytest.raises(ValueError, match="num_unroll must be positive"):
        tf.contrib.learn.StateSavingRnnEstimator(tf.contrib.learn.ProblemType.LINEAR_REGRESSION, 0, 2, [])


def test_parts_of_the_model_of_segments():
    """What programs take from inside TensorFlow's module."""
    tf.install_as_tensorflow(era=False)
    parts = importlib.import_module("tensorflow.contrib.learn.python.learn.estimators.state_saving_rnn_estimator")
    columns, context = [layers.real_valued_column("s")], [layers.real_valued_column("c")]
    features = {"s": tf.constant([[1.0, 2.0], [3.0, 4.0]]), "c": tf.constant([[5.0], [6.0]])}
    sequences, whole = parts._prepare_features_for_sqss(features, tf.zeros([2]), learn.ModeKeys.TRAIN, columns, context)
    assert sorted(sequences) == ["__labels__", "s"] and list(whole) == ["c"]
    steps = parts._prepare_inputs_for_rnn({"s": features["s"]}, whole, columns, 2)
    with tf.Session() as sess:
        np.testing.assert_array_equal(sess.run(steps), [[[1, 5], [3, 6]], [[2, 5], [4, 6]]])
    assert parts._get_state_name(1) == "rnn_cell_state_1"
    model_fn = parts._get_rnn_model_fn("basic_rnn", layers.multi_class_target(2), CLASSES, "SGD", num_unroll=2, num_units=[4], num_threads=1,
                                       queue_capacity=10, batch_size=1, sequence_feature_columns=columns, learning_rate=0.1)
    ops = model_fn({"s": tf.constant([1.0, 2.0, 3.0])}, None, learn.ModeKeys.INFER)
    assert ops.loss is None and {"classes", "rnn_cell_state_0"} <= ops.predictions.keys()


def test_the_parts_of_the_model_that_programs_reach_for():
    tf.install_as_tensorflow(era=False)
    inner = importlib.import_module("tensorflow.contrib.learn.python.learn.estimators.dynamic_rnn_estimator")
    with tf.Graph().as_default(), tf.Session() as session:
        columns, context = [layers.real_valued_column("x", dimension=2)], [layers.real_valued_column("c")]
        features, labels = inputs([[0, 1, 1], [1, 0, 0], [0, 0, 0], [1, 1, 0]])()
        sequences = inner.build_sequence_input(features, columns, context)
        cell = tf.nn.rnn_cell.LSTMCell(4)
        given = {inner._get_state_name(number): np.ones([4, 4], np.float32) for number in range(2)}  # arrays, as predictions give them
        state = inner.dict_to_state_tuple(given, cell)
        logits, last = inner.construct_rnn(state, sequences, cell, 2)
        model_fn = inner._get_dynamic_rnn_model_fn("lstm", 4, layers.multi_class_target(n_classes=2), CLASSES, MULTIPLE, "SGD", columns, context,
                                                   learning_rate=0.1)
        with tf.variable_scope("model"):
            made = model_fn(features, labels, learn.ModeKeys.TRAIN)
        session.run(tf.global_variables_initializer())
        assert session.run(sequences).shape == (4, 3, 3) and session.run(logits).shape == (4, 3, 2)
        assert set(inner.state_tuple_to_dict(last)) == set(given) and inner.dict_to_state_tuple({}, cell) is None
        assert session.run([made.train_op, made.loss])[1] > 0
    assert inner._get_output_alternatives(SINGLE, CLASSES, {"classes": 1, "rnn_cell_state_0": 2}) == {"dynamic_rnn_output": (CLASSES, {"classes": 1})}
    assert inner._get_output_alternatives(MULTIPLE, CLASSES, {"classes": 1}) is None
