"""``tf.contrib.util``: arrays and protos of tensors, the operations that a graph uses."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.graph.static": "constant_value",
    "penstock.graph.tensor_proto": "make_tensor_proto make_ndarray",
    "penstock.api.behavior:": "loader",  # which says that libraries of C++ cannot be loaded
    "penstock.train.meta_graph": "ops_used_by_graph_def stripped_op_list_for_graph",
}
publish(__name__, TABLE)
