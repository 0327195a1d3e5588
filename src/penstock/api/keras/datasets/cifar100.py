"""``tf.keras.datasets.cifar100``."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {"penstock.keras.datasets.files": "load_data=load_cifar100"}
publish(__name__, TABLE)
