"""Writes a model that real TensorFlow 1.15 trained and saved: ``model.h5``, ``weights.*`` and ``expected.npz``.

    python3.7 tests/keras/data/record_model.py
"""
import os

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))


def inputs():
    """(samples, targets)."""
    return np.cos(np.arange(30)).reshape(6, 5), np.sin(np.arange(12)).reshape(6, 2)


def build(tf):
    """Two branches, one of them recurrent, and weights that are not trained."""
    layers = tf.keras.layers
    start = tf.keras.Input((5,), name="start")
    hidden = layers.BatchNormalization(name="norm")(layers.Dense(4, activation="relu", name="hidden")(start))
    both = layers.Bidirectional(layers.LSTM(3, name="steps"), name="both")(layers.Reshape((2, 2), name="shaped")(hidden))
    return tf.keras.Model(start, layers.Dense(2, name="out")(layers.concatenate([hidden, both], name="joined")))


def main():
    """Writes the files next to this one."""
    import tensorflow as tf
    tf.set_random_seed(1)
    x, y = inputs()
    model = build(tf)
    model.compile(tf.keras.optimizers.Adam(0.01), "mse", metrics=["mae"])
    for _ in range(3):
        model.train_on_batch(x, y)
    model.save(os.path.join(HERE, "model.h5"))
    model.save_weights(os.path.join(HERE, "weights"), save_format="tf")
    predictions = model.predict(x)
    np.savez_compressed(os.path.join(HERE, "expected.npz"), predictions=predictions, losses=[model.train_on_batch(x, y) for _ in range(2)])


if __name__ == "__main__":
    main()
