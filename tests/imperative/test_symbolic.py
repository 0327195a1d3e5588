"""Keras in imperative style: models that are called with values, models of symbolic inputs, and both."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from support.imperative import imperative

pytestmark = pytest.mark.process

RNG = np.random.RandomState(0)
X = RNG.normal(size=(64, 4)).astype(np.float32)
Y = (X.sum(1) > 0).astype(np.int32)


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.last = tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.BatchNormalization(), tf.keras.layers.Dense(2)

    def call(self, x, training=False):
        return self.last(self.norm(self.first(x), training=training))


def test_a_subclassed_model_in_a_loop_of_ones_own():
    with imperative():
        tf.set_random_seed(1)
        net, optimizer, losses = Net(), tf.train.AdamOptimizer(0.05), []
        for _ in range(30):
            with tf.GradientTape() as tape:
                loss = tf.losses.sparse_softmax_cross_entropy(Y, net(tf.constant(X), training=True))
            optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
            losses.append(float(loss))
        assert len(net.variables) == 8 and len(net.trainable_variables) == 6 and losses[-1] < 0.3 * losses[0]


def test_a_model_of_symbolic_inputs_trains_and_is_called_with_values():
    with imperative():
        inputs = tf.keras.Input([4])
        hidden = tf.keras.layers.Dense(8, activation="relu")(inputs)
        model = tf.keras.Model(inputs, tf.keras.layers.Dense(2, activation="softmax")(hidden))
        model.compile(tf.train.AdamOptimizer(0.05), "sparse_categorical_crossentropy", metrics=["accuracy"])
        before = model(tf.constant(X)).numpy()
        np.testing.assert_allclose(model.predict(X), before, rtol=1e-5, atol=1e-6)
        history = model.fit(X, Y, epochs=5, verbose=0).history
        assert history["loss"][-1] < history["loss"][0]
        after = model(tf.constant(X)).numpy()
        assert not np.allclose(after, before)
        np.testing.assert_allclose(model.predict(X), after, rtol=1e-5, atol=1e-6)
        model.layers[1].kernel.assign(tf.zeros([4, 8]))
        model.layers[1].bias.assign(tf.zeros([8]))
        assert np.ptp(model.predict(X), axis=0).max() < 1e-6  # every row is the same now


def test_fit_takes_datasets():
    with imperative():
        model = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(4,), activation="softmax")])
        model.compile("sgd", "sparse_categorical_crossentropy")
        dataset = tf.data.Dataset.from_tensor_slices((X, Y)).batch(16)
        assert len(model.fit(dataset, epochs=2, verbose=0).history["loss"]) == 2


def test_layers_optimizers_and_metrics_with_values():
    with imperative():
        assert tf.keras.layers.LSTM(5)(tf.ones([2, 3, 4])).shape == (2, 5)
        assert tf.keras.layers.Embedding(10, 4)(tf.constant([[1, 2]])).shape == (1, 2, 4)
        layer = tf.keras.layers.Dense(1)
        optimizer = tf.keras.optimizers.Adam(0.1)
        for _ in range(3):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(layer(tf.constant(X))))
            optimizer.apply_gradients(zip(tape.gradient(loss, layer.trainable_variables), layer.trainable_variables))
        assert optimizer.iterations.numpy() == 3
        mean = tf.keras.metrics.Mean()
        mean(3.0)
        mean(5.0)
        assert mean.result().numpy() == 4.0
        mean.reset_states()
        mean(1.0)
        assert mean.result().numpy() == 1.0
        dense = tf.keras.layers.Dense(2)
        dense(tf.ones([1, 3]))
        dense.set_weights([np.ones((3, 2)), np.zeros(2)])
        assert dense(tf.ones([1, 3])).numpy().tolist() == [[3.0, 3.0]] and dense.get_weights()[0].sum() == 6


class Counting(tf.keras.Model):
    """Branches in Python on the values that it gets, and has a loss of its own."""

    def __init__(self):
        super().__init__()
        self.dense, self.calls = tf.keras.layers.Dense(2, kernel_regularizer="l2"), []

    def call(self, x, training=False):
        self.calls.append(bool(training) if float(tf.reduce_sum(x)) < 1e9 else None)
        y = self.dense(x)
        self.add_loss(0.01 * tf.reduce_sum(y * y))
        return tf.nn.softmax(y)


def test_run_eagerly():
    with imperative():
        model = Counting()
        model.compile(tf.keras.optimizers.SGD(0.5), "sparse_categorical_crossentropy", metrics=["accuracy"], run_eagerly=True)
        assert model.run_eagerly
        history = model.fit(X, Y, batch_size=16, epochs=6, verbose=0, shuffle=False).history
        assert history["loss"][-1] < history["loss"][0] and history["acc"][-1] > 0.8
        assert model.calls.count(True) == 6 * 4 and len(model.losses) == 2
        loss, accuracy = model.evaluate(X, Y, verbose=0)
        np.testing.assert_allclose(model.predict(X).argmax(1) == Y, model(tf.constant(X)).numpy().argmax(1) == Y)
        assert accuracy == pytest.approx(np.mean(model.predict(X).argmax(1) == Y)) and loss > 0


def test_run_eagerly_computes_what_a_step_of_a_session_does():
    with imperative():
        results = []
        for eagerly in (False, True):
            inputs = tf.keras.Input([4])
            heads = [tf.keras.layers.Dense(2, kernel_initializer="ones", activation=name, name=name)(inputs) for name in ("softmax", "tanh")]
            model = tf.keras.Model(inputs, heads)
            model.compile(tf.keras.optimizers.Adam(0.1), ["sparse_categorical_crossentropy", "mse"], metrics=[["accuracy"], ["mae"]],
                          loss_weights=[1.0, 0.5], run_eagerly=eagerly)
            weights = [np.linspace(0, 1, 64), np.linspace(1, 2, 64)]
            results.append([model.train_on_batch(X, [Y, X[:, :2]], sample_weight=weights) for _ in range(3)])
            names = model.metrics_names
        assert names == ["loss", "softmax_loss", "tanh_loss", "softmax_acc", "tanh_mean_absolute_error"]
        np.testing.assert_allclose(results[1], results[0], rtol=1e-5)


def test_run_eagerly_needs_imperative_style():
    with tf.Graph().as_default():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])
        with pytest.raises(ValueError, match="if eager execution is enabled"):
            model.compile("sgd", "mse", run_eagerly=True)
