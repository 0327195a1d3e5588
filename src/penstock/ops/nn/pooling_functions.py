"""The public pooling functions."""
from __future__ import annotations

from penstock.graph import dtypes as dt
from penstock.graph.convert import convert_to_tensor
from penstock.graph.node import Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.array.shape_ops import expand_dims, one_name, squeeze
from penstock.ops.nn.convolution import per_axis
from penstock.ops.nn.pooling import AvgPool, AvgPool3D, MaxPool, MaxPool3D, MaxPoolV2
from penstock.ops.nn.pooling_argmax import MaxPoolWithArgmax


def max_pool(value, ksize, strides, padding, data_format="NHWC", name=None, input=None):
    """``tf.nn.max_pool``: the largest element of each window; ``ksize`` and ``strides`` may be tensors."""
    value = one_name("value", value, "input", input)
    with name_scope(name, "MaxPool", [value]) as scope:
        data_format = data_format or "NHWC"
        if isinstance(ksize, Tensor) or isinstance(strides, Tensor):
            return MaxPoolV2(value, ksize, strides, padding=padding, data_format=data_format, name=scope)
        return MaxPool(value, ksize=per_axis(ksize, 2, data_format, "ksize"), padding=padding, data_format=data_format,
                       strides=per_axis(strides, 2, data_format, "strides"), name=scope)


def avg_pool(value, ksize, strides, padding, data_format="NHWC", name=None, input=None):
    """``tf.nn.avg_pool``: the mean of each window."""
    value = one_name("value", value, "input", input)
    with name_scope(name, "AvgPool", [value]) as scope:
        data_format = data_format or "NHWC"
        value = convert_to_tensor(value, name="input")
        return AvgPool(value, ksize=per_axis(ksize, 2, data_format, "ksize"), padding=padding, data_format=data_format,
                       strides=per_axis(strides, 2, data_format, "strides"), name=scope)


def max_pool2d(input, ksize, strides, padding, data_format="NHWC", name=None):
    """``tf.nn.max_pool2d``: the largest element of each window of an image."""
    return max_pool(input, ksize, strides, padding, data_format, name or "MaxPool2d")


def max_pool3d(input, ksize, strides, padding, data_format="NDHWC", name=None):
    """``tf.nn.max_pool3d``: the largest element of each window of a volume."""
    return _pool_3d(MaxPool3D, "MaxPool3D", input, ksize, strides, padding, data_format, name)


def avg_pool3d(input, ksize, strides, padding, data_format="NDHWC", name=None):
    """``tf.nn.avg_pool3d``: the mean of each window of a volume."""
    return _pool_3d(AvgPool3D, "AvgPool3D", input, ksize, strides, padding, data_format, name)


def _pool_3d(definition, default_name, input, ksize, strides, padding, data_format, name):
    with name_scope(name, default_name, [input]) as scope:
        data_format = data_format or "NDHWC"
        return definition(input, ksize=per_axis(ksize, 3, data_format, "ksize"), padding=padding,
                          data_format=data_format, strides=per_axis(strides, 3, data_format, "strides"), name=scope)


def max_pool1d(input, ksize, strides, padding, data_format="NWC", name=None):
    """``tf.nn.max_pool1d``: the largest element of each window of a sequence."""
    return _pool_1d(MaxPool, "MaxPool1d", input, ksize, strides, padding, data_format, name)


def avg_pool1d(input, ksize, strides, padding, data_format="NWC", name=None):
    """``tf.nn.avg_pool1d``: the mean of each window of a sequence."""
    return _pool_1d(AvgPool, "AvgPool1D", input, ksize, strides, padding, data_format, name)


def _pool_1d(definition, default_name, input, ksize, strides, padding, data_format, name):
    with name_scope(name, default_name, [input]) as scope:
        kind = "NCHW" if data_format == "NCW" else "NHWC"
        axis = 2 if kind == "NCHW" else 1
        result = definition(expand_dims(input, axis), ksize=[1, *per_axis(ksize, 1, kind, "ksize")], padding=padding,
                            strides=[1, *per_axis(strides, 1, kind, "strides")], data_format=kind, name=scope)
        return squeeze(result, [axis])


def avg_pool_v2(input, ksize, strides, padding, data_format=None, name=None):
    """``tf.nn.avg_pool_v2``: average pooling over as many spatial axes as the input has."""
    return _by_rank(input, data_format, (avg_pool1d, avg_pool, avg_pool3d), (ksize, strides, padding), name)


def max_pool_v2(input, ksize, strides, padding, data_format=None, name=None):
    """``tf.nn.max_pool_v2``: max pooling over as many spatial axes as the input has."""
    return _by_rank(input, data_format, (max_pool1d, max_pool, max_pool3d), (ksize, strides, padding), name)


def _by_rank(input, data_format, functions, window, name):
    rank = convert_to_tensor(input).shape.ndims if data_format is None else len(data_format)
    if rank not in (3, 4, 5):
        raise ValueError(f"Input tensor must be of rank 3, 4 or 5 but was {rank}.")
    return functions[rank - 3](input, *window, data_format=data_format or ("NWC", "NHWC", "NDHWC")[rank - 3], name=name)


def max_pool_with_argmax(input, ksize, strides, padding, data_format="NHWC", Targmax=None, name=None, output_dtype=None,
                         include_batch_in_index=False):
    """``tf.nn.max_pool_with_argmax``: (output, argmax): the maxima and their indices into the flattened image."""
    if data_format != "NHWC":
        raise ValueError("Data formats other than 'NHWC' are not yet supported")
    Targmax = one_name("Targmax", Targmax, "output_dtype", output_dtype)
    return MaxPoolWithArgmax(input, ksize=per_axis(ksize, 2, data_format, "ksize"), padding=padding,
                             strides=per_axis(strides, 2, data_format, "strides"), Targmax=Targmax or dt.int64,
                             include_batch_in_index=include_batch_in_index, name=name)
