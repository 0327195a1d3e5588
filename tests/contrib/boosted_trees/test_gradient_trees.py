"""Estimators of tf.contrib.boosted_trees: classes, numbers, sparse columns, checkpoints in the middle of a layer, errors. Values: golden."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from penstock.ops.trees.gradient_trees import _rolls
from penstock.state.gradient_trees.dropout import dropped_trees, reweighted
from penstock.state.gradient_trees.protos import EnsembleProto

pytestmark = pytest.mark.process
trees = tf.contrib.boosted_trees.estimator_batch.estimator
learner_pb2 = tf.contrib.boosted_trees.proto.learner_pb2


def config(depth=3, rate=0.5, **fields):
    learner = learner_pb2.LearnerConfig(**fields)
    learner.constraints.max_tree_depth = depth
    learner.learning_rate_tuner.fixed.learning_rate = rate
    learner.regularization.l2 = 0.001
    return learner


def data(classes=3):
    random = np.random.RandomState(0)
    x = random.rand(300, 4).astype(np.float32)
    noisy = np.clip(x[:, 0] + 0.1 * random.randn(300), 0, 0.999)
    return x, ((noisy * classes).astype(np.int64) if classes else (2 * x[:, 0] + x[:, 1]).astype(np.float32))


def inputs(x, y=None, size=100, epochs=None):
    return tf.estimator.inputs.numpy_input_fn({"x": x}, y, batch_size=size, num_epochs=epochs, shuffle=False)


@pytest.mark.parametrize("strategy", ["DIAGONAL_HESSIAN", "FULL_HESSIAN", "TREE_PER_CLASS"])
def test_classes(strategy, tmp_path):
    x, y = data()
    learner = config(multi_class_strategy=getattr(learner_pb2.LearnerConfig, strategy), growing_mode=learner_pb2.LearnerConfig.LAYER_BY_LAYER)
    model = trees.GradientBoostedDecisionTreeClassifier(learner, 200, n_classes=3, num_trees=6, model_dir=str(tmp_path), center_bias=False)
    model.fit(input_fn=inputs(x, y), max_steps=200)
    found = model.evaluate(input_fn=inputs(x, y, epochs=1))
    assert found["accuracy"] > 0.8 and found["global_step"] < 200, "it stops after six trees"
    ensemble = EnsembleProto.FromString(model.get_variable_value("ensemble_model:0_config"))
    assert len(ensemble.trees) == 6 and all(each.is_finalized for each in ensemble.tree_metadata)


def test_numbers(tmp_path):
    x, y = data(classes=0)
    model = trees.GradientBoostedDecisionTreeRegressor(config(4), 300, num_trees=8, model_dir=str(tmp_path))
    model.fit(input_fn=inputs(x, y, size=300), max_steps=100)
    predicted = np.array([each["scores"] for each in model.predict(input_fn=inputs(x, size=300, epochs=1))])
    assert np.square(predicted - y).mean() < 0.01 < y.var()


def test_sparse_columns(tmp_path):
    """Half of the examples have a number, and each has an id; both tell the class."""
    random = np.random.RandomState(1)
    ids, numbers = random.randint(0, 5, 200), random.rand(200).astype(np.float32)
    has_number = random.rand(200) < 0.5
    y = ((ids == 3) | (has_number & (numbers > 0.4))).astype(np.int64)

    def input_fn():
        rows = np.flatnonzero(has_number)
        return {"number": tf.SparseTensor(np.stack([rows, np.zeros_like(rows)], 1).astype(np.int64), numbers[rows], [200, 1]),
                "id": tf.SparseTensor(np.stack([np.arange(200), np.zeros(200)], 1).astype(np.int64), ids.astype(np.int64), [200, 1])}, tf.constant(y)
    model = trees.GradientBoostedDecisionTreeClassifier(config(2, 1.0), 200, num_trees=4, model_dir=str(tmp_path))
    model.fit(input_fn=input_fn, max_steps=40)
    assert model.evaluate(input_fn=input_fn, steps=1)["accuracy"] == 1


def test_it_goes_on_in_the_middle_of_a_layer(tmp_path):
    """A layer needs 300 examples, three steps; stopping after each of them changes nothing."""
    x, y = data()
    found = []
    for folder, parts in (("once", [14]), ("often", [1] * 14)):
        model = trees.GradientBoostedDecisionTreeClassifier(config(2), 300, n_classes=3, model_dir=str(tmp_path / folder), center_bias=False)
        for number, steps in enumerate(parts):
            start = 100 * (number % 3)
            order = np.roll(np.arange(300), -start)
            model.fit(input_fn=inputs(x[order], y[order]), steps=steps)
        found.append(EnsembleProto.FromString(model.get_variable_value("ensemble_model:0_config")))
    assert len(found[0].trees) == 2 and found[0] == found[1]


def test_feature_columns_and_fractions(tmp_path):
    x, y = data(2)
    columns = [tf.contrib.layers.real_valued_column("a"), tf.contrib.layers.real_valued_column("b")]
    learner = config(feature_fraction_per_tree=0.7)
    learner.averaging_config.average_last_percent_trees = 0.5
    model = trees.GradientBoostedDecisionTreeClassifier(learner, lambda layer: 100 + 50 * layer, num_trees=3, feature_columns=columns,
                                                        model_dir=str(tmp_path), weight_column_name="w")
    features = {"a": x[:, :1], "b": x[:, 1:2], "unused": x[:, 2:], "w": np.ones((300, 1), np.float32)}
    fn = tf.estimator.inputs.numpy_input_fn(features, y[:, None], batch_size=100, num_epochs=None, shuffle=False)
    model.fit(input_fn=fn, max_steps=60)
    assert model.evaluate(input_fn=fn, steps=3)["accuracy"] > 0.8


def test_dropout():
    learner = learner_pb2.LearnerConfig()
    tuner = learner.learning_rate_tuner.dropout
    tuner.dropout_probability, tuner.learning_rate = 0.5, 0.1
    some = dropped_trees(_rolls(5), tuner, [0.1] * 20, {0, 19})
    assert some == dropped_trees(_rolls(5), tuner, [0.1] * 20, {0, 19}) and 3 < len(some) < 16 and not {0, 19} & set(some)
    assert reweighted([1.0, 0.5, 0.25], [0, 1], 2) == {2: 0.5, 0: pytest.approx(2 / 3), 1: pytest.approx(1 / 3)}
    tuner.dropout_probability = 2
    with pytest.raises(Exception, match="dropout_probability must be in"):
        dropped_trees(_rolls(5), tuner, [0.1], set())


def test_bad_input(tmp_path):
    x, y = data(2)
    with pytest.raises(ValueError, match=r"n_classes \(3\) doesn't match learner_config \(2\)"):
        trees.GradientBoostedDecisionTreeClassifier(learner_pb2.LearnerConfig(num_classes=2), 10, n_classes=3)
    with pytest.raises(tf.errors.UnimplementedError, match="use_core_libs"):
        trees.GradientBoostedDecisionTreeClassifier(config(), 10, use_core_libs=True)
    oblivious = config(weak_learner_type=learner_pb2.LearnerConfig.OBLIVIOUS_DECISION_TREE)
    with pytest.raises(ValueError, match="OBLIVIOUS_DECISION_TREE is not supported"):
        trees.GradientBoostedDecisionTreeClassifier(oblivious, 10, model_dir=str(tmp_path)).fit(input_fn=inputs(x, y), steps=1)
    with pytest.raises(ValueError, match="dense feature x with dtype"):
        trees.GradientBoostedDecisionTreeClassifier(config(), 10, model_dir=str(tmp_path)).fit(input_fn=inputs(x.astype(np.float64), y), steps=1)
