"""``tf.contrib.input_pipeline``: lists of texts that tasks go through together."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {"penstock.contrib.learn.io.graph_io": "obtain_next"}
publish(__name__, TABLE)
