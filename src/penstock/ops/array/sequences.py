"""Sequences of numbers: ranges and evenly spaced points."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph import dtypes
from penstock.graph.attrs import types
from penstock.graph.convert import to_tensor
from penstock.graph.dtypes import bfloat16, float32, float64, int32, int64
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.scopes import name_scope
from penstock.graph.static import constant_value
from penstock.ops.array.cast import cast
from penstock.ops.array.shape_ops import Rank
from penstock.ops.constant import constant
from penstock.ops.demands import check_rank, want_rank
from penstock.ops.public import function


def _length(start: Any, limit: Any, delta: Any) -> int:
    """How many numbers a range has; ValueError if it runs the wrong way."""
    if delta == 0:
        raise ValueError(f"Requires delta != 0: {delta}")
    if delta > 0 and start > limit:
        raise ValueError(f"Requires start <= limit when delta > 0: {start}/{limit}")
    if delta < 0 and start < limit:
        raise ValueError(f"Requires start >= limit when delta < 0: {start}/{limit}")
    if isinstance(start, int):
        return max(0, -((start - limit) // delta))
    return max(0, math.ceil(abs((limit - start) / delta)))


def _plain(value: Any) -> Any:
    return np.asarray(value).item() if np.asarray(value).dtype.kind in "iuf" else float(value)


@op("Range", "start: Tidx, limit: Tidx, delta: Tidx -> output: Tidx",
    Tidx=types(bfloat16, float32, float64, int32, int64, default=int32))
class Range:
    """start, start + delta, ... as long as they are before limit."""

    ranks = {"start": 0, "limit": 0, "delta": 0}

    def shape(start, limit, delta):
        want_rank(0, start=start, limit=limit, delta=delta)
        values = [constant_value(tensor) for tensor in (start, limit, delta)]
        return [None] if any(value is None for value in values) else [_length(*map(_plain, values))]

    def kernel(start, limit, delta, Tidx):
        check_rank(0, start=start, limit=limit, delta=delta)
        first, last, step = _plain(start), _plain(limit), _plain(delta)
        try:
            length = _length(first, last, step)
        except ValueError as error:
            raise invalid_argument(str(error)) from None
        if Tidx.is_integer:
            return np.arange(length, dtype=Tidx.np) * Tidx.np.type(step) + Tidx.np.type(first)
        return (np.arange(length) * step + first).astype(Tidx.np)

    gradient = None


_PARTS = ("start", "limit", "delta")
_ORDER = [int32, int64, float32, float64]


def range(start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: str = "range") -> Tensor:
    """``tf.range``: numbers from ``start`` (0 if it is the only argument) before ``limit`` in steps of ``delta``."""
    if limit is None:
        start, limit = 0, start
    with name_scope(name, "Range", [start, limit, delta]) as scope:
        wanted = None if dtype is None else dtypes.as_dtype(dtype)
        ends = [to_tensor(value, wanted, part) for part, value in zip(_PARTS, (start, limit, delta))]
        if wanted is None:
            types = [end.dtype.base_dtype for end in ends]
            if all(kind in _ORDER for kind in types):
                ends = [cast(end, max(types, key=_ORDER.index)) for end in ends]
        return Range(*ends, name=scope)


def all_axes(x: Tensor) -> Any:
    """The numbers of all axes of a tensor: what a reduction to a scalar runs over."""
    ndims = x.shape.ndims
    if ndims is None:
        return range(0, Rank(x))
    return np.arange(ndims, dtype=np.int32).tolist() if ndims and x.imperative else constant(np.arange(ndims, dtype=np.int32))


@op("LinSpace", "start: T, stop: T, num: Tidx -> output: T", T=frozenset([bfloat16, float32, float64]),
    Tidx=types(int32, int64, default=int32))
class LinSpace:
    """``num`` evenly spaced values from ``start`` to ``stop``, both included."""

    ranks = {"start": 0, "stop": 0, "num": 0}

    def shape(start, stop, num):
        want_rank(0, start=start, stop=stop, num=num)
        number = constant_value(num)
        if number is not None and number <= 0:
            raise ValueError(f"Requires num > 0: {number}")
        return [None if number is None else int(number)]

    def kernel(start, stop, num, T):
        check_rank(0, start=start, stop=stop, num=num)
        if num <= 0:
            raise invalid_argument(f"Requires num > 0: {num}")
        return np.linspace(float(start), float(stop), int(num)).astype(T.np)

    gradient = None


linspace = lin_space = function(LinSpace, "linspace")
