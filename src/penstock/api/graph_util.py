"""``tf.graph_util``: operations on GraphDefs."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.graph.graph_def": "import_graph_def",
    "penstock.graph.graph_util": "convert_variables_to_constants extract_sub_graph remove_training_nodes must_run_on_cpu "
                                 "tensor_shape_from_node_def_name",
}
publish(__name__, TABLE)
