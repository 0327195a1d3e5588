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
    "penstock.errors:": "errors",
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
    "penstock.graph.tensor_spec": "TensorSpec",
    "penstock.graph.type_spec": "TypeSpec SparseTensorSpec IndexedSlicesSpec",
    "penstock.ragged.spec": "RaggedTensorSpec",
    "penstock.contrib.framework.tensors": "is_tensor",
    "penstock.graph.tensor_proto": "make_tensor_proto make_ndarray",
    "penstock.graph.static": "get_static_value=constant_value",
    "penstock.graph.stacks": "get_default_session=default_session",
    "penstock.graph.keys": "GraphKeys",
    "penstock.graph.graph_def": "import_graph_def",
    "penstock.gradients": "gradients RegisterGradient NotDifferentiable NoGradient no_gradient=NotDifferentiable AggregationMethod "
                          "UnconnectedGradients",
    "penstock.custom_gradient": "custom_gradient grad_pass_through hessians recompute_grad",
    "penstock.session.session": "Session InteractiveSession",
    "penstock.session.handles": "get_session_handle get_session_tensor delete_session_tensor",
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
    "penstock.ops.math.elementwise": "add subtract sub=subtract multiply mul=multiply div_no_nan realdiv maximum minimum "
                                "squared_difference negative neg=negative sign square abs",
    "penstock.ops.math.add_n": "add_n accumulate_n",
    "penstock.ops.math.division": "div divide truediv floordiv floor_div floormod mod truncatediv truncatemod",
    "penstock.ops.math.powers": "pow sqrt rsqrt reciprocal inv exp expm1 log log1p",
    "penstock.ops.math.trigonometry": "sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh sigmoid",
    "penstock.ops.math.rounding": "floor ceil rint round",
    "penstock.ops.math.special": "erf erfc lgamma digamma polygamma zeta igamma igammac betainc",
    "penstock.ops.array.cast": "cast to_float to_double to_int32 to_int64 to_bfloat16 to_complex64 to_complex128 bitcast",
    "penstock.ops.math.complex": "complex real imag conj angle complex_abs",
    "penstock.ops.signal.transforms": "fft ifft fft2d ifft2d fft3d ifft3d batch_fft=fft batch_ifft=ifft batch_fft2d=fft2d batch_ifft2d=ifft2d "
                                        "batch_fft3d=fft3d batch_ifft3d=ifft3d",
    "penstock.ops.math.compare": "equal not_equal less less_equal greater greater_equal logical_and logical_or "
                            "logical_not logical_xor is_nan is_inf is_finite",
    "penstock.ops.math.reduce": "reduce_sum reduce_mean reduce_prod reduce_max reduce_min reduce_all reduce_any",
    "penstock.ops.math.statistics": "reduce_logsumexp count_nonzero",
    "penstock.ops.math.argmax": "argmax argmin arg_max arg_min",
    "penstock.ops.math.cumulative": "cumsum cumprod",
    "penstock.ops.array.sequences": "range linspace lin_space",
    "penstock.ops.math.segment": "segment_sum segment_mean segment_prod segment_max segment_min unsorted_segment_sum "
                            "unsorted_segment_prod unsorted_segment_max unsorted_segment_min",
    "penstock.ops.math.segment_sparse": "sparse_segment_sum sparse_segment_mean sparse_segment_sqrt_n "
                                   "unsorted_segment_mean unsorted_segment_sqrt_n",
    "penstock.ops.math.clip": "saturate_cast clip_by_value clip_by_norm clip_by_average_norm clip_by_global_norm global_norm",
    "penstock.ops.math.counting": "bincount histogram_fixed_width histogram_fixed_width_bins",
    "penstock.ops.nn.confusion_matrix": "confusion_matrix",
    "penstock.ops.math.math": "scalar_mul log_sigmoid lbeta",
    # linear algebra, sparse tensors
    "penstock.ops.linalg.matmul": "matmul sparse_matmul batch_matmul",
    "penstock.ops.linalg.einsum": "einsum tensordot",
    "penstock.ops.linalg.diag": "diag diag_part matrix_diag batch_matrix_diag=matrix_diag matrix_diag_part batch_matrix_diag_part=matrix_diag_part "
                         "matrix_set_diag batch_matrix_set_diag=matrix_set_diag matrix_band_part batch_matrix_band_part=matrix_band_part trace eye",
    "penstock.ops.linalg.linalg": "matrix_inverse batch_matrix_inverse=matrix_inverse matrix_determinant batch_matrix_determinant=matrix_determinant "
                           "log_matrix_determinant cholesky batch_cholesky=cholesky cholesky_solve batch_cholesky_solve=cholesky_solve matrix_solve "
                           "batch_matrix_solve=matrix_solve matrix_triangular_solve batch_matrix_triangular_solve=matrix_triangular_solve",
    "penstock.ops.linalg.least_squares": "matrix_solve_ls batch_matrix_solve_ls=matrix_solve_ls",
    "penstock.ops.linalg.decompositions": "qr svd batch_svd=svd self_adjoint_eig batch_self_adjoint_eig=self_adjoint_eig self_adjoint_eigvals "
                                   "batch_self_adjoint_eigvals=self_adjoint_eigvals",
    "penstock.ops.linalg.matrix_functions": "norm cross matrix_square_root",
    "penstock.ops.sparse.sparse_serialize": "serialize_sparse serialize_many_sparse deserialize_many_sparse",
    "penstock.ops.sparse.sparse_functions": "sparse_placeholder sparse_to_dense sparse_tensor_to_dense sparse_to_indicator "
                                            "sparse_reorder sparse_reshape "
                                     "sparse_concat sparse_split sparse_slice sparse_fill_empty_rows sparse_retain sparse_merge "
                                     "sparse_transpose sparse_mask sparse_tensor_dense_matmul sparse_add sparse_reduce_sum sparse_reduce_max "
                                     "sparse_reduce_sum_sparse sparse_reduce_max_sparse sparse_softmax sparse_maximum sparse_minimum",
    "penstock.ops.flow.sparse_shapes": "sparse_reset_shape",
    "penstock.graph.seeds": "get_seed set_random_seed",
    "penstock.ops.random.random": "random_uniform random_normal truncated_normal random_shuffle multinomial random_poisson",
    "penstock.ops.random.random_gamma": "random_gamma",
    "penstock.ops.random.random_extra": "random_crop",
    "penstock.ops.flow.misc": "no_op group tuple=tuple_ Assert timestamp",
    "penstock.ops.flow.py_func": "py_func numpy_function",
    "penstock.ops.custom": "op",
    "penstock.export.model": "export",
    "penstock.ops.flow.tensor_array_class": "TensorArray",
    "penstock.ops.flow.functional_loops": "map_fn foldl foldr scan",
    "penstock.ops.data.vectorized_map": "vectorized_map",
    "penstock.ops.queues.queue_classes": "FIFOQueue PaddingFIFOQueue PriorityQueue QueueBase RandomShuffleQueue",
    "penstock.train.lookup": "tables_initializer initialize_all_tables",
    "penstock.ops.queues.accumulator_classes": "ConditionalAccumulator ConditionalAccumulatorBase SparseConditionalAccumulator",
    "penstock.ops.queues.critical_section": "CriticalSection",
    "penstock.ops.queues.reader_classes": "FixedLengthRecordReader IdentityReader LMDBReader ReaderBase TFRecordReader TextLineReader "
                                           "WholeFileReader",
    "penstock.ops.text.parsing": "FixedLenFeature VarLenFeature SparseFeature FixedLenSequenceFeature parse_example parse_single_example "
                            "parse_single_sequence_example",
    "penstock.ops.text.decoding": "decode_raw decode_csv decode_json_example serialize_tensor parse_tensor",
    "penstock.ops.text.containers": "decode_compressed fingerprint",
    "penstock.ops.text.files": "read_file write_file matching_files",
    "penstock.ops.text.strings": "string_join string_to_number string_to_hash_bucket string_to_hash_bucket_fast "
                                 "string_to_hash_bucket_strong as_string "
                            "substr reduce_join string_strip encode_base64 decode_base64",
    "penstock.ops.text.string_functions": "regex_replace",
    "penstock.ragged.strings": "string_split",
    "penstock.ragged.tensor": "RaggedTensor",
    "penstock.layers.module": "Module",
    "penstock.ops.flow.printing": "Print print=print_v2",
    "penstock.ops.flow.checks": "assert_equal assert_none_equal assert_less assert_less_equal assert_greater assert_greater_equal assert_positive "
                           "assert_negative assert_non_negative assert_non_positive assert_near is_non_decreasing is_strictly_increasing "
                           "assert_type assert_integer is_numeric_tensor assert_same_float_dtype assert_proper_iterable",
    "penstock.ops.flow.check_shapes": "assert_rank assert_rank_at_least assert_rank_in assert_scalar verify_tensor_all_finite add_check_numerics_ops",
    "penstock.ops.array.shape_ops": "shape shape_n size rank reshape squeeze expand_dims broadcast_dynamic_shape broadcast_static_shape",
    "penstock.ops.array.fill": "fill zeros ones zeros_like ones_like one_hot",
    "penstock.ops.array.pack": "concat concat_v2=concat stack pack=stack unstack unpack=unstack split parallel_stack",
    "penstock.ops.array.pad": "pad",
    "penstock.ops.array.permute": "transpose matrix_transpose batch_matrix_transpose=matrix_transpose invert_permutation reverse reverse_v2=reverse "
                            "reverse_sequence roll tile broadcast_to",
    "penstock.ops.array.slicing": "slice=slice_ strided_slice",
    "penstock.ops.array.gather": "gather gather_v2=gather gather_nd batch_gather boolean_mask unravel_index",
    "penstock.ops.array.scatter_nd": "scatter_nd tensor_scatter_update tensor_scatter_add tensor_scatter_sub "
                               "tensor_scatter_nd_update=tensor_scatter_update tensor_scatter_nd_add=tensor_scatter_add "
                               "tensor_scatter_nd_sub=tensor_scatter_sub",
    "penstock.ops.array.select": "where where_v2 select=where",
    "penstock.ops.array.passing": "stop_gradient check_numerics ensure_shape identity_n guarantee_const",
    "penstock.ops.array.array": "meshgrid sequence_mask repeat",
    "penstock.ops.array.unique": "unique unique_with_counts setdiff1d listdiff list_diff=setdiff1d edit_distance",
    "penstock.ops.array.sorting": "sort argsort searchsorted",
    "penstock.ops.array.partition": "dynamic_partition dynamic_stitch",
    "penstock.ops.array.space": "space_to_depth depth_to_space space_to_batch space_to_batch_nd batch_to_space batch_to_space_nd "
                          "required_space_to_batch_paddings",
    "penstock.ops.nn.patches": "extract_image_patches extract_volume_patches",
    "penstock.ops.array.quantize": "fake_quant_with_min_max_args fake_quant_with_min_max_args_gradient fake_quant_with_min_max_vars "
                             "fake_quant_with_min_max_vars_gradient fake_quant_with_min_max_vars_per_channel "
                             "fake_quant_with_min_max_vars_per_channel_gradient",
    "penstock.ops.nn.quantized": "quantize quantize_v2 dequantize",
    "penstock.ops.nn.quantized_layers": "quantized_concat",
    "penstock.ops.flow.control_flow": "cond case switch_case while_loop",
    "penstock.graph.function": "init_scope",
    "penstock.summary.summary": "scalar_summary histogram_summary image_summary audio_summary merge_summary=merge merge_all_summaries=merge_all",
    # state
    "penstock.variables.variable": "Variable",
    "penstock.variables.modes": "VariableSynchronization VariableAggregation",
    "penstock.variables.creators": "variable_creator_scope",
    "penstock.variables.scope": "VariableScope variable_scope variable_op_scope get_variable get_local_variable get_variable_scope "
                                "no_regularizer enable_resource_variables disable_resource_variables resource_variables_enabled",
    "penstock.variables.store": "AUTO_REUSE",
    "penstock.variables.template": "make_template",
    "penstock.variables.partitioned": "fixed_size_partitioner variable_axis_size_partitioner min_max_variable_partitioner",
    "penstock.variables.partition_list": "create_partitioned_variables",
    "penstock.variables.assign": "assign assign_add assign_sub count_up_to scatter_update scatter_add scatter_sub scatter_mul scatter_div "
                                 "scatter_min scatter_max scatter_nd_update scatter_nd_add scatter_nd_sub batch_scatter_update "
                                 "is_variable_initialized",
    "penstock.variables.initialization": "global_variables local_variables model_variables trainable_variables moving_average_variables "
                                         "all_variables variables_initializer initialize_variables global_variables_initializer "
                                         "initialize_all_variables local_variables_initializer initialize_local_variables "
                                         "report_uninitialized_variables assert_variables_initialized",
    "penstock.variables.initializers": "zeros_initializer=Zeros ones_initializer=Ones constant_initializer=Constant "
                                       "random_uniform_initializer=RandomUniform random_normal_initializer=RandomNormal "
                                       "truncated_normal_initializer=TruncatedNormal uniform_unit_scaling_initializer=UniformUnitScaling "
                                       "variance_scaling_initializer=VarianceScaling orthogonal_initializer=Orthogonal "
                                       "glorot_uniform_initializer=GlorotUniform glorot_normal_initializer=GlorotNormal",
    # helpers of the 1.x line that choose behaviour
    "penstock.imperative.context": "executing_eagerly enable_eager_execution disable_eager_execution",
    "penstock.imperative.tape": "GradientTape",
    "penstock.imperative.function": "function",
    "penstock.imperative.wrap_function": "wrap_function",
    "penstock.imperative.py_function": "py_function",
    "penstock.api.behavior": "enable_v2_behavior disable_v2_behavior "
                             "enable_control_flow_v2 disable_control_flow_v2 control_flow_v2_enabled enable_v2_tensorshape "
                             "disable_v2_tensorshape enable_tensor_equality disable_tensor_equality load_op_library load_library "
                             "load_file_system_library",
}
SUBMODULES = (
    "app audio autograph bitwise compat config contrib data debugging distribute distributions dtypes estimator examples feature_column flags gfile "
    "graph_util image initializers "
    "io keras layers linalg lite logging lookup losses manip math metrics nest nn profiler python_io pywrap_tensorflow quantization queue "
    "ragged random raw_ops resource_loader saved_model sets signal sparse spectral strings summary sysconfig test tpu train "
    "user_ops version xla"
)
# Built later: a new namespace module moves its name from here to SUBMODULES.
MISSING = (
    "experimental"
)
OLDER = {
    "sub": "subtract", "mul": "multiply", "neg": "negative", "inv": "reciprocal", "pack": "stack", "unpack": "unstack", "select": "where",
    "concat_v2": "concat", "listdiff": "setdiff1d", "list_diff": "setdiff1d", "complex_abs": "abs", "batch_matmul": "matmul",
    "op_scope": "name_scope", "variable_op_scope": "variable_scope", "all_variables": "global_variables",
    "initialize_all_variables": "global_variables_initializer",
    "initialize_variables": "variables_initializer", "initialize_local_variables": "local_variables_initializer",
    "initialize_all_tables": "tables_initializer", "scalar_summary": "summary.scalar", "histogram_summary": "summary.histogram",
    "image_summary": "summary.image", "audio_summary": "summary.audio", "merge_summary": "summary.merge", "merge_all_summaries": "summary.merge_all",
    **{f"batch_{name}": name for name in ("cholesky", "cholesky_solve", "matrix_band_part", "matrix_determinant", "matrix_diag", "matrix_diag_part",
                                          "matrix_inverse", "matrix_set_diag", "matrix_solve", "matrix_solve_ls", "matrix_transpose",
                                          "matrix_triangular_solve", "self_adjoint_eig", "self_adjoint_eigvals", "svd",
                                          "fft", "ifft", "fft2d", "ifft2d", "fft3d", "ifft3d")},
}
publish(__name__, TABLE, SUBMODULES, MISSING, OLDER)
