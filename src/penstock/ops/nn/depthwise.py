"""Depthwise convolution: every channel has filters of its own.

A channel with m filters is m channels with one filter each, so the kernels repeat the input and know only the second
case. They go through the positions of the window one by one, image by image: each step is a product of whole images,
which stay in the cache.
"""
from __future__ import annotations

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph.attrs import INTS, ints, one_of
from penstock.graph.opdef import op
from penstock.ops.array.shape_ops import shape as shape_of
from penstock.ops.common import FLOATS
from penstock.ops.nn import data_formats
from penstock.ops.nn.conv_shape import backprop_shape, check_output, conv_windows, depthwise_shape
from penstock.ops.nn.windows import Windows
from penstock.ops.precision import in_float32

_ATTRS = dict(T=FLOATS, strides=INTS, padding=one_of("SAME", "VALID"),
              data_format=one_of("NHWC", "NCHW", default="NHWC"), dilations=ints(1, 1, 1, 1))


def _check_channels(depth: int, filter_shape: tuple[int, ...]) -> int:
    """The number of output channels; KernelError if input and filter do not go together."""
    if depth != filter_shape[2]:
        raise invalid_argument(f"input and filter must have the same depth: {depth} vs {filter_shape[2]}")
    return depth * filter_shape[3]


def _repeated_windows(x: np.ndarray, repeats: int, w: Windows) -> np.ndarray:
    """The windows of an input in which each channel stands once per filter."""
    return w.view(w.pad(np.repeat(x, repeats, axis=-1) if repeats != 1 else x, 1), 1)


def _forward(x: np.ndarray, weights: np.ndarray, w: Windows) -> np.ndarray:
    seen = _repeated_windows(x, weights.shape[-1] // x.shape[-1], w)
    result = np.zeros((x.shape[0], *w.output, weights.shape[-1]), x.dtype)
    product = np.empty(result.shape[1:], x.dtype)
    for image, total in zip(seen, result):
        for tap in np.ndindex(*w.window):
            np.multiply(image[(slice(None), slice(None), *tap)], weights[tap], out=product)
            total += product
    return result


@op("DepthwiseConv2dNative", "input: T, filter: T -> output: T", **_ATTRS)
class DepthwiseConv2dNative:
    """Convolves each channel with its own filters; output channel c * m + k is filter k of channel c."""

    images = ("input", "output")
    per_axis = ("strides", "dilations")

    def shape(input, filter, strides, padding, data_format, dilations):
        return depthwise_shape(input, filter, strides, dilations, padding, data_format)

    @in_float32
    def kernel(input, filter, strides, padding, data_format, dilations):
        w = conv_windows(input.shape, filter.shape, strides, dilations, padding, data_format)
        _check_channels(data_formats.channels(input.shape, data_format), filter.shape)
        weights = filter.reshape(*filter.shape[:2], -1)
        return data_formats.from_channels_last(_forward(data_formats.channels_last(input, data_format), weights, w), data_format)

    def native(emit, input, filter, strides, padding, data_format, dilations, epilogue):
        return emit.convolve.depthwise(input, filter, strides, padding, data_format, dilations, epilogue)

    def gradient(op, dy):
        x, f = op.inputs
        attrs = _rest(op)
        return [DepthwiseConv2dNativeBackpropInput(shape_of(x), f, dy, **attrs),
                DepthwiseConv2dNativeBackpropFilter(x, shape_of(f), dy, **attrs)]


@op("DepthwiseConv2dNativeBackpropInput", "input_sizes: int32, filter: T, out_backprop: T -> output: T", **_ATTRS)
class DepthwiseConv2dNativeBackpropInput:
    """The gradient of DepthwiseConv2dNative for its input."""

    images = ("out_backprop", "output")
    per_axis = ("strides", "dilations", "input_sizes")

    def shape(input_sizes, strides, padding, data_format, dilations):
        return backprop_shape("DepthwiseConv2dNativeBackpropInput", input_sizes, 4, strides, dilations, padding,
                              data_format)

    @in_float32
    def kernel(input_sizes, filter, out_backprop, strides, padding, data_format, dilations):
        shape = tuple(int(extent) for extent in input_sizes)
        w = conv_windows(shape, filter.shape, strides, dilations, padding, data_format)
        channels = _check_channels(data_formats.channels(shape, data_format), filter.shape)
        dy = data_formats.channels_last(out_backprop, data_format)
        check_output(dy, shape[0], w, channels, "DepthwiseConv2DBackpropInput")
        weights = filter.reshape(*filter.shape[:2], -1)
        padded = w.padded_zeros((shape[0], *w.size, channels), 1, dy.dtype)
        for image, gradient in zip(w.view(padded, 1), dy):
            for tap in np.ndindex(*w.window):
                image[(slice(None), slice(None), *tap)] += gradient * weights[tap]
        result = w.inner(padded, 1)
        if filter.shape[3] != 1:
            result = result.reshape(*result.shape[:-1], filter.shape[2], filter.shape[3]).sum(axis=-1)
        return data_formats.from_channels_last(result, data_format)

    def native(emit, input_sizes, filter, out_backprop, strides, padding, data_format, dilations):
        return emit.convolve.depthwise_backprop_input(input_sizes, filter, out_backprop, strides, padding, data_format, dilations)

    def gradient(op, dy):
        _, f, backprop = op.inputs
        attrs = _rest(op)
        return [None, DepthwiseConv2dNativeBackpropFilter(dy, shape_of(f), backprop, **attrs),
                DepthwiseConv2dNative(dy, f, **attrs)]


@op("DepthwiseConv2dNativeBackpropFilter", "input: T, filter_sizes: int32, out_backprop: T -> output: T", **_ATTRS)
class DepthwiseConv2dNativeBackpropFilter:
    """The gradient of DepthwiseConv2dNative for its filter."""

    images = ("input", "out_backprop")
    per_axis = ("strides", "dilations")

    def shape(filter_sizes, strides, padding, data_format, dilations):
        return backprop_shape("DepthwiseConv2dNativeBackpropFilter", filter_sizes, 4, strides, dilations, padding,
                              data_format)

    @in_float32
    def kernel(input, filter_sizes, out_backprop, strides, padding, data_format, dilations):
        shape = tuple(int(extent) for extent in filter_sizes)
        w = conv_windows(input.shape, shape, strides, dilations, padding, data_format)
        channels = _check_channels(data_formats.channels(input.shape, data_format), shape)
        dy = data_formats.channels_last(out_backprop, data_format)
        check_output(dy, input.shape[0], w, channels, "DepthwiseConv2DBackpropFilter")
        result = np.zeros((*shape[:2], channels), input.dtype)
        for image, gradient in zip(_repeated_windows(data_formats.channels_last(input, data_format), shape[3], w), dy):
            for tap in np.ndindex(*w.window):
                result[tap] += np.einsum("ijc,ijc->c", image[(slice(None), slice(None), *tap)], gradient)
        return result.reshape(shape)

    def native(emit, input, filter_sizes, out_backprop, strides, padding, data_format, dilations):
        return emit.convolve.depthwise_backprop_filter(input, filter_sizes, out_backprop, strides, padding, data_format, dilations)

    def gradient(op, dy):
        x, _, backprop = op.inputs
        attrs = _rest(op)
        return [DepthwiseConv2dNativeBackpropInput(shape_of(x), dy, backprop, **attrs), None,
                DepthwiseConv2dNative(x, dy, **attrs)]


def _rest(op):
    return {name: value for name, value in op.attrs.items() if name != "T"}
