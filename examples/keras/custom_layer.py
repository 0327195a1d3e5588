"""A layer of one's own, with weights, a configuration and an argument ``training``; saved in a model and loaded again.

    python examples/keras/custom_layer.py
"""
from __future__ import annotations

import os
import tempfile
from typing import Any

import numpy as np

import penstock as tf

layers = tf.keras.layers


class Mixture(layers.Layer):
    """A sum of ``count`` dense layers, weighed by a softmax over the inputs. While it learns, the weights get noise."""

    def __init__(self, units: int, count: int = 3, noise: float = 0.1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.units, self.count, self.noise = units, count, noise

    def build(self, input_shape: Any) -> None:
        """Makes the weights, when the shape of the inputs is known."""
        depth = int(input_shape[-1])
        self.experts = self.add_weight("experts", (depth, self.count * self.units), initializer="glorot_uniform")
        self.gate = self.add_weight("gate", (depth, self.count), initializer="zeros")
        super().build(input_shape)

    def call(self, inputs: Any, training: Any = None) -> Any:
        """[batch, depth] to [batch, units]."""
        scores = tf.matmul(inputs, self.gate)
        noisy = tf.keras.backend.in_train_phase(scores + self.noise * tf.random_normal(tf.shape(scores), seed=1), scores, training=training)
        outputs = tf.reshape(tf.matmul(inputs, self.experts), [-1, self.count, self.units])
        return tf.reduce_sum(tf.expand_dims(tf.nn.softmax(noisy), 2) * outputs, axis=1)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """[batch, units]."""
        return tf.TensorShape([input_shape[0], self.units])

    def get_config(self) -> dict[str, Any]:
        """The arguments, for files."""
        return {**super().get_config(), "units": self.units, "count": self.count, "noise": self.noise}


def main(epochs: int = 20) -> float:
    """Trains to compute the absolute value, which takes two experts; returns the mean error of the loaded model."""
    x = np.linspace(-1, 1, 200)[:, None].astype(np.float32)
    features = np.concatenate([x, np.ones_like(x)], axis=1)
    model = tf.keras.Sequential([Mixture(1, input_shape=(2,))])
    model.compile(tf.keras.optimizers.Adam(0.05), "mse")
    model.fit(features, np.abs(x), epochs=epochs, verbose=2)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.h5")
        model.save(path)
        again = tf.keras.models.load_model(path, custom_objects={"Mixture": Mixture})
    np.testing.assert_array_equal(again.predict(features), model.predict(features))
    error = float(np.mean(np.abs(again.predict(features) - np.abs(x))))
    print(f"mean error: {error:.3f}")
    return error


if __name__ == "__main__":
    main()
