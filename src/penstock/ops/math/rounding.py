"""Rounding, and steps from one float to the next, elementwise."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.graph.attrs import types
from penstock.graph.convert import to_tensor
from penstock.graph.dtypes import float32, float64
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.ops.array.broadcast_gradient import reduce_both
from penstock.ops.common import FLOATS, broadcasting, like
from penstock.ops.math.elementwise import SIGNED
from penstock.ops.public import function


@op("Floor", "x: T -> y: T", T=FLOATS)
class Floor:
    """The largest integer that is not above x."""

    elementwise = idempotent = True
    shape = like("x")

    def kernel(x):
        return np.floor(x)

    def lower(b, x):
        return b.floor(x)

    gradient = None


@op("Ceil", "x: T -> y: T", T=FLOATS)
class Ceil:
    """The smallest integer that is not below x."""

    elementwise = idempotent = True
    shape = like("x")

    def kernel(x):
        return np.ceil(x)

    def lower(b, x):
        return b.ceil(x)

    gradient = None


@op("Rint", "x: T -> y: T", T=FLOATS)
class Rint:
    """The integer nearest to x; halves go to the even one."""

    elementwise = idempotent = True
    shape = like("x")

    def kernel(x):
        return np.rint(x)

    def lower(b, x):
        return b.rint(x)

    gradient = None


@op("Round", "x: T -> y: T", T=SIGNED)
class Round:
    """The integer nearest to x; halves go to the even one."""

    elementwise = True
    shape = like("x")

    def kernel(x):
        return np.copy(x) if np.asarray(x).dtype.kind == "i" else np.rint(x)

    def lower(b, x, T):
        return x if T.is_integer else b.rint(x)

    gradient = None


@op("NextAfter", "x1: T, x2: T -> output: T", T=types(float64, float32, default=float32))
class NextAfter:
    """The number next to x1 in the direction of x2."""

    elementwise = True
    shape = broadcasting("x1", "x2")

    def kernel(x1, x2):
        return np.nextafter(x1, x2)

    def gradient(op, dy):
        return reduce_both(op, dy, None)


floor = function(Floor, "floor")
ceil = function(Ceil, "ceil")
rint = function(Rint, "rint")
nextafter = function(NextAfter, "nextafter")


def round(x: Any, name: str | None = None) -> Tensor:
    """``tf.round``: the nearest integer, halves to the even one; integers as they are."""
    x = to_tensor(x, None, "x")
    return x if x.dtype.is_integer else Round(x, name=name)
