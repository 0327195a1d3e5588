"""Gradients of broadcasting: what was repeated on the way forward is summed on the way back."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph import raw_ops
from penstock.graph.attrs import types
from penstock.graph.convert import to_tensor
from penstock.graph.dtypes import int32, int64
from penstock.graph.graph import default_graph
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.properties import Extents
from penstock.graph.shape import TensorShape
from penstock.ops.demands import check_rank, want_rank


@op("BroadcastGradientArgs", "s0: T, s1: T -> r0: T, r1: T", T=types(int32, int64, default=int32))
class BroadcastGradientArgs:
    """The axes over which gradients of two broadcast operands of shapes ``s0`` and ``s1`` are summed."""

    ranks = {"s0": 1, "s1": 1}

    def shape(s0, s1):
        want_rank(1, s0=s0, s1=s1)
        return [[None], [None]]

    def kernel(s0, s1):
        check_broadcast(s0, s1)
        if np.array_equal(s0, s1):
            return np.empty(0, s0.dtype), np.empty(0, s0.dtype)
        rank = max(len(s0), len(s1))
        return _ones_in(s0, rank), _ones_in(s1, rank)

    gradient = None


def _ones_in(shape: np.ndarray, rank: int) -> np.ndarray:
    """The axes at which a shape, filled up with ones at the left, has extent 1."""
    return np.flatnonzero(np.r_[np.ones(rank - len(shape)), shape] == 1).astype(shape.dtype)


def check_broadcast(x: Any, y: Any) -> None:
    """The error of a step if arrays of these shapes do not broadcast."""
    check_rank(1, s0=x, s1=y)
    if any(p != q and p != 1 and q != 1 for p, q in zip(reversed(x), reversed(y))):
        shown = [",".join(str(int(extent)) for extent in shape) for shape in (x, y)]
        raise invalid_argument(f"Incompatible shapes: [{shown[0]}] vs. [{shown[1]}]")


@op("BroadcastArgs", "s0: T, s1: T -> r0: T", T=types(int32, int64, default=int32))
class BroadcastArgs:
    """The shape that tensors of shapes ``s0`` and ``s1`` broadcast to."""

    ranks = {"s0": 1, "s1": 1}

    def shape(s0, s1):
        lengths = [tensor.shape.with_rank(1).as_list()[0] for tensor in (s0, s1)]
        return [None if None in lengths else max(lengths)]

    def kernel(s0, s1):
        check_broadcast(s0, s1)
        if np.any(np.less(s0, 0)) or np.any(np.less(s1, 0)):
            raise invalid_argument(f"A shape has negative extents: {s0.tolist()}, {s1.tolist()}")
        return np.array(np.broadcast_shapes(tuple(s0), tuple(s1)), s0.dtype)

    gradient = None


def reduce_to(grad: Any, like: Tensor, other: Tensor | None = None) -> Any:
    """``grad`` summed down to the shape of ``like``, which was broadcast to the shape of ``grad``.

    ``other`` is the operand that ``like`` was combined with; if it is given, fewer shapes need to be known to avoid
    work at run time. A gradient of None stays None.
    """
    if grad is None:
        return None
    grad = to_tensor(grad)  # IndexedSlices become dense
    axes = _static_axes(grad.shape, like.shape, None if other is None else other.shape)
    if axes is None:
        wanted = raw_ops.Shape(like)
        axes_tensor, _ = BroadcastGradientArgs(wanted, raw_ops.Shape(grad if other is None else other))
        return raw_ops.Reshape(raw_ops.Sum(grad, axes_tensor), wanted)
    if not axes:
        return grad
    summed = raw_ops.Sum(grad, np.array(axes, np.int32))
    if summed.shape.ndims == like.shape.ndims:
        return summed
    wanted = np.array(like.shape.as_list(), np.int32) if like.shape.is_fully_defined() else raw_ops.Shape(like)
    return raw_ops.Reshape(summed, wanted)


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


def broadcast_nodes(own: int) -> Callable[[Any], int]:
    """``gradient_nodes`` of a binary op whose gradients have ``own`` nodes before they are summed down, which takes 7 at run time."""
    return lambda op: own + 7


def broadcast_reads(op: Any) -> list[Any]:
    """``gradient_reads`` that fits them if both gradients are made of the inputs."""
    return [*map(Extents, op.inputs), *op.inputs]


def known_broadcast_reads(*values: int) -> Callable[[Any], list[Any]]:
    """The same of an op for which TensorFlow makes use of shapes that are known, and whose gradients are made of these inputs."""
    def reads(op: Any) -> list[Any]:
        known = all(tensor.shape.is_fully_defined() for tensor in op.inputs)
        return [*(() if known else (Extents(tensor, computed=True) for tensor in op.inputs)), *(op.inputs[index] for index in values)]
    return reads


def known_broadcast_nodes(own: int, equal: Callable[[Any], bool] = lambda op: True) -> Callable[[Any], int]:
    """The same of an op for which TensorFlow makes use of shapes that are known; with nothing beside ``own`` if they are the same and ``equal``."""
    def nodes(op: Any) -> int:
        shapes = [tuple(tensor.shape.extents or ()) if tensor.shape.is_fully_defined() else None for tensor in (*op.inputs, *op.outputs)]
        if None in shapes[:2]:
            return own + 7
        if shapes[0] == shapes[1] and equal(op):
            return own
        compared = 3 if default_graph().first_time(("broadcast", *shapes[:2])) else 0
        return own + compared + 4 * sum(shape != shapes[2] for shape in shapes[:2])
    return nodes
