"""``tf.contrib.graph_editor``: operations and tensors that are chosen, inputs that are moved, parts that are copied."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.contrib.graph_editor.elements": "ControlOutputs get_consuming_ops get_generating_ops get_tensors make_list_of_op make_list_of_t "
                                              "make_placeholder_from_dtype_and_shape make_placeholder_from_tensor placeholder_name "
                                              "ph=make_placeholder_from_dtype_and_shape",
    "penstock.contrib.graph_editor.select": "can_be_regex check_cios compute_boundary_ts filter_ops filter_ops_from_regex filter_ts "
                                            "filter_ts_from_regex get_backward_walk_ops get_forward_walk_ops get_name_scope_ops get_ops_ios "
                                            "get_walks_intersection_ops get_walks_union_ops get_within_boundary_ops make_regex select_ops "
                                            "select_ops_and_ts select_ts",
    "penstock.contrib.graph_editor.reroute": "add_control_inputs remove_control_inputs reroute_ts swap_ts",
    "penstock.contrib.graph_editor.views": "SubGraphView make_view make_view_from_scope sgv=make_view sgv_scope=make_view_from_scope",
    "penstock.contrib.graph_editor.transform": "Transformer TransformerInfo assign_renamed_collections_handler copy copy_op_handler "
                                               "copy_with_input_replacements graph_replace keep_t_if_possible_handler "
                                               "replace_t_with_placeholder_handler transform_op_if_inside_handler",
    "penstock.contrib.graph_editor.edit": "bypass connect detach detach_control_inputs detach_control_outputs detach_inputs detach_outputs "
                                          "reroute_inputs reroute_ios reroute_outputs swap_inputs swap_ios swap_outputs",
    # Modules inside, which programs reach through: all names of them are here.
    "penstock.api.contrib.graph_editor:": "edit util reroute subgraph transform",
    "penstock.contrib.graph_editor.select:": "select",
}
publish(__name__, TABLE)
