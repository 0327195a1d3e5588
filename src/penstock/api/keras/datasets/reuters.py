"""``tf.keras.datasets.reuters``."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {"penstock.keras.datasets.files": "load_data=load_reuters get_word_index=reuters_word_index"}
publish(__name__, TABLE)
