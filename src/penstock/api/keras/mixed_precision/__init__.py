"""``tf.keras.mixed_precision``."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {}
publish(__name__, TABLE, "experimental")
