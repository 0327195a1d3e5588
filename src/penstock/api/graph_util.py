"""``tf.graph_util``: operations on GraphDefs."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.graph.graph_def": "import_graph_def",
}
publish(__name__, TABLE)
