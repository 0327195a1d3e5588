"""The public convolutions: TensorFlow's many argument forms, brought to the ops of ``conv`` and ``depthwise``."""
from __future__ import annotations

from penstock.graph.convert import convert_to_tensor
from penstock.graph.scopes import name_scope
from penstock.ops.array.pack import concat
from penstock.ops.array.shape_ops import expand_dims, one_name, squeeze
from penstock.ops.nn import data_formats
from penstock.ops.nn.conv import (
    Conv2D,
    Conv2DBackpropFilter,
    Conv2DBackpropInput,
    Conv3D,
    Conv3DBackpropFilterV2,
    Conv3DBackpropInputV2,
)
from penstock.ops.nn.depthwise import (
    DepthwiseConv2dNative,
    DepthwiseConv2dNativeBackpropFilter,
    DepthwiseConv2dNativeBackpropInput,
)

_ONES_4, _ONES_5 = (1, 1, 1, 1), (1, 1, 1, 1, 1)


def per_axis(values, axes, data_format, name):
    """Strides, dilations or window extents for all axes, from one number, one per spatial axis, or one per axis.

    >>> per_axis(2, 2, "NCHW", "strides")
    [1, 1, 2, 2]
    """
    if values is None:
        values = [1]
    values = list(values) if isinstance(values, (list, tuple)) or hasattr(values, "__len__") else [values]
    if len(values) == axes + 2:
        return values
    if len(values) not in (1, axes):
        raise ValueError(f"{name} should be of length 1, {axes} or {axes + 2} but was {len(values)}")
    return data_formats.arrange(1, values * axes if len(values) == 1 else values, 1, data_format)


def _padding(padding, explicit_allowed=True):
    """(padding, explicit_paddings) for the ops: a list of pairs is explicit padding."""
    if isinstance(padding, (list, tuple)) and explicit_allowed:
        if any(len(pair) != 2 for pair in padding):
            raise ValueError(f"Each element of a padding list must be a list of size 2, got {padding}")
        if len(padding) != 4:
            raise ValueError(f"A padding list must have four elements, one per axis, got {padding}")
        return "EXPLICIT", [amount for pair in padding for amount in pair]
    return padding, []


def conv2d(input, filter=None, strides=None, padding=None, use_cudnn_on_gpu=True, data_format="NHWC", dilations=_ONES_4,
           name=None, filters=None):
    """``tf.nn.conv2d``: the convolution of images (batch, height, width, channels) with filters (h, w, in, out)."""
    filter = one_name("filter", filter, "filters", filters)
    padding, explicit = _padding(padding)
    data_format = data_format or "NHWC"
    return Conv2D(input, filter, strides=per_axis(strides, 2, data_format, "strides"), padding=padding,
                  use_cudnn_on_gpu=use_cudnn_on_gpu, explicit_paddings=explicit, data_format=data_format,
                  dilations=per_axis(dilations, 2, data_format, "dilations"), name=name)


def conv2d_backprop_input(input_sizes, filter=None, out_backprop=None, strides=None, padding=None,
                          use_cudnn_on_gpu=True, data_format="NHWC", dilations=_ONES_4, name=None, filters=None):
    """``tf.nn.conv2d_backprop_input``: the gradient of ``conv2d`` for its input."""
    filter = one_name("filter", filter, "filters", filters)
    padding, explicit = _padding(padding)
    return Conv2DBackpropInput(input_sizes, filter, out_backprop, strides=strides, padding=padding,
                               use_cudnn_on_gpu=use_cudnn_on_gpu, explicit_paddings=explicit, data_format=data_format,
                               dilations=dilations, name=name)


def conv2d_backprop_filter(input, filter_sizes, out_backprop, strides, padding, use_cudnn_on_gpu=True,
                           data_format="NHWC", dilations=_ONES_4, name=None):
    """``tf.nn.conv2d_backprop_filter``: the gradient of ``conv2d`` for its filter."""
    padding, explicit = _padding(padding)
    return Conv2DBackpropFilter(input, filter_sizes, out_backprop, strides=strides, padding=padding,
                                use_cudnn_on_gpu=use_cudnn_on_gpu, explicit_paddings=explicit, data_format=data_format,
                                dilations=dilations, name=name)


def conv3d(input, filter=None, strides=None, padding=None, data_format="NDHWC", dilations=_ONES_5, name=None,
           filters=None):
    """``tf.nn.conv3d``: the convolution of volumes (batch, depth, height, width, channels)."""
    filter = one_name("filter", filter, "filters", filters)
    return Conv3D(input, filter, strides=strides, padding=padding, data_format=data_format or "NDHWC",
                  dilations=dilations or _ONES_5, name=name)


def conv3d_backprop_filter(input, filter_sizes, out_backprop, strides, padding, data_format="NDHWC", dilations=_ONES_5,
                           name=None):
    """``tf.nn.conv3d_backprop_filter_v2``: the gradient of ``conv3d`` for its filter."""
    return Conv3DBackpropFilterV2(input, filter_sizes, out_backprop, strides=strides, padding=padding,
                                  data_format=data_format, dilations=dilations, name=name)


def _flat_format(data_format):
    """The format of images one pixel high that stands for a format of sequences, and the axis of that height."""
    if data_format in (None, "NHWC", "NWC"):
        return "NHWC", 1
    if data_format in ("NCHW", "NCW"):
        return "NCHW", 2
    raise ValueError('data_format must be "NWC" or "NCW".')


def conv1d(value=None, filters=None, stride=None, padding=None, use_cudnn_on_gpu=None, data_format=None, name=None,
           input=None, dilations=None):
    """``tf.nn.conv1d``: the convolution of sequences (batch, width, channels) with filters (width, in, out)."""
    value = one_name("value", value, "input", input)
    with name_scope(name, "conv1d", [value, filters]) as scope:
        data_format, axis = _flat_format(data_format)
        result = Conv2D(expand_dims(value, axis), expand_dims(filters, 0), padding=padding, data_format=data_format,
                        strides=[1, *per_axis(stride, 1, data_format, "stride")], use_cudnn_on_gpu=use_cudnn_on_gpu,
                        dilations=[1, *per_axis(dilations, 1, data_format, "dilations")], name=scope)
        return squeeze(result, [axis])


# --- transposed convolutions -----------------------------------------------------------------------------------------

def conv1d_transpose(input, filters, output_shape, strides, padding="SAME", data_format="NWC", dilations=None,
                     name=None):
    """``tf.nn.conv1d_transpose``: the gradient of ``conv1d``, as a layer of its own."""
    with name_scope(name, "conv1d_transpose", [input, filters, output_shape]) as scope:
        data_format, axis = _flat_format(data_format)
        dilations = [1, *per_axis(dilations, 1, data_format, "dilations")]
        strides = [1, *per_axis(strides, 1, data_format, "strides")]
        input, filters = expand_dims(input, axis), expand_dims(filters, 0)
        output_shape = list(output_shape) if isinstance(output_shape, (list, tuple)) else output_shape
        sizes = concat([output_shape[:axis], [1], output_shape[axis:]], 0)
        result = Conv2DBackpropInput(sizes, filters, input, strides=strides, padding=padding, data_format=data_format,
                                     dilations=dilations, name=scope)
        return squeeze(result, [axis])


def conv2d_transpose(value=None, filter=None, output_shape=None, strides=None, padding="SAME", data_format="NHWC",
                     name=None, input=None, filters=None, dilations=None):
    """``tf.nn.conv2d_transpose``: the gradient of ``conv2d``, as a layer of its own; the filter is (h, w, out, in)."""
    value, filter = one_name("value", value, "input", input), one_name("filter", filter, "filters", filters)
    with name_scope(name, "conv2d_transpose", [value, filter, output_shape]) as scope:
        data_format = data_format or "NHWC"
        return Conv2DBackpropInput(output_shape, filter, value, strides=per_axis(strides, 2, data_format, "strides"),
                                   padding=padding, data_format=data_format,
                                   dilations=per_axis(dilations, 2, data_format, "dilations"), name=scope)


def conv3d_transpose(value=None, filter=None, output_shape=None, strides=None, padding="SAME", data_format="NDHWC",
                     name=None, input=None, filters=None, dilations=None):
    """``tf.nn.conv3d_transpose``: the gradient of ``conv3d``, as a layer of its own."""
    value, filter = one_name("value", value, "input", input), one_name("filter", filter, "filters", filters)
    with name_scope(name, "conv3d_transpose", [value, filter, output_shape]) as scope:
        data_format = data_format or "NDHWC"
        return Conv3DBackpropInputV2(output_shape, filter, value, strides=per_axis(strides, 3, data_format, "strides"),
                                     padding=padding, data_format=data_format,
                                     dilations=per_axis(dilations, 3, data_format, "dilations"), name=scope)


def conv_transpose(input, filters, output_shape, strides, padding="SAME", data_format=None, dilations=None, name=None):
    """``tf.nn.conv_transpose``: a transposed convolution of one, two or three spatial axes."""
    with name_scope(name, "conv_transpose", [input, filters, output_shape]) as scope:
        rank = convert_to_tensor(filters).shape.ndims
        choices = {3: (conv1d_transpose, "NWC"), 4: (conv2d_transpose, "NHWC"), 5: (conv3d_transpose, "NDHWC")}
        if rank not in choices:
            raise ValueError(f"output_shape must be of length 3, 4 or 5 and the filters of that rank, not {rank}")
        function, default = choices[rank]
        return function(input, filters, output_shape, strides, padding=padding, data_format=data_format or default,
                        dilations=dilations, name=scope)


# --- depthwise -------------------------------------------------------------------------------------------------------

def depthwise_conv2d_native(input, filter, strides, padding, data_format="NHWC", dilations=_ONES_4, name=None):
    """``tf.nn.depthwise_conv2d_native``: the op itself."""
    return DepthwiseConv2dNative(input, filter, strides=strides, padding=padding, data_format=data_format,
                                 dilations=dilations, name=name)


def depthwise_conv2d_native_backprop_input(input_sizes, filter, out_backprop, strides, padding, data_format="NHWC",
                                           dilations=_ONES_4, name=None):
    """``tf.nn.depthwise_conv2d_native_backprop_input``: its gradient for the input."""
    return DepthwiseConv2dNativeBackpropInput(input_sizes, filter, out_backprop, strides=strides, padding=padding,
                                              data_format=data_format, dilations=dilations, name=name)


def depthwise_conv2d_native_backprop_filter(input, filter_sizes, out_backprop, strides, padding, data_format="NHWC",
                                            dilations=_ONES_4, name=None):
    """``tf.nn.depthwise_conv2d_native_backprop_filter``: its gradient for the filter."""
    return DepthwiseConv2dNativeBackpropFilter(input, filter_sizes, out_backprop, strides=strides, padding=padding,
                                               data_format=data_format, dilations=dilations, name=name)
