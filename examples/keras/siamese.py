"""A siamese network: one encoder for two images, trained by contrastive loss, tells whether they show the same digit.

    python examples/keras/siamese.py
"""
from __future__ import annotations

from typing import Any

import numpy as np

import penstock as tf
from penstock.datasets import load_digits

layers, K = tf.keras.layers, tf.keras.backend


def pairs(images: np.ndarray, labels: np.ndarray, count: int, seed: int = 0) -> tuple[list[np.ndarray], np.ndarray]:
    """Pairs of images, and whether they show the same digit: half of them do."""
    random = np.random.RandomState(seed)
    first, same = random.randint(len(labels), size=count), random.randint(2, size=count)
    second = [random.choice(np.flatnonzero((labels == labels[index]) == bool(equal))) for index, equal in zip(first, same)]
    return [images[first], images[second]], same.astype(np.float32)


def contrastive(same: Any, distance: Any) -> Any:
    """Pulls equal pairs together, and pushes others apart until their distance is 1."""
    return K.mean(same * K.square(distance) + (1 - same) * K.square(K.maximum(1 - distance, 0)))


def build() -> tf.keras.Model:
    """The distance between the codes of two images."""
    encoder = tf.keras.Sequential([layers.Flatten(input_shape=(8, 8)), layers.Dense(64, activation="relu"), layers.Dropout(0.1),
                                   layers.Dense(32, activation="relu")])
    images = [tf.keras.Input((8, 8)), tf.keras.Input((8, 8))]
    first, second = (encoder(image) for image in images)
    distance = layers.Lambda(lambda codes: K.sqrt(K.maximum(K.sum(K.square(codes[0] - codes[1]), axis=1, keepdims=True), K.epsilon())))
    return tf.keras.Model(images, distance([first, second]))


def main(epochs: int = 8) -> float:
    """Trains; returns the share of new pairs that are told right."""
    digits = load_digits()
    model = build()
    model.compile(tf.keras.optimizers.RMSprop(), contrastive)
    model.fit(*pairs(digits.train_images, digits.train_labels, 3000), batch_size=64, epochs=epochs, verbose=2)
    images, same = pairs(digits.test_images, digits.test_labels, 500, seed=1)
    right = float(np.mean((model.predict(images)[:, 0] < 0.5) == same))
    print(f"new pairs told right: {right:.3f}")
    return right


if __name__ == "__main__":
    main()
