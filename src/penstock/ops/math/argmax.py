"""Where the extremes are: ArgMax and ArgMin."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph.attrs import types
from penstock.graph.dtypes import int32, int64
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.static import constant_value
from penstock.ops.common import NUMERIC, canonical_axis
from penstock.ops.demands import want_rank
from penstock.platform.deprecation import older_argument

_TYPES = {"T": NUMERIC, "Tidx": types(int32, int64, default=int32), "output_type": types(int32, int64, default=int64)}


def _without_axis(input, dimension):
    want_rank(0, dimension=dimension)
    extents = input.shape.extents
    if extents is None:
        return None
    axis = constant_value(dimension)
    if axis is None:
        return [None] * (len(extents) - 1)
    axis = canonical_axis(int(axis), len(extents), "Dimension")
    return [*extents[:axis], *extents[axis + 1:]]


def _find(function, x, dimension, dtype):
    if np.ndim(dimension):
        raise invalid_argument(f"dim must be a scalar, but received tensor of shape: {list(np.shape(dimension))}")
    x = np.asarray(x)
    if not -x.ndim <= dimension < x.ndim:
        raise invalid_argument(f"Expected dimension in the range [{-x.ndim}, {x.ndim}), but got {dimension}")
    axis = int(dimension) % x.ndim
    if x.shape[axis] == 0:
        raise invalid_argument(f"Reduction axis {axis} is empty in shape {list(x.shape)}")
    return np.asarray(function(x, axis=axis)).astype(dtype.np)


def _compose_index(b, x, extreme, dimension, dtype):
    """The smallest index at which the extreme stands; a NaN is the extreme."""
    axis = int(b.known(dimension)) % len(x.shape)
    if not x.shape[axis]:
        b.unsupported("nothing has no extreme")
    matches = b.equal(x, extreme(x, [axis]))
    if x.dtype.is_floating:
        matches = b.logical_or(matches, b.is_nan(x))
    places = b.constant(np.arange(x.shape[axis]).reshape(-1, *[1] * (len(x.shape) - 1 - axis)), int32)
    first = b.min(b.select(matches, places, x.shape[axis]), [axis])
    return b.reshape(b.cast(first, dtype), [*x.shape[:axis], *x.shape[axis + 1:]])


@op("ArgMax", "input: T, dimension: Tidx -> output: output_type", **_TYPES)
class ArgMax:
    """The index of the largest element along an axis; the first one of several."""

    ranks = {"dimension": 0}
    shape = _without_axis

    def kernel(input, dimension, output_type):
        return _find(np.argmax, input, dimension, output_type)

    def compose(b, input, dimension, output_type):
        return _compose_index(b, input, b.max, dimension, output_type)

    gradient = None


@op("ArgMin", "input: T, dimension: Tidx -> output: output_type", **_TYPES)
class ArgMin:
    """The index of the smallest element along an axis; the first one of several."""

    ranks = {"dimension": 0}
    shape = _without_axis

    def kernel(input, dimension, output_type):
        return _find(np.argmin, input, dimension, output_type)

    def compose(b, input, dimension, output_type):
        return _compose_index(b, input, b.min, dimension, output_type)

    gradient = None


def argmax(input: Any, axis: Any = None, name: str | None = None, dimension: Any = None,
           output_type: Any = int64) -> Tensor:
    """``tf.argmax``: the index of the largest element along ``axis`` (0 if it is not given)."""
    axis = older_argument("axis", axis, "dimension", dimension)
    return ArgMax(input, 0 if axis is None else axis, output_type=output_type, name=name)


def argmin(input: Any, axis: Any = None, name: str | None = None, dimension: Any = None,
           output_type: Any = int64) -> Tensor:
    """``tf.argmin``: the index of the smallest element along ``axis`` (0 if it is not given)."""
    axis = older_argument("axis", axis, "dimension", dimension)
    return ArgMin(input, 0 if axis is None else axis, output_type=output_type, name=name)


def arg_max(input: Any, dimension: Any, output_type: Any = int64, name: str | None = None) -> Tensor:
    """``tf.arg_max``, the old spelling of ``argmax``."""
    return ArgMax(input, dimension, output_type=output_type, name=name)


def arg_min(input: Any, dimension: Any, output_type: Any = int64, name: str | None = None) -> Tensor:
    """``tf.arg_min``, the old spelling of ``argmin``."""
    return ArgMin(input, dimension, output_type=output_type, name=name)
