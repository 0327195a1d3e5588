"""The names of ``tf.compat.v2`` that mean what they mean in ``tf``, as TensorFlow 1.15 has them: {namespace: names, or ``name=path in tf``}."""
from __future__ import annotations

NAMES: dict[str, str] = {
    "": ("AggregationMethod Assert CriticalSection DType GradientTape Graph IndexedSlices IndexedSlicesSpec Module Operation "
        "RaggedTensor RaggedTensorSpec SparseTensorSpec TypeSpec "
        "RegisterGradient SparseTensor Tensor TensorArray TensorShape TensorSpec UnconnectedGradients VariableSynchronization "
        "abs acos acosh add add_n argsort as_dtype as_string asin asinh atan atan2 atanh bfloat16 bitcast bool "
        "broadcast_dynamic_shape broadcast_static_shape broadcast_to cast clip_by_global_norm clip_by_norm clip_by_value "
        "complex complex128 complex64 concat control_dependencies cos cosh cumsum custom_gradient divide double "
        "dynamic_partition dynamic_stitch edit_distance einsum enable_v2_behavior ensure_shape equal executing_eagerly exp "
        "extract_volume_patches eye fill float16 float32 float64 floor foldl foldr function get_logger get_static_value greater "
        "greater_equal group guarantee_const half histogram_fixed_width histogram_fixed_width_bins identity identity_n "
        "import_graph_def init_scope int16 int32 int64 int8 is_tensor less less_equal linspace load_library load_op_library "
        "logical_and logical_not logical_or make_ndarray make_tensor_proto map_fn matmul matrix_square_root maximum meshgrid "
        "minimum multiply negative newaxis no_gradient no_op not_equal numpy_function one_hot ones parallel_stack pow print "
        "py_function qint16 qint32 qint8 quint16 quint8 range rank realdiv register_tensor_conversion_function repeat "
        "required_space_to_batch_paddings reshape resource reverse roll round saturate_cast scan scatter_nd searchsorted "
        "sequence_mask shape_n sigmoid sign sin sinh slice sort space_to_batch_nd split sqrt square stack stop_gradient "
        "strided_slice string subtract tan tanh tensor_scatter_nd_add tensor_scatter_nd_sub tensor_scatter_nd_update tensordot "
        "tile timestamp truediv truncatediv truncatemod uint16 uint32 uint64 uint8 unique unique_with_counts unravel_index "
        "unstack variant where=where_v2 zeros"),
    "autograph": "set_verbosity trace",
    "autograph.experimental": "Feature do_not_convert set_loop_options",
    "bitwise": "bitwise_and bitwise_or bitwise_xor invert left_shift right_shift",
    "data": "Options",
    "data.experimental": ("AUTOTUNE DistributeOptions MapVectorizationOptions OptimizationOptions Optional Reducer StatsOptions TFRecordWriter "
        "ThreadingOptions bucket_by_sequence_length copy_to_device dense_to_sparse_batch enumerate_dataset get_next_as_optional "
        "get_single_element get_structure group_by_reducer group_by_window ignore_errors make_saveable_from_iterator "
        "map_and_batch parallel_interleave parse_example_dataset prefetch_to_device rejection_resample scan shuffle_and_repeat "
        "take_while unbatch unique"),
    "debugging": "Assert assert_proper_iterable assert_same_float_dtype check_numerics is_numeric_tensor",
    "distribute": ("CrossDeviceOps HierarchicalCopyAllReduce InputContext InputReplicationMode NcclAllReduce ReduceOp ReductionToOneDevice "
        "ReplicaContext Server get_replica_context get_strategy has_strategy in_cross_replica_context"),
    "distribute.experimental": "CollectiveCommunication",
    "dtypes": ("DType QUANTIZED_DTYPES as_dtype bfloat16 bool cast complex complex128 complex64 double float16 float32 float64 half "
        "int16 int32 int64 int8 qint16 qint32 qint8 quint16 quint8 resource saturate_cast string uint16 uint32 uint64 uint8 "
        "variant"),
    "errors": ("ABORTED ALREADY_EXISTS AbortedError AlreadyExistsError CANCELLED CancelledError DATA_LOSS DEADLINE_EXCEEDED "
        "DataLossError DeadlineExceededError FAILED_PRECONDITION FailedPreconditionError INTERNAL INVALID_ARGUMENT "
        "InternalError InvalidArgumentError NOT_FOUND NotFoundError OK OUT_OF_RANGE OpError OutOfRangeError PERMISSION_DENIED "
        "PermissionDeniedError RESOURCE_EXHAUSTED ResourceExhaustedError UNAUTHENTICATED UNAVAILABLE UNIMPLEMENTED UNKNOWN "
        "UnauthenticatedError UnavailableError UnimplementedError UnknownError"),
    "estimator": ("BestExporter BinaryClassHead BoostedTreesClassifier BoostedTreesEstimator BoostedTreesRegressor CheckpointSaverHook "
        "CheckpointSaverListener EstimatorSpec EvalSpec Exporter FeedFnHook FinalExporter FinalOpsHook GlobalStepWaiterHook "
        "Head LatestExporter LoggingTensorHook LogisticRegressionHead ModeKeys MultiClassHead MultiHead MultiLabelHead "
        "NanLossDuringTrainingError NanTensorHook PoissonRegressionHead ProfilerHook RegressionHead RunConfig SecondOrStepTimer "
        "SessionRunArgs SessionRunContext SessionRunHook SessionRunValues StepCounterHook StopAtStepHook SummarySaverHook "
        "TrainSpec VocabInfo WarmStartSettings add_metrics train_and_evaluate"),
    "estimator.experimental": ("InMemoryEvaluatorHook LinearSDCA build_raw_supervised_input_receiver_fn call_logit_fn make_early_stopping_hook "
        "make_stop_at_checkpoint_step_hook stop_if_higher_hook stop_if_lower_hook stop_if_no_decrease_hook "
        "stop_if_no_increase_hook"),
    "estimator.export": ("ClassificationOutput ExportOutput PredictOutput RegressionOutput ServingInputReceiver TensorServingInputReceiver "
        "build_parsing_serving_input_receiver_fn build_raw_serving_input_receiver_fn"),
    "feature_column": ("bucketized_column categorical_column_with_hash_bucket categorical_column_with_identity "
        "categorical_column_with_vocabulary_list crossed_column embedding_column indicator_column numeric_column "
        "sequence_categorical_column_with_hash_bucket sequence_categorical_column_with_identity "
        "sequence_categorical_column_with_vocabulary_file sequence_categorical_column_with_vocabulary_list "
        "sequence_numeric_column weighted_categorical_column"),
    "graph_util": "import_graph_def",
    "image": ("adjust_brightness adjust_contrast adjust_gamma adjust_hue adjust_saturation central_crop convert_image_dtype "
        "crop_to_bounding_box decode_and_crop_jpeg decode_bmp decode_gif decode_image decode_jpeg decode_png encode_jpeg "
        "encode_png extract_jpeg_shape extract_patches flip_left_right flip_up_down grayscale_to_rgb hsv_to_rgb image_gradients "
        "is_jpeg non_max_suppression non_max_suppression_padded pad_to_bounding_box per_image_standardization psnr "
        "random_brightness random_contrast random_crop random_flip_left_right random_flip_up_down random_hue random_saturation "
        "resize_with_crop_or_pad rgb_to_grayscale rgb_to_hsv rgb_to_yiq rgb_to_yuv rot90 ssim total_variation transpose "
        "yiq_to_rgb yuv_to_rgb"),
    "initializers": "deserialize=keras.initializers.deserialize get=keras.initializers.get serialize=keras.initializers.serialize",
    "io": ("FixedLenFeature FixedLenSequenceFeature SparseFeature TFRecordOptions TFRecordWriter VarLenFeature "
        "decode_and_crop_jpeg decode_base64 decode_bmp decode_gif decode_image decode_jpeg decode_png "
        "deserialize_many_sparse=deserialize_many_sparse encode_base64 encode_jpeg extract_jpeg_shape is_jpeg "
        "match_filenames_once matching_files parse_sequence_example parse_single_sequence_example parse_tensor read_file serialize_tensor write_file "
        "write_graph"),
    "io.gfile": "GFile copy exists glob isdir listdir makedirs mkdir remove rename rmtree stat walk",
    "keras": "Input Model Sequential",
    "keras.activations": "deserialize elu exponential get hard_sigmoid linear relu selu serialize sigmoid softmax softplus softsign tanh",
    "keras.applications": ("DenseNet121 DenseNet169 DenseNet201 InceptionResNetV2 InceptionV3 MobileNet MobileNetV2 NASNetLarge NASNetMobile "
        "ResNet101 ResNet101V2 ResNet152 ResNet152V2 ResNet50 ResNet50V2 VGG16 VGG19 Xception"),
    "keras.applications.densenet": "DenseNet121 DenseNet169 DenseNet201 decode_predictions preprocess_input",
    "keras.applications.imagenet_utils": "decode_predictions preprocess_input",
    "keras.applications.inception_resnet_v2": "InceptionResNetV2 decode_predictions preprocess_input",
    "keras.applications.inception_v3": "InceptionV3 decode_predictions preprocess_input",
    "keras.applications.mobilenet": "MobileNet decode_predictions preprocess_input",
    "keras.applications.mobilenet_v2": "MobileNetV2 decode_predictions preprocess_input",
    "keras.applications.nasnet": "NASNetLarge NASNetMobile decode_predictions preprocess_input",
    "keras.applications.resnet": "ResNet101 ResNet152 ResNet50 decode_predictions preprocess_input",
    "keras.applications.resnet50": "ResNet50 decode_predictions preprocess_input",
    "keras.applications.resnet_v2": "ResNet101V2 ResNet152V2 ResNet50V2 decode_predictions preprocess_input",
    "keras.applications.vgg16": "VGG16 decode_predictions preprocess_input",
    "keras.applications.vgg19": "VGG19 decode_predictions preprocess_input",
    "keras.applications.xception": "Xception decode_predictions preprocess_input",
    "keras.callbacks": ("BaseLogger CSVLogger Callback EarlyStopping History LambdaCallback LearningRateScheduler ModelCheckpoint ProgbarLogger "
        "ReduceLROnPlateau RemoteMonitor TerminateOnNaN"),
    "keras.constraints": ("Constraint MaxNorm MinMaxNorm NonNeg RadialConstraint UnitNorm deserialize get max_norm min_max_norm non_neg "
        "radial_constraint serialize unit_norm"),
    "keras.datasets.boston_housing": "load_data",
    "keras.datasets.cifar10": "load_data",
    "keras.datasets.cifar100": "load_data",
    "keras.datasets.fashion_mnist": "load_data",
    "keras.datasets.imdb": "get_word_index load_data",
    "keras.datasets.mnist": "load_data",
    "keras.datasets.reuters": "get_word_index load_data",
    "keras.experimental": ("CosineDecay CosineDecayRestarts LinearCosineDecay LinearModel NoisyLinearCosineDecay PeepholeLSTMCell WideDeepModel "
        "export_saved_model load_from_saved_model terminate_keras_multiprocessing_pools"),
    "keras.initializers": "deserialize get serialize",
    "keras.layers": ("AbstractRNNCell Activation ActivityRegularization Add AdditiveAttention AlphaDropout Attention Average "
        "AveragePooling1D AveragePooling2D AveragePooling3D AvgPool1D AvgPool2D AvgPool3D Bidirectional Concatenate Conv1D "
        "Conv2D Conv2DTranspose Conv3D Conv3DTranspose ConvLSTM2D Convolution1D Convolution2D Convolution2DTranspose "
        "Convolution3D Convolution3DTranspose Cropping1D Cropping2D Cropping3D Dense DepthwiseConv2D Dot Dropout ELU Embedding "
        "Flatten GaussianDropout GaussianNoise GlobalAveragePooling1D GlobalAveragePooling2D GlobalAveragePooling3D "
        "GlobalAvgPool1D GlobalAvgPool2D GlobalAvgPool3D GlobalMaxPool1D GlobalMaxPool2D GlobalMaxPool3D GlobalMaxPooling1D "
        "GlobalMaxPooling2D GlobalMaxPooling3D Input InputLayer InputSpec Lambda Layer LayerNormalization LeakyReLU "
        "LocallyConnected1D LocallyConnected2D Masking MaxPool1D MaxPool2D MaxPool3D MaxPooling1D MaxPooling2D MaxPooling3D "
        "Maximum Minimum Multiply PReLU Permute RNN ReLU RepeatVector Reshape SeparableConv1D SeparableConv2D "
        "SeparableConvolution1D SeparableConvolution2D SimpleRNN SimpleRNNCell Softmax SpatialDropout1D SpatialDropout2D "
        "SpatialDropout3D StackedRNNCells Subtract ThresholdedReLU TimeDistributed UpSampling1D UpSampling2D UpSampling3D "
        "Wrapper ZeroPadding1D ZeroPadding2D ZeroPadding3D add average concatenate deserialize dot maximum minimum multiply "
        "serialize subtract"),
    "keras.losses": ("BinaryCrossentropy CategoricalCrossentropy CategoricalHinge CosineSimilarity Hinge Huber KLD KLDivergence LogCosh Loss "
        "MAE MAPE MSE MSLE MeanAbsoluteError MeanAbsolutePercentageError MeanSquaredError MeanSquaredLogarithmicError Poisson "
        "SparseCategoricalCrossentropy SquaredHinge binary_crossentropy categorical_crossentropy categorical_hinge "
        "cosine_similarity deserialize get hinge kld kullback_leibler_divergence logcosh mae mape mean_absolute_error "
        "mean_absolute_percentage_error mean_squared_error mean_squared_logarithmic_error mse msle poisson serialize "
        "sparse_categorical_crossentropy squared_hinge"),
    "keras.metrics": ("AUC Accuracy BinaryAccuracy BinaryCrossentropy CategoricalAccuracy CategoricalCrossentropy CategoricalHinge "
        "CosineSimilarity FalseNegatives FalsePositives Hinge KLD KLDivergence LogCoshError MAE MAPE MSE MSLE Mean "
        "MeanAbsoluteError MeanAbsolutePercentageError MeanIoU MeanRelativeError MeanSquaredError MeanSquaredLogarithmicError "
        "MeanTensor Metric Poisson Precision Recall RootMeanSquaredError SensitivityAtSpecificity SparseCategoricalAccuracy "
        "SparseCategoricalCrossentropy SparseTopKCategoricalAccuracy SpecificityAtSensitivity SquaredHinge Sum "
        "TopKCategoricalAccuracy TrueNegatives TruePositives binary_accuracy binary_crossentropy categorical_accuracy "
        "categorical_crossentropy deserialize get hinge kld kullback_leibler_divergence mae mape mean_absolute_error "
        "mean_absolute_percentage_error mean_squared_error mean_squared_logarithmic_error mse msle poisson serialize "
        "sparse_categorical_accuracy sparse_categorical_crossentropy sparse_top_k_categorical_accuracy squared_hinge "
        "top_k_categorical_accuracy"),
    "keras.mixed_precision.experimental": "LossScaleOptimizer Policy global_policy set_policy",
    "keras.models": "Model Sequential clone_model load_model model_from_config model_from_json model_from_yaml save_model",
    "keras.optimizers": "Adadelta Adagrad Adam Adamax Ftrl Nadam Optimizer RMSprop SGD deserialize get serialize",
    "keras.optimizers.schedules": ("ExponentialDecay InverseTimeDecay LearningRateSchedule PiecewiseConstantDecay PolynomialDecay deserialize "
        "serialize"),
    "keras.preprocessing.image": ("DirectoryIterator ImageDataGenerator Iterator NumpyArrayIterator apply_affine_transform apply_brightness_shift "
        "apply_channel_shift array_to_img img_to_array load_img random_brightness random_channel_shift random_rotation "
        "random_shear random_shift random_zoom save_img"),
    "keras.preprocessing.sequence": "TimeseriesGenerator make_sampling_table pad_sequences skipgrams",
    "keras.preprocessing.text": "Tokenizer hashing_trick one_hot text_to_word_sequence",
    "keras.regularizers": "L1L2 Regularizer deserialize get l1 l1_l2 l2 serialize",
    "keras.utils": ("CustomObjectScope GeneratorEnqueuer HDF5Matrix OrderedEnqueuer Progbar Sequence SequenceEnqueuer "
        "convert_all_kernels_in_model custom_object_scope deserialize_keras_object get_custom_objects get_file "
        "get_source_inputs model_to_dot multi_gpu_model normalize plot_model serialize_keras_object to_categorical"),
    "keras.wrappers.scikit_learn": "KerasClassifier KerasRegressor",
    "linalg": ("LinearOperator LinearOperatorAdjoint LinearOperatorBlockDiag LinearOperatorComposition LinearOperatorDiag "
        "LinearOperatorFullMatrix LinearOperatorIdentity LinearOperatorInversion LinearOperatorLowRankUpdate "
        "LinearOperatorLowerTriangular LinearOperatorScaledIdentity adjoint band_part cholesky cholesky_solve cross det diag "
        "diag_part eigh eigvalsh einsum expm eye global_norm inv logdet logm lstsq lu matmul matrix_rank matrix_transpose "
        "matvec normalize pinv qr set_diag slogdet solve sqrtm svd tensor_diag tensor_diag_part tensordot trace "
        "triangular_solve"),
    "lookup": "KeyValueTensorInitializer TextFileIndex TextFileInitializer",
    "lookup.experimental": "DenseHashTable",
    "math": ("abs accumulate_n acos acosh add add_n angle asin asinh atan atan2 atanh bessel_i0 bessel_i0e bessel_i1 bessel_i1e "
        "betainc ceil conj cos cosh cumprod cumsum cumulative_logsumexp digamma divide divide_no_nan equal erf erfc exp expm1 "
        "floor floordiv floormod greater greater_equal igamma igammac imag invert_permutation is_finite is_inf is_nan "
        "is_non_decreasing is_strictly_increasing lbeta less less_equal lgamma log log1p log_sigmoid logical_and logical_not "
        "logical_or logical_xor maximum minimum mod multiply multiply_no_nan negative nextafter not_equal polygamma polyval pow "
        "real reciprocal reciprocal_no_nan reduce_euclidean_norm reduce_std reduce_variance rint round rsqrt segment_max "
        "segment_mean segment_min segment_prod segment_sum sigmoid sign sin sinh softplus softsign sqrt square "
        "squared_difference subtract tan tanh top_k truediv unsorted_segment_max unsorted_segment_mean unsorted_segment_min "
        "unsorted_segment_prod unsorted_segment_sqrt_n unsorted_segment_sum xdivy xlogy zero_fraction zeta"),
    "nest": "assert_same_structure flatten is_nested map_structure pack_sequence_as",
    "nn": ("all_candidate_sampler atrous_conv2d atrous_conv2d_transpose avg_pool=nn.avg_pool_v2 avg_pool1d avg_pool3d "
        "batch_normalization bias_add compute_accidental_hits conv1d_transpose conv_transpose ctc_greedy_decoder "
        "depthwise_conv2d_backprop_filter depthwise_conv2d_backprop_input elu fixed_unigram_candidate_sampler l2_loss "
        "leaky_relu learned_unigram_candidate_sampler local_response_normalization log_poisson_loss lrn max_pool=nn.max_pool_v2 "
        "max_pool1d max_pool2d max_pool3d normalize_moments relu relu6 selu sigmoid softplus softsign swish tanh top_k "
        "with_space_to_batch zero_fraction"),
    "quantization": ("fake_quant_with_min_max_args fake_quant_with_min_max_args_gradient fake_quant_with_min_max_vars "
        "fake_quant_with_min_max_vars_gradient fake_quant_with_min_max_vars_per_channel "
        "fake_quant_with_min_max_vars_per_channel_gradient quantize_and_dequantize"),
    "queue": "FIFOQueue PaddingFIFOQueue PriorityQueue QueueBase RandomShuffleQueue",
    "ragged": ("boolean_mask constant map_flat_values range row_splits_to_segment_ids segment_ids_to_row_splits stack "
        "stack_dynamic_partitions"),
    "random": ("all_candidate_sampler=nn.all_candidate_sampler categorical "
        "fixed_unigram_candidate_sampler=nn.fixed_unigram_candidate_sampler gamma "
        "learned_unigram_candidate_sampler=nn.learned_unigram_candidate_sampler "
        "log_uniform_candidate_sampler=nn.log_uniform_candidate_sampler normal shuffle stateless_categorical stateless_normal "
        "stateless_truncated_normal stateless_uniform truncated_normal uniform "
        "uniform_candidate_sampler=nn.uniform_candidate_sampler"),
    "saved_model": ("ASSETS_DIRECTORY ASSETS_KEY CLASSIFY_INPUTS CLASSIFY_METHOD_NAME CLASSIFY_OUTPUT_CLASSES CLASSIFY_OUTPUT_SCORES "
        "DEFAULT_SERVING_SIGNATURE_DEF_KEY GPU PREDICT_INPUTS PREDICT_METHOD_NAME PREDICT_OUTPUTS REGRESS_INPUTS "
        "REGRESS_METHOD_NAME REGRESS_OUTPUTS SAVED_MODEL_FILENAME_PB SAVED_MODEL_FILENAME_PBTXT SAVED_MODEL_SCHEMA_VERSION "
        "SERVING TPU TRAINING VARIABLES_DIRECTORY VARIABLES_FILENAME"),
    "sets": "difference intersection size union",
    "signal": ("dct fft fft2d fft3d fftshift frame hamming_window hann_window idct ifft ifft2d ifft3d ifftshift inverse_stft "
        "inverse_stft_window_fn irfft irfft2d irfft3d linear_to_mel_weight_matrix mfccs_from_log_mel_spectrograms "
        "overlap_and_add rfft rfft2d rfft3d stft"),
    "sparse": ("SparseTensor cross cross_hashed expand_dims eye fill_empty_rows from_dense mask maximum minimum reorder reset_shape "
        "reshape retain slice softmax sparse_dense_matmul to_dense to_indicator transpose"),
    "strings": ("as_string bytes_split format join lower ngrams regex_full_match regex_replace strip to_hash_bucket_fast "
        "to_hash_bucket_strong unicode_decode unicode_decode_with_offsets unicode_encode unicode_split "
        "unicode_split_with_offsets unicode_transcode unsorted_segment_join upper"),
    "sysconfig": "CXX11_ABI_FLAG MONOLITHIC_BUILD get_compile_flags get_include get_lib get_link_flags",
    "test": ("Benchmark TestCase benchmark_config create_local_cluster gpu_device_name is_built_with_cuda is_built_with_gpu_support "
        "is_built_with_rocm is_gpu_available main"),
    "train": ("BytesList CheckpointManager ClusterDef ClusterSpec Coordinator Example ExponentialMovingAverage Feature FeatureList "
        "FeatureLists Features FloatList Int64List JobDef SequenceExample ServerDef checkpoints_iterator get_checkpoint_state "
        "latest_checkpoint list_variables load_checkpoint load_variable"),
    "train.experimental": "DynamicLossScale FixedLossScale LossScale",
    "version": "COMPILER_VERSION GIT_VERSION GRAPH_DEF_VERSION GRAPH_DEF_VERSION_MIN_CONSUMER GRAPH_DEF_VERSION_MIN_PRODUCER VERSION",
}
# Namespaces that are another one of ``tf``, with the same names.
PLACES = {"losses": "keras.losses", "metrics": "keras.metrics", "optimizers": "keras.optimizers",
          "optimizers.schedules": "keras.optimizers.schedules"}
NAMES.update({place: NAMES[source] for place, source in PLACES.items()})
