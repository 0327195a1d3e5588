"""Convolutions of two and three spatial axes and their gradients; ``im2col`` computes all of them."""
from __future__ import annotations

import functools

from penstock.graph import dtypes
from penstock.graph.attrs import INTS, Attr, ints, one_of, types
from penstock.graph.members import parameters_of, with_parameters
from penstock.graph.opdef import op
from penstock.ops.array.shape_ops import shape as shape_of
from penstock.ops.common import FLOATS
from penstock.ops.nn import data_formats
from penstock.ops.nn.conv_shape import backprop_shape, check_depth, check_output, conv_shape, conv_windows
from penstock.ops.nn.im2col import convolve, convolve_backprop_filter, convolve_backprop_input
from penstock.ops.precision import in_float32

_FORMAT_2D = one_of("NHWC", "NCHW", default="NHWC")
_FORMAT_3D = one_of("NDHWC", "NCDHW", default="NDHWC")
_ATTRS_2D = dict(T=FLOATS, strides=INTS, use_cudnn_on_gpu=True, padding=one_of("SAME", "VALID", "EXPLICIT"),
                 explicit_paddings=ints(), data_format=_FORMAT_2D, dilations=ints(1, 1, 1, 1))
_ATTRS_3D = dict(T=FLOATS, strides=Attr("list(int)", minimum=5), padding=one_of("SAME", "VALID"),
                 data_format=_FORMAT_3D, dilations=ints(1, 1, 1, 1, 1))


@in_float32
def _forward(input, filter, strides, padding, data_format, dilations, explicit_paddings=()):
    w = conv_windows(input.shape, filter.shape, strides, dilations, padding, data_format, explicit_paddings)
    check_depth(data_formats.channels(input.shape, data_format), *filter.shape[-2:])
    return data_formats.from_channels_last(convolve(data_formats.channels_last(input, data_format), filter, w), data_format)


@in_float32
def _backprop_input(input_sizes, filter, out_backprop, strides, padding, data_format, dilations, explicit_paddings=()):
    shape = tuple(int(extent) for extent in input_sizes)
    w = conv_windows(shape, filter.shape, strides, dilations, padding, data_format, explicit_paddings)
    depth = data_formats.channels(shape, data_format)
    check_depth(depth, *filter.shape[-2:])
    dy = data_formats.channels_last(out_backprop, data_format)
    check_output(dy, shape[0], w, filter.shape[-1], "Conv backprop input")
    return data_formats.from_channels_last(convolve_backprop_input((shape[0], *w.size, depth), filter, dy, w), data_format)


@in_float32
def _backprop_filter(input, filter_sizes, out_backprop, strides, padding, data_format, dilations, explicit_paddings=()):
    shape = tuple(int(extent) for extent in filter_sizes)
    w = conv_windows(input.shape, shape, strides, dilations, padding, data_format, explicit_paddings)
    check_depth(data_formats.channels(input.shape, data_format), *shape[-2:])
    dy = data_formats.channels_last(out_backprop, data_format)
    check_output(dy, input.shape[0], w, shape[-1], "Conv backprop filter")
    return convolve_backprop_filter(data_formats.channels_last(input, data_format), dy, shape, w)


def _without_explicit(kernel):
    """A kernel for an op that has no attribute ``explicit_paddings``."""
    return with_parameters(functools.partial(kernel), [name for name in parameters_of(kernel) if name != "explicit_paddings"])


def _rest(op):
    """The attributes that a convolution hands on to its gradients."""
    return {name: value for name, value in op.attrs.items() if name not in ("T", "Tshape")}


def _flops(filter, output):
    """Two for each weight of a filter and each place of the output where it is laid."""
    return 2 * output.size * filter.size / max(filter.shape[-1], 1)


def _flops_forward(inputs, outputs):
    return _flops(inputs[1], outputs[0])


def _flops_input(inputs, outputs):
    return _flops(inputs[1], inputs[2])


def _flops_filter(inputs, outputs):
    return _flops(outputs[0], inputs[2])


@op("Conv2D", "input: T, filter: T -> output: T", **_ATTRS_2D)
class Conv2D:
    """The convolution (in truth: cross-correlation) of images with filters."""

    gradient_nodes = 3
    gradient_reads = lambda op: list(op.inputs)
    images = ("input", "output")
    per_axis = ("strides", "dilations", "explicit_paddings")
    flops = _flops_forward
    def shape(input, filter, strides, padding, explicit_paddings, data_format, dilations):
        return conv_shape("Conv2D", 4, input, filter, strides, dilations, padding, data_format, explicit_paddings)

    kernel = _forward

    def native(emit, input, filter, strides, padding, explicit_paddings, data_format, dilations, epilogue):
        return emit.convolve.conv2d(input, filter, strides, padding, data_format, dilations, explicit_paddings, epilogue)

    def gradient(op, dy):
        x, f = op.inputs
        attrs = _rest(op)
        return [Conv2DBackpropInput(shape_of(x), f, dy, **attrs), Conv2DBackpropFilter(x, shape_of(f), dy, **attrs)]


@op("Conv2DBackpropInput", "input_sizes: int32, filter: T, out_backprop: T -> output: T", **_ATTRS_2D)
class Conv2DBackpropInput:
    """The gradient of Conv2D for its input: a transposed convolution."""

    images = ("out_backprop", "output")
    per_axis = ("strides", "dilations", "explicit_paddings", "input_sizes")
    flops = _flops_input
    def shape(input_sizes, strides, padding, explicit_paddings, data_format, dilations):
        return backprop_shape("Conv2DBackpropInput", input_sizes, 4, strides, dilations, padding, data_format,
                              explicit_paddings)

    kernel = _backprop_input

    def native(emit, input_sizes, filter, out_backprop, strides, padding, explicit_paddings, data_format, dilations):
        return emit.convolve.conv2d_backprop_input(input_sizes, filter, out_backprop, strides, padding, data_format, dilations, explicit_paddings)

    def gradient(op, dy):
        _, f, backprop = op.inputs
        attrs = _rest(op)
        return [None, Conv2DBackpropFilter(dy, shape_of(f), backprop, **attrs), Conv2D(dy, f, **attrs)]


@op("Conv2DBackpropFilter", "input: T, filter_sizes: int32, out_backprop: T -> output: T", **_ATTRS_2D)
class Conv2DBackpropFilter:
    """The gradient of Conv2D for its filter."""

    images = ("input", "out_backprop")
    per_axis = ("strides", "dilations", "explicit_paddings")
    flops = _flops_filter
    def shape(filter_sizes, strides, padding, explicit_paddings, data_format, dilations):
        return backprop_shape("Conv2DBackpropFilter", filter_sizes, 4, strides, dilations, padding, data_format,
                              explicit_paddings)

    kernel = _backprop_filter

    def native(emit, input, filter_sizes, out_backprop, strides, padding, explicit_paddings, data_format, dilations, epilogue, into):
        return emit.convolve.conv2d_backprop_filter(input, filter_sizes, out_backprop, strides, padding, data_format, dilations, explicit_paddings,
                                                    epilogue, into)

    def gradient(op, dy):
        x, _, backprop = op.inputs
        attrs = _rest(op)
        return [Conv2DBackpropInput(shape_of(x), dy, backprop, **attrs), None, Conv2D(x, dy, **attrs)]


@op("Conv3D", "input: T, filter: T -> output: T", **_ATTRS_3D)
class Conv3D:
    """The convolution of volumes with filters."""

    flops = _flops_forward
    def shape(input, filter, strides, padding, data_format, dilations):
        return conv_shape("Conv3D", 5, input, filter, strides, dilations, padding, data_format)

    kernel = _without_explicit(_forward)

    def native(emit, input, filter, strides, padding, data_format, dilations):
        return emit.volumes.conv3d(input, filter, strides, padding, data_format, dilations)

    def gradient(op, dy):
        x, f = op.inputs
        attrs = _rest(op)
        return [Conv3DBackpropInputV2(shape_of(x), f, dy, **attrs), Conv3DBackpropFilterV2(x, shape_of(f), dy, **attrs)]


@op("Conv3DBackpropInputV2", "input_sizes: Tshape, filter: T, out_backprop: T -> output: T",
    **_ATTRS_3D, Tshape=types(dtypes.int32, dtypes.int64, default=dtypes.int32))
class Conv3DBackpropInputV2:
    """The gradient of Conv3D for its input."""

    flops = _flops_input
    def shape(input_sizes, strides, padding, data_format, dilations):
        return backprop_shape("Conv3DBackpropInputV2", input_sizes, 5, strides, dilations, padding, data_format)

    kernel = _without_explicit(_backprop_input)

    def native(emit, input_sizes, filter, out_backprop, strides, padding, data_format, dilations):
        return emit.volumes.conv3d_backprop_input(input_sizes, filter, out_backprop, strides, padding, data_format, dilations)

    def gradient(op, dy):
        _, f, backprop = op.inputs
        attrs = _rest(op)
        return [None, Conv3DBackpropFilterV2(dy, shape_of(f), backprop, **attrs), Conv3D(dy, f, **attrs)]


@op("Conv3DBackpropFilterV2", "input: T, filter_sizes: int32, out_backprop: T -> output: T", **_ATTRS_3D)
class Conv3DBackpropFilterV2:
    """The gradient of Conv3D for its filter."""

    flops = _flops_filter
    def shape(filter_sizes, strides, padding, data_format, dilations):
        return backprop_shape("Conv3DBackpropFilterV2", filter_sizes, 5, strides, dilations, padding, data_format)

    kernel = _without_explicit(_backprop_filter)

    def native(emit, input, filter_sizes, out_backprop, strides, padding, data_format, dilations):
        return emit.volumes.conv3d_backprop_filter(input, filter_sizes, out_backprop, strides, padding, data_format, dilations)

    def gradient(op, dy):
        x, _, backprop = op.inputs
        attrs = _rest(op)
        return [Conv3DBackpropInputV2(shape_of(x), dy, backprop, **attrs), None, Conv3D(x, dy, **attrs)]
