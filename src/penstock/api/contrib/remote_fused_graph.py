"""``tf.contrib.remote_fused_graph``: a name that says what to use instead."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.api.explained": "remote_fused_graph_execute",
}
publish(__name__, TABLE)
