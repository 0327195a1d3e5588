"""Linear models, wide and deep ones, and copies of a model on several devices."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf

pytestmark = pytest.mark.process
RANDOM = np.random.RandomState(0)
X = RANDOM.normal(size=(40, 3)).astype(np.float32)


def test_a_linear_model_of_several_inputs():
    z = RANDOM.normal(size=(40, 2)).astype(np.float32)
    model = tf.keras.experimental.LinearModel(kernel_regularizer=None)
    model.compile(tf.keras.optimizers.SGD(0.1), "mse")
    model.fit([X, z], X.sum(1, keepdims=True) + 2 * z[:, :1] - 1, epochs=60, verbose=0)
    weights = {weight.shape: weight.ravel() for weight in model.get_weights()}
    np.testing.assert_allclose(weights[3, 1], [1, 1, 1], atol=0.05)
    np.testing.assert_allclose(weights[2, 1], [2, 0], atol=0.05)
    assert weights[(1,)] == pytest.approx(-1, abs=0.05)
    again = tf.keras.experimental.LinearModel.from_config(model.get_config())
    assert again.get_config() == model.get_config()


def test_a_wide_and_deep_model_has_two_optimizers():
    tf.set_random_seed(1)
    linear = tf.keras.experimental.LinearModel()
    deep = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(1)])
    model = tf.keras.experimental.WideDeepModel(linear, deep)
    model.compile(["sgd", "adam"], "mse")
    target = np.abs(X[:, :1]) + X[:, 1:2]
    before = model.evaluate(X, target, verbose=0)
    model.fit(X, target, epochs=30, verbose=0)
    assert model.evaluate(X, target, verbose=0) < 0.5 * before
    assert [type(each).__name__ for each in model.optimizer] == ["SGD", "Adam"]
    assert len(model.optimizer[1].weights) == 9 and len(model.optimizer[0].weights) == 1  # two slots for each of the four weights


def test_copies_on_several_devices():
    with tf.Graph().as_default(), tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        tf.keras.backend.set_session(session)
        inner = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,))])
        model = tf.keras.utils.multi_gpu_model(inner, gpus=3)
        assert {op.device.lower()[-5:] for op in session.graph.get_operations() if op.name.startswith("replica_")} >= {"cpu:0", "cpu:1"}
        np.testing.assert_allclose(model.predict(X[:7]), inner.predict(X[:7]), rtol=1e-5)
        model.compile("sgd", "mse")
        assert model.train_on_batch(X, np.zeros((40, 2))) > model.train_on_batch(X, np.zeros((40, 2)))
        tf.keras.backend.set_session(None)
