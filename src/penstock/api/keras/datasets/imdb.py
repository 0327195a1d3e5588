"""``tf.keras.datasets.imdb``."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {"penstock.keras.datasets.files": "load_data=load_imdb get_word_index=imdb_word_index"}
publish(__name__, TABLE)
