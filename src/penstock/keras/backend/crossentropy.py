"""Cross-entropies of probabilities or logits. Probabilities that come straight from a softmax or a sigmoid are taken back to its logits."""
from __future__ import annotations

from typing import Any

from penstock.graph import dtypes
from penstock.graph.convert import to_tensor
from penstock.layers import settings
from penstock.ops.array.cast import cast
from penstock.ops.array.permute import transpose
from penstock.ops.array.shape_ops import reshape, shape
from penstock.ops.constant import constant
from penstock.ops.math.clip import clip_by_value
from penstock.ops.math.powers import log
from penstock.ops.math.reduce import reduce_sum
from penstock.ops.nn.cross_entropy import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2,
    sparse_softmax_cross_entropy_with_logits,
)


def _logits_behind(output: Any, activation: str) -> Any:
    """The inputs of the activation that ``output`` is the result of; None if it is another op's."""
    op = getattr(output, "op", None)
    return op.inputs[0] if op is not None and op.type == activation else None


def _inside(output: Any) -> Any:
    """Probabilities that are neither 0 nor 1, so that their logarithms are finite."""
    smallest = constant(settings.epsilon(), output.dtype.base_dtype)
    return clip_by_value(output, smallest, 1.0 - smallest)


def categorical_crossentropy(target: Any, output: Any, from_logits: bool = False, axis: int = -1) -> Any:
    """``tf.keras.backend.categorical_crossentropy``: of probabilities (or logits) along ``axis``, and targets of the same shape."""
    logits = output if from_logits else _logits_behind(output, "Softmax")
    if logits is None:
        output = _inside(output / reduce_sum(output, axis, True))
        return -reduce_sum(target * log(output), axis)
    return softmax_cross_entropy_with_logits_v2(labels=target, logits=logits, axis=axis)


def sparse_categorical_crossentropy(target: Any, output: Any, from_logits: bool = False, axis: int = -1) -> Any:
    """``tf.keras.backend.sparse_categorical_crossentropy``: targets are the numbers of classes."""
    output = to_tensor(output)
    logits = output if from_logits else _logits_behind(output, "Softmax")
    logits = log(_inside(output)) if logits is None else logits
    rank = logits.shape.ndims
    if rank is None and axis != -1:
        raise ValueError(f"Cannot compute sparse categorical crossentropy with `axis={axis}` on an output tensor with unknown rank")
    if rank is not None and axis % rank != rank - 1:
        logits = transpose(logits, [*(each for each in range(rank) if each != axis % rank), axis % rank])
    target = cast(target, dtypes.int64)
    extents = shape(logits)
    flat = rank is not None and target.shape.ndims is not None and target.shape.ndims != rank - 1
    if flat:
        target, logits = reshape(target, [-1]), reshape(logits, [-1, extents[-1]])
    losses = sparse_softmax_cross_entropy_with_logits(labels=target, logits=logits)
    return reshape(losses, extents[:-1]) if flat and rank >= 3 else losses


def binary_crossentropy(target: Any, output: Any, from_logits: bool = False) -> Any:
    """``tf.keras.backend.binary_crossentropy``, elementwise."""
    logits = output if from_logits else _logits_behind(output, "Sigmoid")
    if logits is None:
        output, small = _inside(output), settings.epsilon()
        return -(target * log(output + small) + (1 - target) * log(1 - output + small))
    return sigmoid_cross_entropy_with_logits(labels=target, logits=logits)
