"""``tf.nest``: structures of tensors."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.graph.nest": "assert_same_structure flatten is_nested map_structure pack_sequence_as",
}
publish(__name__, TABLE)
