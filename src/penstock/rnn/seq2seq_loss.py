"""``tf.contrib.seq2seq.sequence_loss``: the weighted cross entropy of a batch of sequences."""
from __future__ import annotations

from typing import Any

from penstock.graph.node import Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.array.cast import cast
from penstock.ops.array.shape_ops import reshape, shape
from penstock.ops.math.elementwise import div_no_nan
from penstock.ops.math.reduce import reduce_sum
from penstock.ops.math.statistics import count_nonzero
from penstock.ops.nn.cross_entropy import sparse_softmax_cross_entropy_with_logits


def sequence_loss(logits: Any, targets: Any, weights: Any, average_across_timesteps: bool = True, average_across_batch: bool = True,
                  sum_over_timesteps: bool = False, sum_over_batch: bool = False, softmax_loss_function: Any = None,
                  name: str | None = None) -> Tensor:
    """The loss of ``logits`` [batch, time, classes] for ``targets``, averaged or summed over time and batch as asked for.

    An average divides by the sum of the weights, a sum by the number of weights that are not zero.
    """
    _check(logits, targets, weights, average_across_timesteps, average_across_batch, sum_over_timesteps, sum_over_batch)
    with name_scope(name, "sequence_loss", [logits, targets, weights]):
        classes = shape(logits)[2]
        loss_function = softmax_loss_function or sparse_softmax_cross_entropy_with_logits
        losses = loss_function(logits=reshape(logits, [-1, classes]), labels=reshape(targets, [-1]))
        losses *= reshape(weights, [-1])
        if average_across_timesteps and average_across_batch:
            return div_no_nan(reduce_sum(losses), reduce_sum(weights))
        if sum_over_timesteps and sum_over_batch:
            total = reduce_sum(losses)
            return div_no_nan(total, cast(count_nonzero(weights), total.dtype))
        losses = reshape(losses, shape(logits)[0:2])
        if average_across_timesteps or average_across_batch:
            axis = [0] if average_across_batch else [1]
            return div_no_nan(reduce_sum(losses, axis=axis), reduce_sum(weights, axis=axis))
        if sum_over_timesteps or sum_over_batch:
            axis = [0] if sum_over_batch else [1]
            total = reduce_sum(losses, axis=axis)
            return div_no_nan(total, cast(count_nonzero(weights, axis=axis), total.dtype))
        return losses


def _check(logits: Any, targets: Any, weights: Any, average_time: bool, average_batch: bool, sum_time: bool, sum_batch: bool) -> None:
    """ValueError unless the arguments fit together."""
    if logits.shape.ndims != 3:
        raise ValueError("Logits must be a [batch_size x sequence_length x logits] tensor")
    if targets.shape.ndims != 2:
        raise ValueError("Targets must be a [batch_size x sequence_length] tensor")
    if weights.shape.ndims != 2:
        raise ValueError("Weights must be a [batch_size x sequence_length] tensor")
    if average_time and sum_time:
        raise ValueError("average_across_timesteps and sum_over_timesteps cannot be set to True at same time.")
    if average_batch and sum_batch:
        raise ValueError("average_across_batch and sum_over_batch cannot be set to True at same time.")
