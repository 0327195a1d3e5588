"""``tf.lookup.experimental``: tables whose interface may change."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {"penstock.train.lookup": "DenseHashTable=MutableDenseHashTable"}
publish(__name__, TABLE)
