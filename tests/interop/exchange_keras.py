"""One side of an exchange of Keras models: `exchange_keras.py penstock|tensorflow|keras write|read FOLDER`, on Python 3.7 and later.

"keras" is the multi-backend Keras 2.2.5 from PyPI on whatever is imported as `tensorflow`. The writer trains models and saves them in HDF5, whole and
as weights; the reader loads them, must predict the same, and train on the same way. Where one is Keras 2.2.5, only the first loss, which no update
has changed yet, must be the same: it goes on with another state of its optimizer than it saved, on TensorFlow 1.15 too.
"""
import os
import sys

import numpy as np

SEQUENCES = np.sin(np.arange(6 * 4 * 3) * 0.7).reshape(6, 4, 3)
IMAGES = np.cos(np.arange(6 * 6 * 6 * 2) * 0.3).reshape(6, 6, 6, 2)
TARGETS = np.sin(np.arange(6 * 2)).reshape(6, 2)


def system(name):
    if name == "keras":
        import keras
        return keras
    if name == "penstock":
        import penstock as tf
    else:
        import tensorflow as tf
        tf.compat.v1.logging.set_verbosity(tf.compat.v1.logging.ERROR)
    return tf.keras


def recurrent(keras):
    """Recurrent layers of several kinds; the inputs are masked."""
    layers = keras.layers
    model = keras.models.Sequential(name="recurrent")
    model.add(layers.Masking(input_shape=(4, 3)))
    model.add(layers.Bidirectional(layers.LSTM(3, return_sequences=True, recurrent_activation="hard_sigmoid")))
    model.add(layers.GRU(4, recurrent_activation="hard_sigmoid"))
    model.add(layers.Dense(2, activation="tanh", kernel_regularizer="l2"))
    model.compile(keras.optimizers.Adam(lr=0.01), "mse", metrics=["mae"])
    return model, SEQUENCES


def convolutional(keras):
    """Convolutions, with branches and weights that are not trained."""
    layers = keras.layers
    image = layers.Input((6, 6, 2))
    left = layers.BatchNormalization()(layers.Conv2D(3, 3, padding="same", activation="relu")(image))
    right = layers.SeparableConv2D(3, 3, padding="same")(image)
    both = layers.MaxPooling2D(2)(layers.Concatenate()([layers.Add()([left, right]), left]))
    model = keras.models.Model(image, layers.Dense(2)(layers.Dropout(0.0)(layers.Flatten()(both))))
    model.compile(keras.optimizers.SGD(lr=0.01, momentum=0.9), "mse", metrics=["mae"])
    return model, IMAGES


def nested(keras):
    """A model as a layer, used twice."""
    layers = keras.layers
    inner = keras.models.Sequential([layers.Dense(3, activation="sigmoid", input_shape=(12,)), layers.LeakyReLU(0.1)], name="inner")
    start = layers.Input((4, 3))
    flat = layers.Flatten()(start)
    out = layers.Dense(2)(layers.Average()([inner(flat), inner(layers.Activation("elu")(flat))]))
    model = keras.models.Model(start, out)
    model.compile(keras.optimizers.RMSprop(lr=0.01), "mse")
    return model, SEQUENCES


MODELS = (recurrent, convolutional, nested)


def note(model, x):
    """What a model predicts now, and its losses in two more steps."""
    predicted = model.predict(x)
    return [predicted, np.array([model.train_on_batch(x, TARGETS) for _ in range(2)])]


def write(keras, folder):
    for make in MODELS:
        model, x = make(keras)
        for _ in range(3):
            model.train_on_batch(x, TARGETS)
        path = os.path.join(folder, make.__name__)
        model.save(path + ".h5")
        model.save_weights(path + "_weights.h5")
        predicted, losses = note(model, x)
        np.savez(path + ".npz", predicted=predicted, losses=losses, writer=keras.__name__)


def read(keras, folder):
    for make in MODELS:
        path = os.path.join(folder, make.__name__)
        noted, (again, x) = np.load(path + ".npz"), make(keras)
        again.load_weights(path + "_weights.h5")
        np.testing.assert_allclose(again.predict(x), noted["predicted"], rtol=1e-3, atol=1e-5, err_msg=make.__name__)
        loaded = keras.models.load_model(path + ".h5")
        predicted, losses = note(loaded, x)
        np.testing.assert_allclose(predicted, noted["predicted"], rtol=1e-3, atol=1e-5, err_msg=make.__name__)
        steps = 1 if "keras" in (keras.__name__, str(noted["writer"])) else 2
        np.testing.assert_allclose(losses[:steps], noted["losses"][:steps], rtol=1e-3, err_msg=make.__name__)


if __name__ == "__main__":
    {"write": write, "read": read}[sys.argv[2]](system(sys.argv[1]), sys.argv[3])
