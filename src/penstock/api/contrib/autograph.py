"""``tf.contrib.autograph``: ``tf.autograph``, before it was a part of the core."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.autograph.api": "convert converted_call do_not_convert to_code to_graph",
    "penstock.autograph.errors": "AutoGraphError",
    "penstock.autograph.features": "ConversionOptions Feature",
    "penstock.autograph.lists": "set_element_type stack",
    "penstock.autograph.loops": "set_loop_options",
}
publish(__name__, TABLE, missing="StackTraceMapper operators utils")
