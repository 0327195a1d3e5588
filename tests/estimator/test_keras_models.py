"""``model_to_estimator``: subclassed models, chains that learn their inputs later, and checkpoints of objects."""
from __future__ import annotations

import os

import numpy as np
import pytest

import penstock as tf

pytestmark = pytest.mark.process
X = np.random.RandomState(0).randn(32, 3).astype(np.float32)
Y = X.sum(1, keepdims=True)


def seeded(seed):
    return tf.keras.initializers.glorot_uniform(seed=seed)


class Deep(tf.keras.Model):
    """Two layers with a normalization between them."""

    def __init__(self):
        super().__init__(name="sub")
        self.d1 = tf.keras.layers.Dense(4, activation="relu", kernel_initializer=seeded(1))
        self.bn = tf.keras.layers.BatchNormalization()
        self.middle = tf.keras.layers.Dense(3, kernel_initializer=seeded(2))
        self.out = tf.keras.layers.Dense(1, kernel_initializer=seeded(4))

    def call(self, x, training=None):
        return self.out(self.middle(self.bn(self.d1(x), training=training)))


class Stack(tf.keras.Model):
    """Layers in a list and a dictionary, and a model in a model."""

    def __init__(self):
        super().__init__()
        self.first = [tf.keras.layers.Dense(4), tf.keras.layers.Dense(4)]
        self.named = {"inner": Deep()}

    def call(self, x):
        for layer in self.first:
            x = layer(x)
        return self.named["inner"](x)


def inputs():
    return tf.data.Dataset.from_tensor_slices((X, Y)).repeat().batch(8)


def estimator_of(model, folder, **kwargs):
    model.compile(tf.keras.optimizers.Adam(0.01), "mse", metrics=["mae"])
    return tf.keras.estimator.model_to_estimator(model, model_dir=str(folder), config=tf.estimator.RunConfig(tf_random_seed=5), **kwargs)


def test_a_subclassed_model(tmp_path):
    with tf.Graph().as_default():
        estimator = estimator_of(Deep(), tmp_path)
    estimator.train(inputs, steps=20)
    assert [name for name in estimator.get_variable_names() if not name.startswith("training")] == [
        "global_step", *(f"sub/batch_normalization/{name}" for name in ("beta", "gamma", "moving_mean", "moving_variance")),
        "sub/dense/bias", "sub/dense/kernel", "sub/dense_1/bias", "sub/dense_1/kernel", "sub/dense_2/bias", "sub/dense_2/kernel"]
    results = estimator.evaluate(inputs, steps=3)  # those of TensorFlow 1.15
    assert (results["loss"], results["mean_absolute_error"]) == (pytest.approx(2.1584828, rel=1e-5), pytest.approx(1.2811838, rel=1e-5))
    np.testing.assert_allclose(next(estimator.predict(inputs))["output_1"], [1.2592647], rtol=1e-5)
    estimator.train(inputs, steps=5)
    assert estimator.evaluate(inputs, steps=3)["loss"] == pytest.approx(1.9086094, rel=1e-5)


@pytest.mark.parametrize("kind", [Deep, Stack])
def test_a_subclassed_model_stays_as_it_was(tmp_path, kind):
    with tf.Graph().as_default():
        model = kind()
        model.compile("sgd", "mse")
        model.fit(X, Y, verbose=0)
        weights, before, names = model.get_weights(), model.predict(X), sorted(vars(model))
        estimator = tf.keras.estimator.model_to_estimator(model, model_dir=str(tmp_path))
        estimator.train(inputs, steps=2)
        assert next(estimator.predict(inputs))["output_1"].shape == (1,)
        assert names == sorted(vars(model))
        np.testing.assert_array_equal(model.predict(X), before)
        for mine, value in zip(model.get_weights(), weights):
            np.testing.assert_array_equal(mine, value)
        model.fit(X, Y, verbose=0)


def test_a_subclassed_model_that_fails_stays_as_it_was(tmp_path):
    with tf.Graph().as_default():
        model = Deep()
        layers = list(model.layers)
        estimator = estimator_of(model, tmp_path)
        with pytest.raises(KeyError, match=r"Expected keys: \{'input_1'\}"):
            estimator.train(lambda: tf.data.Dataset.from_tensors(({"other": X}, Y)))
        with pytest.raises(KeyError, match=r"Expected keys: \{'output_1'\}"):
            estimator.train(lambda: tf.data.Dataset.from_tensors((X, {"other": Y})))
        assert model.layers == layers
        assert not model.built


def test_a_subclassed_model_with_a_configuration_is_made_anew(tmp_path):
    class Configured(Deep):
        made = 0

        def __init__(self, **kwargs):
            super().__init__()
            type(self).made += 1

        def get_config(self):
            return {}

        @classmethod
        def from_config(cls, config):
            return cls()

    with tf.Graph().as_default():
        estimator_of(Configured(), tmp_path).train(inputs, steps=1)
    assert Configured.made == 2


def test_checkpoints_of_objects_are_not_for_subclassed_models(tmp_path):
    for given in ("checkpoint", None):
        with tf.Graph().as_default(), pytest.raises(ValueError, match="not supported with subclassed models"):
            estimator_of(Deep(), tmp_path, checkpoint_format=given)


@pytest.mark.parametrize(("given", "prefix"), [("saver", "dense/bias"), ("checkpoint", "layer_with_weights-0/bias/.ATTRIBUTES/VARIABLE_VALUE")])
def test_a_chain_that_learns_its_inputs_from_the_data(tmp_path, given, prefix):
    with tf.Graph().as_default():
        model = tf.keras.Sequential([tf.keras.layers.Dense(4, activation="relu", kernel_initializer=seeded(1)),
                                     tf.keras.layers.Dense(1, kernel_initializer=seeded(2))])
        estimator = estimator_of(model, tmp_path, checkpoint_format=given)
    estimator.train(inputs, steps=20)
    np.testing.assert_allclose(estimator.get_variable_value(prefix)[:3], [-0.08235332, -0.15070485, 0.06987408], rtol=1e-4)  # TensorFlow 1.15
    assert estimator.evaluate(inputs, steps=3)["loss"] == pytest.approx(2.5578277, rel=1e-5)
    assert not os.path.exists(tmp_path / "keras")


def functional():
    start = tf.keras.Input((3,), name="a")
    hidden = tf.keras.layers.Dense(4, name="h", kernel_initializer=seeded(1))(start)
    return tf.keras.Model(start, tf.keras.layers.Dense(1, name="o", kernel_initializer=seeded(2))(hidden))


def test_checkpoints_of_objects(tmp_path):
    with tf.Graph().as_default():
        model = functional()
        estimator = estimator_of(model, tmp_path, checkpoint_format="checkpoint")
        estimator.train(inputs, steps=20)
        names = estimator.get_variable_names()
        assert [name.replace("/.ATTRIBUTES/VARIABLE_VALUE", "") for name in names if "SLOT" not in name] == [
            "_CHECKPOINTABLE_OBJECT_GRAPH", "estimator_global_step", "layer_with_weights-0/bias", "layer_with_weights-0/kernel",
            "layer_with_weights-1/bias", "layer_with_weights-1/kernel", "optimizer/beta_1", "optimizer/beta_2", "optimizer/decay",
            "optimizer/learning_rate"]
        assert sum("/.OPTIMIZER_SLOT/optimizer/" in name for name in names) == 8
        estimator.train(inputs, steps=5)
        results = estimator.evaluate(inputs, steps=3)  # those of TensorFlow 1.15
        assert (results["global_step"], results["loss"]) == (25, pytest.approx(1.6737509, rel=1e-5))
        model.load_weights(tf.train.latest_checkpoint(str(tmp_path)))
        np.testing.assert_allclose(model.predict(X)[:3, 0], [2.0653288, 1.0772598, 0.9225176], rtol=1e-4)


def test_an_optimizer_of_tf_train_is_in_checkpoints_of_objects(tmp_path):
    with tf.Graph().as_default():
        model = functional()
        model.compile(tf.train.AdamOptimizer(0.01), "mse")
        estimator = tf.keras.estimator.model_to_estimator(model, model_dir=str(tmp_path), checkpoint_format="checkpoint")
        estimator.train(inputs, steps=2)
    names = set(estimator.get_variable_names())
    for name in ("optimizer/optimizer/beta1_power", "layer_with_weights-1/kernel/.OPTIMIZER_SLOT/optimizer/optimizer/m"):
        assert f"{name}/.ATTRIBUTES/VARIABLE_VALUE" in names


def test_training_with_checkpoints_of_objects_starts_from_the_weights_of_the_model(tmp_path):
    with tf.Graph().as_default():
        model = functional()
        model.compile("sgd", "mse")
        model.set_weights([np.full(value.shape, 0.5, np.float32) for value in model.get_weights()])
        loss = model.evaluate(X, Y, verbose=0)
        estimator = tf.keras.estimator.model_to_estimator(model, model_dir=str(tmp_path), checkpoint_format="checkpoint")
        assert estimator.evaluate(lambda: inputs().take(4))["loss"] == pytest.approx(loss, rel=1e-5)
        train = tf.estimator.TrainSpec(inputs, max_steps=6)
        tf.estimator.train_and_evaluate(estimator, train, tf.estimator.EvalSpec(inputs, steps=2))
        tf.estimator.train_and_evaluate(estimator, train, tf.estimator.EvalSpec(inputs, steps=2))
    assert estimator.get_variable_value("estimator_global_step/.ATTRIBUTES/VARIABLE_VALUE") == 6
