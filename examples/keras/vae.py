"""A variational autoencoder: digits as points of a plane, and points of the plane as digits.

    python examples/keras/vae.py
"""
from __future__ import annotations

from typing import Any

import numpy as np

import penstock as tf
from penstock.datasets import load_digits

layers, K = tf.keras.layers, tf.keras.backend
PIXELS, LATENT = 64, 2


def sample(moments: list[Any]) -> Any:
    """A point of the distribution with this mean and this logarithm of the variance."""
    mean, log_variance = moments
    return mean + K.exp(log_variance / 2) * K.random_normal(K.shape(mean), seed=1)


def build() -> tuple[tf.keras.Model, tf.keras.Model, tf.keras.Model]:
    """(the whole model, with its loss; the encoder; the decoder)."""
    image = tf.keras.Input((PIXELS,))
    hidden = layers.Dense(64, activation="relu")(image)
    mean, log_variance = layers.Dense(LATENT, name="mean")(hidden), layers.Dense(LATENT, name="log_variance")(hidden)
    encoder = tf.keras.Model(image, [mean, log_variance, layers.Lambda(sample)([mean, log_variance])], name="encoder")
    point = tf.keras.Input((LATENT,))
    decoder = tf.keras.Model(point, layers.Dense(PIXELS, activation="sigmoid")(layers.Dense(64, activation="relu")(point)), name="decoder")
    again = decoder(encoder(image)[2])
    model = tf.keras.Model(image, again)
    divergence = -0.5 * K.sum(1 + log_variance - K.square(mean) - K.exp(log_variance), axis=-1)
    model.add_loss(K.mean(PIXELS * tf.keras.losses.binary_crossentropy(image, again) + divergence))
    return model, encoder, decoder


def main(epochs: int = 10) -> float:
    """Trains; returns how much smaller the loss got."""
    images = load_digits().train_images.reshape(-1, PIXELS)
    model, encoder, decoder = build()
    model.compile(tf.keras.optimizers.Adam(0.01))
    history = model.fit(images, batch_size=50, epochs=epochs, verbose=2).history["loss"]
    mean = encoder.predict(images[:100])[0]
    print(f"the first digits lie within {np.abs(mean).max():.1f} of the origin, which is decoded to")
    for row in decoder.predict(np.zeros((1, LATENT))).reshape(8, 8):
        print("  " + "".join(" .:*#"[int(ink * 4.99)] for ink in row))
    return history[0] - history[-1]


if __name__ == "__main__":
    main()
