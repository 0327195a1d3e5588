"""Bias addition: a vector added along the channel axis."""
from __future__ import annotations

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph.attrs import one_of
from penstock.graph.convert import convert_to_tensor, to_tensor
from penstock.graph.opdef import op
from penstock.graph.scopes import name_scope
from penstock.graph.shape import TensorShape
from penstock.ops.array.fill import zeros_like
from penstock.ops.common import NUMERIC
from penstock.ops.linalg.matmul import matmul
from penstock.ops.nn.activations import Relu
from penstock.ops.precision import in_float32

_FORMAT = one_of("NHWC", "NCHW", default="NHWC")


def _added_shape(value, bias, data_format):
    shape = value.shape.with_rank_at_least(3 if data_format == "NCHW" else 2)
    length = bias.shape.with_rank(1).extents[0]
    if shape.extents is None:
        return shape
    axis = 1 if data_format == "NCHW" else shape.ndims - 1
    channels = shape.extents[axis]
    if channels is not None and length is not None and channels != length:
        raise ValueError(f"Dimensions must be equal, but are {channels} and {length}")
    return TensorShape([*shape.extents[:axis], length if channels is None else channels, *shape.extents[axis + 1:]])


def _add_bias(value, bias, data_format):
    axis = 1 if data_format == "NCHW" else value.ndim - 1
    if value.ndim < 2 or bias.ndim != 1 or bias.shape[0] != value.shape[axis]:
        raise invalid_argument("Must provide as many biases as the last dimension of the input tensor: "
                               f"{list(bias.shape)} vs. {list(value.shape)}")
    return value + bias.reshape(-1, *(1,) * (value.ndim - axis - 1))


@op("BiasAdd", "value: T, bias: T -> output: T", T=NUMERIC, data_format=_FORMAT)
class BiasAdd:
    """value + bias, the bias running along the last axis, or along axis 1 for NCHW."""

    images = ("value", "output")
    rows = ("value",)
    epilogue = "add"

    def shape(value, bias, data_format):
        return _added_shape(value, bias, data_format)

    def kernel(value, bias, data_format):
        return _add_bias(value, bias, data_format)

    def compose(b, value, bias, data_format):
        return value + (b.reshape(bias, [*bias.shape, *(1,) * (len(value.shape) - 2)]) if data_format == "NCHW" else bias)

    def gradient(op, dy):
        return [dy, BiasAddGrad(dy, data_format=op.attrs["data_format"])]


@op("BiasAddV1", "value: T, bias: T -> output: T", T=NUMERIC)
class BiasAddV1:
    """BiasAdd along the last axis, as graphs of the first TensorFlow versions have it."""

    rows = ("value",)

    def shape(value, bias):
        return _added_shape(value, bias, "NHWC")

    def kernel(value, bias):
        return _add_bias(value, bias, "NHWC")

    def compose(b, value, bias):
        return value + bias

    def gradient(op, dy):
        return [dy, BiasAddGrad(dy)]


@op("BiasAddGrad", "out_backprop: T -> output: T", T=NUMERIC, data_format=_FORMAT)
class BiasAddGrad:
    """The sum over all axes but the channels."""

    images = ("out_backprop",)

    def shape(out_backprop, data_format):
        shape = out_backprop.shape.with_rank_at_least(3 if data_format == "NCHW" else 2)
        return [None if shape.extents is None else shape.extents[1 if data_format == "NCHW" else -1]]

    @in_float32
    def kernel(out_backprop, data_format):
        channel = 1 if data_format == "NCHW" else out_backprop.ndim - 1
        axes = tuple(axis for axis in range(out_backprop.ndim) if axis != channel)
        return np.sum(out_backprop, axis=axes, dtype=out_backprop.dtype)

    def compose(b, out_backprop, data_format):
        channel = 1 if data_format == "NCHW" else len(out_backprop.shape) - 1
        axes = [axis for axis in range(len(out_backprop.shape)) if axis != channel]
        total = b.sum(b.wide(out_backprop), axes)
        return b.cast(b.reshape(total, [out_backprop.shape[channel]]), out_backprop.dtype)

    def gradient(op, dy):
        return BiasAdd(zeros_like(op.inputs[0]), dy, data_format=op.attrs["data_format"])


def bias_add(value, bias, data_format=None, name=None):
    """``tf.nn.bias_add``: adds a vector along the channels; ``data_format`` is ``N...C`` or ``NC...``."""
    with name_scope(name, "BiasAdd", [value, bias]) as scope:
        if data_format is not None:
            data_format = "NCHW" if data_format.startswith("NC") else "NHWC" if data_format.startswith("N") else None
            if data_format is None:
                raise ValueError("data_format must be of the form `N...C` or `NC...`")
        value = to_tensor(value, None, "input")
        return BiasAdd(value, to_tensor(bias, value.dtype.base_dtype, "bias"), data_format=data_format, name=scope)


def bias_add_v1(value, bias, name=None):
    """The BiasAdd of the first TensorFlow versions."""
    with name_scope(name, "BiasAddV1", [value, bias]) as scope:
        return BiasAddV1(value, bias, name=scope)


def xw_plus_b(x, weights, biases, name=None):
    """``tf.nn.xw_plus_b``: matmul(x, weights) + biases."""
    with name_scope(name, "xw_plus_b", [x, weights, biases]) as scope:
        x, weights = convert_to_tensor(x, name="x"), convert_to_tensor(weights, name="weights")
        biases = convert_to_tensor(biases, name="biases")
        return bias_add(matmul(x, weights), biases, name=scope)


def relu_layer(x, weights, biases, name=None):
    """``tf.nn.relu_layer``: relu(matmul(x, weights) + biases)."""
    with name_scope(name, "relu_layer", [x, weights, biases]) as scope:
        x, weights = convert_to_tensor(x, name="x"), convert_to_tensor(weights, name="weights")
        biases = convert_to_tensor(biases, name="biases")
        return Relu(bias_add(matmul(x, weights), biases), name=scope)
