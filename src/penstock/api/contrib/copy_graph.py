"""``tf.contrib.copy_graph``."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {"penstock.contrib.copy_graph": "copy_op_to_graph copy_variable_to_graph get_copied_op"}
publish(__name__, TABLE)
