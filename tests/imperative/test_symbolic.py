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
