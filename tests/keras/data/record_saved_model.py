"""Records with TensorFlow 1.15.5 what ``test_files_of_tensorflow.py`` loads: a model with a layer of its own, as ``model.save`` writes SavedModels.

    python3.7 tests/keras/data/record_saved_model.py

Only TensorFlow, NumPy and the standard library are imported; all weights and data are fixed.
"""
import os

import numpy as np

FOLDER = os.path.dirname(os.path.abspath(__file__))


def build(tf):
    """A model with a layer that Keras does not know, and the classes that it takes to load it."""
    class Scale(tf.keras.layers.Layer):
        def __init__(self, by=2.0, **kwargs):
            super().__init__(**kwargs)
            self.by = by

        def call(self, inputs):
            return inputs * self.by

        def get_config(self):
            return dict(super().get_config(), by=self.by)

    layers = tf.keras.layers
    model = tf.keras.Sequential([layers.Dense(3, activation="tanh", kernel_initializer="ones", input_shape=(2,)), Scale(1.5), layers.Dense(1)])
    model.compile(tf.keras.optimizers.Adam(0.1), "mse", metrics=["mae"])
    return model, {"Scale": Scale}


def inputs():
    """Inputs and targets."""
    x = np.cos(np.arange(16, dtype=np.float32)).reshape(8, 2)
    return x, x[:, :1] - x[:, 1:]


if __name__ == "__main__":
    import tensorflow

    trained, _ = build(tensorflow)
    samples, targets = inputs()
    trained.fit(samples, targets, epochs=2, verbose=0, shuffle=False)
    trained.save(os.path.join(FOLDER, "saved_model"), save_format="tf")
    np.savez(os.path.join(FOLDER, "saved_model.npz"), predictions=trained.predict(samples),
             losses=[trained.train_on_batch(samples, targets)[0] for _ in range(2)])
