"""The losses of ``tf.contrib.legacy_seq2seq``, over lists of tensors, and models in several lengths."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.graph.node import Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.array.cast import cast
from penstock.ops.array.shape_ops import reshape, shape
from penstock.ops.math.add_n import add_n
from penstock.ops.math.reduce import reduce_sum
from penstock.ops.nn.cross_entropy import sparse_softmax_cross_entropy_with_logits
from penstock.variables.scope import get_variable_scope, variable_scope


def sequence_loss_by_example(logits: list[Any], targets: list[Any], weights: list[Any], average_across_timesteps: bool = True,
                             softmax_loss_function: Callable[..., Any] | None = None, name: str | None = None) -> Tensor:
    """``sequence_loss_by_example``: the weighted cross entropy of each sequence of the batch, summed over the steps or averaged."""
    if len(targets) != len(logits) or len(weights) != len(logits):
        raise ValueError(f"Lengths of logits, weights, and targets must be the same {len(logits)}, {len(weights)}, {len(targets)}.")
    with name_scope(name, "sequence_loss_by_example", [*logits, *targets, *weights]):
        losses = []
        for logit, target, weight in zip(logits, targets, weights):
            if softmax_loss_function is None:
                loss = sparse_softmax_cross_entropy_with_logits(labels=reshape(target, [-1]), logits=logit)
            else:
                loss = softmax_loss_function(labels=target, logits=logit)
            losses.append(loss * weight)
        total = add_n(losses)
        if average_across_timesteps:
            total /= add_n(weights) + 1e-12  # no division by 0 where all weights are 0
        return total


def sequence_loss(logits: list[Any], targets: list[Any], weights: list[Any], average_across_timesteps: bool = True,
                  average_across_batch: bool = True, softmax_loss_function: Callable[..., Any] | None = None, name: str | None = None) -> Tensor:
    """``sequence_loss``: the sum, or the mean, of ``sequence_loss_by_example`` over the batch."""
    with name_scope(name, "sequence_loss", [*logits, *targets, *weights]):
        cost = reduce_sum(sequence_loss_by_example(logits, targets, weights, average_across_timesteps, softmax_loss_function))
        if average_across_batch:
            return cost / cast(shape(targets[0])[0], cost.dtype)
        return cost


def model_with_buckets(encoder_inputs: list[Any], decoder_inputs: list[Any], targets: list[Any], weights: list[Any], buckets: Any,
                       seq2seq: Callable[[Any, Any], Any], softmax_loss_function: Callable[..., Any] | None = None,
                       per_example_loss: bool = False, name: str | None = None) -> tuple[list[Any], list[Any]]:
    """``model_with_buckets``: (outputs, losses) of a model for each pair of lengths in ``buckets``; all of them share their variables."""
    for what, given, wanted in (("encoder_inputs", encoder_inputs, buckets[-1][0]), ("targets", targets, buckets[-1][1]),
                                ("weights", weights, buckets[-1][1])):
        if len(given) < wanted:
            raise ValueError(f"Length of {what} ({len(given)}) must be at least that of last bucket ({wanted}).")
    losses, outputs = [], []
    loss_function = sequence_loss_by_example if per_example_loss else sequence_loss
    with name_scope(name, "model_with_buckets", [*encoder_inputs, *decoder_inputs, *targets, *weights]):
        for j, (source, target) in enumerate(buckets):
            with variable_scope(get_variable_scope(), reuse=True if j > 0 else None):
                decoded, _ = seq2seq(encoder_inputs[:source], decoder_inputs[:target])
                outputs.append(decoded)
                losses.append(loss_function(decoded, targets[:target], weights[:target], softmax_loss_function=softmax_loss_function))
    return outputs, losses
