"""Losses over a sample of the classes: ``tf.nn.nce_loss`` and ``tf.nn.sampled_softmax_loss``, for very many classes."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.graph import dtypes as dt
from penstock.graph.convert import to_tensor
from penstock.graph.graph import default_graph
from penstock.graph.node import Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import ones_like, zeros_like
from penstock.ops.array.pack import concat
from penstock.ops.array.passing import stop_gradient
from penstock.ops.array.shape_ops import expand_dims, reshape
from penstock.ops.array.shape_ops import shape as shape_op
from penstock.ops.array.slicing import slice_
from penstock.ops.linalg.matmul import matmul
from penstock.ops.math.powers import log
from penstock.ops.math.reduce import reduce_sum
from penstock.ops.nn.candidate import compute_accidental_hits, log_uniform_candidate_sampler
from penstock.ops.nn.cross_entropy import sigmoid_cross_entropy_with_logits, softmax_cross_entropy_with_logits_v2
from penstock.ops.sparse.embedding import embedding_lookup
from penstock.ops.sparse.sparse_functions import sparse_to_dense
from penstock.platform.deprecation import warn_of_order

# Nodes that TensorFlow has beside ours, on whose number seeds that are not given depend: it asks for shapes at run time and sums rows by products.
_NODES_OF_LOGITS, _NODES_OF_HITS, _NODES_OF_SUM = 31, 2, 10


def sampled_logits(weights: Any, biases: Any, labels: Any, inputs: Any, num_sampled: int, num_classes: int, num_true: int,
                   sampled_values: Any, remove_accidental_hits: bool, partition_strategy: str, name: str | None,
                   seed: Any = None, subtract_log_q: bool = True) -> tuple[Tensor, Tensor]:
    """(logits, labels), both [batch, num_true + num_sampled]: the true classes first, then the sampled ones."""
    with name_scope(name, "compute_sampled_logits", [inputs, labels]):
        inputs, labels = to_tensor(inputs), cast(to_tensor(labels), dt.int64)
        flat = reshape(labels, [-1])
        if sampled_values is None:
            sampled_values = log_uniform_candidate_sampler(labels, num_true, num_sampled, True, num_classes, seed=seed)
        sampled, true_count, sampled_count = (stop_gradient(value) for value in sampled_values)
        sampled = cast(sampled, dt.int64)
        ids = concat([flat, sampled], 0)
        true_w, sampled_w = _split_rows(embedding_lookup(weights, ids, partition_strategy=partition_strategy), flat)
        true_b, sampled_b = _split_rows(embedding_lookup(biases, ids, partition_strategy=partition_strategy), flat)
        true_logits = _true_logits(inputs, true_w, num_true) + reshape(true_b, [-1, num_true])
        of_sampled = matmul(inputs, sampled_w, transpose_b=True) + sampled_b
        default_graph().imply(_NODES_OF_LOGITS)
        if remove_accidental_hits:
            of_sampled = of_sampled + _accidental(labels, sampled, num_true, of_sampled)
            default_graph().imply(_NODES_OF_HITS)
        if subtract_log_q:
            true_logits = true_logits - cast(log(true_count), true_logits.dtype.base_dtype)
            of_sampled = of_sampled - cast(log(sampled_count), of_sampled.dtype.base_dtype)
        logits = concat([true_logits, of_sampled], 1)
        return logits, concat([ones_like(true_logits) / num_true, zeros_like(of_sampled)], 1)


def _split_rows(rows: Tensor, flat_labels: Tensor) -> tuple[Tensor, Tensor]:
    """The rows of the true classes, and those of the sampled ones."""
    count = shape_op(flat_labels)
    rank = rows.shape.ndims
    start = concat([count, np.zeros(rank - 1, np.int32)], 0) if rank > 1 else count
    length = concat([count, np.full(rank - 1, -1, np.int32)], 0) if rank > 1 else count
    true, sampled = slice_(rows, [0] * rank, length), slice_(rows, start, [-1] * rank)
    true.set_shape([None, *rows.shape.as_list()[1:]])
    sampled.set_shape([None, *rows.shape.as_list()[1:]])
    return true, sampled


def _true_logits(inputs: Tensor, weights: Tensor, num_true: int) -> Tensor:
    """The products of each input with the weights of its own classes: [batch, num_true]."""
    extent = inputs.shape.extents[-1] if inputs.shape.extents else None
    width = shape_op(weights)[1] if extent is None else extent
    return reduce_sum(expand_dims(inputs, 1) * reshape(weights, [-1, num_true, width]), 2)


def _accidental(labels: Tensor, sampled: Tensor, num_true: int, logits: Tensor) -> Tensor:
    """A very negative number where a sampled class is one of the true classes of the row, else 0."""
    rows, ids, weights = compute_accidental_hits(labels, sampled, num_true)
    places = concat([reshape(rows, [-1, 1]), reshape(cast(ids, dt.int32), [-1, 1])], 1)
    target = concat([shape_op(labels)[:1], shape_op(sampled)], 0)
    weights = cast(weights, logits.dtype.base_dtype)
    return sparse_to_dense(places, target, weights, 0.0, validate_indices=False)


def _in_order(function: str, labels: Any, inputs: Any) -> tuple[Any, Any]:
    """Labels are integers and inputs are not; before TensorFlow 1.0 the inputs came first."""
    if isinstance(labels, Tensor) and isinstance(inputs, Tensor) and labels.dtype.is_floating and inputs.dtype.is_integer:
        warn_of_order(function, f"{function}(weights, biases, labels, inputs, ...)")
        return inputs, labels
    return labels, inputs


def nce_loss(weights: Any, biases: Any, labels: Any, inputs: Any, num_sampled: int, num_classes: int, num_true: int = 1,
             sampled_values: Any = None, remove_accidental_hits: bool = False, partition_strategy: str = "mod",
             name: str = "nce_loss") -> Tensor:
    """``tf.nn.nce_loss``: noise-contrastive estimation; a logistic loss of true against sampled classes, one per example."""
    labels, inputs = _in_order("tf.nn.nce_loss", labels, inputs)
    logits, targets = sampled_logits(weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
                                     remove_accidental_hits, partition_strategy, name)
    default_graph().imply(_NODES_OF_SUM)
    return reduce_sum(sigmoid_cross_entropy_with_logits(labels=targets, logits=logits, name="sampled_losses"), 1)


def sampled_softmax_loss(weights: Any, biases: Any, labels: Any, inputs: Any, num_sampled: int, num_classes: int,
                         num_true: int = 1, sampled_values: Any = None, remove_accidental_hits: bool = True,
                         partition_strategy: str = "mod", name: str = "sampled_softmax_loss", seed: Any = None) -> Tensor:
    """``tf.nn.sampled_softmax_loss``: the softmax loss over the true and the sampled classes, one per example; for training only."""
    labels, inputs = _in_order("tf.nn.sampled_softmax_loss", labels, inputs)
    logits, targets = sampled_logits(weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
                                     remove_accidental_hits, partition_strategy, name, seed)
    return softmax_cross_entropy_with_logits_v2(labels=stop_gradient(targets), logits=logits)
