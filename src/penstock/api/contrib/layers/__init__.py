"""``tf.contrib.layers``: layers, feature columns, initializers, regularizers, summaries, embeddings, ``optimize_loss``."""
from __future__ import annotations

from penstock.api._table import publish

HERE = "penstock.contrib.layers"
TABLE: dict[str, str] = {
    f"{HERE}.pooling": "avg_pool2d avg_pool3d max_pool2d max_pool3d pool",
    f"{HERE}.convolutions": "conv1d conv2d conv3d conv2d_in_plane conv2d_transpose conv3d_transpose convolution convolution1d convolution2d "
                            "convolution2d_in_plane convolution2d_transpose convolution3d convolution3d_transpose separable_conv2d "
                            "separable_convolution2d",
    f"{HERE}.connected": "bias_add elu fully_connected legacy_fully_connected legacy_linear legacy_relu linear relu relu6",
    f"{HERE}.batch_norm": "batch_norm",
    f"{HERE}.norms": "group_norm instance_norm layer_norm poincare_normalize unit_norm",
    f"{HERE}.gdn": "GDN gdn",
    f"{HERE}.shaping": "dense_to_sparse dropout flatten images_to_sequence maxout one_hot_encoding repeat scale_gradient sequence_to_images softmax "
                       "spatial_softmax stack",
    f"{HERE}.rev_block": "RevBlock recompute_grad rev_block",
    f"{HERE}.embeddings": "bow_encoder embed_sequence embedding_lookup_sparse_with_distributed_aggregation embedding_lookup_unique "
                          "safe_embedding_lookup_sparse scattered_embedding_lookup scattered_embedding_lookup_sparse",
    f"{HERE}.sparse_features": "SPARSE_FEATURE_CROSS_DEFAULT_HASH_KEY",
    f"{HERE}.initializers": "variance_scaling_initializer xavier_initializer xavier_initializer_conv2d",
    f"{HERE}.regularizers": "apply_regularization l1_l2_regularizer l1_regularizer l2_regularizer sum_regularizer",
    f"{HERE}.optimizers": "OPTIMIZER_CLS_NAMES OPTIMIZER_SUMMARIES adaptive_clipping_fn optimize_loss",
    "penstock.contrib.learn.target_columns": "multi_class_target regression_target",
    f"{HERE}.summaries": "summarize_activation summarize_activations summarize_biases summarize_collection summarize_tensor summarize_tensors "
                         "summarize_variables summarize_weights",
    f"{HERE}.columns.dense": "bucketized_column embedding_column one_hot_column real_valued_column scattered_embedding_column "
                             "shared_embedding_columns",
    f"{HERE}.columns.sparse": "crossed_column sparse_column_with_hash_bucket sparse_column_with_integerized_feature sparse_column_with_keys "
                              "sparse_column_with_vocabulary_file weighted_sparse_column",
    f"{HERE}.columns.building": "check_feature_columns create_feature_spec_for_parsing infer_real_valued_columns input_from_feature_columns "
                                "joint_weighted_sum_from_feature_columns make_place_holder_tensors_for_base_features "
                                "parse_feature_columns_from_examples parse_feature_columns_from_sequence_examples "
                                "sequence_input_from_feature_columns transform_features weighted_sum_from_feature_columns",
    # Modules inside, which programs reach through: most of their names are here.
    "penstock.api.contrib.layers:": "python layers ops normalization encoders embedding_ops feature_column "
                                    "feature_column_ops rev_block_lib",
    f"{HERE}.utils:": "utils",
    f"{HERE}.initializers:": "initializers",
    f"{HERE}.regularizers:": "regularizers",
    f"{HERE}.optimizers:": "optimizers",
    f"{HERE}.summaries:": "summaries",
    f"{HERE}.sparse_features:": "sparse_ops sparse_feature_cross_op bucketization_op",
}
publish(__name__, TABLE)
