"""Local response normalization: each element is divided by a norm of its neighbours along the channels."""
from __future__ import annotations

import numpy as np

from penstock.graph import dtypes as dt
from penstock.graph.attrs import types
from penstock.graph.opdef import op
from penstock.graph.shape import TensorShape
from penstock.ops.array.shape_ops import reshape
from penstock.ops.array.shape_ops import shape as shape_of
from penstock.ops.linalg.matmul import matmul
from penstock.ops.math.powers import pow
from penstock.ops.nn.conv_shape import check_rank
from penstock.ops.precision import in_float32

_ATTRS = dict(depth_radius=5, bias=1.0, alpha=1.0, beta=0.5,
              T=types(dt.float16, dt.bfloat16, dt.float32, default=dt.float32))


def _neighbour_sum(x: np.ndarray, radius: int) -> np.ndarray:
    """The sum over the channels that are at most ``radius`` away: a product with a band matrix. (Of which 0 times NaN would be NaN.)"""
    channels = x.shape[-1]
    if channels and not np.isfinite(x).all():
        padded = np.pad(x, [*[(0, 0)] * (x.ndim - 1), (radius, radius)])
        return np.lib.stride_tricks.sliding_window_view(padded, 2 * radius + 1, axis=-1).sum(-1, dtype=x.dtype)
    return (x.reshape(x.size // max(channels, 1), channels) @ _band(channels, radius, x.dtype)).reshape(x.shape)


def _band(channels: int, radius: int, dtype: np.dtype) -> np.ndarray:
    channel = np.arange(channels)
    return (np.abs(channel[:, None] - channel) <= radius).astype(dtype)


def _neighbour_sum_graph(x, radius):
    """The same, as a graph."""
    channels = x.shape.extents[-1]
    if channels is None:
        raise ValueError("the second derivative of LRN needs a known number of channels")
    rows = matmul(reshape(x, [-1, channels]), _band(channels, radius, x.dtype.np))
    return reshape(rows, shape_of(x))


def _check_shape(shape: TensorShape, depth_radius: int) -> TensorShape:
    if depth_radius < 0:
        raise ValueError(f"depth_radius must not be negative, but is {depth_radius}")
    return check_rank(shape, 4)


@op("LRN", "input: T -> output: T", **_ATTRS)
class LRN:
    """input / (bias + alpha * sum of squares of the neighbours) ** beta."""

    def shape(input, depth_radius):
        return _check_shape(input.shape, depth_radius)

    @in_float32
    def kernel(input, depth_radius, bias, alpha, beta):
        kind = input.dtype.type
        norm = kind(bias) + kind(alpha) * _neighbour_sum(np.square(input), depth_radius)
        return input * norm ** kind(-beta)

    def native(emit, input, depth_radius, bias, alpha, beta):
        return emit.windows.lrn(input, depth_radius, bias, alpha, beta)

    def gradient(op, dy):
        attrs = {name: value for name, value in op.attrs.items() if name != "T"}
        return LRNGrad(dy, op.inputs[0], op.outputs[0], **attrs)


@op("LRNGrad", "input_grads: T, input_image: T, output_image: T -> output: T", **_ATTRS)
class LRNGrad:
    """The gradient of LRN."""

    def shape(input_grads, input_image, output_image, depth_radius):
        return _check_shape(input_grads.shape.merge_with(input_image.shape).merge_with(output_image.shape), depth_radius)

    @in_float32
    def kernel(input_grads, input_image, output_image, depth_radius, bias, alpha, beta):
        kind = input_image.dtype.type
        norm = kind(bias) + kind(alpha) * _neighbour_sum(np.square(input_image), depth_radius)
        coupled = _neighbour_sum(input_grads * output_image / norm, depth_radius)
        return input_grads * norm ** kind(-beta) - kind(2 * alpha * beta) * input_image * coupled

    def native(emit, input_grads, input_image, output_image, depth_radius, bias, alpha, beta):
        return emit.windows.lrn_gradient(input_grads, input_image, output_image, depth_radius, bias, alpha, beta)

    def gradient(op, dy):
        # With n = bias + alpha S(x^2) and S the sum over neighbours, the op is g n^-beta - 2 alpha beta x S(g y / n).
        g, x, y = op.inputs
        radius, bias, alpha, beta = (op.attrs[name] for name in ("depth_radius", "bias", "alpha", "beta"))
        n = bias + alpha * _neighbour_sum_graph(x * x, radius)
        t = 2.0 * alpha * beta * _neighbour_sum_graph(dy * x, radius)
        d_n = t * g * y / (n * n) - beta * dy * g * pow(n, -beta - 1.0)
        coupled = _neighbour_sum_graph(g * y / n, radius)
        d_x = 2.0 * alpha * (x * _neighbour_sum_graph(d_n, radius) - beta * dy * coupled)
        return [dy * pow(n, -beta) - t * y / n, d_x, -t * g / n]


def local_response_normalization(input, depth_radius=5, bias=1, alpha=1, beta=0.5, name=None):
    """``tf.nn.lrn``: divides by a norm of the neighbouring channels."""
    return LRN(input, depth_radius=depth_radius, bias=bias, alpha=alpha, beta=beta, name=name)


lrn = local_response_normalization
