"""Sequence to sequence: an encoder reads a number, a decoder writes its digits backwards, one by one.

    python examples/keras/seq2seq.py

While it learns, the decoder is shown the right digit before each one that it writes. For predictions two further models are made of the same
layers: one that returns the encoder's state, and one that writes a digit and returns the decoder's.
"""
from __future__ import annotations

import numpy as np

import penstock as tf

layers = tf.keras.layers
DIGITS, LENGTH, START, UNITS = 5, 3, 5, 48


def numbers(count: int, seed: int = 0) -> np.ndarray:
    """Digits below DIGITS, most significant first."""
    return np.random.RandomState(seed).randint(0, DIGITS, (count, LENGTH))


def one_hot(digits: np.ndarray) -> np.ndarray:
    """One more class than digits: START."""
    return np.eye(DIGITS + 1)[digits]


def shifted(digits: np.ndarray) -> np.ndarray:
    """What the decoder is shown: START, then all digits but the last."""
    return np.concatenate([np.full((len(digits), 1), START), digits[:, :-1]], axis=1)


def build() -> tuple[tf.keras.Model, tf.keras.Model, tf.keras.Model]:
    """(the model that is trained, the encoder, one step of the decoder)."""
    source, target = tf.keras.Input((None, DIGITS + 1)), tf.keras.Input((None, DIGITS + 1))
    _, *state = layers.LSTM(UNITS, return_state=True)(source)
    decoder, classify = layers.LSTM(UNITS, return_sequences=True, return_state=True), layers.Dense(DIGITS + 1, activation="softmax")
    written, _, _ = decoder(target, initial_state=state)
    before = [tf.keras.Input((UNITS,)), tf.keras.Input((UNITS,))]
    step, *after = decoder(target, initial_state=before)
    return (tf.keras.Model([source, target], classify(written)), tf.keras.Model(source, state),
            tf.keras.Model([target, *before], [classify(step), *after]))


def decode(encoder: tf.keras.Model, step: tf.keras.Model, digits: np.ndarray) -> np.ndarray:
    """The digits that the decoder writes, each time the likeliest one."""
    state, last, written = encoder.predict(one_hot(digits)), np.full((len(digits), 1), START), []
    for _ in range(LENGTH):
        scores, *state = step.predict([one_hot(last), *state])
        last = scores.argmax(-1)
        written.append(last[:, 0])
    return np.stack(written, axis=1)


def main(epochs: int = 15) -> float:
    """Trains; returns the share of new numbers that are turned around without a mistake."""
    model, encoder, step = build()
    model.compile(tf.keras.optimizers.Adam(0.01), "categorical_crossentropy")
    digits = numbers(600)
    backwards = digits[:, ::-1]
    model.fit([one_hot(digits), one_hot(shifted(backwards))], one_hot(backwards), batch_size=50, epochs=epochs, verbose=2)
    new = numbers(100, seed=1)
    right = float(np.mean(np.all(decode(encoder, step, new) == new[:, ::-1], axis=1)))
    print(f"numbers turned around without a mistake: {right:.2f}")
    return right


if __name__ == "__main__":
    main()
