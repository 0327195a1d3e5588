"""Weights of losses and metrics: a scalar, or the shape of the values with 1 for any extent; checked while building, or in the step."""
from __future__ import annotations

from typing import Any

from penstock.graph.convert import to_tensor
from penstock.graph.node import Operation, Tensor
from penstock.graph.scopes import control_dependencies, name_scope
from penstock.graph.static import constant_value
from penstock.ops.array.fill import ones_like
from penstock.ops.array.pack import concat
from penstock.ops.array.shape_ops import expand_dims, rank, shape, size
from penstock.ops.flow.control_flow import cond
from penstock.ops.flow.misc import Assert, no_op
from penstock.ops.math.compare import equal
from penstock.ops.math.elementwise import multiply
from penstock.ops.sparse.sets import set_difference

_PROBLEM = "weights can not be broadcast to values."


def assert_broadcastable(weights: Any, values: Any) -> Operation:
    """An op that fails unless ``weights`` can weigh ``values``; ValueError at once if that is known."""
    with name_scope(None, "assert_broadcastable", [weights, values]) as scope:
        weights, weights_shape, weights_rank = _with_shape_and_rank(weights, "weights")
        values, values_shape, values_rank = _with_shape_and_rank(values, "values")
        done = _static_check(weights, values, weights_shape, values_shape, weights_rank, values_rank)
        if done is not None:
            return done
        is_scalar = equal(0, weights_rank, name="is_scalar")
        data = (_PROBLEM, "weights.shape=", weights.name, weights_shape, "values.shape=", values.name, values_shape, "is_scalar=", is_scalar)
        valid = cond(is_scalar, lambda: is_scalar, lambda: _same_rank_and_extents(weights_rank, weights_shape, values_rank, values_shape),
                     name="is_valid_shape")
        return Assert(valid, data, name=scope)


def _with_shape_and_rank(tensor: Any, name: str) -> tuple[Tensor, Tensor, Tensor]:
    """(tensor, its shape, its rank), in a name scope."""
    with name_scope(None, name, [tensor]) as scope:
        tensor = to_tensor(tensor, name=scope)
        return tensor, shape(tensor, name="shape"), rank(tensor, name="rank")


def _static_check(weights: Tensor, values: Tensor, weights_shape: Tensor, values_shape: Tensor, weights_rank: Tensor,
                  values_rank: Tensor) -> Operation | None:
    """What can be checked now: an op that does nothing if the check is complete, else None."""
    ranks = constant_value(weights_rank), constant_value(values_rank)
    if ranks[0] is None or ranks[1] is None:
        return None
    if ranks[0] == 0:
        return no_op(name="static_scalar_check_success")
    if ranks[0] != ranks[1]:
        raise ValueError(f"{_PROBLEM} values.rank={ranks[1]}. weights.rank={ranks[0]}. values.shape={values.shape}. weights.shape={weights.shape}.")
    known, wanted = constant_value(weights_shape), constant_value(values_shape)
    if known is None or wanted is None:
        return None
    for axis, (extent, full) in enumerate(zip(known, wanted)):
        if extent not in (1, full):
            raise ValueError(f"{_PROBLEM} Mismatch at dim {axis}. values.shape={wanted} weights.shape={known}.")
    return no_op(name="static_dims_check_success")


def _same_rank_and_extents(weights_rank: Tensor, weights_shape: Tensor, values_rank: Tensor, values_shape: Tensor) -> Tensor:
    with name_scope(None, "has_valid_nonscalar_shape", [weights_rank, weights_shape, values_rank, values_shape]) as scope:
        same_rank = equal(values_rank, weights_rank, name="is_same_rank")
        return cond(same_rank, lambda: _extents_fit(weights_shape, values_shape), lambda: same_rank, name=scope)


def _extents_fit(weights_shape: Tensor, values_shape: Tensor) -> Tensor:
    """Whether each extent of the weights is 1 or that of the values: for each axis, the set of extents without those allowed is empty."""
    with name_scope(None, "has_invalid_dims", [weights_shape, values_shape]) as scope:
        full = expand_dims(values_shape, -1)
        allowed = concat([full, ones_like(full)], axis=1)
        invalid = set_difference(expand_dims(weights_shape, -1), allowed)
        return equal(0, size(invalid.values, name="num_invalid_dims"), name=scope)


def broadcast_weights(weights: Any, values: Any) -> Tensor:
    """``weights`` in the shape of ``values``."""
    with name_scope(None, "broadcast_weights", [weights, values]) as scope:
        values = to_tensor(values, name="values")
        weights = to_tensor(weights, dtype=values.dtype.base_dtype, name="weights")
        if weights.shape.is_fully_defined() and values.shape.is_fully_defined() and weights.shape.is_compatible_with(values.shape):
            return weights
        with control_dependencies([assert_broadcastable(weights, values)]):
            return multiply(weights, ones_like(values), name=scope)
