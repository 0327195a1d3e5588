"""``tf.contrib.tensorboard``: configurations for plugins of TensorBoard."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {}
publish(__name__, TABLE, "plugins")
