"""``tf.sparse``: operations on sparse tensors."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.graph.composite": "SparseTensor",
}
publish(__name__, TABLE)
