"""Captions for images: the code of an image and the words so far give the next word. Two inputs of different kinds in one model.

    python examples/keras/captions.py
"""
from __future__ import annotations

import numpy as np

import penstock as tf

layers = tf.keras.layers
WORDS = ("<pad>", "<start>", "<end>", "a", "bright", "dark", "square", "at", "the", "left", "right", "top", "bottom")
LENGTH, SIZE = 8, 8


def squares(count: int, seed: int = 0) -> tuple[np.ndarray, list[list[int]]]:
    """Images of a square in one half, and their captions: "a bright square at the left"."""
    random = np.random.RandomState(seed)
    images, captions = np.zeros((count, SIZE, SIZE, 1), np.float32), []
    places = {"left": (2, 0), "right": (2, 4), "top": (0, 2), "bottom": (4, 2)}
    for image in images:
        place, bright = random.choice(sorted(places)), random.randint(2)
        row, column = places[place]
        image[row:row + 4, column:column + 4] = 1.0 if bright else 0.4
        image += 0.05 * random.normal(size=image.shape)
        text = f"<start> a {'bright' if bright else 'dark'} square at the {place} <end>"
        captions.append([WORDS.index(word) for word in text.split()])
    return images, captions


def samples(images: np.ndarray, captions: list[list[int]]) -> tuple[list[np.ndarray], np.ndarray]:
    """Every beginning of every caption, with the word that follows it."""
    places = [(number, end) for number, caption in enumerate(captions) for end in range(1, len(caption))]
    begun = tf.keras.preprocessing.sequence.pad_sequences([captions[number][:end] for number, end in places], LENGTH)
    return [images[[number for number, _ in places]], begun], np.array([captions[number][end] for number, end in places])


def build() -> tf.keras.Model:
    """A convolutional encoder beside a recurrent one."""
    image, words = tf.keras.Input((SIZE, SIZE, 1)), tf.keras.Input((LENGTH,), dtype="int32")
    seen = layers.Dense(32, activation="relu")(layers.Flatten()(layers.Conv2D(8, 3, strides=2, activation="relu")(image)))
    read = layers.LSTM(32)(layers.Embedding(len(WORDS), 16, mask_zero=True)(words))
    return tf.keras.Model([image, words], layers.Dense(len(WORDS), activation="softmax")(layers.concatenate([seen, read])))


def caption(model: tf.keras.Model, images: np.ndarray) -> list[list[int]]:
    """The captions of images, word by word."""
    texts = np.full((len(images), 1), WORDS.index("<start>"))
    for _ in range(LENGTH - 1):
        scores = model.predict([images, tf.keras.preprocessing.sequence.pad_sequences(texts, LENGTH)])
        texts = np.concatenate([texts, scores.argmax(1)[:, None]], axis=1)
    return texts.tolist()


def main(epochs: int = 6) -> float:
    """Trains; returns the share of new images whose caption is right."""
    model = build()
    model.compile(tf.keras.optimizers.Adam(5e-3), "sparse_categorical_crossentropy")
    model.fit(*samples(*squares(200)), batch_size=32, epochs=epochs, verbose=2)
    images, truth = squares(40, seed=1)
    written = caption(model, images)
    right = float(np.mean([text[:len(true)] == true for text, true in zip(written, truth)]))
    print(" ".join(WORDS[word] for word in written[0]), f"\ncaptions that are right: {right:.2f}")
    return right


if __name__ == "__main__":
    main()
