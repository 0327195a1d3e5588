"""``tf.keras.regularizers``: losses that keep weights or outputs small."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {"penstock.layers.regularizers": "L1L2 Regularizer deserialize get l1 l1_l2 l2 serialize"}
publish(__name__, TABLE)
