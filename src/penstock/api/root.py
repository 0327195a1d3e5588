"""``tf.*``: the names directly under ``tensorflow``."""
from __future__ import annotations

from penstock.api._table import publish
from penstock.api.version import COMPILER_VERSION, GIT_VERSION, VERSION

__version__ = VERSION
__git_version__ = GIT_VERSION
__compiler_version__ = COMPILER_VERSION
newaxis = None

TABLE = {
    "penstock.api.version": "VERSION GIT_VERSION COMPILER_VERSION GRAPH_DEF_VERSION GRAPH_DEF_VERSION_MIN_CONSUMER "
                            "GRAPH_DEF_VERSION_MIN_PRODUCER CXX11_ABI_FLAG MONOLITHIC_BUILD",
    "penstock.api.root": "newaxis",
    "penstock.errors": "OpError",
    "penstock.platform.logging": "get_logger",
    # graph construction
    "penstock.graph.dtypes": "float16 half float32 float64 double bfloat16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool=bool_ "
                             "complex64 complex128 string qint8 quint8 qint16 quint16 qint32 resource variant DType as_dtype QUANTIZED_DTYPES",
    "penstock.graph.shape": "TensorShape Dimension dimension_value dimension_at_index",
    "penstock.graph.device": "DeviceSpec",
    "penstock.graph.node": "Operation Tensor",
    "penstock.graph.graph": "Graph reset_default_graph",
    "penstock.graph.scopes": "name_scope op_scope device control_dependencies colocate_with container add_to_collection add_to_collections "
                             "get_collection get_collection_ref get_default_graph",
    "penstock.graph.composite": "SparseTensor SparseTensorValue IndexedSlices convert_to_tensor_or_sparse_tensor convert_to_tensor_or_indexed_slices",
    "penstock.graph.convert": "convert_to_tensor register_tensor_conversion_function",
    "penstock.graph.tensor_proto": "make_tensor_proto make_ndarray",
    "penstock.graph.static": "get_static_value=constant_value",
    "penstock.graph.stacks": "get_default_session=default_session",
    "penstock.graph.keys": "GraphKeys",
    "penstock.graph.graph_def": "import_graph_def",
    "penstock.gradients": "gradients RegisterGradient NotDifferentiable NoGradient no_gradient=NotDifferentiable AggregationMethod",
    "penstock.custom_gradient": "custom_gradient hessians",
    "penstock.runtime.session": "Session InteractiveSession",
    # protocol buffers
    "tensorboard.compat.proto.graph_pb2": "GraphDef",
    "tensorboard.compat.proto.node_def_pb2": "NodeDef",
    "tensorboard.compat.proto.attr_value_pb2": "AttrValue NameAttrList",
    "tensorboard.compat.proto.config_pb2": "ConfigProto GPUOptions GraphOptions OptimizerOptions RunMetadata RunOptions",
    "tensorboard.compat.proto.meta_graph_pb2": "MetaGraphDef TensorInfo",
    "tensorboard.compat.proto.event_pb2": "Event LogMessage SessionLog",
    "tensorboard.compat.proto.summary_pb2": "Summary SummaryMetadata",
    "tensorboard.compat.proto.histogram_pb2": "HistogramProto",
    # operations
    "penstock.ops.constant": "constant placeholder placeholder_with_default identity",
    "penstock.graph.seeds": "get_seed set_random_seed",
    "penstock.ops.random": "random_uniform random_normal truncated_normal random_shuffle multinomial random_poisson",
    "penstock.ops.random_gamma": "random_gamma",
    "penstock.ops.random_extra": "random_crop",
    "penstock.ops.misc": "no_op group tuple=tuple_ Assert timestamp",
    "penstock.ops.printing": "Print print=print_v2",
    "penstock.ops.checks": "assert_equal assert_none_equal assert_less assert_less_equal assert_greater assert_greater_equal assert_positive "
                           "assert_negative assert_non_negative assert_non_positive assert_near is_non_decreasing is_strictly_increasing "
                           "assert_type assert_integer is_numeric_tensor assert_same_float_dtype assert_proper_iterable",
    "penstock.ops.check_shapes": "assert_rank assert_rank_at_least assert_rank_in assert_scalar verify_tensor_all_finite add_check_numerics_ops",
    # state
    # helpers of the 1.x line that choose behaviour
    "penstock.api.behavior": "executing_eagerly enable_eager_execution disable_eager_execution enable_v2_behavior disable_v2_behavior "
                             "enable_control_flow_v2 disable_control_flow_v2 control_flow_v2_enabled enable_v2_tensorshape "
                             "disable_v2_tensorshape enable_tensor_equality disable_tensor_equality load_op_library load_library "
                             "load_file_system_library",
}
SUBMODULES = (
    "app bitwise compat debugging dtypes errors flags gfile graph_util image initializers io linalg logging manip math nest nn python_io "
    "queue random raw_ops resource_loader sets signal sparse spectral strings summary sysconfig test train user_ops version"
)
# Built later: a new namespace module moves its name from here to SUBMODULES.
MISSING = (
    "audio autograph config contrib data distribute distributions estimator experimental feature_column keras layers lite lookup losses "
    "metrics profiler quantization ragged saved_model tpu xla"
)
publish(__name__, TABLE, SUBMODULES, MISSING)
