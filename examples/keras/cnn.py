"""A convolutional network reads digits that are shifted and turned at random while it learns, and stops when it gets no better.

    python examples/keras/cnn.py
"""
from __future__ import annotations

import penstock as tf
from penstock.datasets import load_digits

layers = tf.keras.layers


def build() -> tf.keras.Model:
    """Two convolutions, pooling, two dense layers."""
    return tf.keras.Sequential([
        layers.Conv2D(16, 3, padding="same", activation="relu", input_shape=(8, 8, 1)),
        layers.Conv2D(32, 3, activation="relu"),
        layers.MaxPooling2D(2),
        layers.Dropout(0.25),
        layers.Flatten(),
        layers.Dense(64, activation="relu"),
        layers.Dense(10, activation="softmax"),
    ])


def main(epochs: int = 5) -> float:
    """Trains; returns the accuracy on digits that were held out."""
    digits = load_digits()
    train, test = digits.train_images[..., None], digits.test_images[..., None]
    images = tf.keras.preprocessing.image.ImageDataGenerator(width_shift_range=0.1, height_shift_range=0.1, validation_split=0.15)
    model = build()
    model.compile(tf.keras.optimizers.Adam(2e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
    stop = tf.keras.callbacks.EarlyStopping(patience=3, restore_best_weights=True)
    model.fit_generator(images.flow(train, digits.train_labels, subset="training"), epochs=epochs, verbose=2, callbacks=[stop],
                        validation_data=images.flow(train, digits.train_labels, subset="validation", shuffle=False))
    _, accuracy = model.evaluate(test, digits.test_labels, verbose=0)
    print(f"accuracy on new digits: {accuracy:.3f}")
    return accuracy


if __name__ == "__main__":
    main()
