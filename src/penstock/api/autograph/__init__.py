"""``tf.autograph``: Python control flow as graph control flow."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.autograph.api": "set_verbosity to_code to_graph trace",
}
publish(__name__, TABLE, submodules="experimental")
