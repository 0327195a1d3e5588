"""Losses per sample, weighted and reduced to one number."""
from __future__ import annotations

from typing import Any

from penstock.graph import dtypes
from penstock.graph.convert import to_tensor
from penstock.graph.graph import default_graph
from penstock.graph.scopes import name_scope
from penstock.layers.weighting import broadcast_weights
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import ones_like
from penstock.ops.array.shape_ops import expand_dims, shape, size, squeeze
from penstock.ops.array.shape_ops import rank as rank_of
from penstock.ops.flow.control_flow import cond
from penstock.ops.math.compare import equal
from penstock.ops.math.elementwise import div_no_nan
from penstock.ops.math.reduce import reduce_sum

_BROADCAST = 67  # operations in TensorFlow that check the shape of weights in the step, which our kernels do, and that give them the shape of losses


class Reduction:
    """``tf.keras.losses.Reduction``: how losses per sample become one."""

    AUTO, NONE, SUM, SUM_OVER_BATCH_SIZE = "auto", "none", "sum", "sum_over_batch_size"

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """All of them."""
        return cls.AUTO, cls.NONE, cls.SUM, cls.SUM_OVER_BATCH_SIZE

    @classmethod
    def validate(cls, key: str) -> None:
        """ValueError unless ``key`` is one of them."""
        if key not in cls.all():
            raise ValueError(f"Invalid Reduction Key {key}.")


def reduce_weighted_loss(losses: Any, reduction: str = Reduction.SUM_OVER_BATCH_SIZE) -> Any:
    """The losses, their sum, or their mean."""
    if reduction == Reduction.NONE:
        return losses
    total = reduce_sum(losses)
    if reduction == Reduction.SUM:
        return total
    count = cast(size(losses), losses.dtype)
    if not default_graph().imperative:
        total = reduce_sum(total)  # summed twice, as in TensorFlow: the seeds of random ops to come count it
    return div_no_nan(total, count, name="value")


def compute_weighted_loss(losses: Any, sample_weight: Any = None, reduction: str = Reduction.SUM_OVER_BATCH_SIZE, name: str | None = None) -> Any:
    """``losses`` times their weights, reduced."""
    Reduction.validate(reduction)
    with name_scope(name or "weighted_loss"):
        losses = to_tensor(losses)
        scaled = weighted(losses, 1.0 if sample_weight is None else sample_weight)
        return cast(reduce_weighted_loss(scaled, Reduction.SUM_OVER_BATCH_SIZE if reduction == Reduction.AUTO else reduction), losses.dtype)


def weighted(values: Any, sample_weight: Any) -> Any:
    """``values`` times weights, which may lack the last axis or have one of extent 1 more, in float32."""
    graph, values = default_graph(), cast(values, dtypes.float32)
    if graph.imperative and isinstance(sample_weight, float):
        return values if sample_weight == 1.0 else values * sample_weight
    weights = with_rank_of(cast(sample_weight, dtypes.float32), values)
    if weights.shape.ndims == 0:
        return values * broadcast_weights(weights, values)
    with graph.counting_as(_BROADCAST):
        whole = weights * ones_like(values)
    return values * whole


def with_rank_of(weights: Any, values: Any) -> Any:
    """Weights whose last axis is taken away or added, if their rank differs from that of the values by one."""
    mine, theirs = weights.shape.ndims, values.shape.ndims
    if mine == 0:
        return weights
    if mine is not None and theirs is not None:
        if mine - theirs == 1:
            return squeeze(weights, [-1])
        return expand_dims(weights, [-1]) if theirs - mine == 1 else weights
    difference = rank_of(weights) - rank_of(values)
    narrowed = cond(equal(difference, 1), lambda: _without_last(weights), lambda: weights)
    return cond(equal(difference, -1), lambda: expand_dims(weights, [-1]), lambda: narrowed)


def _without_last(weights: Any) -> Any:
    return cond(equal(shape(weights)[-1], 1), lambda: squeeze(weights, [-1]), lambda: weights)
