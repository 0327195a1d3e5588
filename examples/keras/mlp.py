"""A perceptron with dropout reads handwritten digits.

    python examples/keras/mlp.py
"""
from __future__ import annotations

import penstock as tf
from penstock.datasets import load_digits

layers = tf.keras.layers


def build() -> tf.keras.Model:
    """Two hidden layers over 64 pixels."""
    return tf.keras.Sequential([
        layers.Flatten(input_shape=(8, 8)),
        layers.Dense(64, activation="relu"),
        layers.Dropout(0.2),
        layers.Dense(64, activation="relu"),
        layers.Dropout(0.2),
        layers.Dense(10, activation="softmax"),
    ])


def main(epochs: int = 12) -> float:
    """Trains; returns the accuracy on digits that were held out."""
    digits = load_digits()
    model = build()
    model.compile("rmsprop", "sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(digits.train_images, digits.train_labels, batch_size=32, epochs=epochs, validation_split=0.1, verbose=2)
    _, accuracy = model.evaluate(digits.test_images, digits.test_labels, verbose=0)
    print(f"accuracy on new digits: {accuracy:.3f}")
    return accuracy


if __name__ == "__main__":
    main()
