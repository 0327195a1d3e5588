"""Batch normalization as one op, over all axes but the channels, and its gradients.

The statistics are float32, also where x is float16 or bfloat16. ``reserve_space`` outputs carry what the gradient
needs: mean and (biased) variance of the batch.
"""
from __future__ import annotations

import math

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph import dtypes as dt
from penstock.graph.attrs import one_of, types
from penstock.graph.opdef import op
from penstock.graph.shape import scalar
from penstock.ops.array.cast import cast
from penstock.ops.array.shape_ops import reshape
from penstock.ops.math.powers import rsqrt
from penstock.ops.math.reduce import reduce_mean, reduce_sum
from penstock.ops.nn import data_formats
from penstock.ops.nn.conv_shape import check_rank
from penstock.ops.precision import widen

_WIDE = dict(T=types(dt.float32))
_MIXED = dict(T=types(dt.float16, dt.bfloat16, dt.float32), U=types(dt.float32))
_REST = dict(epsilon=9.999999747378752e-05, data_format=one_of("NHWC", "NCHW", default="NHWC"), is_training=True)
_EMPTY = np.zeros(0, np.float32)


# --- kernels ---------------------------------------------------------------------------------------------------------

def _rows(x, data_format):
    """x as a float32 matrix with one column per channel."""
    x = widen(data_formats.channels_last(x, data_format))
    return x.reshape(-1, x.shape[-1])


def _unrows(rows, x, data_format):
    """A matrix of ``_rows`` in the shape and type of x."""
    shape = data_formats.channels_last(x, data_format).shape
    return data_formats.from_channels_last(rows.reshape(shape), data_format).astype(x.dtype, copy=False)


def _check_vectors(x, data_format, **vectors):
    if x.ndim != 4:
        raise invalid_argument(f"input must be 4-dimensional, not {list(x.shape)}")
    channels = data_formats.channels(x.shape, data_format)
    for name, vector in vectors.items():
        if vector.shape != (channels,):
            raise invalid_argument(f"{name} must have the same number of elements as the channels of x, "
                                   f"got {list(vector.shape)} and {channels}")


def _normalize(x, scale, offset, mean, variance, epsilon, data_format, is_training):
    """(y, mean and variance to report, mean and variance to normalize with)."""
    _check_vectors(x, data_format, scale=scale, offset=offset)
    rows = _rows(x, data_format)
    reported = mean, variance
    if is_training:
        mean = rows.mean(axis=0, dtype=np.float32) if len(rows) else np.full(scale.shape, np.nan, np.float32)
        variance = np.square(rows - mean).mean(axis=0, dtype=np.float32) if len(rows) else mean
        unbiased = np.float32(len(rows) / max(len(rows) - 1, 1))
        reported = mean, variance * unbiased
    else:
        _check_vectors(x, data_format, mean=mean, variance=variance)
    factor = scale / np.sqrt(variance + np.float32(epsilon))
    y = rows * factor
    y += offset - mean * factor
    return _unrows(y, x, data_format), *reported, mean, variance


def _normalize_grad(dy, x, scale, mean, variance, epsilon, data_format, is_training):
    """Gradients for x, scale and offset."""
    _check_vectors(x, data_format, scale=scale, mean=mean, variance=variance)
    if dy.shape != x.shape:
        raise invalid_argument(f"y_backprop and x must have the same shape, got {list(dy.shape)} and {list(x.shape)}")
    rows, d_rows = _rows(x, data_format), _rows(dy, data_format)
    inverse = 1 / np.sqrt(variance + np.float32(epsilon))
    normalized = (rows - mean) * inverse
    d_offset = d_rows.sum(axis=0, dtype=np.float32)
    d_scale = (d_rows * normalized).sum(axis=0, dtype=np.float32)
    if is_training:
        count = np.float32(max(len(rows), 1))
        d_rows = d_rows - d_offset / count - normalized * (d_scale / count)
    return _unrows(d_rows * (scale * inverse), x, data_format), d_scale, d_offset


# --- the same, taken apart for the compiler --------------------------------------------------------------------------

def _compose(b, x, scale, offset, mean, variance, epsilon, data_format, is_training):
    axes, rest = ([0, 2, 3], [*scale.shape, 1, 1]) if data_formats.channels_first(data_format) else ([0, 1, 2], scale.shape)
    wide = b.wide(x)
    reported = mean, variance
    if is_training:
        count = int(np.prod([x.shape[axis] for axis in axes]))
        share = 1 / count if count else math.nan  # nothing has no mean
        exact = b.cast(wide, dt.float64)  # the mean of squares less the square of the mean: in one pass, but only with digits to spare
        center = b.sum(exact, axes) * share
        spread = b.maximum(b.sum(b.square(exact), axes) * share - b.square(center), 0)
        mean, variance = (b.reshape(b.cast(each, dt.float32), scale.shape) for each in (center, spread))
        reported = mean, variance * (count / max(count - 1, 1))
    factor = scale / b.sqrt(variance + epsilon)
    y = wide * b.reshape(factor, rest) + b.reshape(offset - mean * factor, rest)
    return b.cast(y, x.dtype), *reported, mean, variance


def _composed_grad(b, dy, x, scale, mean, variance, epsilon, data_format, is_training):
    axes, rest = ([0, 2, 3], [*scale.shape, 1, 1]) if data_formats.channels_first(data_format) else ([0, 1, 2], scale.shape)
    wide, d_wide = b.wide(x), b.wide(dy)
    inverse = b.rsqrt(variance + epsilon)
    centered = wide - b.reshape(mean, rest)
    d_offset = b.reshape(b.sum(d_wide, axes), scale.shape)
    d_scale = b.reshape(b.sum(d_wide * centered, axes), scale.shape) * inverse
    d_x = d_wide
    if is_training:
        count = max(int(np.prod([x.shape[axis] for axis in axes])), 1)
        d_x = d_wide - b.reshape(d_offset * (1 / count), rest) - centered * b.reshape(d_scale * inverse * (1 / count), rest)
    return b.cast(d_x * b.reshape(scale * inverse, rest), x.dtype), d_scale, d_offset


# --- shapes and gradients that the versions share --------------------------------------------------------------------

def _forward_shapes(x, scale, offset, mean, variance, data_format, is_training):
    extents = check_rank(x.shape, 4).extents
    channels = data_formats.channels(extents, data_format)
    for vector in (scale, offset) if is_training else (scale, offset, mean, variance):
        length = check_rank(vector.shape, 1).extents[0]
        if channels is not None and length is not None and channels != length:
            raise ValueError(f"Dimensions must be equal, but are {channels} and {length}")
        channels = length if channels is None else channels
    y = data_formats.arrange(extents[0], data_formats.spatial(extents, data_format), channels, data_format)
    return [y, [channels], [channels], [channels], [channels]]


def _backward_shapes(x, y_backprop, scale, data_format, is_training):
    shape = check_rank(x.shape, 4).merge_with(y_backprop.shape)
    channels = data_formats.channels(shape.extents, data_format)
    vector = check_rank(scale.shape, 1).merge_with([channels])
    return [shape, vector, vector, *([[0], [0]] if is_training else [vector, vector])]


def _unused_outputs(mean, is_training):
    """The two last outputs of the gradient ops, which nothing uses."""
    return (_EMPTY, _EMPTY) if is_training else (np.zeros_like(mean), np.zeros_like(mean))


def _first_order(definition, op, dy, *more):
    """Gradients for (x, scale, offset, mean, variance)."""
    attrs = {name: op.attrs[name] for name in _REST}
    mean, variance = op.outputs[3:5] if attrs["is_training"] else op.inputs[3:5]
    return definition(dy, op.inputs[0], op.inputs[1], mean, variance, *more, **attrs)


class _Channels:
    """Vectors along the channels, and means over all other axes, for graphs of one data format."""

    def __init__(self, data_format):
        self.axes = [0, 2, 3] if data_formats.channels_first(data_format) else [0, 1, 2]
        self.first = data_formats.channels_first(data_format)

    def spread(self, vector):
        """The vector in a shape that broadcasts along the channels."""
        return reshape(vector, [1, -1, 1, 1]) if self.first else vector

    def mean(self, x):
        """The mean per channel, with all axes kept."""
        return reduce_mean(x, self.axes, keepdims=True)

    def total(self, x):
        """The sum per channel, as a vector."""
        return reduce_sum(x, self.axes)


def _second_order(op, g_x, g_scale, g_offset):
    """Gradients of a gradient op for (dy, x, scale), in closed form.

    With h the normalized input, r = 1 / sqrt(variance + epsilon) and E the mean, the op computes
    d_x = scale r (dy - E[dy] - h E[dy h]), d_scale = sum(dy h), d_offset = sum(dy), where h and r depend on x.
    """
    c = _Channels(op.attrs["data_format"])
    dy, x = (cast(tensor, dt.float32) for tensor in op.inputs[:2])
    kind = op.inputs[1].dtype.base_dtype
    g_x = cast(g_x, dt.float32)
    g_scale, g_offset, scale, mean, variance = (c.spread(v) for v in (g_scale, g_offset, *op.inputs[2:5]))
    if not op.attrs["is_training"]:
        r = rsqrt(variance + op.attrs["epsilon"])
        return [cast(g_x * scale * r + g_scale * (x - mean) * r + g_offset, kind), cast(g_scale * r * dy, kind),
                c.total(r * g_x * dy)]
    centered = x - c.mean(x)
    r = rsqrt(c.mean(centered * centered) + op.attrs["epsilon"])
    h = centered * r
    dy_c, g_c = dy - c.mean(dy), g_x - c.mean(g_x)
    a, b = c.mean(g_c * h), c.mean(dy_c * h)
    p, q = dy_c - h * b, g_c - h * a
    k = c.mean(g_c * dy_c) - a * b
    d_dy = scale * r * q + g_scale * h + g_offset
    d_x = g_scale * r * p - scale * r * r * (k * h + b * q + a * p)
    return [cast(d_dy, kind), cast(d_x, kind), c.total(r * g_x * p)]


# --- the ops ---------------------------------------------------------------------------------------------------------

class _Forward:
    images = ("x", "y")

    def shape(x, scale, offset, mean, variance, data_format, is_training):
        return _forward_shapes(x, scale, offset, mean, variance, data_format, is_training)

    def kernel(x, scale, offset, mean, variance, epsilon, data_format, is_training):
        return _normalize(x, scale, offset, mean, variance, epsilon, data_format, is_training)

    def compose(b, x, scale, offset, mean, variance, epsilon, data_format, is_training):
        return _compose(b, x, scale, offset, mean, variance, epsilon, data_format, is_training)


class _Backward:
    images = ("y_backprop", "x", "x_backprop")
    ranks = {"reserve_space_1": 1, "reserve_space_2": 1}

    def shape(y_backprop, x, scale, data_format, is_training):
        return _backward_shapes(x, y_backprop, scale, data_format, is_training)

    def kernel(y_backprop, x, scale, reserve_space_1, reserve_space_2, epsilon, data_format, is_training):
        grads = _normalize_grad(y_backprop, x, scale, reserve_space_1, reserve_space_2, epsilon, data_format,
                                is_training)
        return *grads, *_unused_outputs(reserve_space_1, is_training)

    def compose(b, y_backprop, x, scale, reserve_space_1, reserve_space_2, epsilon, data_format, is_training):
        grads = _composed_grad(b, y_backprop, x, scale, reserve_space_1, reserve_space_2, epsilon, data_format, is_training)
        return *grads, *[b.zeros([0] if is_training else scale.shape, dt.float32) for _ in range(2)]

    def gradient(op, g_x, g_scale, g_offset, *_):
        return [*_second_order(op, g_x, g_scale, g_offset), None, None]


@op("FusedBatchNorm",
    "x: T, scale: T, offset: T, mean: T, variance: T -> y: T, batch_mean: T, batch_variance: T, reserve_space_1: T, "
    "reserve_space_2: T", **_WIDE, **_REST)
class FusedBatchNorm(_Forward):
    """scale * (x - mean) / sqrt(variance + epsilon) + offset, with the statistics of the batch or the given ones."""

    def gradient(op, dy, *_):
        return _first_order(FusedBatchNormGrad, op, dy)


@op("FusedBatchNormV2",
    "x: T, scale: U, offset: U, mean: U, variance: U -> y: T, batch_mean: U, batch_variance: U, reserve_space_1: U, "
    "reserve_space_2: U", **_MIXED, **_REST)
class FusedBatchNormV2(_Forward):
    """FusedBatchNorm for x of half precision too."""

    def gradient(op, dy, *_):
        return _first_order(FusedBatchNormGradV2, op, dy)


@op("FusedBatchNormV3",
    "x: T, scale: U, offset: U, mean: U, variance: U -> y: T, batch_mean: U, batch_variance: U, reserve_space_1: U, "
    "reserve_space_2: U, reserve_space_3: U", **_MIXED, **_REST)
class FusedBatchNormV3:
    """FusedBatchNormV2 with one more output, which other devices need."""

    images = ("x", "y")

    def shape(x, scale, offset, mean, variance, data_format, is_training):
        return [*_forward_shapes(x, scale, offset, mean, variance, data_format, is_training), scalar()]

    def kernel(x, scale, offset, mean, variance, epsilon, data_format, is_training):
        return *_normalize(x, scale, offset, mean, variance, epsilon, data_format, is_training), np.float32(0)

    def compose(b, x, scale, offset, mean, variance, epsilon, data_format, is_training):
        return _compose(b, x, scale, offset, mean, variance, epsilon, data_format, is_training) + (b.zeros([], dt.float32),)

    def gradient(op, dy, *_):
        return _first_order(FusedBatchNormGradV3, op, dy, op.outputs[5])


@op("FusedBatchNormGrad",
    "y_backprop: T, x: T, scale: T, reserve_space_1: T, reserve_space_2: T -> x_backprop: T, scale_backprop: T, "
    "offset_backprop: T, reserve_space_3: T, reserve_space_4: T", **_WIDE, **_REST)
class FusedBatchNormGrad(_Backward):
    """The gradient of FusedBatchNorm."""


@op("FusedBatchNormGradV2",
    "y_backprop: T, x: T, scale: float32, reserve_space_1: U, reserve_space_2: U -> x_backprop: T, scale_backprop: U, "
    "offset_backprop: U, reserve_space_3: U, reserve_space_4: U", **_MIXED, **_REST)
class FusedBatchNormGradV2(_Backward):
    """The gradient of FusedBatchNormV2."""


@op("FusedBatchNormGradV3",
    "y_backprop: T, x: T, scale: float32, reserve_space_1: U, reserve_space_2: U, reserve_space_3: U -> "
    "x_backprop: T, scale_backprop: U, offset_backprop: U, reserve_space_4: U, reserve_space_5: U", **_MIXED, **_REST)
class FusedBatchNormGradV3(_Backward):
    """The gradient of FusedBatchNormV3."""

    def gradient(op, g_x, g_scale, g_offset, *_):
        return [*_second_order(op, g_x, g_scale, g_offset), None, None, None]
