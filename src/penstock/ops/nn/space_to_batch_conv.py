"""Dilated convolution and pooling as TensorFlow builds them: space to batch, the plain op, batch to space."""
from __future__ import annotations

import numpy as np

from penstock.graph import dtypes as dt
from penstock.graph.convert import convert_to_tensor
from penstock.graph.scopes import name_scope
from penstock.graph.static import constant_value, constant_value_as_shape
from penstock.ops.array.pack import concat, stack
from penstock.ops.array.shape_ops import expand_dims, one_name, shape, squeeze
from penstock.ops.array.space import batch_to_space_nd, required_space_to_batch_paddings, space_to_batch_nd
from penstock.ops.nn import data_formats
from penstock.ops.nn.conv import Conv2D, Conv2DBackpropInput, Conv3D
from penstock.ops.nn.depthwise import DepthwiseConv2dNative
from penstock.ops.nn.pooling import AvgPool, AvgPool3D, MaxPool, MaxPool3D


def with_space_to_batch(input, dilation_rate, padding, op, filter_shape=None, spatial_dims=None, data_format=None):
    """``tf.nn.with_space_to_batch``: ``op(input, num_spatial_dims, padding)`` as if its windows were dilated.

    The input is cut into a batch of its every ``rate``-th elements; there the windows are dense.
    """
    input = convert_to_tensor(input, name="input")
    dilation_rate = convert_to_tensor(dilation_rate, dtype=dt.int32, name="dilation_rate")
    rate = constant_value(dilation_rate)
    if rate is None or rate.ndim != 1:
        raise ValueError("dilation_rate must be a constant vector")
    if (rate < 1).any():
        raise ValueError("dilation_rate must be positive")
    axes = _spatial_axes(spatial_dims, len(rate), data_format)
    if (rate == 1).all():
        return op(input, len(rate), padding)
    return _with_dilation(input, dilation_rate, _base_paddings(padding, rate, filter_shape), axes, op)


def _spatial_axes(spatial_dims, count, data_format):
    first = 2 if data_format is not None and data_formats.channels_first(data_format) else 1
    axes = sorted(range(first, count + first) if spatial_dims is None else {int(axis) for axis in spatial_dims})
    if len(axes) != count or axes[0] < 1:
        raise ValueError(f"spatial_dims must be {count} different positive axes, not {axes}")
    return axes


def _base_paddings(padding, rate, filter_shape):
    if padding == "VALID":
        return np.zeros((len(rate), 2), np.int32)
    if padding != "SAME":
        raise ValueError(f"Invalid padding method {padding!r}")
    if filter_shape is None:
        raise ValueError("filter_shape must be specified for SAME padding")
    filter_shape = convert_to_tensor(filter_shape, name="filter_shape")
    known = constant_value(filter_shape)
    if known is None:
        extra = (filter_shape[:len(rate)] - 1) * rate
        return stack([[extra[i] // 2, extra[i] - extra[i] // 2] for i in range(len(rate))])
    extra = (known[:len(rate)] - 1) * rate
    return convert_to_tensor(np.stack([extra // 2, extra - extra // 2], axis=1).astype(np.int32), name="stack")


def _with_dilation(input, dilation_rate, base_paddings, axes, op):
    extents = input.shape.extents
    if extents is not None and None not in [extents[axis] for axis in axes]:
        sizes = np.array([extents[axis] for axis in axes], np.int32)
    else:
        known = shape(input)
        sizes = stack([known[axis] for axis in axes])
    paddings, crops = required_space_to_batch_paddings(sizes, dilation_rate, base_paddings)
    block = np.ones(axes[-1], np.int32)
    block[np.array(axes) - 1] = constant_value(dilation_rate)
    paddings, crops = _for_all_axes(paddings, axes), _for_all_axes(crops, axes)
    return batch_to_space_nd(op(space_to_batch_nd(input, block, paddings), len(axes), "VALID"), block, crops)


def _for_all_axes(pairs, axes):
    """Pairs for the spatial axes, completed by (0, 0) for the axes between the batch and the last of them."""
    known = constant_value(pairs)
    if known is not None:
        all_pairs = np.zeros((axes[-1], 2), np.int32)
        all_pairs[np.array(axes) - 1] = known
        return all_pairs
    parts, after = [], 1
    for run in _runs(axes):
        start = axes.index(run[0])
        parts += [np.zeros((run[0] - after, 2), np.int32)] if run[0] > after else []
        parts.append(pairs[start:start + len(run)])
        after = run[-1] + 1
    return concat(parts, 0)


def _runs(axes):
    """The axes in lists of those that follow each other."""
    runs = []
    for axis in axes:
        if runs and runs[-1][-1] == axis - 1:
            runs[-1].append(axis)
        else:
            runs.append([axis])
    return runs


# --- convolutions ----------------------------------------------------------------------------------------------------

def convolution(input, filter=None, padding=None, strides=None, dilation_rate=None, name=None, data_format=None,
                filters=None, dilations=None):
    """``tf.nn.convolution``: a convolution of one, two or three spatial axes, with strides or dilations."""
    filter = one_name("filter", filter, "filters", filters)
    rate = one_name("dilation_rate", dilation_rate, "dilations", dilations)
    with name_scope(name, "convolution", [input, filter]) as scope:
        input, filter = convert_to_tensor(input, name="input"), convert_to_tensor(filter, name="filter")
        axes = _conv_axes(input.shape, filter.shape)
        strides, rate = _steps(axes, strides, rate)
        op = _dense_convolution(filter, strides, data_format, scope)
        if all(r == 1 for r in rate):
            return op(input, axes, padding)
        filter_shape = filter.shape if filter.shape.is_fully_defined() else shape(filter)
        return with_space_to_batch(input, rate, padding, op, filter_shape=filter_shape, data_format=data_format)


def _conv_axes(input_shape, filter_shape):
    """The number of spatial axes; ValueError unless input and filter agree on it."""
    if input_shape.ndims is None and filter_shape.ndims is None:
        raise ValueError("rank of input or filter must be known")
    rank = filter_shape.ndims if input_shape.ndims is None else input_shape.ndims
    input_shape.with_rank(rank)
    filter_shape.with_rank(rank)
    if not 3 <= rank <= 5:
        raise ValueError(f"`input` and `filter` must have one, two or three spatial dimensions, not {rank - 2}")
    return rank - 2


def _steps(axes, strides, dilation_rate):
    strides = [1] * axes if strides is None else [int(s) for s in np.ravel(strides)]
    rate = [1] * axes if dilation_rate is None else [int(r) for r in np.ravel(dilation_rate)]
    strides, rate = (steps * axes if len(steps) == 1 else steps for steps in (strides, rate))
    for what, steps in (("strides", strides), ("dilation_rate", rate)):
        if len(steps) != axes:
            raise ValueError(f"len({what})={len(steps)} but should be {axes}")
        if min(steps) < 1:
            raise ValueError(f"all values of {what} must be positive")
    if max(strides) > 1 and max(rate) > 1:
        raise ValueError("strides > 1 not supported in conjunction with dilation_rate > 1")
    return strides, rate


def _dense_convolution(filter, strides, data_format, name):
    """The function that convolves without dilation, for one, two or three axes."""
    first = data_format is not None and data_formats.channels_first(data_format)

    def flat(input, _, padding):
        axis = 2 if first else 1
        result = Conv2D(expand_dims(input, axis), expand_dims(filter, 0), padding=padding, name=name,
                        strides=data_formats.arrange(1, [1, *strides], 1, "NCHW" if first else "NHWC"),
                        data_format="NCHW" if first else "NHWC")
        return squeeze(result, [axis])

    def images(input, _, padding):
        kind = "NCHW" if first else "NHWC"
        return Conv2D(input, filter, strides=data_formats.arrange(1, strides, 1, kind), padding=padding, data_format=kind,
                      name=name)

    def volumes(input, _, padding):
        kind = "NCDHW" if first else "NDHWC"
        return Conv3D(input, filter, strides=data_formats.arrange(1, strides, 1, kind), padding=padding, data_format=kind,
                      name=name)

    return (flat, images, volumes)[len(strides) - 1]


def atrous_conv2d(value, filters, rate, padding, name=None):
    """``tf.nn.atrous_conv2d``: a convolution with filters that have holes: every ``rate``-th pixel counts."""
    return convolution(value, filters, padding, dilation_rate=[rate, rate], name=name)


def atrous_conv2d_transpose(value, filters, output_shape, rate, padding, name=None):
    """``tf.nn.atrous_conv2d_transpose``: the gradient of ``atrous_conv2d``, as a layer of its own."""
    if rate < 1:
        raise ValueError(f"rate {rate} cannot be less than one")
    with name_scope(name, "atrous_conv2d_transpose", [value, filters, output_shape]) as scope:
        value, filters = convert_to_tensor(value, name="value"), convert_to_tensor(filters, name="filters")
        if rate == 1:
            return Conv2DBackpropInput(output_shape, filters, value, strides=[1, 1, 1, 1], padding=padding, name=scope)
        output_shape = convert_to_tensor(output_shape, name="output_shape")
        batch, *inner, channels = constant_value_as_shape(output_shape).with_rank(4).as_list()
        kernel, given = filters.shape.as_list()[:2], value.shape.as_list()[1:3]
        if None in (*inner, channels, *kernel, *given):
            raise ValueError("atrous_conv2d_transpose needs known extents, but for the batch")
        batch = output_shape[0] if batch is None else batch
        extra = [(k - 1) * rate if padding == "SAME" else 0 for k in kernel]
        return _atrous_transpose(value, filters, given, [batch, inner, channels], rate, extra)


def _atrous_transpose(value, filters, given, sizes, rate, extra):
    batch, inner, channels = sizes
    starts = [e // 2 for e in extra]
    inner = [size + e for size, e in zip(inner, extra)]
    missing = [-size % rate for size in inner]
    block = [rate, rate]
    spread = space_to_batch_nd(value, block, [[0, -extent % rate] for extent in given])
    input_sizes = [rate * rate * batch, *((size + m) // rate for size, m in zip(inner, missing)), channels]
    result = Conv2DBackpropInput(input_sizes, filters, spread, strides=[1, 1, 1, 1], padding="VALID")
    crops = [[start, e - start + m] for start, e, m in zip(starts, extra, missing)]
    return batch_to_space_nd(result, block, crops)


def depthwise_conv2d(input, filter, strides, padding, rate=None, name=None, data_format=None, dilations=None):
    """``tf.nn.depthwise_conv2d``: each channel is convolved with its own filters (h, w, in, multiplier)."""
    rate = one_name("rate", rate, "dilations", dilations)
    with name_scope(name, "depthwise", [input, filter]) as scope:
        input, filter = convert_to_tensor(input, name="tensor_in"), convert_to_tensor(filter, name="filter_in")

        def op(converted, _, padding):
            return DepthwiseConv2dNative(converted, filter, strides=strides, padding=padding, data_format=data_format,
                                         name=scope)

        return with_space_to_batch(input, [1, 1] if rate is None else rate, padding, op, filter_shape=shape(filter),
                                   data_format=data_format)


def separable_conv2d(input, depthwise_filter, pointwise_filter, strides, padding, rate=None, name=None,
                     data_format=None, dilations=None):
    """``tf.nn.separable_conv2d``: a depthwise convolution, then one of 1x1 that mixes the channels."""
    rate = one_name("rate", rate, "dilations", dilations)
    with name_scope(name, "separable_conv2d", [input, depthwise_filter, pointwise_filter]) as scope:
        input = convert_to_tensor(input, name="tensor_in")
        depthwise_filter = convert_to_tensor(depthwise_filter, name="depthwise_filter")
        pointwise_filter = convert_to_tensor(pointwise_filter, name="pointwise_filter")
        pointwise_filter.shape.with_rank(4)[:2].assert_is_compatible_with([1, 1])

        def op(converted, _, padding):
            return DepthwiseConv2dNative(converted, depthwise_filter, strides=strides, padding=padding,
                                         data_format=data_format, name="depthwise")

        depthwise = with_space_to_batch(input, [1, 1] if rate is None else rate, padding, op,
                                        filter_shape=shape(depthwise_filter), data_format=data_format)
        return Conv2D(depthwise, pointwise_filter, strides=[1, 1, 1, 1], padding="VALID", data_format=data_format,
                      name=scope)


# --- pooling ---------------------------------------------------------------------------------------------------------

def pool(input, window_shape, pooling_type, padding, dilation_rate=None, strides=None, name=None, data_format=None,
         dilations=None):
    """``tf.nn.pool``: "MAX" or "AVG" pooling over one, two or three spatial axes, with strides or dilations."""
    rate = one_name("dilation_rate", dilation_rate, "dilations", dilations)
    axes = len(window_shape)
    if pooling_type not in ("MAX", "AVG") or not 1 <= axes <= 3:
        raise ValueError(f"pooling of type {pooling_type!r} over {axes} axes is not supported")
    with name_scope(name, f"{pooling_type.lower()}_pool", [input]) as scope:
        input = convert_to_tensor(input, name="input")
        strides, rate = _steps(axes, strides, rate)
        if padding == "SAME" and max(rate) > 1:
            raise ValueError("pooling with SAME padding is not implemented for dilation_rate > 1")
        if any(s > w for s, w in zip(strides, window_shape)):
            raise ValueError("strides > window_shape not supported: CPU and GPU implementations do not agree on it")

        def op(converted, _, padding):
            return _dense_pool(converted, list(window_shape), pooling_type, padding, strides, data_format, scope)

        return with_space_to_batch(input, rate, padding, op, filter_shape=list(window_shape), data_format=data_format)


def _dense_pool(input, window, pooling_type, padding, strides, data_format, name):
    first = data_format is not None and data_formats.channels_first(data_format)
    axis = 2 if first else 1
    flat = len(window) == 1
    if flat:
        input, window, strides = expand_dims(input, axis), [1, *window], [1, *strides]
    kind = ("NCHW" if first else "NHWC") if len(window) == 2 else ("NCDHW" if first else "NDHWC")
    choices = {("MAX", 2): MaxPool, ("AVG", 2): AvgPool, ("MAX", 3): MaxPool3D, ("AVG", 3): AvgPool3D}
    definition = choices[pooling_type, len(window)]
    result = definition(input, ksize=data_formats.arrange(1, window, 1, kind), strides=data_formats.arrange(1, strides, 1, kind),
                        padding=padding, data_format=kind, name=name)
    return squeeze(result, [axis]) if flat else result
