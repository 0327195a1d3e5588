"""``tf.contrib.staging``: elements that wait between two steps."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {"penstock.ops.queues.staging_classes": "StagingArea"}
publish(__name__, TABLE)
