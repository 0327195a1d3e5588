"""``tf.keras.datasets.boston_housing``."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {"penstock.keras.datasets.files": "load_data=load_boston_housing"}
publish(__name__, TABLE)
