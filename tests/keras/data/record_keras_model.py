"""Writes models that the multi-backend Keras 2.2.5 trained and saved, on TensorFlow 1.15: ``keras_adam.h5``, ``keras_rmsprop.h5``, ``keras_sgd.h5``
and what they predict.

    python3.7 tests/keras/data/record_keras_model.py      # with keras==2.2.5
"""
import os

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
OPTIMIZERS = {"adam": ("Adam", {"lr": 0.01}), "rmsprop": ("RMSprop", {"lr": 0.01, "decay": 0.1}), "sgd": ("SGD", {"lr": 0.1, "momentum": 0.9})}


def inputs():
    """(samples, targets)."""
    return np.cos(np.arange(24)).reshape(4, 3, 2), np.sin(np.arange(8)).reshape(4, 2)


def build(keras):
    """A convolution, a normalization, a recurrent layer and a dense one; with an initializer that tf.keras writes in other words."""
    layers = keras.layers
    return keras.models.Sequential([
        layers.Conv1D(3, 2, padding="same", activation="relu", input_shape=(3, 2), name="steps"), layers.BatchNormalization(name="norm"),
        layers.GRU(3, recurrent_activation="sigmoid", name="state"), layers.Dense(2, kernel_initializer="glorot_normal", name="out")])


def main():
    """Writes the files next to this one."""
    import keras
    x, y = inputs()
    predictions = {}
    for name, (kind, options) in sorted(OPTIMIZERS.items()):
        keras.backend.clear_session()
        model = build(keras)
        model.compile(getattr(keras.optimizers, kind)(**options), "mse", metrics=["mae"])
        for _ in range(3):
            model.train_on_batch(x, y)
        model.save(os.path.join(HERE, "keras_%s.h5" % name))
        predictions[name] = model.predict(x)
        predictions[name + " loss"] = model.test_on_batch(x, y)
    np.savez_compressed(os.path.join(HERE, "keras_expected.npz"), **predictions)


if __name__ == "__main__":
    main()
