"""The modules inside TensorFlow's libraries (``tensorflow.contrib.layers.python.layers.layers``), and where their names are looked up.

TensorFlow's libraries are spread over many more modules than their public names tell, and programs import from them. MODULES lists those of
TensorFlow 1.15 and 1.4, package by package. A name is searched in the sources that SOURCES gives for the module, then in the public namespaces of its
library (`namespaces`), then in the modules that these namespaces take their names from.
"""
from __future__ import annotations

# The library of a package, as its public namespaces; that of ``contrib.x.python...`` is ``contrib.x``.
LIBRARIES = {"python.data.experimental.ops": "data.experimental data", "python.distribute.cluster_resolver": "distribute.cluster_resolver",
             "python.distribute": "distribute distribute.experimental", "python.estimator": "estimator feature_column",
             "python.feature_column": "feature_column", "python.keras": "keras", "python.layers": "layers",
             "python.ops.distributions": "distributions contrib.distributions", "python.ops.linalg": "linalg", "python.ops.ragged": "ragged",
             "python.ops.signal": "signal", "python.profiler": "profiler", "python.summary": "summary train"}

MODULES = {
    "contrib.all_reduce.python": "all_reduce",
    "contrib.boosted_trees.python.ops": (
        "batch_ops_utils boosted_trees_ops_loader gen_model_ops gen_prediction_ops gen_quantile_ops gen_split_handler_ops gen_stats_accumulator_ops "
        "gen_training_ops model_ops prediction_ops quantile_ops split_handler_ops stats_accumulator_ops training_ops"),
    "contrib.boosted_trees.python.training.functions": "gbdt_batch",
    "contrib.boosted_trees.python.utils": "losses",
    "contrib.checkpoint.python": "containers python_state split_dependency visualize",
    "contrib.cluster_resolver.python.training": (
        "cluster_resolver gce_cluster_resolver kubernetes_cluster_resolver slurm_cluster_resolver tfconfig_cluster_resolver tpu_cluster_resolver"),
    "contrib.copy_graph.python.util": "copy_elements",
    "contrib.crf.python.ops": "crf",
    "contrib.cudnn_rnn.python.layers": "cudnn_rnn",
    "contrib.cudnn_rnn.python.ops": "cudnn_rnn_ops",
    "contrib.data.python.ops": (
        "batching counter dataset_ops enumerate_ops error_ops get_single_element grouping interleave_ops iterator_ops parsing_ops prefetching_ops "
        "random_ops readers resampling scan_ops shuffle_ops sliding sloppy_ops threadpool unique writers"),
    "contrib.distribute.python": (
        "collective_all_reduce_strategy mirrored_strategy monitor one_device_strategy parameter_server_strategy tpu_strategy"),
    "contrib.distributions.python.ops": (
        "autoregressive batch_reshape bernoulli beta binomial categorical cauchy chi2 conditional_distribution conditional_transformed_distribution "
        "deterministic distribution_util estimator geometric gumbel half_normal independent inverse_gamma kumaraswamy logistic mixture "
        "mixture_same_family moving_stats mvn_diag mvn_diag_plus_low_rank mvn_full_covariance mvn_linear_operator mvn_tril negative_binomial "
        "normal_conjugate_posteriors onehot_categorical poisson poisson_lognormal quantized_distribution relaxed_bernoulli "
        "relaxed_onehot_categorical sample_stats seed_stream shape sinh_arcsinh test_util vector_diffeomixture vector_exponential_diag "
        "vector_exponential_linear_operator vector_laplace_diag vector_laplace_linear_operator vector_sinh_arcsinh_diag vector_student_t wishart"),
    "contrib.distributions.python.ops.bijectors": (
        "absolute_value absolute_value_impl affine affine_impl affine_linear_operator affine_linear_operator_impl affine_scalar batch_normalization "
        "chain chain_impl cholesky_outer_product cholesky_outer_product_impl conditional_bijector conditional_bijector_impl exp exp_impl "
        "fill_triangular gumbel inline inline_impl invert invert_impl kumaraswamy masked_autoregressive matrix_inverse_tril ordered permute "
        "power_transform power_transform_impl real_nvp reshape scale_tril sigmoid sigmoid_centered sigmoid_centered_impl sigmoid_impl sinh_arcsinh "
        "sinh_arcsinh_impl softmax_centered softmax_centered_impl softplus softplus_impl softsign square transform_diagonal weibull weibull_impl"),
    "contrib.eager.python": "datasets metrics metrics_impl network parameter_server saver summary_writer tfe",
    "contrib.estimator.python.estimator": (
        "boosted_trees dnn dnn_with_layer_annotations early_stopping export exporter extenders head hooks logit_fns multi_head replicate_model_fn "
        "prediction_keys rnn saved_model_estimator"),
    "contrib.factorization.python.ops": "clustering_ops factorization_ops gen_factorization_ops gmm gmm_ops kmeans wals",
    "contrib.feature_column.python.feature_column": "sequence_feature_column",
    "contrib.framework.python.framework": "checkpoint_utils experimental graph_util tensor_util",
    "contrib.framework.python.ops": (
        "accumulate_n_v2 arg_scope audio_ops checkpoint_ops gen_variable_ops ops prettyprint_ops script_ops sort_ops variables"),
    "contrib.gan.python": "namedtuples train",
    "contrib.gan.python.estimator.python": "gan_estimator gan_estimator_impl head head_impl",
    "contrib.gan.python.eval.python": "classifier_metrics classifier_metrics_impl eval_utils eval_utils_impl summaries summaries_impl",
    "contrib.gan.python.features.python": (
        "clip_weights clip_weights_impl conditioning_utils conditioning_utils_impl virtual_batchnorm virtual_batchnorm_impl"),
    "contrib.gan.python.losses.python": "losses_impl losses_wargs tuple_losses tuple_losses_impl",
    "contrib.grid_rnn.python.ops": "grid_rnn_cell",
    "contrib.image.python.ops": (
        "dense_image_warp distort_image_ops image_ops interpolate_spline single_image_random_dot_stereograms sparse_image_warp"),
    "contrib.input_pipeline.python.ops": "input_pipeline_ops",
    "contrib.integrate.python.ops": "odes",
    "contrib.layers.python.layers": (
        "embedding_ops encoders feature_column feature_column_ops initializers layers normalization optimizers regularizers rev_block_lib summaries "
        "target_column utils"),
    "contrib.layers.python.ops": "bucketization_op sparse_feature_cross_op sparse_ops",
    "contrib.learn.python.learn": (
        "basic_session_run_hooks evaluable experiment export_strategy graph_actions learn_runner learn_runner_lib metric_spec models "
        "monitored_session monitors session_run_hook summary_writer_cache trainable"),
    "contrib.learn.python.learn.dataframe.queues": "feeding_functions",
    "contrib.learn.python.learn.datasets": "base mnist produce_small_datasets synthetic text_datasets",
    "contrib.learn.python.learn.estimators": (
        "_sklearn composable_model constants debug dnn dnn_linear_combined dynamic_rnn_estimator estimator head kmeans linear logistic_regressor "
        "metric_key model_fn prediction_key rnn_common run_config state_saving_rnn_estimator svm tensor_signature"),
    "contrib.learn.python.learn.learn_io": "dask_io data_feeder generator_io graph_io numpy_io pandas_io",
    "contrib.learn.python.learn.ops": "embeddings_ops losses_ops seq2seq_ops",
    "contrib.learn.python.learn.preprocessing": "categorical categorical_vocabulary text",
    "contrib.learn.python.learn.utils": "export gc input_fn_utils inspect_checkpoint saved_model_export_utils",
    "contrib.legacy_seq2seq.python.ops": "seq2seq",
    "contrib.linalg.python.ops": (
        "linear_operator linear_operator_addition linear_operator_composition linear_operator_diag linear_operator_full_matrix "
        "linear_operator_identity linear_operator_tril linear_operator_udvh_update linear_operator_util"),
    "contrib.linear_optimizer.python": "sdca_estimator sdca_optimizer",
    "contrib.linear_optimizer.python.ops": "sdca_ops sharded_mutable_dense_hashtable sparse_feature_column",
    "contrib.losses.python.losses": "loss_ops",
    "contrib.losses.python.metric_learning": "metric_loss_ops",
    "contrib.memory_stats.python.ops": "memory_stats_ops",
    "contrib.metrics.python.metrics": "classification",
    "contrib.metrics.python.ops": "confusion_matrix_ops histogram_ops metric_ops set_ops",
    "contrib.mixed_precision.python": "loss_scale_manager loss_scale_optimizer",
    "contrib.model_pruning.python": "learning pruning strip_pruning_vars_lib",
    "contrib.model_pruning.python.layers": "core_layers layers rnn_cells",
    "contrib.nn.python.ops": "alpha_dropout cross_entropy fwd_gradients sampling_ops scaled_softplus",
    "contrib.opt.python.training": (
        "adam_gs_optimizer adamax addsign agn_optimizer drop_stale_gradient_optimizer elastic_average_optimizer external_optimizer ggt "
        "lars_optimizer lazy_adam_gs_optimizer lazy_adam_optimizer matrix_functions model_average_optimizer moving_average_optimizer "
        "multitask_optimizer_wrapper nadam_optimizer powersign reg_adagrad_optimizer shampoo sign_decay variable_clipping_optimizer "
        "weight_decay_optimizers"),
    "contrib.predictor": "contrib_estimator_predictor core_estimator_predictor predictor predictor_factories saved_model_predictor",
    "contrib.quantize.python": "common copy_graph fold_batch_norms graph_matcher input_to_ops quant_ops quantize quantize_graph",
    "contrib.recurrent.python": "recurrent_api",
    "contrib.recurrent.python.ops": "functional_rnn recurrent",
    "contrib.resampler.python.ops": "resampler_ops",
    "contrib.rnn.python.ops": "core_rnn_cell fused_rnn_cell gru_ops lstm_ops rnn rnn_cell",
    "contrib.rnn.python.tools": "checkpoint_convert",
    "contrib.saved_model.python.saved_model": "keras_saved_model reader signature_def_utils utils",
    "contrib.seq2seq.python.ops": "attention_wrapper basic_decoder beam_search_decoder beam_search_ops decoder helper loss sampler",
    "contrib.signal.python.ops": "mel_ops mfcc_ops reconstruction_ops shape_ops spectral_ops util_ops window_ops",
    "contrib.slim.python.slim": "evaluation learning model_analyzer queues summaries",
    "contrib.slim.python.slim.data": "data_decoder data_provider dataset dataset_data_provider parallel_reader prefetch_queue tfexample_decoder",
    "contrib.slim.python.slim.nets": "alexnet inception inception_v1 inception_v2 inception_v3 overfeat resnet_utils resnet_v1 resnet_v2 vgg",
    "contrib.solvers.python.ops": "lanczos least_squares linear_equations util",
    "contrib.sparsemax.python.ops": "sparsemax sparsemax_loss",
    "contrib.tensor_forest.python": "tensor_forest",
    "contrib.tensor_forest.python.ops": "data_ops gen_model_ops gen_stats_ops gen_tensor_forest_ops model_ops stats_ops tensor_forest_ops",
    "contrib.testing.python.framework": "fake_summary_writer util_test",
    "contrib.text.python.ops": "gen_skip_gram_ops skip_gram_ops",
    "contrib.bayesflow.python.ops": "monte_carlo monte_carlo_impl",
    "contrib.constrained_optimization.python": (
        "candidates constrained_minimization_problem constrained_optimizer external_regret_optimizer swap_regret_optimizer"),
    "contrib.ffmpeg": "ffmpeg_ops",
    "contrib.kernel_methods.python": "kernel_estimators losses",
    "contrib.kernel_methods.python.mappers": "dense_kernel_mapper random_fourier_features",
    "contrib.reduce_slice_ops.python.ops": "reduce_slice_ops",
    "contrib.rpc.python.ops": "rpc_op",
    "contrib.timeseries.python.timeseries": (
        "ar_model estimators feature_keys head input_pipeline math_utils model model_utils saved_model_utils state_management"),
    "contrib.timeseries.python.timeseries.state_space_models": (
        "filtering_postprocessor kalman_filter level_trend periodic state_space_model structural_ensemble varma"),
    "contrib.tpu.python.ops": "tpu_ops",
    "contrib.tpu.python.tpu": "bfloat16 datasets error_handling tpu tpu_config tpu_context tpu_estimator tpu_function tpu_optimizer util",
    "contrib.nccl.python.ops": "nccl_ops",
    "contrib.training.python.training": (
        "bucket_ops device_setter evaluation feeding_queue_runner hparam hparam_pb2 resample sampling_ops sequence_queueing_state_saver "
        "sgdr_learning_rate_decay training tuner"),
    "python.data.experimental.ops": (
        "cardinality counter distribute_options enumerate_ops error_ops get_single_element iterator_ops optimization_options parsing_ops "
        "prefetching_ops random_ops readers resampling scan_ops stats_options take_while_ops threading_options unique writers"),
    "python.distribute": (
        "central_storage_strategy collective_all_reduce_strategy cross_device_ops distribute_lib "
        "distribution_strategy_context mirrored_strategy one_device_strategy parameter_server_strategy reduce_util"),
    "python.distribute.cluster_resolver": (
        "cluster_resolver gce_cluster_resolver kubernetes_cluster_resolver slurm_cluster_resolver tfconfig_cluster_resolver tpu_cluster_resolver"),
    "python.estimator": "early_stopping estimator estimator_lib exporter extenders gc keras mode_keys model_fn run_config training util",
    "python.estimator.canned": (
        "baseline boosted_trees boosted_trees_utils dnn dnn_linear_combined dnn_testing_utils head kmeans linear metric_keys optimizers "
        "parsing_utils prediction_keys rnn saved_model_estimator"),
    "python.estimator.export": "export export_lib export_output function",
    "python.estimator.head": "base_head binary_class_head head_utils multi_class_head multi_head multi_label_head regression_head sequential_head",
    "python.estimator.hooks": "basic_session_run_hooks fake_summary_writer hooks session_run_hook",
    "python.estimator.inputs": "inputs numpy_io pandas_io",
    "python.estimator.inputs.queues": "feeding_functions feeding_queue_runner",
    "python.estimator.tools": "checkpoint_converter",
    "python.estimator.tpu": "_tpu_estimator_embedding error_handling iteration_count_estimator tpu_config tpu_context tpu_estimator util",
    "python.feature_column": (
        "dense_features dense_features_v2 feature_column feature_column_lib feature_column_v2 sequence_feature_column serialization utils"),
    "python.keras": (
        "activations backend backend_config callbacks callbacks_v1 constraints estimator initializers keras_parameterized losses metrics models ops "
        "optimizers regularizers"),
    "python.keras.applications": (
        "densenet imagenet_utils inception_resnet_v2 inception_v3 mobilenet mobilenet_v2 nasnet resnet resnet50 resnet_v2 vgg16 vgg19 xception"),
    "python.keras.datasets": "boston_housing cifar cifar10 cifar100 fashion_mnist imdb mnist reuters",
    "python.keras.distribute": "distributed_training_utils multi_worker_training_state",
    "python.keras.engine": (
        "base_layer base_layer_utils base_preprocessing_layer base_preprocessing_layer_v1 data_adapter input_layer input_spec network node "
        "partial_batch_padding_handler saving sequential topology training training_arrays training_distributed training_eager training_generator "
        "training_utils training_v2 training_v2_utils"),
    "python.keras.layers": (
        "advanced_activations convolutional convolutional_recurrent core cudnn_recurrent dense_attention embeddings kernelized local merge noise "
        "normalization normalization_v2 pooling recurrent recurrent_v2 rnn_cell_wrapper_v2 serialization wrappers"),
    "python.keras.layers.preprocessing": "normalization normalization_v1",
    "python.keras.mixed_precision.experimental": "autocast_variable loss_scale_optimizer policy",
    "python.keras.optimizer_v2": "adadelta adagrad adam adamax ftrl gradient_descent learning_rate_schedule nadam optimizer_v2 rmsprop",
    "python.keras.premade": "linear wide_deep",
    "python.keras.preprocessing": "image sequence text",
    "python.keras.saving": "hdf5_format model_config save saved_model_experimental saving_utils",
    "python.keras.saving.saved_model": "constants load save serialized_attributes utils",
    "python.keras.utils": (
        "conv_utils data_utils generic_utils io_utils kernelized_utils layer_utils losses_utils metrics_utils mode_keys multi_gpu_utils np_utils "
        "tf_utils vis_utils"),
    "python.keras.wrappers": "scikit_learn",
    "python.layers": "base convolutional core layers maxout normalization pooling utils",
    "python.ops.distributions": (
        "bernoulli beta bijector bijector_impl bijector_test_util bijectors categorical dirichlet dirichlet_multinomial distribution "
        "distributions exponential gamma identity_bijector kullback_leibler laplace multinomial normal special_math student_t "
        "transformed_distribution uniform util"),
    "python.ops.linalg": (
        "linalg linalg_impl linear_operator linear_operator_addition linear_operator_adjoint linear_operator_algebra linear_operator_block_diag "
        "linear_operator_circulant linear_operator_composition linear_operator_diag linear_operator_full_matrix linear_operator_householder "
        "linear_operator_identity linear_operator_inversion linear_operator_kronecker linear_operator_low_rank_update "
        "linear_operator_lower_triangular linear_operator_toeplitz linear_operator_util linear_operator_zeros"),
    "python.ops.ragged": (
        "ragged_array_ops ragged_batch_gather_ops ragged_concat_ops ragged_conversion_ops ragged_factory_ops ragged_functional_ops ragged_gather_ops "
        "ragged_getitem ragged_map_ops ragged_math_ops ragged_operators ragged_squeeze_op ragged_string_ops ragged_tensor ragged_tensor_shape "
        "ragged_tensor_value ragged_where_op segment_id_ops"),
    "python.ops.signal": "dct_ops fft_ops mel_ops mfcc_ops reconstruction_ops shape_ops signal spectral_ops window_ops",
    "python.profiler": "model_analyzer option_builder profile_context profiler tfprof_logger",
    "python.summary": "plugin_asset summary summary_iterator text_summary",
    "python.summary.writer": "event_file_writer event_file_writer_v2 writer writer_cache",
}

# Where a module has names that its library does not show, or other ones: "module module ...", searched first.
SOURCES: dict[str, str] = {
    "contrib.input_pipeline.python.ops.input_pipeline_ops": "penstock.contrib.learn.io.graph_io",
    "python.estimator.inputs.queues.feeding_functions": "penstock.contrib.training.feeding",
    "contrib.learn.python.learn.dataframe.queues.feeding_functions": "penstock.contrib.training.feeding",
    "contrib.distributions.python.ops.distribution_util": "penstock.contrib.distributions.scale penstock.contrib.distributions.shapes "
                                                          "penstock.contrib.distributions.mixture_shapes",
    "contrib.distributions.python.ops.test_util": "penstock.testing.distributions",
    "contrib.distributions.python.ops.shape": "penstock.contrib.distributions.event_shape",
    "contrib.factorization.python.ops.gen_factorization_ops": "penstock.contrib.factorization.generated",
    "contrib.framework.python.ops.audio_ops": "penstock.ops.signal.audio",
    "contrib.framework.python.ops.prettyprint_ops": "penstock.contrib.framework.printing",
    "contrib.gan.python.eval.python.classifier_metrics_impl": "penstock.contrib.gan.inception_metrics penstock.contrib.gan.classifier_metrics",
    "contrib.gan.python.losses.python.losses_impl": "penstock.contrib.gan.losses",
    "contrib.gan.python.losses.python.losses_wargs": "penstock.contrib.gan.losses",
    "contrib.gan.python.losses.python.tuple_losses": "penstock.contrib.gan.model_losses",
    "contrib.gan.python.losses.python.tuple_losses_impl": "penstock.contrib.gan.model_losses",
    "contrib.image.python.ops.distort_image_ops": "penstock.contrib.image.color",
    "contrib.integrate.python.ops.odes": "penstock.contrib.integrate.adaptive penstock.contrib.integrate.fixed",
    "contrib.metrics.python.ops.histogram_ops": "penstock.contrib.metrics.statistics",
    "contrib.model_pruning.python.layers.core_layers": "penstock.contrib.model_pruning.layers penstock.contrib.model_pruning.masks",
    "contrib.metrics.python.ops.metric_ops": "penstock.contrib.metrics.accumulated",
    "contrib.bayesflow.python.ops.monte_carlo": "penstock.contrib.monte_carlo",
    "contrib.bayesflow.python.ops.monte_carlo_impl": "penstock.contrib.monte_carlo",
    "contrib.timeseries.python.timeseries.ar_model": "penstock.contrib.timeseries.ar_model penstock.contrib.timeseries.ar_networks",
    "contrib.timeseries.python.timeseries.estimators": "penstock.contrib.timeseries.estimators",
    "contrib.timeseries.python.timeseries.feature_keys": "penstock.contrib.timeseries.keys",
    "contrib.timeseries.python.timeseries.head": "penstock.contrib.timeseries.head",
    "contrib.timeseries.python.timeseries.input_pipeline": "penstock.contrib.timeseries.inputs penstock.contrib.timeseries.readers",
    "contrib.timeseries.python.timeseries.math_utils": (
        "penstock.contrib.timeseries.matrices "
        "penstock.contrib.timeseries.statistics "
        "penstock.contrib.timeseries.densities"),
    "contrib.timeseries.python.timeseries.model": "penstock.contrib.timeseries.model penstock.contrib.timeseries.sequential",
    "contrib.timeseries.python.timeseries.saved_model_utils": "penstock.contrib.timeseries.saved_model_utils",
    "contrib.timeseries.python.timeseries.state_management": "penstock.contrib.timeseries.state_management",
    "contrib.timeseries.python.timeseries.state_space_models.filtering_postprocessor": (
        "penstock.contrib.timeseries.state_space.filtering_postprocessor"),
    "contrib.timeseries.python.timeseries.state_space_models.kalman_filter": "penstock.contrib.timeseries.state_space.kalman_filter",
    "contrib.timeseries.python.timeseries.state_space_models.level_trend": "penstock.contrib.timeseries.state_space.components",
    "contrib.timeseries.python.timeseries.state_space_models.periodic": "penstock.contrib.timeseries.state_space.components",
    "contrib.timeseries.python.timeseries.state_space_models.state_space_model": (
        "penstock.contrib.timeseries.state_space.state_space_model "
        "penstock.contrib.timeseries.state_space.configuration"),
    "contrib.timeseries.python.timeseries.state_space_models.structural_ensemble": "penstock.contrib.timeseries.state_space.structural_ensemble",
    "contrib.timeseries.python.timeseries.state_space_models.varma": "penstock.contrib.timeseries.state_space.components",
    "contrib.seq2seq.python.ops.decoder": "penstock.rnn.decoder penstock.rnn.steps",
    "contrib.seq2seq.python.ops.beam_search_decoder": "penstock.rnn.beam_step penstock.rnn.beam_search",
    "contrib.layers.python.layers.feature_column": "penstock.contrib.layers.columns.dense penstock.contrib.layers.columns.sparse "
                                                   "penstock.contrib.layers.columns.varying",
    "contrib.layers.python.layers.feature_column_ops": "penstock.contrib.layers.columns.building",
    "contrib.layers.python.layers.target_column": "penstock.contrib.learn.target_columns",
    "contrib.learn.python.learn.estimators.composable_model": "penstock.contrib.learn.canned.composable",
    "contrib.learn.python.learn.estimators.debug": "penstock.contrib.learn.canned.debug",
    **{f"contrib.learn.python.learn.estimators.{module}": "penstock.contrib.learn.canned.state_saving_rnn penstock.contrib.learn.canned.dynamic_rnn"
       for module in ("state_saving_rnn_estimator", "dynamic_rnn_estimator", "rnn_common")},
    "contrib.learn.python.learn.estimators.tensor_signature": "penstock.contrib.learn.tensor_signature",
    "contrib.learn.python.learn.estimators._sklearn": "penstock.contrib.learn.sklearn_interface",
    "contrib.learn.python.learn.utils.gc": "penstock.estimator.gc",
    "contrib.learn.python.learn.utils.export": "penstock.contrib.learn.bundle_export",
    "contrib.rnn.python.tools.checkpoint_convert": "penstock.rnn.checkpoint_convert",
    "contrib.quantize.python.graph_matcher": "penstock.contrib.quantize.graph_matcher",
    "contrib.saved_model.python.saved_model.reader": "penstock.saved_model.loader",
    "contrib.saved_model.python.saved_model.signature_def_utils": "penstock.saved_model.signatures",
    "contrib.saved_model.python.saved_model.utils": "penstock.saved_model.builder",
    "python.summary.writer.event_file_writer": "penstock.summary.file_writer",
    "python.summary.plugin_asset": "penstock.summary.plugin_asset",
    "python.profiler.profile_context": "penstock.debug.profile.context",
    **{f"{package}.tpu_estimator": "penstock.estimator.tpu.estimator penstock.estimator.tpu.reporting"
       for package in ("contrib.tpu.python.tpu", "python.estimator.tpu")},
    "python.estimator.head.sequential_head": "penstock.estimator.heads.sequential",
    "python.estimator.training": "penstock.estimator.train_and_evaluate penstock.estimator.train_eval_specs penstock.estimator.evaluator",
    "python.ops.distributions.bijector_test_util": "penstock.testing.bijectors",
    "python.ops.distributions.bernoulli": "penstock.contrib.distributions.bernoulli",
    "python.ops.distributions.util": "penstock.contrib.distributions.arguments penstock.contrib.distributions.shapes "
                                     "penstock.contrib.distributions.triangular penstock.contrib.distributions.numerics",
    "python.ops.distributions.special_math": "penstock.contrib.distributions.special_math",
    "python.estimator.canned.head": "penstock.estimator.heads.canned_heads penstock.estimator.heads.base",
    "python.estimator.canned.dnn_testing_utils": "penstock.testing.canned",
    "python.estimator.canned.metric_keys": "penstock.estimator.keys",
    "python.estimator.canned.prediction_keys": "penstock.estimator.keys",
    "python.estimator.gc": "penstock.estimator.gc",
    "python.estimator.run_config": "penstock.estimator.tasks penstock.estimator.run_config",
}

# Single names: "module:name".
_COLUMNS = {"_FeatureColumn": "FeatureColumn", "_DenseColumn": "DenseColumn", "_CategoricalColumn": "CategoricalColumn",
            "FeatureColumn": "FeatureColumn", "DenseColumn": "DenseColumn", "CategoricalColumn": "CategoricalColumn", "_LazyBuilder": "FeatureCache"}
NAMES: dict[str, dict[str, str]] = {
    **{f"python.feature_column.{module}": {"_to_sparse_input_and_drop_ignore_values": "penstock.estimator.columns.base:sparse_input",
                                           "_transform_features": "penstock.estimator.columns.building:transform_features",
                                           **{name: f"penstock.estimator.columns.base:{own}" for name, own in _COLUMNS.items()}}
       for module in ("feature_column", "feature_column_v2", "feature_column_lib")},
    "contrib.distributions.python.ops.vector_student_t": {"_VectorStudentT": "penstock.contrib.distributions.vectors:VectorStudentT"},
    "contrib.training.python.training.resample": {"_repeat_range": "penstock.contrib.training.resampling:repeat_range"},
    "contrib.distributions.python.ops.distribution_util": {
        "get_broadcast_shape": "penstock.contrib.distributions.shapes:broadcast_shape_of",
        "prefer_static_broadcast_shape": "penstock.contrib.distributions.shapes:broadcast_shape"},
    "python.ops.distributions.kullback_leibler": {"_registered_kl": "penstock.contrib.distributions.kullback_leibler:nearest_function"},
    "python.ops.distributions.util": {
        **{name: f"penstock.contrib.distributions.arguments:{own}" for name, own in (
            ("embed_check_nonnegative_integer_form", "nonnegative_integers"), ("embed_check_categorical_event_shape", "categorical_parameter"),
            ("embed_check_integer_casting_closed", "castable"), ("get_logits_and_probs", "logits_and_probs"))},
        **{name: f"penstock.contrib.distributions.shapes:{own}" for name, own in (
            ("prefer_static_broadcast_shape", "broadcast_shape"), ("prefer_static_rank", "rank_of"), ("prefer_static_value", "static_or_tensor"))},
        "prefer_static_shape": "penstock.api.inside_distributions:prefer_static_shape",
        "maybe_get_static_value": "penstock.api.inside_distributions:maybe_get_static_value",
        "same_dynamic_shape": "penstock.api.inside_distributions:same_dynamic_shape",
        "assert_symmetric": "penstock.api.inside_distributions:assert_symmetric",
        "parent_frame_arguments": "penstock.api.inside_distributions:parent_frame_arguments",
        "AppendDocstring": "penstock.api.inside_distributions:AppendDocstring"},
    "contrib.saved_model.python.saved_model.reader": {"read_saved_model": "penstock.saved_model.loader:parse_saved_model"},
    "contrib.slim.python.slim.learning": {"tf_saver": "penstock.train.saver:", "supervisor": "penstock.train.supervisor:",
                                          "sync_replicas_optimizer": "penstock.train.sync_replicas:"},
    "python.ops.ragged.ragged_conversion_ops": {
        name: f"penstock.ragged.tensor:RaggedTensor.{name}" for name in ("from_tensor", "to_tensor", "from_sparse", "to_sparse")},
    **{f"{package}.feeding_functions": {"_fill_array": "penstock.contrib.training.padding:fill_array",
                                        "_pad_if_needed": "penstock.contrib.training.padding:padded_batch"}
       for package in ("python.estimator.inputs.queues", "contrib.learn.python.learn.dataframe.queues")},
    "python.summary.text_summary": {"text_summary": "penstock.api.summary:text"},
    "contrib.crf.python.ops.crf": {"_lengths_to_masks": "penstock.ops.array.array:sequence_mask"},
    "contrib.framework.python.ops.accumulate_n_v2": {"accumulate_n_v2": "penstock.ops.math.add_n:accumulate_n"},
    "contrib.gan.python.losses.python.tuple_losses_impl": {
        "_args_to_gan_model": "penstock.contrib.gan.model_losses:of_model", "losses_impl": "penstock.contrib.gan.losses:"},
    "contrib.training.python.training.sequence_queueing_state_saver": {
        "_SequenceInputWrapper": "penstock.contrib.training.state_saver:SequenceInputs",
        "_padding": "penstock.contrib.training.sequence_batches:_pad",
        "_deconstruct_sparse_tensor_seq": "penstock.contrib.training.sequence_batches:deconstruct_sparse_tensor_seq",
        "_reconstruct_sparse_tensor_seq": "penstock.contrib.training.sequence_batches:reconstruct_sparse_tensor_seq"},
    "contrib.learn.python.learn.estimators.estimator": {"_get_replica_device_setter": "penstock.estimator.training_loop:device_setter"},
    "contrib.learn.python.learn.learn_io.graph_io": {"_read_keyed_batch_examples_helper": "penstock.contrib.learn.io.graph_io:keyed_batch"},
    "contrib.gan.python.features.python.clip_weights_impl": {  # 1.4's names
        "weight_clip": "penstock.contrib.gan.features:clip_variables",
        "discriminator_weight_clip": "penstock.contrib.gan.features:clip_discriminator_weights"},
    "contrib.training.python.training.sampling_ops": {"_verify_input": "penstock.contrib.training.resampling:_verify_inputs"},
    "contrib.learn.python.learn.estimators.dnn": {"_dnn_model_fn": "penstock.contrib.learn.canned.models:dnn_model_fn"},
    "contrib.learn.python.learn.estimators.linear": {"_linear_model_fn": "penstock.contrib.learn.canned.models:linear_model_fn"},
    "contrib.learn.python.learn.estimators.dnn_linear_combined": {
        "_dnn_linear_combined_model_fn": "penstock.contrib.learn.canned.models:combined_model_fn",
        "_get_embedding_variable": "penstock.contrib.learn.canned.models:embedding_tables"},
    **{f"python.estimator.canned.{module}": {f"_{module}_model_fn": f"penstock.estimator.canned.model_fns:{module}_model_fn"}
       for module in ("baseline", "dnn", "dnn_linear_combined", "linear")},
    "python.estimator.estimator": {"_load_global_step_from_checkpoint_dir": "penstock.api.inside:load_global_step"},
    "python.estimator.export.export": {"get_timestamped_export_dir": "penstock.estimator.exporting:timestamped_folder"},
    "python.estimator.model_fn": {"LOSS_METRIC_KEY": "penstock.api.inside:LOSS_METRIC_KEY"},
    "python.estimator.util": {"fn_args": "penstock.platform.inspection:fn_args",
                              "parse_input_fn_result": "penstock.estimator.input_results:features_and_labels",
                              "parse_iterator_result": "penstock.estimator.input_results:features_and_labels_of",
                              "_DatasetInitializerHook": "penstock.estimator.input_results:DatasetInitializerHook"},
    "python.ops.linalg.linear_operator_util": {"matmul_with_broadcast": "penstock.ops.linalg.matmul:matmul"},
    "python.layers.maxout": {"maxout": "penstock.contrib.layers.shaping:maxout"},
    "python.estimator.canned.optimizers": {"get_optimizer_instance": "penstock.estimator.canned.optimizers:optimizer_instance"},
}


def namespaces(path: str) -> list[str]:
    """The public namespaces of the library that the module or package ``path`` is inside of: ``["contrib.layers"]``; empty if it is in none."""
    parts = path.split(".")
    if parts[0] == "contrib":
        library = ".".join(parts[:2])
        if "bijectors" in parts[2:]:  # some have the names of distributions
            return [library + ".bijectors", library]
        return [library] if parts[2:3] == ["python"] or (parts[2:] and library in MODULES) else []
    return next((spaces.split() for prefix, spaces in LIBRARIES.items() if path == prefix or path.startswith(prefix + ".")), [])


def is_module(path: str) -> bool:
    """Whether TensorFlow has a module or a package ``path`` inside one of its libraries."""
    package, _, name = path.rpartition(".")
    listed = name in MODULES.get(package, "").split() or any(known == path or known.startswith(path + ".") for known in MODULES)
    return listed and bool(namespaces(path))
