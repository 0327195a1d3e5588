"""``tf.keras.datasets.cifar10``."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {"penstock.keras.datasets.files": "load_data=load_cifar10"}
publish(__name__, TABLE)
