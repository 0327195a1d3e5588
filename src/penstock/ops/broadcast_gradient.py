"""Gradients of broadcasting: what was repeated on the way forward is summed on the way back."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph.attrs import types
from penstock.graph.dtypes import int32, int64
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.shape import TensorShape
from penstock.ops.common import unknown


@op("BroadcastGradientArgs", "s0: T, s1: T -> r0: T, r1: T", T=types(int32, int64, default=int32))
class BroadcastGradientArgs:
    """The axes over which gradients of two broadcast operands of shapes ``s0`` and ``s1`` are summed."""

    def shape():
        return [[None], [None]]

    def kernel(s0, s1):
        rank = max(len(s0), len(s1))
        first, second = _padded(s0, rank), _padded(s1, rank)
        if any(p != q and 1 not in (p, q) for p, q in zip(first, second)):
            raise invalid_argument(f"Incompatible shapes: {list(map(int, s0))} vs. {list(map(int, s1))}")
        return (np.array([i for i in range(rank) if first[i] == 1], s0.dtype),
                np.array([i for i in range(rank) if second[i] == 1], s0.dtype))

    gradient = None


def _padded(shape: np.ndarray, rank: int) -> list[int]:
    return [1] * (rank - len(shape)) + [int(extent) for extent in shape]


@op("BroadcastArgs", "s0: T, s1: T -> r0: T", T=types(int32, int64, default=int32))
class BroadcastArgs:
    """The shape that tensors of shapes ``s0`` and ``s1`` broadcast to."""

    shape = unknown(1)

    def kernel(s0, s1):
        try:
            return np.array(np.broadcast_shapes(tuple(s0), tuple(s1)), s0.dtype)
        except ValueError:
            raise invalid_argument(f"Incompatible shapes: {list(map(int, s0))} vs. {list(map(int, s1))}") from None

    gradient = None


def reduce_to(grad: Any, like: Tensor, other: Tensor | None = None) -> Any:
    """``grad`` summed down to the shape of ``like``, which was broadcast to the shape of ``grad``.

    ``other`` is the operand that ``like`` was combined with; if it is given, fewer shapes need to be known to avoid
    work at run time. A gradient of None stays None.
    """
    if grad is None:
        return None
    from penstock.ops import reduce, shape_ops  # they are differentiated by elementwise ops: they stand above this file
    axes = _static_axes(grad.shape, like.shape, None if other is None else other.shape)
    if axes is None:
        wanted = shape_ops.Shape(like)
        axes_tensor, _ = BroadcastGradientArgs(wanted, shape_ops.Shape(grad if other is None else other))
        return shape_ops.reshape(reduce.Sum(grad, axes_tensor), wanted)
    if not axes:
        return grad
    summed = reduce.Sum(grad, np.array(axes, np.int32))
    if summed.shape.ndims == like.shape.ndims:
        return summed
    wanted = np.array(like.shape.as_list(), np.int32) if like.shape.is_fully_defined() else shape_ops.Shape(like)
    return shape_ops.reshape(summed, wanted)


def _static_axes(grad: TensorShape, like: TensorShape, other: TensorShape | None) -> list[int] | None:
    """The axes to sum over, or None if that is only known at run time."""
    if like.extents is not None and like.extents == grad.extents and like.is_fully_defined():
        return []
    if like.extents is None:
        return [] if other is not None and other.ndims == 0 else None
    if grad.extents is None:
        return None
    rank = len(grad.extents)
    mine = (1,) * (rank - len(like.extents)) + like.extents
    others = (None,) * rank
    if other is not None and other.extents is not None:
        others = (1,) * (rank - len(other.extents)) + other.extents
    axes = []
    for axis, (extent, partner, total) in enumerate(zip(mine, others, grad.extents)):
        if extent == 1 and (total != 1 or axis < rank - len(like.extents)):
            axes.append(axis)
        elif extent is None and partner != 1 and total != 1:
            return None  # this extent may turn out to be 1
    return axes


def reduce_both(op: Any, grad_x: Any, grad_y: Any) -> list[Any]:
    """The gradients of a binary elementwise op, each summed down to the shape of its input."""
    x, y = op.inputs
    return [reduce_to(grad_x, x, y), reduce_to(grad_y, y, x)]
