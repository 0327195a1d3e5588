"""Sums, products and log-sum-exps of all elements up to each one along an axis."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph import raw_ops
from penstock.graph.attrs import types
from penstock.graph.convert import to_tensor
from penstock.graph.dtypes import float16, float32, float64, int32, int64
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.scopes import name_scope
from penstock.graph.static import constant_value
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import ones_like, zeros_like
from penstock.ops.array.gather import gather
from penstock.ops.array.pack import concat, stack
from penstock.ops.array.permute import InvertPermutation, transpose
from penstock.ops.array.select import where
from penstock.ops.array.sequences import range as range_
from penstock.ops.array.shape_ops import Rank, Shape, reshape
from penstock.ops.array.unique import setdiff1d
from penstock.ops.common import NUMERIC, like, shape_text
from penstock.ops.constant import constant
from penstock.ops.math.compare import Greater, Less
from penstock.ops.math.complex import conj
from penstock.ops.math.division import FloorMod
from penstock.ops.math.elementwise import Mul, Neg, RealDiv, Sub
from penstock.ops.math.powers import Exp, Log
from penstock.ops.precision import NARROW, widen

_AXIS = types(int32, int64, default=int32)


def _scan(accumulate, x, axis, exclusive, reverse, neutral):
    """``accumulate(x, axis)`` from either end; with ``exclusive`` moved by one place, starting at ``neutral``."""
    if np.ndim(axis):
        raise invalid_argument(f"ScanOp: axis must be a scalar, not {shape_text(axis)}")
    x = np.asarray(x)
    if not -x.ndim <= axis < x.ndim:
        raise invalid_argument(f"ScanOp: Expected scan axis in the range [{-x.ndim}, {x.ndim}), but got {axis}")
    moved = np.moveaxis(widen(x), int(axis), 0)
    moved = moved[::-1] if reverse else moved
    if exclusive and len(moved):
        moved = np.concatenate([np.full_like(moved[:1], neutral), moved[:-1]])
    result = accumulate(moved)
    result = result[::-1] if reverse else result
    return np.ascontiguousarray(np.moveaxis(result, 0, int(axis))).astype(x.dtype, copy=False)


def _again(definition, op, x):
    """The scan of ``x`` from the other end."""
    return definition(x, op.inputs[1], exclusive=op.attrs["exclusive"], reverse=not op.attrs["reverse"])


@op("Cumsum", "x: T, axis: Tidx -> out: T", exclusive=False, reverse=False, T=NUMERIC, Tidx=_AXIS)
class Cumsum:
    """The sums of all elements up to each one."""

    shape = like("x")

    def kernel(x, axis, exclusive, reverse):
        return _scan(lambda a: np.cumsum(a, 0, a.dtype), x, axis, exclusive, reverse, 0)

    def native(emit, x, axis, exclusive, reverse):
        return emit.scans.cumulative(x, int(emit.known(axis)), "add", exclusive, reverse)

    def gradient(op, dy):
        return [_again(Cumsum, op, dy), None]


@op("Cumprod", "x: T, axis: Tidx -> out: T", exclusive=False, reverse=False, T=NUMERIC, Tidx=_AXIS)
class Cumprod:
    """The products of all elements up to each one."""

    shape = like("x")

    def kernel(x, axis, exclusive, reverse):
        return _scan(lambda a: np.cumprod(a, 0, a.dtype), x, axis, exclusive, reverse, 1)

    def native(emit, x, axis, exclusive, reverse):
        return emit.scans.cumulative(x, int(emit.known(axis)), "mul", exclusive, reverse)

    def gradient(op, dy):
        x, y = conj(op.inputs[0]), conj(op.outputs[0])
        return [RealDiv(_again(Cumsum, op, Mul(y, dy)), x), None]


@op("CumulativeLogsumexp", "x: T, axis: Tidx -> out: T", exclusive=False, reverse=False,
    T=frozenset([float16, float32, float64]), Tidx=_AXIS)
class CumulativeLogsumexp:
    """log(sum(exp(...))) of all elements up to each one."""

    shape = like("x")

    def kernel(x, axis, exclusive, reverse):
        lowest = -np.inf if np.asarray(x).dtype in NARROW else np.finfo(np.asarray(x).dtype).min
        return _scan(lambda a: np.logaddexp.accumulate(a, 0), x, axis, exclusive, reverse, lowest)

    def gradient(op, dy):
        x, y = op.inputs[0], op.outputs[0]
        zero = zeros_like(dy)
        lowest = constant(dy.dtype.min, dy.dtype)
        positive, negative = Greater(dy, zero), Less(dy, zero)
        up = Sub(where(positive, Log(where(positive, dy, Exp(zero))), zero), y)
        down = Sub(where(negative, Log(where(negative, Neg(dy), Exp(zero))), zero), y)
        up = where(positive, up, zero + lowest)
        down = where(negative, down, zero + lowest)
        up, down = (Exp(_again(CumulativeLogsumexp, op, part) + x) for part in (up, down))
        return [Sub(up, down), None]


def products_of_others(x: Tensor, axes: Tensor) -> Tensor:
    """Per element of ``x``: the product of all other elements that it is multiplied with in Prod over ``axes``.

    Quotients of the whole product by each element would fail where an element is 0.
    """
    rank, known = x.shape.ndims, constant_value(axes)
    if rank is None or known is None:
        return _products_of_flattened(x, axes)
    result, rest = None, x
    for axis in sorted({int(axis) % rank for axis in np.ravel(known)}):
        others = _along(rest, axis)
        result = others if result is None else Mul(result, others)
        rest = raw_ops.Prod(rest, axis, keep_dims=True)
    return ones_like(x) if result is None else result


def _along(x: Tensor, axis: int) -> Tensor:
    """The products of all elements before and behind each one."""
    return Mul(Cumprod(x, axis, exclusive=True), Cumprod(x, axis, exclusive=True, reverse=True))


def _products_of_flattened(x: Tensor, axes: Tensor) -> Tensor:
    """``products_of_others`` for axes that are not known: those to be reduced become one axis, the first."""
    rank = Rank(x)
    axes = FloorMod(reshape(cast(axes, int32), [-1]), rank)
    kept, _ = setdiff1d(range_(rank), axes)
    order = concat([axes, kept], 0)
    extents = Shape(x)
    rows, columns = (raw_ops.Prod(gather(extents, part), 0) for part in (axes, kept))
    moved = transpose(x, order)
    others = reshape(_along(reshape(moved, stack([rows, columns])), 0), Shape(moved))
    return transpose(others, InvertPermutation(order))


# --- public functions ------------------------------------------------------------------------------------------------

def _public(definition: Any, public_name: str, what: str) -> Any:
    def scan(x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None) -> Tensor:
        with name_scope(name, definition.type, [x]) as scope:
            return definition(to_tensor(x, None, "x"), axis, exclusive=exclusive, reverse=reverse, name=scope)

    scan.__name__ = scan.__qualname__ = public_name
    scan.__doc__ = f"""``tf.{public_name}``: {what} of all elements up to each one along ``axis``.

    ``exclusive`` leaves out the element itself; ``reverse`` starts at the end.
    """
    return scan


cumsum = _public(Cumsum, "cumsum", "the sums")
cumprod = _public(Cumprod, "cumprod", "the products")
cumulative_logsumexp = _public(CumulativeLogsumexp, "math.cumulative_logsumexp", "log(sum(exp(...)))")
