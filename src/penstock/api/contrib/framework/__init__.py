"""``tf.contrib.framework``: argument scopes, model variables, values from checkpoints, checks of tensors."""
from __future__ import annotations

from penstock.api._table import publish

HERE = "penstock.contrib.framework"
TABLE: dict[str, str] = {
    f"{HERE}.arg_scope": "arg_scope add_arg_scope current_arg_scope has_arg_scope arg_scoped_arguments arg_scope_func_key",
    f"{HERE}.variables": "add_model_variable assert_global_step assert_or_get_global_step create_global_step filter_variables get_global_step "
                         "get_or_create_global_step get_local_variables get_model_variables get_trainable_variables get_unique_variable "
                         "get_variables_by_name get_variables_by_suffix get_variable_full_name get_variables_to_restore get_variables "
                         "global_variable local_variable model_variable variable VariableDeviceChooser zero_initializer",
    f"{HERE}.restoring": "assign_from_checkpoint assign_from_checkpoint_fn assign_from_values assign_from_values_fn",
    f"{HERE}.checkpoint_utils": "init_from_checkpoint list_variables load_checkpoint load_variable",
    f"{HERE}.tensors": "assert_scalar_int get_graph_from_inputs get_name_scope get_placeholders is_tensor py_func reduce_sum_n "
                       "remove_squeezable_dimensions smart_case smart_constant_value with_same_shape with_shape",
    f"{HERE}.graph_rewriting": "fuse_op",
    f"{HERE}.checkpoint_initializers": "load_and_remap_matrix_initializer load_embedding_initializer load_linear_multiclass_bias_initializer "
                                       "load_variable_slot_initializer",
    f"{HERE}.orthogonal": "convolutional_delta_orthogonal convolutional_orthogonal_1d convolutional_orthogonal_2d convolutional_orthogonal_3d",
    "penstock.layers.branching": "smart_cond",
    "penstock.graph.composite": "convert_to_tensor_or_sparse_tensor",
    "penstock.graph.tensor_spec": "BoundedTensorSpec TensorSpec",
    "penstock.ops.array.sorting": "argsort sort",
    "penstock.ops.flow.checks": "assert_same_float_dtype is_non_decreasing is_numeric_tensor is_strictly_increasing",
    "penstock.ops.flow.check_shapes": "assert_scalar",
    "penstock.ops.queues.critical_section": "CriticalSection",
    "penstock.contrib.framework.record_input": "RecordInput",
    "penstock.platform.deprecation": "deprecated deprecated_args deprecated_arg_values",
    "penstock.variables.naming": "prepend_name_scope strip_name_scope",
    # Modules inside, which programs reach through: all names of them are here.
    "penstock.api.contrib.framework:": "python ops framework variables checkpoint_utils tensor_util sort_ops script_ops",
}
publish(__name__, TABLE, "nest")
