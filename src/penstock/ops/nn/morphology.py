"""Grey-scale morphology: dilation and erosion, convolutions in which sums became maxima and products sums."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph.attrs import Attr, one_of
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import op
from penstock.graph.scopes import name_scope
from penstock.graph.shape import TensorShape
from penstock.ops.array.masking import masked
from penstock.ops.array.permute import reverse
from penstock.ops.array.shape_ops import one_name
from penstock.ops.common import REAL
from penstock.ops.math.elementwise import negative
from penstock.ops.nn.conv_shape import check_rank, check_strides
from penstock.ops.nn.pooling_core import lowest, undefined
from penstock.ops.nn.windows import Windows, output_extent, windows
from penstock.ops.precision import in_float32

_INTS_4 = Attr("list(int)", minimum=4)
_ATTRS = dict(T=REAL, strides=_INTS_4, rates=_INTS_4, padding=one_of("SAME", "VALID"))


def _dilated_shape(op_type: str, input: Any, filter: Any, strides: tuple, rates: tuple, padding: str) -> TensorShape:
    """The shape of a dilation's output."""
    check_strides(op_type, 4, strides, rates, "NHWC")
    given, filters = check_rank(input.shape, 4), check_rank(filter.shape, 3).extents
    if 0 in filters[:2]:
        raise ValueError(f"filter must not be empty, but has the shape {filter.shape}")
    inner = [output_extent(given.extents[i + 1], filters[i], strides[i + 1], rates[i + 1], padding) for i in range(2)]
    return TensorShape([given.extents[0], *inner, *given[3:].merge_with(filters[2:]).extents])


def _windows(input: np.ndarray, filter: np.ndarray, strides: tuple, rates: tuple, padding: str) -> Windows:
    if input.ndim != 4 or filter.ndim != 3 or input.shape[3] != filter.shape[2]:
        raise invalid_argument("input and filter must have the same depth: "
                               f"{list(input.shape)} vs {list(filter.shape)}")
    return windows(input.shape[1:3], filter.shape[:2], strides[1:3], rates[1:3], padding)


def _sums(input, filter, w):
    """(tap, input + filter there): what the maximum is taken over."""
    seen = w.view(w.pad(input, 1, lowest(input.dtype)), 1)
    for tap in np.ndindex(*w.window):
        yield tap, seen[(slice(None), slice(None), slice(None), *tap)] + filter[tap]


def _dilate(input, filter, w):
    best = None
    for _, candidate in _sums(input, filter, w):
        best = candidate if best is None else np.maximum(best, candidate, out=best)
    return best


def _winners(input, filter, w):
    """(tap, the outputs whose first maximum is there)."""
    best = _dilate(input, filter, w)
    free = np.ones(best.shape, bool)
    for tap, candidate in _sums(input, filter, w):
        won = (candidate == best) & free
        free ^= won
        yield tap, won


@op("Dilation2D", "input: T, filter: T -> output: T", **_ATTRS)
class Dilation2D:
    """The maximum over each window of input + filter."""

    def shape(input, filter, strides, rates, padding):
        return _dilated_shape("Dilation2D", input, filter, strides, rates, padding)

    @in_float32
    def kernel(input, filter, strides, rates, padding):
        return _dilate(input, filter, _windows(input, filter, strides, rates, padding))

    def gradient(op, dy):
        x, f = op.inputs
        attrs = {name: value for name, value in op.attrs.items() if name != "T"}
        return [Dilation2DBackpropInput(x, f, dy, **attrs), Dilation2DBackpropFilter(x, f, dy, **attrs)]


@op("Dilation2DBackpropInput", "input: T, filter: T, out_backprop: T -> in_backprop: T", **_ATTRS)
class Dilation2DBackpropInput:
    """The gradient of Dilation2D for its input: it goes to where the maximum came from."""

    def shape(input, filter, out_backprop, strides, rates, padding):
        _dilated_shape("Dilation2DBackpropInput", input, filter, strides, rates, padding).merge_with(out_backprop.shape)
        return check_rank(input.shape, 4)

    @in_float32
    def kernel(input, filter, out_backprop, strides, rates, padding):
        w = _windows(input, filter, strides, rates, padding)
        padded = w.padded_zeros(input.shape, 1, input.dtype)
        target = w.view(padded, 1)
        for tap, won in _winners(input, filter, w):
            target[(slice(None), slice(None), slice(None), *tap)] += masked(out_backprop, won)
        return np.ascontiguousarray(w.inner(padded, 1))

    gradient = undefined


@op("Dilation2DBackpropFilter", "input: T, filter: T, out_backprop: T -> filter_backprop: T", **_ATTRS)
class Dilation2DBackpropFilter:
    """The gradient of Dilation2D for its filter."""

    def shape(input, filter, out_backprop, strides, rates, padding):
        _dilated_shape("Dilation2DBackpropFilter", input, filter, strides, rates, padding).merge_with(out_backprop.shape)
        return check_rank(filter.shape, 3)

    @in_float32
    def kernel(input, filter, out_backprop, strides, rates, padding):
        result = np.zeros_like(filter)
        for tap, won in _winners(input, filter, _windows(input, filter, strides, rates, padding)):
            result[tap] = masked(out_backprop, won).sum(axis=(0, 1, 2), dtype=result.dtype)
        return result

    gradient = undefined


def dilation2d(input, filter=None, strides=None, rates=None, padding=None, name=None, filters=None, dilations=None):
    """``tf.nn.dilation2d``: the maximum over each window of input + filter."""
    filter, rates = one_name("filter", filter, "filters", filters), one_name("rates", rates, "dilations", dilations)
    return Dilation2D(input, filter, strides=strides, rates=rates, padding=padding, name=name)


def erosion2d(value, kernel, strides, rates, padding, name=None):
    """``tf.nn.erosion2d``: the minimum over each window of value - kernel (flipped)."""
    with name_scope(name, "erosion2d", [value, kernel]) as scope:
        value, kernel = convert_to_tensor(value, name="value"), convert_to_tensor(kernel, name="kernel")
        flipped = reverse(kernel, [0, 1])
        return negative(Dilation2D(negative(value), flipped, strides=strides, rates=rates, padding=padding, name=scope))
