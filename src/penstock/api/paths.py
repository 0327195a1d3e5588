"""Where the modules inside TensorFlow (``tensorflow.python.ops.array_ops``) find their names in Penstock.

Programs import these although they are private. A module listed in MODULES takes its names from the modules named there, in this order; NAMES
adds single names that are called otherwise here; after that, and for the modules that are listed in PLAIN only, the public namespaces are searched:
``tensorflow.python.ops.array_ops.concat`` is ``tf.concat``. In modules named ``*_ops`` the operations themselves come last, under the names of
TensorFlow's generated functions: ``tensorflow.python.ops.gen_nn_ops.max_pool_grad`` is MaxPoolGrad.
"""
from __future__ import annotations

# The namespaces that are searched for a name, in this order.
NAMESPACES = ("root nn math train image strings linalg sparse sets random initializers summary io debugging bitwise signal graph_util "
              "python_io queue manip test dtypes").split()

# Modules of TensorFlow 1.15 (and some of older versions) without a special rule. The generated ones, gen_*_ops, are a rule of their own.
PLAIN = {
    "framework": "constant_op common_shapes graph_io graph_util graph_util_impl importer meta_graph ops random_seed function framework_lib "
                 "load_library versions smart_cond op_def_registry indexed_slices sparse_tensor composite_tensor tensor_like tensor_spec type_spec",
    "ops": "array_grad array_ops bitwise_ops candidate_sampling_ops check_ops clip_ops confusion_matrix constant_op "
           "control_flow_grad control_flow_ops control_flow_util ctc_ops custom_gradient data_flow_grad data_flow_ops "
           "embedding_ops functional_ops gradient_checker gradients gradients_impl histogram_ops image_grad image_ops "
           "image_ops_impl init_ops inplace_ops io_ops linalg_grad linalg_ops linalg_ops_impl logging_ops lookup_ops manip_ops "
           "map_fn math_grad math_ops nn nn_grad nn_impl nn_ops numerics parsing_ops partitioned_variables random_grad random_ops "
           "resource_variable_ops resources rnn rnn_cell rnn_cell_impl script_ops seq2seq session_ops sets sets_impl sort_ops "
           "sparse_grad sparse_ops special_math_ops spectral_ops standard_ops state_grad state_ops stateless_random_ops string_ops "
           "summary_op_util template tensor_array_grad tensor_array_ops unconnected_gradients variable_scope variables "
           "weights_broadcast_ops",
    "training": "adadelta adagrad adagrad_da adam basic_loops basic_session_run_hooks checkpoint_management checkpoint_ops checkpoint_utils "
                "coordinator device_setter evaluation ftrl gradient_descent input learning_rate_decay learning_rate_decay_v2 momentum "
                "monitored_session moving_averages optimizer proximal_adagrad proximal_gradient_descent queue_runner queue_runner_impl rmsprop saver "
                "server_lib session_manager session_run_hook slot_creator summary_io supervisor sync_replicas_optimizer training training_ops "
                "training_util warm_starting_util",
}

MODULES = {
    "framework.dtypes": "penstock.api.dtypes penstock.graph.dtypes",
    "framework.tensor_shape": "penstock.graph.shape",
    "framework.tensor_util": "penstock.graph.static penstock.graph.tensor_proto",
    "framework.device": "penstock.graph.device",
    "framework.device_spec": "penstock.graph.device",
    "framework.errors": "penstock.errors",
    "framework.errors_impl": "penstock.errors",
    "framework.random_seed": "penstock.graph.seeds",
    "framework.importer": "penstock.graph.graph_def",
    "framework.ops": "penstock.api.root penstock.graph.scopes penstock.graph.graph penstock.graph.convert penstock.graph.composite",
    "framework.test_util": "penstock.testing.case penstock.testing.local_devices penstock.testing.graphs",
    "ops.control_flow_ops": "penstock.ops.flow.misc",
    "ops.critical_section_ops": "penstock.ops.queues.critical_section",
    "ops.data_flow_ops": "penstock.ops.queues.queue_classes penstock.ops.queues.accumulator_classes penstock.ops.queues.barrier "
                         "penstock.ops.queues.staging_classes",
    "ops.gradient_checker": "penstock.testing.gradient_checker",
    "ops.gradients": "penstock.gradients",
    "ops.gradients_impl": "penstock.gradients",
    "ops.functional_ops": "penstock.ops.flow.functional_loops",
    "ops.image_ops": "penstock.api.image",
    "ops.image_ops_impl": "penstock.api.image",
    "ops.init_ops": "penstock.variables.initializers",
    "ops.linalg_ops": "penstock.api.linalg",
    "ops.lookup_ops": "penstock.train.lookup penstock.train.index_tables",
    "ops.map_fn": "penstock.ops.flow.functional_loops",
    "ops.math_ops": "penstock.api.root penstock.api.math",
    "ops.nn": "penstock.api.nn",
    "ops.nn_impl": "penstock.api.nn",
    "ops.nn_ops": "penstock.api.nn",
    "ops.partitioned_variables": "penstock.variables.partitioned",
    "ops.resource_variable_ops": "penstock.variables.resource_variable",
    "ops.rnn": "penstock.rnn.dynamic penstock.rnn.static penstock.rnn.raw penstock.rnn.steps",
    "ops.rnn_cell": "penstock.api.contrib.rnn",
    "ops.rnn_cell_impl": "penstock.api.contrib.rnn penstock.rnn.cell",
    "ops.seq2seq": "penstock.api.contrib.legacy_seq2seq",
    "ops.sets": "penstock.api.sets",
    "ops.sparse_ops": "penstock.api.root penstock.api.sparse",
    "ops.string_ops": "penstock.api.root penstock.api.strings",
    "ops.tensor_array_ops": "penstock.ops.flow.tensor_array_class",
    "ops.variable_scope": "penstock.variables.scope penstock.variables.store",
    "ops.variables": "penstock.variables.variable penstock.variables.partitioned",
    "framework.graph_io": "penstock.train.meta_graph",
    "framework.graph_util": "penstock.graph.graph_util",
    "framework.graph_util_impl": "penstock.graph.graph_util",
    "framework.meta_graph": "penstock.train.meta_graph penstock.train.collection_protos",
    "saved_model.builder": "penstock.saved_model.builder",
    "saved_model.builder_impl": "penstock.saved_model.builder",
    "saved_model.constants": "penstock.saved_model.constants",
    "saved_model.loader": "penstock.saved_model.loader",
    "saved_model.loader_impl": "penstock.saved_model.loader",
    "saved_model.main_op": "penstock.saved_model.main_op",
    "saved_model.main_op_impl": "penstock.saved_model.main_op",
    "saved_model.saved_model": "penstock.api.saved_model",
    "saved_model.signature_constants": "penstock.saved_model.signature_constants",
    "saved_model.signature_def_utils": "penstock.saved_model.signatures",
    "saved_model.signature_def_utils_impl": "penstock.saved_model.signatures",
    "saved_model.simple_save": "penstock.saved_model.builder",
    "saved_model.tag_constants": "penstock.saved_model.tag_constants",
    "saved_model.utils": "penstock.saved_model.signatures",
    "saved_model.utils_impl": "penstock.saved_model.signatures",
    "training.basic_session_run_hooks": "penstock.train.basic_hooks penstock.train.file_hooks penstock.train.hook_timers",
    "training.monitored_session": "penstock.train.monitored_session penstock.train.monitored_training penstock.train.scaffold",
    "training.session_manager": "penstock.train.session_manager",
    "training.session_run_hook": "penstock.train.session_run_hook",
    "training.supervisor": "penstock.train.supervisor penstock.train.supervisor_threads",
    "training.sync_replicas_optimizer": "penstock.train.sync_replicas penstock.train.sync_replicas_hook",
    "training.training_util": "penstock.train.global_step penstock.train.meta_graph",
    "training.checkpoint_management": "penstock.checkpoint.checkpoint_state penstock.checkpoint.new_checkpoints",
    "training.checkpoint_state_pb2": "penstock.checkpoint.protos",
    "training.checkpoint_utils": "penstock.checkpoint.contents penstock.train.restore_init",
    "training.saver": "penstock.train.saver penstock.train.saver_builder penstock.train.saveable penstock.checkpoint.checkpoint_state",
    "training.warm_starting_util": "penstock.train.warm_start",
    "training.saving.saveable_object": "penstock.train.saveable",
    "training.saving.saveable_object_util": "penstock.train.saveable",
    "training.coordinator": "penstock.train.coordinator",
    "training.input": "penstock.train.input penstock.train.batching",
    "training.learning_rate_decay": "penstock.train.decay",
    "training.moving_averages": "penstock.train.moving_averages",
    "training.optimizer": "penstock.train.optimizer",
    "training.queue_runner": "penstock.train.queue_runner",
    "training.queue_runner_impl": "penstock.train.queue_runner",
    "training.slot_creator": "penstock.train.slots",
    "data.ops.dataset_ops": "penstock.api.data penstock.data.dataset",
    "data.ops.iterator_ops": "penstock.data.iterator penstock.data.dataset",
    "data.ops.readers": "penstock.data.file_datasets",
    "data.util.nest": "penstock.data.element_nest",
    "data.util.structure": "penstock.data.structure",
    "data.experimental.ops.batching": "penstock.data.transformations",
    "data.experimental.ops.grouping": "penstock.data.grouping",
    "data.experimental.ops.interleave_ops": "penstock.data.interleave",
    "data.experimental.ops.shuffle_ops": "penstock.data.transformations",
    "data.experimental.ops.threadpool": "penstock.data.transformations",
    "platform.app": "penstock.api.app",
    "platform.flags": "penstock.api.flags",
    "platform.gfile": "penstock.api.gfile",
    "platform.googletest": "penstock.api.test",
    "platform.resource_loader": "penstock.api.resource_loader",
    "platform.sysconfig": "penstock.api.sysconfig",
    "platform.test": "penstock.api.test",
    "platform.tf_logging": "penstock.platform.logging",
    "util.all_util": "penstock.platform.decorators",
    "util.compat": "penstock.platform.compat",
    "util.deprecation": "penstock.platform.deprecation",
    "util.function_utils": "penstock.platform.inspection",
    "util.nest": "penstock.graph.nest",
    "util.tf_contextlib": "contextlib",
    "util.tf_decorator": "penstock.platform.decorators",
    "util.tf_export": "penstock.platform.decorators",
    "util.tf_inspect": "penstock.platform.inspection inspect",
    "util.tf_should_use": "penstock.platform.decorators",
    "ops.losses.losses": "penstock.api.losses",
    "ops.losses.losses_impl": "penstock.layers.losses",
    "ops.losses.util": "penstock.layers.losses",
    "ops.metrics": "penstock.api.metrics",
    "ops.metrics_impl": "penstock.api.metrics penstock.layers.metrics.streaming",
    "ops.weights_broadcast_ops": "penstock.layers.weighting",
    "layers.base": "penstock.layers.scoped penstock.api.layers",
    "layers.core": "penstock.layers.scoped_layers",
    "layers.convolutional": "penstock.layers.scoped_layers",
    "layers.layers": "penstock.api.layers",
    "layers.normalization": "penstock.layers.scoped_layers",
    "layers.pooling": "penstock.layers.scoped_layers",
    "keras.activations": "penstock.layers.activations",
    "keras.constraints": "penstock.layers.constraints",
    "keras.initializers": "penstock.api.keras.initializers penstock.layers.initializers",
    "keras.regularizers": "penstock.layers.regularizers",
    "client.client_lib": "penstock.api.root",
    "client.session": "penstock.session.session",
    "client.timeline": "penstock.debug.timeline",
    "debug": "penstock.debug.dump",
    "debug.lib.debug_data": "penstock.debug.dump",
    "debug.wrappers.dumping_wrapper": "penstock.debug.dump",
    "client.device_lib": "penstock.testing.local_devices",
    "lib.io.file_io": "penstock.platform.gfile",
    "lib.io.python_io": "penstock.api.python_io",
    "lib.io.tf_record": "penstock.api.python_io",
    "summary.summary": "penstock.api.summary",
    "summary.summary_iterator": "penstock.api.train",
    "summary.writer.writer": "penstock.api.summary",
    "eager.context": "penstock.imperative.context",
    "tf2": "",
    "pywrap_tensorflow": "penstock.api.train",
}

# Single names: "module:name", as in the tables of the namespaces.
NAMES = {
    "framework.ops": {
        "internal_convert_to_tensor": "penstock.graph.convert:convert_to_tensor",
        "NullContextmanager": "contextlib:nullcontext",
        "_get_graph_from_inputs": "penstock.graph.convert:graph_for",
        "get_gradient_function": "penstock.gradients:get_gradient_function",
        "strip_name_scope": "penstock.variables.naming:strip_name_scope",
        "register_proto_function": "penstock.train.collection_protos:register_proto_function",
        "get_collection_proto_type": "penstock.train.collection_protos:get_collection_proto_type",
        "get_to_proto_function": "penstock.train.collection_protos:get_to_proto_function",
        "get_from_proto_function": "penstock.train.collection_protos:get_from_proto_function",
        "RegisterShape": "penstock.api.inside:RegisterShape",
        "is_dense_tensor_like": "penstock.api.inside:is_dense_tensor_like",
        "uid": "penstock.api.inside:uid",
    },
    "framework.op_def_registry": {"get_registered_ops": "penstock.api.inside:get_registered_ops"},
    "framework.test_util": {"TensorFlowTestCase": "penstock.testing.case:TestCase"},
    "framework.common_shapes": {"unknown_shape": "penstock.graph.shape:unknown_shape"},
    "ops.rnn": {"_transpose_batch_time": "penstock.rnn.steps:transpose_batch_time", "rnn_cell_impl": "penstock.rnn.cell:",
                "_best_effort_input_batch_size": "penstock.rnn.steps:best_effort_input_batch_size"},
    "ops.rnn_cell_impl": {"_concat": "penstock.rnn.cell:concat_sizes", "_zero_state_tensors": "penstock.rnn.cell:zero_state_tensors"},
    "ops.variable_scope": {"_get_default_variable_store": "penstock.variables.store:variable_store"},
    "layers.core": {"fully_connected": "penstock.layers.scoped_layers:dense", "FullyConnected": "penstock.layers.scoped_layers:Dense"},
    "layers.normalization": {"batch_norm": "penstock.layers.scoped_layers:batch_normalization",
                             "BatchNorm": "penstock.layers.scoped_layers:BatchNormalization"},
    "platform.googletest": {"GetTempDir": "penstock.testing.case:get_temp_dir"},
    "tf2": {"enabled": "penstock.imperative.context:executing_eagerly"},
}

# Modules inside TensorFlow that have the name of a function beside them: "module:function".
FUNCTIONS = {"contrib.framework.python.ops.arg_scope": "penstock.contrib.framework.arg_scope:arg_scope"}

# Prefixes below tensorflow.python whose modules belong to parts of the API that Penstock does not have: {prefix: the public name of the part}.
PARTS = {"keras": "keras", "layers": "layers", "estimator": "estimator", "feature_column": "feature_column", "data": "data",
         "distribute": "distribute", "autograph": "autograph",
         "tools": "python.tools", "ops.losses": "losses", "ops.metrics": "metrics",
         "ops.distributions": "distributions", "ops.ragged": "ragged", "tpu": "tpu", "lite": "lite"}

# Protocol buffers that lie in another module here: {name of TensorFlow's module: module}.
PROTOS = {"checkpoint_state_pb2": "penstock.checkpoint.protos", "saved_model_pb2": "penstock.checkpoint.protos",
          "tensor_bundle_pb2": "penstock.checkpoint.protos", "saved_tensor_slice_pb2": "penstock.checkpoint.protos",
          "example_pb2": "penstock.graph.example_proto", "feature_pb2": "penstock.graph.example_proto"}
