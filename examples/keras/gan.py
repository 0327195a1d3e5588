"""A generative adversarial network: a generator learns to make points of a ring, a discriminator to tell them from real ones.

    python examples/keras/gan.py
"""
from __future__ import annotations

import numpy as np

import penstock as tf

layers = tf.keras.layers
NOISE, BATCH = 4, 64


def ring(count: int, random: np.random.RandomState) -> np.ndarray:
    """Real points: a circle of radius 2, a little blurred."""
    angle, radius = random.uniform(0, 2 * np.pi, count), 2 + 0.1 * random.normal(size=count)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)


def build() -> tuple[tf.keras.Model, tf.keras.Model, tf.keras.Model]:
    """(generator, discriminator, the generator in front of a discriminator that does not learn)."""
    generator = tf.keras.Sequential([layers.Dense(32, activation="relu", input_shape=(NOISE,)), layers.Dense(32, activation="relu"), layers.Dense(2)])
    discriminator = tf.keras.Sequential([layers.Dense(32, input_shape=(2,)), layers.LeakyReLU(0.2), layers.Dense(32), layers.LeakyReLU(0.2),
                                         layers.Dense(1, activation="sigmoid")])
    discriminator.compile(tf.keras.optimizers.Adam(2e-3, beta_1=0.5), "binary_crossentropy")
    discriminator.trainable = False  # in what is compiled from here on
    noise = tf.keras.Input((NOISE,))
    combined = tf.keras.Model(noise, discriminator(generator(noise)))
    combined.compile(tf.keras.optimizers.Adam(2e-3, beta_1=0.5), "binary_crossentropy")
    return generator, discriminator, combined


def main(steps: int = 500) -> float:
    """Trains; returns the mean distance of made points from the ring."""
    random = np.random.RandomState(0)
    generator, discriminator, combined = build()
    truth = np.repeat([1.0, 0.0], BATCH)
    for step in range(steps):
        made = generator.predict_on_batch(random.normal(size=(BATCH, NOISE)))
        found = discriminator.train_on_batch(np.concatenate([ring(BATCH, random), made]), truth)
        fooled = combined.train_on_batch(random.normal(size=(BATCH, NOISE)), np.ones(BATCH))
        if step % 100 == 0:
            print(f"step {step}: loss of the discriminator {found:.3f}, of the generator {fooled:.3f}")
    points = generator.predict(random.normal(size=(500, NOISE)))
    distance = float(np.mean(np.abs(np.hypot(*points.T) - 2)))
    print(f"mean distance from the ring: {distance:.2f}")
    return distance


if __name__ == "__main__":
    main()
