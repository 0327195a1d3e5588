"""A network that reads in both directions tags each word: is it the subject of a "not" that may come before or behind it?

    python examples/keras/bidirectional.py
"""
from __future__ import annotations

import numpy as np

import penstock as tf

layers = tf.keras.layers
WORDS, LENGTH = 20, 10


def sentences(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Words as numbers from 1, of which 1 and 2 point to the left and to the right; each word's tag is 1 if something points at it."""
    random = np.random.RandomState(seed)
    words = random.randint(1, WORDS, (count, LENGTH))
    tags = np.zeros((count, LENGTH, 1), np.int64)
    tags[:, :-1, 0] |= words[:, 1:] == 1
    tags[:, 1:, 0] |= words[:, :-1] == 2
    return words, tags


def main(epochs: int = 5) -> float:
    """Trains; returns the share of new words whose tag is right."""
    model = tf.keras.Sequential([
        layers.Embedding(WORDS, 12, input_length=LENGTH),
        layers.Bidirectional(layers.GRU(12, return_sequences=True), merge_mode="concat"),
        layers.TimeDistributed(layers.Dense(1, activation="sigmoid")),
    ])
    model.compile(tf.keras.optimizers.Adam(0.02), "binary_crossentropy", metrics=["accuracy"])
    model.fit(*sentences(400), batch_size=20, epochs=epochs, verbose=2)
    _, accuracy = model.evaluate(*sentences(100, seed=1), verbose=0)
    print(f"words with the right tag: {accuracy:.3f}")
    return accuracy


if __name__ == "__main__":
    main()
