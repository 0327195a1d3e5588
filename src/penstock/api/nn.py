"""``tf.nn``: neural network operations."""
from __future__ import annotations

from penstock.api._table import publish

TABLE = {
    "penstock.ops.sparse.embedding": "embedding_lookup embedding_lookup_sparse safe_embedding_lookup_sparse",
    "penstock.ops.nn.candidate": "uniform_candidate_sampler log_uniform_candidate_sampler learned_unigram_candidate_sampler "
                              "fixed_unigram_candidate_sampler all_candidate_sampler compute_accidental_hits",
    "penstock.train.loss_scaling": "compute_average_loss scale_regularization_loss",
    "penstock.ops.nn.sampled_loss": "nce_loss sampled_softmax_loss",
    "penstock.ops.nn.quantized": "quantized_conv2d",
    "penstock.ops.nn.quantized_layers": "quantized_avg_pool quantized_max_pool quantized_relu_x",
    "penstock.ops.nn.ctc": "ctc_loss ctc_greedy_decoder ctc_beam_search_decoder",
    "penstock.ops.nn.ctc_dense": "collapse_repeated ctc_beam_search_decoder_v2 ctc_loss_v2 ctc_unique_labels",
    "penstock.ops.math.trigonometry": "sigmoid tanh",
    "penstock.ops.math.math": "zero_fraction",
    "penstock.ops.array.sorting": "top_k",
    "penstock.ops.array.space": "space_to_batch space_to_depth depth_to_space",
    "penstock.ops.nn.activations": "relu relu6 elu selu softplus softsign leaky_relu crelu swish",
    "penstock.ops.nn.bias": "bias_add xw_plus_b relu_layer",
    "penstock.ops.nn.softmax": "softmax log_softmax",
    "penstock.ops.nn.cross_entropy": "softmax_cross_entropy_with_logits softmax_cross_entropy_with_logits_v2 "
                                  "sparse_softmax_cross_entropy_with_logits sigmoid_cross_entropy_with_logits "
                                  "weighted_cross_entropy_with_logits",
    "penstock.ops.nn.nn_ops": "l2_loss l2_normalize in_top_k log_poisson_loss",
    "penstock.ops.nn.convolution": "conv1d conv2d conv3d conv2d_backprop_input conv2d_backprop_filter conv3d_backprop_filter "
                                "conv3d_backprop_filter_v2=conv3d_backprop_filter conv1d_transpose conv2d_transpose "
                                "deconv2d=conv2d_transpose conv3d_transpose conv_transpose depthwise_conv2d_native "
                                "depthwise_conv2d_native_backprop_input depthwise_conv2d_native_backprop_filter "
                                "depthwise_conv2d_backprop_input=depthwise_conv2d_native_backprop_input "
                                "depthwise_conv2d_backprop_filter=depthwise_conv2d_native_backprop_filter",
    "penstock.ops.nn.space_to_batch_conv": "convolution atrous_conv2d atrous_conv2d_transpose depthwise_conv2d separable_conv2d "
                                        "with_space_to_batch pool",
    "penstock.ops.nn.pooling_functions": "max_pool avg_pool max_pool1d avg_pool1d max_pool2d avg_pool2d=avg_pool max_pool3d "
                                      "avg_pool3d max_pool_v2 avg_pool_v2 max_pool_with_argmax",
    "penstock.ops.nn.fractional_pooling": "fractional_max_pool fractional_avg_pool",
    "penstock.ops.nn.normalization": "moments weighted_moments sufficient_statistics normalize_moments batch_normalization "
                                  "batch_norm_with_global_normalization fused_batch_norm",
    "penstock.ops.nn.lrn": "lrn local_response_normalization",
    "penstock.ops.nn.dropout": "dropout",
    "penstock.rnn.dynamic": "dynamic_rnn bidirectional_dynamic_rnn",
    "penstock.rnn.raw": "raw_rnn",
    "penstock.rnn.static": "static_rnn rnn=static_rnn static_state_saving_rnn state_saving_rnn=static_state_saving_rnn "
                           "static_bidirectional_rnn bidirectional_rnn=static_bidirectional_rnn",
    "penstock.api.rnn_cell:": "rnn_cell",
    "penstock.api.contrib.legacy_seq2seq:": "seq2seq",
    "penstock.ops.nn.morphology": "dilation2d erosion2d",
}
OLDER = {"rnn": "nn.static_rnn", "bidirectional_rnn": "nn.static_bidirectional_rnn", "state_saving_rnn": "nn.static_state_saving_rnn"}
publish(__name__, TABLE, missing="compute_average_loss quantized_avg_pool quantized_max_pool quantized_relu_x scale_regularization_loss", older=OLDER)
