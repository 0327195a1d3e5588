"""A small residual network on small images, with a learning rate that falls on a schedule.

    python examples/keras/resnet.py
"""
from __future__ import annotations

from typing import Any

import penstock as tf
from penstock.datasets import load_digits

layers = tf.keras.layers


def convolve(x: Any, filters: int, strides: int = 1) -> Any:
    """A convolution and batch normalization."""
    x = layers.Conv2D(filters, 3, strides, padding="same", use_bias=False, kernel_initializer="he_normal",
                      kernel_regularizer=tf.keras.regularizers.l2(1e-4))(x)
    return layers.BatchNormalization(momentum=0.9)(x)


def block(x: Any, filters: int, strides: int = 1) -> Any:
    """Two convolutions beside a shortcut."""
    y = convolve(layers.Activation("relu")(convolve(x, filters, strides)), filters)
    if strides > 1:
        x = layers.Conv2D(filters, 1, strides)(x)
    return layers.Activation("relu")(layers.add([x, y]))


def build(filters: int = 8, blocks: int = 2) -> tf.keras.Model:
    """Two stages of blocks; the second one has half the pixels and twice the channels."""
    images = tf.keras.Input((8, 8, 1))
    x = layers.Activation("relu")(convolve(images, filters))
    for stage in range(2):
        for number in range(blocks):
            x = block(x, filters << stage, strides=2 if stage and not number else 1)
    return tf.keras.Model(images, layers.Dense(10, activation="softmax")(layers.GlobalAveragePooling2D()(x)))


def main(epochs: int = 5) -> float:
    """Trains; returns the accuracy on digits that were held out."""
    digits = load_digits()
    model = build()
    model.compile(tf.keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True), "sparse_categorical_crossentropy", metrics=["accuracy"])
    schedule = tf.keras.callbacks.LearningRateScheduler(lambda epoch: 0.1 if epoch < 0.6 * epochs else 0.01)
    model.fit(digits.train_images[..., None], digits.train_labels, batch_size=32, epochs=epochs, verbose=2, callbacks=[schedule])
    _, accuracy = model.evaluate(digits.test_images[..., None], digits.test_labels, verbose=0)
    print(f"accuracy on new digits: {accuracy:.3f}")
    return accuracy


if __name__ == "__main__":
    main()
