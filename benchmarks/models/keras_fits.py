"""``model.fit`` over one epoch: the same Keras models under Penstock, under TensorFlow 2, and under Keras 3 on JAX.

All samples are shuffled, and the loss and the accuracy are reported, as ``hand_loops.py`` and ``torch_fits.py`` do it in loops of their own.
"""
from __future__ import annotations

import importlib
import math

from models import architectures as sizes
from models import data
from models.architectures import NETS, RATE, Conv, Dense, Mean, Pool, Step

MODULES = {"jax": "keras"}  # the module that has Keras, if it is not that of the framework


def mlp(keras):
    """Hidden layers, Adam."""
    return sequential(keras, sizes.MLP), keras.optimizers.Adam(RATE)


def small(keras):
    """One small hidden layer."""
    return sequential(keras, sizes.SMALL_MLP), keras.optimizers.SGD(RATE)


def sequential(keras, widths):
    """Fully connected layers."""
    inputs = x = keras.layers.Input((widths[0],))
    for units in widths[1:-1]:
        x = keras.layers.Dense(units, activation="relu")(x)
    return keras.models.Model(inputs, keras.layers.Dense(widths[-1])(x))


def lstm(keras):
    """The language model."""
    layers = keras.layers
    inputs = layers.Input((sizes.LSTM_STEPS,), batch_size=sizes.LSTM_BATCH, dtype="int32")
    x = layers.Embedding(sizes.LSTM_WORDS, sizes.LSTM_UNITS)(inputs)
    for _ in range(sizes.LSTM_LAYERS):
        x = layers.LSTM(sizes.LSTM_UNITS, recurrent_activation="sigmoid", return_sequences=True)(x)
    return keras.models.Model(inputs, layers.Dense(sizes.LSTM_WORDS)(x)), keras.optimizers.SGD(RATE)


def resnet(keras):
    """The residual network."""
    net = NETS["resnet"]
    inputs = keras.layers.Input((net.size, net.size, 3))
    return keras.models.Model(inputs, stack(keras.layers, net.layers, inputs)), keras.optimizers.SGD(RATE)


def stack(layers, sequence, x):
    """Layers of the tables in ``architectures.py``, one on the other."""
    for layer in sequence:
        if isinstance(layer, Conv):
            x = layers.Conv2D(layer.filters, layer.size, layer.stride, layer.padding.lower(), use_bias=not layer.norm)(x)
            x = layers.BatchNormalization()(x) if layer.norm else x
            x = layers.ReLU()(x) if layer.relu else x
        elif isinstance(layer, Pool):
            x = layers.MaxPooling2D(layer.size, layer.stride, layer.padding.lower())(x)
        elif isinstance(layer, Mean):
            x = layers.GlobalAveragePooling2D()(x)
        elif isinstance(layer, Dense):
            x = layers.Dense(layer.units, activation="relu" if layer.relu else None)(x)
        else:
            x = layers.ReLU()(layers.Add()([stack(layers, layer.body, x), stack(layers, layer.shortcut, x)]))
    return x


def make(case, framework):
    """One epoch of ``mlp_fit`` and its kin."""
    keras = importlib.import_module(MODULES.get(framework, framework))
    keras = getattr(keras, "keras", keras)
    name, (batch, batches) = sizes.fit_of(case)
    model, optimizer = globals()[name](keras)
    model.compile(optimizer, keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    x, y = data.epoch(name)
    y = y[..., None]
    parameters = sum(math.prod(int(extent) for extent in weight.shape) for weight in model.trainable_weights)
    return Step(lambda: model.fit(x, y, batch_size=batch, verbose=0), parameters, batches=batches)
