"""Choosing by a condition: where, in both of its meanings."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph import dtypes as dt
from penstock.graph.attrs import TYPE, Attr
from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.scopes import name_scope
from penstock.ops.array.broadcast_gradient import reduce_to
from penstock.ops.array.fill import zeros_like
from penstock.ops.array.shape_ops import as_array
from penstock.ops.common import NUMERIC, broadcasting, shape_text


@op("Where", "input: T -> index: int64", T=Attr("type", dt.bool_, NUMERIC | {dt.bool_}))
class Where:
    """The positions of the elements that are not zero, one per row."""

    dynamic_shape = True
    bounded = lambda attrs: ("_BoundedWhere", {"T": attrs["T"]}, ())

    def shape(input):
        return [None, input.shape.ndims]

    def kernel(input):
        return _positions(input)

    gradient = None


def _positions(array: Any) -> np.ndarray:
    return np.argwhere(np.atleast_1d(array)).astype(np.int64, copy=False) if np.ndim(array) else np.zeros((int(bool(array)), 0), np.int64)


@op("_BoundedWhere", "input: T -> index: int64, count: int32", T=Attr("type", dt.bool_, NUMERIC | {dt.bool_}))
class BoundedWhere:
    """``Where``, with rows of zeros behind as many as there are elements."""

    gradient = None

    def shape(input):
        return [[input.shape.num_elements(), input.shape.ndims], []]

    def kernel(input):
        rows = _positions(input)
        return np.concatenate([rows, np.zeros((np.size(input) - len(rows), np.ndim(input)), np.int64)]), np.int32(len(rows))

    def native(emit, input):
        return emit.select.positions(input)


@op("Select", "condition: bool, t: T, e: T -> output: T", T=TYPE)
class Select:
    """``t`` where the condition holds, else ``e``; a condition vector chooses whole rows."""

    def shape(condition, t, e):
        merged = t.shape.merge_with(e.shape)
        if condition.shape.ndims is None or merged.ndims is None or condition.shape.ndims == 0:
            return merged
        if condition.shape.ndims == 1 and merged.ndims >= 1:
            condition.shape[0].assert_is_compatible_with(merged[0])
            return merged if merged.extents[0] is not None else [condition.shape.extents[0], *merged.extents[1:]]
        return merged.merge_with(condition.shape)

    def kernel(condition, t, e):
        t, e, condition = as_array(t), as_array(e), as_array(condition)
        if t.shape != e.shape:
            raise invalid_argument(f"'t' and 'e' must have the same size, but received: {shape_text(t)} vs. {shape_text(e)}")
        if condition.shape == t.shape:
            return np.where(condition, t, e)
        if condition.ndim == 0:
            return t if condition else e
        if condition.ndim != 1 or t.ndim < 1 or condition.shape[0] != t.shape[0]:
            raise invalid_argument(f"'condition' of shape {shape_text(condition)} does not fit values of shape {shape_text(t)}: it must have "
                                   "the same shape, or be a vector with an element per row")
        return np.where(condition.reshape(-1, *[1] * (t.ndim - 1)), t, e)

    def compose(b, condition, t, e):
        if t.shape != e.shape or condition.shape not in (t.shape, (), t.shape[:1]):
            b.unsupported("the shapes do not fit")
        rows = len(condition.shape) == 1 and condition.shape != t.shape
        return b.select(b.reshape(condition, [*condition.shape, *[1] * (len(t.shape) - 1)]) if rows else condition, t, e)

    def gradient(op, dy):
        condition = op.inputs[0]
        zeros = zeros_like(op.inputs[1])
        return [None, Select(condition, dy, zeros), Select(condition, zeros, dy)]


@op("SelectV2", "condition: bool, t: T, e: T -> output: T", T=TYPE)
class SelectV2:
    """``t`` where the condition holds, else ``e``, with broadcasting."""

    elementwise = True
    shape = broadcasting("condition", "t", "e")

    def kernel(condition, t, e):
        try:
            return np.where(as_array(condition), as_array(t), as_array(e))
        except ValueError:
            shapes = ", ".join(shape_text(x) for x in (condition, t, e))
            raise invalid_argument(f"condition, then and else must be broadcastable, but have shapes {shapes}") from None

    def lower(b, condition, t, e):
        return b.select(condition, t, e)

    def gradient(op, dy):
        condition, t, e = op.inputs
        dy = to_tensor(dy)
        zeros = zeros_like(dy)
        return [None, reduce_to(SelectV2(condition, dy, zeros), t), reduce_to(SelectV2(condition, zeros, dy), e)]


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """``tf.where``: with ``x`` and ``y``, elements of one or the other; without, the positions where the condition holds."""
    if x is None and y is None:
        with name_scope(name, "Where", [condition]) as scope:
            return Where(to_tensor(condition, None, "condition"), name=scope)
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    return Select(condition, x, y, name=name)


def where_v2(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """``tf.where_v2``: ``where`` with broadcasting."""
    if x is None and y is None:
        return where(condition, name=name)
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    return SelectV2(condition, x, y, name=name)
