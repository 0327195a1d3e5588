"""``tf.keras.applications.imagenet_utils``."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {"penstock.keras.applications.imagenet": "decode_predictions preprocess_input"}
publish(__name__, TABLE)
