"""``tf.lite.experimental``: its names say what to use instead."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.api.explained": "convert_op_hints_to_stubs get_potentially_supported_ops load_delegate",
}
publish(__name__, TABLE, missing="nn")
