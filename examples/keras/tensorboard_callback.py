"""Training that TensorBoard can follow: losses, metrics, the graph, histograms of weights; with the best model kept.

    python examples/keras/tensorboard_callback.py logs && tensorboard --logdir logs
"""
from __future__ import annotations

import os
import sys

import numpy as np

import penstock as tf

layers, callbacks = tf.keras.layers, tf.keras.callbacks


def rings(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Points of two rings, and which ring they are of."""
    random = np.random.RandomState(seed)
    ring, angle = random.randint(2, size=count), random.uniform(0, 2 * np.pi, count)
    radius = 1 + 2 * ring + 0.2 * random.normal(size=count)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1), ring


def main(folder: str, epochs: int = 8) -> dict[str, list[float]]:
    """Trains; returns what TensorBoard will draw: {tag: values}."""
    model = tf.keras.Sequential([layers.Dense(16, activation="relu", input_shape=(2,), name="hidden"), layers.Dense(1, activation="sigmoid")])
    model.compile(tf.keras.optimizers.Adam(0.02), "binary_crossentropy", metrics=["accuracy"])
    model.fit(*rings(400, 0), epochs=epochs, validation_data=rings(200, 1), verbose=0, callbacks=[
        callbacks.TensorBoard(folder, histogram_freq=2),
        callbacks.ModelCheckpoint(os.path.join(folder, "best"), monitor="val_loss", save_best_only=True, save_weights_only=True),
        callbacks.ReduceLROnPlateau(monitor="val_loss", patience=2),
        callbacks.CSVLogger(os.path.join(folder, "epochs.csv")),
    ])
    drawn: dict[str, list[float]] = {}
    for name in sorted(os.listdir(folder)):
        if "tfevents" in name:
            for event in tf.train.summary_iterator(os.path.join(folder, name)):
                for value in event.summary.value:
                    if value.HasField("simple_value"):
                        drawn.setdefault(value.tag, []).append(value.simple_value)
    for tag, values in sorted(drawn.items()):
        print(f"{tag}: {values[0]:.3f} -> {values[-1]:.3f}")
    return drawn


if __name__ == "__main__":
    main(*sys.argv[1:])
