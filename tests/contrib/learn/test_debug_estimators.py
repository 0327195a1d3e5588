"""DebugClassifier and DebugRegressor: they learn the labels alone."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf

pytestmark = pytest.mark.process
debug = tf.contrib.learn.python.learn.estimators.debug


def inputs(labels):
    def input_fn():
        return {"x": tf.constant(np.arange(8.0).reshape(4, 2)), "w": tf.constant([1.0, 1.0, 1.0, 3.0])}, tf.constant(labels)
    return input_fn


def test_the_classifier_learns_how_often_classes_are_seen(tmp_path):
    data = inputs([[0], [2], [2], [1]])
    tried = debug.DebugClassifier(n_classes=3, model_dir=str(tmp_path)).fit(input_fn=data, steps=200)
    assert list(tried.predict_classes(input_fn=data)) == [2, 2, 2, 2]
    np.testing.assert_allclose(list(tried.predict_proba(input_fn=data)), [[0.25, 0.25, 0.5]] * 4, atol=1e-3)
    assert tried.evaluate(input_fn=data, steps=1)["accuracy"] == 0.5


def test_the_regressor_learns_the_mean(tmp_path):
    data = inputs([[0.0], [2.0], [4.0], [6.0]])
    tried = debug.DebugRegressor(model_dir=str(tmp_path)).fit(input_fn=data, steps=300)
    np.testing.assert_allclose(list(tried.predict_scores(input_fn=data)), [3.0] * 4, atol=1e-2)
    weighted = debug.DebugRegressor(weight_column_name="w", model_dir=str(tmp_path / "w")).fit(input_fn=data, steps=300)
    np.testing.assert_allclose(list(weighted.predict_scores(input_fn=data)), [4.0] * 4, atol=1e-2)


def test_features_of_different_lengths_are_refused():
    features = {"x": tf.placeholder_with_default(np.zeros([2, 1]), [None, 1]), "y": tf.placeholder_with_default(np.zeros([3, 1]), [None, 1])}
    model = debug.debug_model_fn(features, None, tf.contrib.learn.ModeKeys.INFER, {"head": tf.contrib.learn.regression_head()})
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError):
        session.run(model.predictions)
    with pytest.raises(ValueError, match="empty"):
        debug.debug_model_fn({}, None, tf.contrib.learn.ModeKeys.INFER, {"head": None})
