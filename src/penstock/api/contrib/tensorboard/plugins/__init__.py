"""``tf.contrib.tensorboard.plugins``: of them, the projector."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {}
publish(__name__, TABLE, "projector")
