"""An LSTM reads sentences of different lengths and says whether they are favourable. Padding is masked.

    python examples/keras/lstm_text.py
"""
from __future__ import annotations

from texts import reviews

import penstock as tf

layers = tf.keras.layers
LENGTH = 12


def main(epochs: int = 6) -> float:
    """Trains; returns the accuracy on sentences that were held out."""
    sentences, labels = reviews(600)
    tokenizer = tf.keras.preprocessing.text.Tokenizer(num_words=50)
    tokenizer.fit_on_texts(sentences)
    words = tf.keras.preprocessing.sequence.pad_sequences(tokenizer.texts_to_sequences(sentences), maxlen=LENGTH)
    model = tf.keras.Sequential([
        layers.Embedding(50, 16, mask_zero=True, input_length=LENGTH),
        layers.LSTM(16),
        layers.Dense(1, activation="sigmoid"),
    ])
    model.compile(tf.keras.optimizers.Adam(0.01), "binary_crossentropy", metrics=["accuracy"])
    model.fit(words[:500], labels[:500], batch_size=25, epochs=epochs, verbose=2)
    _, accuracy = model.evaluate(words[500:], labels[500:], verbose=0)
    print(f"accuracy on new sentences: {accuracy:.3f}")
    return accuracy


if __name__ == "__main__":
    main()
