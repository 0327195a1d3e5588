"""``tf.layers.experimental``: variables as Keras manages them."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {"penstock.layers.scoped": "keras_style_scope set_keras_style"}
publish(__name__, TABLE)
