"""``tf.contrib.resampler``."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {"penstock.contrib.resampler": "resampler"}
publish(__name__, TABLE)
