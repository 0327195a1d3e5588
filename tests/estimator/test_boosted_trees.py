"""Boosted trees beyond what golden values show: too many buckets, uninitialised ensembles, broken protocol buffers, clusters of several steps."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf

pytestmark = pytest.mark.process
ROWS = np.arange(200)
FEATURES = {"x": np.sin(ROWS * 1.7).astype(np.float32), "y": np.cos(ROWS * 0.9).astype(np.float32)}
LABELS = (FEATURES["x"] > 0.5 * FEATURES["y"]).astype(np.int64)


def _inputs(times=None):
    return lambda: tf.data.Dataset.from_tensor_slices((FEATURES, LABELS)).batch(100).repeat(times)


def test_more_quantiles_than_buckets(tmp_path):
    columns = [tf.feature_column.numeric_column(name) for name in "xy"]
    model = tf.estimator.BoostedTreesClassifier(columns, 2, str(tmp_path), n_trees=10, max_depth=3, quantile_sketch_epsilon=0.2)
    model.train(_inputs())
    assert model.get_variable_value("boosted_trees/QuantileAccumulator:0_bucket_boundaries_0").shape > (5,)
    assert model.evaluate(_inputs(1))["accuracy"] > 0.75


def test_training_stops_at_its_number_of_trees(tmp_path):
    columns = [tf.feature_column.bucketized_column(tf.feature_column.numeric_column("x"), [-0.5, 0.0, 0.5])]
    model = tf.estimator.BoostedTreesClassifier(columns, 2, str(tmp_path), n_trees=2, max_depth=1)
    model.train(_inputs())
    assert model.get_variable_value("global_step") == 4  # two batches for each of two layers
    model.train(_inputs())
    assert model.get_variable_value("global_step") == 5  # a step finds that there are enough


def test_an_ensemble_needs_its_initializer():
    ops = tf.raw_ops
    with tf.Graph().as_default(), tf.Session() as sess:
        handle = ops.BoostedTreesEnsembleResourceHandleOp(shared_name="trees")
        assert not sess.run(ops.IsBoostedTreesEnsembleInitialized(tree_ensemble_handle=handle))
        with pytest.raises(tf.errors.NotFoundError, match="initializer has not run"):
            sess.run(ops.BoostedTreesGetEnsembleStates(tree_ensemble_handle=handle))
        with pytest.raises(tf.errors.InvalidArgumentError, match="Unable to parse"):
            sess.run(ops.BoostedTreesCreateEnsemble(tree_ensemble_handle=handle, stamp_token=0, tree_ensemble_serialized=b"\xff\xff"))
        sess.run(ops.BoostedTreesCreateEnsemble(tree_ensemble_handle=handle, stamp_token=7, tree_ensemble_serialized=""))
        states = sess.run(ops.BoostedTreesGetEnsembleStates(tree_ensemble_handle=handle))
        assert [np.array(each).tolist() for each in states] == [7, 0, 0, 0, [0, 1]]


def test_explanations_need_a_bias(tmp_path):
    columns = [tf.feature_column.bucketized_column(tf.feature_column.numeric_column("x"), [0.0])]
    model = tf.estimator.BoostedTreesClassifier(columns, 2, str(tmp_path), n_trees=1)
    with pytest.raises(ValueError, match="center_bias must be enabled"):
        next(model.experimental_predict_with_explanations(_inputs(1)))


def test_gradients_taken_inside_a_function_have_a_shape():
    with tf.Graph().as_default(), tf.Session() as sess:
        accumulator = tf.ConditionalAccumulator(tf.float32, [2], shared_name="grads")
        with tf.control_dependencies([accumulator.apply_grad([1.0, 2.0])]):
            taken = tf.cond(accumulator.num_accumulated() > 0, lambda: tf.unstack(accumulator.take_grad(1))[1], lambda: tf.constant(0.0))
        assert sess.run(taken) == 2.0
