"""``tf.contrib.rpc``: names that say what to use instead."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.api.explained": "rpc try_rpc",
}
publish(__name__, TABLE)
