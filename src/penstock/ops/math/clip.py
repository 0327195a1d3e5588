"""Clipping: the values, or the norms, of tensors and of IndexedSlices."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.graph import raw_ops
from penstock.graph.composite import IndexedSlices
from penstock.graph.convert import to_tensor
from penstock.graph.dtypes import DType, as_dtype
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.scopes import colocate_with, name_scope
from penstock.ops.array.broadcast_gradient import reduce_to
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import ones_like, zeros_like
from penstock.ops.array.pack import stack
from penstock.ops.array.select import where, where_v2
from penstock.ops.array.sequences import range as range_
from penstock.ops.array.shape_ops import rank, size
from penstock.ops.common import NUMERIC, broadcasting
from penstock.ops.constant import constant, identity
from penstock.ops.math.compare import Greater, IsFinite, Less, LogicalNot, LogicalOr
from penstock.ops.math.elementwise import Maximum, Minimum
from penstock.ops.math.powers import Rsqrt, Sqrt
from penstock.ops.math.reduce import reduce_sum


@op("ClipByValue", "t: T, clip_value_min: T, clip_value_max: T -> output: T", T=NUMERIC)
class ClipByValue:
    """t, or the bound that it exceeds."""

    elementwise = True
    shape = broadcasting("t", "clip_value_min", "clip_value_max")

    def kernel(t, clip_value_min, clip_value_max):
        return np.maximum(np.minimum(t, clip_value_max), clip_value_min)

    def lower(b, t, clip_value_min, clip_value_max):
        return b.maximum(b.minimum(t, clip_value_max), clip_value_min)

    def gradient(op, dy):
        t, low, high = op.inputs
        zeros = zeros_like(dy)
        below, above = Less(t, low), Greater(t, high)
        inside = LogicalNot(LogicalOr(below, above))
        return [reduce_to(where_v2(mask, dy, zeros), x) for mask, x in ((inside, t), (below, low), (above, high))]


def _values(t: Any) -> Any:
    return t.values if isinstance(t, IndexedSlices) else t


def _like(t: Any, values: Tensor) -> Any:
    """``values`` in the form of ``t``."""
    return IndexedSlices(values, t.indices, t.dense_shape) if isinstance(t, IndexedSlices) else values


def clip_by_value(t: Any, clip_value_min: Any, clip_value_max: Any, name: str | None = None) -> Any:
    """``tf.clip_by_value``: ``t`` with all values between the bounds.

    >>> clip_by_value([0.5, 2.0], 0.0, 1.0).shape
    TensorShape([Dimension(2)])
    """
    with name_scope(name, "clip_by_value", [_values(t), clip_value_min, clip_value_max]) as scope:
        values = to_tensor(_values(t), None, "t")
        below = Minimum(values, clip_value_max)
        values.shape.merge_with(below.shape)  # the bounds must not broadcast the values
        clipped = Maximum(below, clip_value_min, name=scope)
        values.shape.merge_with(clipped.shape)
        return _like(t, clipped)


def clip_by_norm(t: Any, clip_norm: Any, axes: Any = None, name: str | None = None) -> Any:
    """``tf.clip_by_norm``: ``t`` scaled down so that its L2 norm (over ``axes``) is at most ``clip_norm``."""
    with name_scope(name, "clip_by_norm", [_values(t), clip_norm]) as scope:
        values = to_tensor(_values(t), None, "t")
        squares = reduce_sum(values * values, axes, keepdims=True)
        positive = squares > 0
        safe = where(positive, squares, ones_like(squares))  # the gradient of sqrt(0) is not a number
        norm = where(positive, Sqrt(safe), squares)
        scaled = values * clip_norm
        values.shape.merge_with(scaled.shape)  # the norm must not broadcast the values
        return _like(t, identity(scaled / Maximum(norm, clip_norm), scope))


def clip_by_average_norm(t: Any, clip_norm: Any, name: str | None = None) -> Tensor:
    """``tf.clip_by_average_norm``: ``t`` scaled down so that its L2 norm per element is at most ``clip_norm``."""
    with name_scope(name, "clip_by_average_norm", [t, clip_norm]) as scope:
        t = to_tensor(t, None, "t")
        number = cast(size(t), t.dtype.base_dtype)
        inverse = Rsqrt(reduce_sum(t * t, range_(rank(t))))
        return identity(t * clip_norm * Minimum(inverse * number, constant(1.0, t.dtype.base_dtype) / clip_norm), scope)


def _listed(t_list: Any) -> list[Any]:
    if isinstance(t_list, (Tensor, IndexedSlices, str, bytes)) or not hasattr(t_list, "__iter__"):
        raise TypeError("t_list should be a sequence")
    return list(t_list)


def _converted(t_list: list[Any]) -> list[Any]:
    return [t if t is None or isinstance(t, IndexedSlices) else to_tensor(t, None, "t") for t in t_list]


def global_norm(t_list: Any, name: str | None = None) -> Tensor:
    """``tf.global_norm``: the L2 norm of all tensors of a list together; None in the list is left out."""
    t_list = _converted(_listed(t_list))
    with name_scope(name, "global_norm", [_values(t) for t in t_list if t is not None]):
        halves = []
        for t in t_list:
            if t is not None:
                with colocate_with(_values(t)):
                    halves.append(raw_ops.L2Loss(_values(t)))
        total = reduce_sum(stack(halves)) if halves else reduce_sum(constant([]))
        return Sqrt(total * constant(2.0, total.dtype), name="global_norm")


def clip_by_global_norm(t_list: Any, clip_norm: Any, use_norm: Any = None,
                        name: str | None = None) -> tuple[list[Any], Tensor]:
    """``tf.clip_by_global_norm``: (all tensors of a list scaled down so that their global norm is at most ``clip_norm``,
    the global norm before). If that is not finite, all become NaN."""
    given = _listed(t_list)
    norm = global_norm(given) if use_norm is None else use_norm
    t_list = _converted(given)  # a variable is read once more
    with name_scope(name, "clip_by_global_norm", [_values(t) for t in t_list if t is not None] + [clip_norm]) as scope:
        inverse = 1.0 / norm
        limit = constant(1.0, inverse.dtype.base_dtype) / clip_norm
        scale = clip_norm * Minimum(inverse, limit)
        scale = where(IsFinite(norm), scale, constant(float("nan"), scale.dtype.base_dtype))
        clipped = []
        for index, t in enumerate(t_list):
            if t is None:
                clipped.append(None)
                continue
            with colocate_with(_values(t)):
                clipped.append(_like(t, identity(_values(t) * scale, f"{scope}_{index}")))
    return clipped, norm


def saturate_cast(value: Any, dtype: Any, name: str | None = None) -> Tensor:
    """``tf.saturate_cast``: a cast that clips to the range of the new type instead of wrapping around."""
    with name_scope(name, "saturate_cast", [value]) as scope:
        value = to_tensor(value, None, "value")
        target = as_dtype(dtype).base_dtype
        if value.dtype.min < target.min:
            value = Maximum(value, to_tensor(target.min, value.dtype.base_dtype, "min"))
        if value.dtype.max > target.max:
            value = Minimum(value, to_tensor(_largest_below(target.max, value.dtype), value.dtype.base_dtype, "max"))
        return cast(value, target, scope)


def _largest_below(limit: Any, dtype: DType) -> Any:
    """The largest value of ``dtype`` that is no larger than ``limit``: a float32 cannot hold 2**31 - 1."""
    if not dtype.is_floating:
        return limit
    nearest = np.array(limit).astype(dtype.np)
    return np.nextafter(nearest, dtype.np.type(0)) if float(nearest) > float(limit) or int(nearest) > int(limit) else nearest
