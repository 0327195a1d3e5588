"""Losses per sample, weighted and reduced to one number."""
from __future__ import annotations

from typing import Any

from penstock.graph.convert import to_tensor
from penstock.graph.scopes import name_scope
from penstock.ops.array.cast import cast
from penstock.ops.array.shape_ops import expand_dims, shape, size, squeeze
from penstock.ops.array.shape_ops import rank as rank_of
from penstock.ops.flow.control_flow import cond
from penstock.ops.math.compare import equal
from penstock.ops.math.elementwise import div_no_nan
from penstock.ops.math.reduce import reduce_sum


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
    return total if reduction == Reduction.SUM else div_no_nan(total, cast(size(losses), losses.dtype), name="value")


def compute_weighted_loss(losses: Any, sample_weight: Any = None, reduction: str = Reduction.SUM_OVER_BATCH_SIZE, name: str | None = None) -> Any:
    """``losses`` times their weights, reduced."""
    Reduction.validate(reduction)
    with name_scope(name or "weighted_loss"):
        losses = to_tensor(losses)
        if sample_weight is not None:
            losses = weighted(losses, sample_weight)
        return reduce_weighted_loss(losses, Reduction.SUM_OVER_BATCH_SIZE if reduction == Reduction.AUTO else reduction)


def weighted(values: Any, sample_weight: Any) -> Any:
    """``values`` times weights, which may lack the last axis or have one of extent 1 more."""
    sample_weight = cast(to_tensor(sample_weight), values.dtype)
    return values * with_rank_of(sample_weight, values)


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
