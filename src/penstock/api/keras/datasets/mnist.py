"""``tf.keras.datasets.mnist``."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {"penstock.keras.datasets.files": "load_data=load_mnist"}
publish(__name__, TABLE)
