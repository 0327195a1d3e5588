"""``tf.keras.preprocessing.text``."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {"penstock.keras.preprocessing.text": "Tokenizer hashing_trick one_hot text_to_word_sequence"}
publish(__name__, TABLE)
