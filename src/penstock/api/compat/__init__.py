"""``tf.compat``: text and bytes, ``tf.compat.v1``, which is all of ``tf``, and ``tf.compat.v2``."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.platform.compat": "as_bytes as_str as_str_any as_text path_to_str bytes_or_text_types complex_types integral_types real_types "
                                "forward_compatible forward_compatibility_horizon",
    "penstock.graph.shape": "dimension_at_index dimension_value",
    "penstock.api.root:": "v1",
    "penstock.api.compat.v2:": "v2",
}
publish(__name__, TABLE)
