"""``tf.contrib.eager``: imperative style, by its older names."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.imperative.context": "enable_eager_execution executing_eagerly SYNC ASYNC DEVICE_PLACEMENT_EXPLICIT DEVICE_PLACEMENT_WARN "
    "DEVICE_PLACEMENT_SILENT",
    "penstock.imperative.tape": "GradientTape",
    "penstock.imperative.function": "defun function",
    "penstock.imperative.py_function": "py_func=py_function",
    "penstock.contrib.eager.derivatives": "gradients_function value_and_gradients_function implicit_gradients implicit_value_and_gradients",
    "penstock.contrib.eager.modes": "Iterator=Iterator_ list_devices num_gpus in_eager_mode set_execution_mode execution_mode async_wait "
    "async_clear_error get_optimizer_variables run_test_in_graph_and_eager_modes run_all_tests_in_graph_and_eager_modes",
    "penstock.contrib.eager.callbacks": "ExecutionCallback add_execution_callback clear_execution_callbacks errstate inf_callback inf_nan_callback "
    "nan_callback seterr",
    "penstock.contrib.eager.saver": "Saver restore_variables_on_create",
    "penstock.contrib.eager.network": "Network Sequential save_network_checkpoint restore_network_checkpoint",
    "penstock.contrib.eager.remote": "connect_to_remote_host enable_remote_eager_execution set_server_def",
    "penstock.variables.store": "EagerVariableStore",
    "penstock.platform.app": "run",
    "penstock.contrib.eager.metrics:": "metrics",
    "penstock.custom_gradient": "custom_gradient",
    "penstock.keras.saving.checkpoint": "Checkpoint",
    "penstock.keras.saving.trackable": "Checkpointable",
    "penstock.graph.tensor_spec": "TensorSpec",
    "penstock.variables.resource_variable": "Variable=ResourceVariable",
    "penstock.contrib.eager.template": "make_template",
}
publish(__name__, TABLE)
