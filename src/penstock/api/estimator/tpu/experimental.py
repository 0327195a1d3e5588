"""``tf.estimator.tpu.experimental``: what only TPUs can do says so."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {"penstock.api.explained": "EmbeddingConfigSpec"}
publish(__name__, TABLE)
