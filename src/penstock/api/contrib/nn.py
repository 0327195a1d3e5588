"""``tf.contrib.nn``: variants of what ``tf.nn`` has."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.contrib.nn": "alpha_dropout deprecated_flipped_sigmoid_cross_entropy_with_logits "
                           "deprecated_flipped_softmax_cross_entropy_with_logits deprecated_flipped_sparse_softmax_cross_entropy_with_logits "
                           "rank_sampled_softmax_loss sampled_sparse_softmax_loss scaled_softplus",
    "penstock.ops.array.sorting": "nth_element",
    "penstock.ops.nn.convolution": "conv1d_transpose",
}
publish(__name__, TABLE)
