"""Losses of replicas: shares of the mean over the whole batch, so that their sum is that mean."""
from __future__ import annotations

from typing import Any

from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.ops.array.cast import cast
from penstock.ops.array.shape_ops import size
from penstock.ops.math.reduce import reduce_sum
from penstock.train.strategies import get_strategy, in_cross_replica_context


def _replicas(function: str) -> int:
    strategy = get_strategy()
    if strategy.num_replicas_in_sync > 1 and in_cross_replica_context():
        raise RuntimeError(f"You are calling `{function}` in cross replica context, while it was expected to be called in replica context.")
    return strategy.num_replicas_in_sync


def compute_average_loss(per_example_loss: Any, sample_weight: Any = None, global_batch_size: Any = None) -> Tensor:
    """``tf.nn.compute_average_loss``: the sum of the examples' losses over the size of the whole batch, that of all replicas."""
    losses = to_tensor(per_example_loss)
    replicas = _replicas("compute_average_loss")
    count = size(losses) * replicas if global_batch_size is None else to_tensor(global_batch_size)
    if sample_weight is not None:
        losses = losses * cast(to_tensor(sample_weight), losses.dtype)
    return reduce_sum(losses) / cast(count, losses.dtype)


def scale_regularization_loss(regularization_loss: Any) -> Tensor:
    """``tf.nn.scale_regularization_loss``: the sum of the losses, as the share of one replica."""
    losses = to_tensor(regularization_loss)
    return reduce_sum(losses) / cast(to_tensor(_replicas("scale_regularization_loss")), losses.dtype)
