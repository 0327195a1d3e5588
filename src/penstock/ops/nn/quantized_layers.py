"""Layers between products of 8 bits: biases, activations, pooling, joining. With them a whole network runs on integers (``quantized.py``).

A layer hands on the range of its input unless it says otherwise. The numbers are TensorFlow's, which computes ranges in single precision.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph import dtypes as dt
from penstock.graph.attrs import INTS, TYPE, count, one_of
from penstock.graph.dtypes import DType
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.shape import TensorShape
from penstock.ops.array.pack import ConcatV2
from penstock.ops.array.shape_ops import INDEX_32, Reshape, as_array
from penstock.ops.common import shape_text
from penstock.ops.linalg.matrix_shape import same_extent
from penstock.ops.nn import pooling_core as core
from penstock.ops.nn.quantized import (
    QUANTIZED,
    RequantizationRange,
    Requantize,
    composed_minimum,
    composed_round,
    composed_scale,
    limits,
    quantized_type,
    rounded,
    scalar,
    scalar_shapes,
    zero_point,
)

_f = np.float32
_SUMS = 1 << 17  # times the largest float that goes in: the range of a sum of two
_MOST_AVERAGED = 2048  # elements of a window whose average is found by floats
_BELOW_A_SHARE = 1e-4  # more than the error of such an average, and less than what one integer of the window adds to it


def _steps(dtype: DType) -> float:
    return 2.0 ** (8 * dtype.size)


def _as_integer(value: np.float32, low: np.float32, high: np.float32, dtype: DType) -> np.ndarray:
    """The integer of the type that stands for a float, or is nearest to it."""
    least, most = limits(dtype)
    scale = _steps(dtype) / ((float(high) - float(low)) * (_steps(dtype) / (_steps(dtype) - 1.0))) if low != high else 0.0
    return np.clip(rounded(np.float64(float(value) * scale)) + zero_point(low, high, dtype), least, most).astype(dtype.np)


def _as_floats(x: np.ndarray, low: np.float32, high: np.float32, dtype: DType) -> np.ndarray:
    """What integers stand for, in single precision throughout."""
    scale = _f(float(high - low) / (_steps(dtype) - 1.0))
    start = low if low == high else rounded(low / scale) * scale
    return (start - _f(limits(dtype)[0]) * scale) + x.astype(_f) * scale


def _as_integers(x: np.ndarray, low: np.float32, high: np.float32, dtype: DType) -> np.ndarray:
    """The integers that stand for floats, in single precision throughout."""
    least, most = limits(dtype)
    scale = _f(0 if low == high else (_steps(dtype) - 1.0) / float(high - low))
    result = rounded(x * scale) - (rounded(low * scale) - _f(least))
    return np.clip(result.astype(np.float64), least, most).astype(dtype.np)


def _composed_integer(b: Any, value: Any, low: Any, high: Any, dtype: DType) -> Any:
    """``_as_integer`` while an op is taken apart for the compiler; as are the next two."""
    least, most = limits(dtype)
    start, level = composed_scale(b, low, high, dtype)
    scale = 1.0 / level
    value = b.cast(value, dt.float64) if not isinstance(value, float) else b.constant(value, dt.float64)
    result = composed_round(b, value * scale) - composed_round(b, start * scale) + float(least)
    result = b.select(b.equal(low, high), b.constant(least, dt.float64), result)
    return b.cast(b.cast(composed_minimum(b, b.maximum(result, least), most), dt.int32), dt.as_dtype(dtype.np))


def _composed_floats(b: Any, x: Any, low: Any, high: Any, dtype: DType) -> Any:
    scale = b.cast(b.cast(high - low, dt.float64) / (_steps(dtype) - 1.0), dt.float32)
    start = b.select(b.equal(low, high), low, composed_round(b, low / scale) * scale)
    return (start - scale * float(limits(dtype)[0])) + b.cast(x, dt.float32) * scale


def _composed_integers(b: Any, x: Any, low: Any, high: Any, dtype: DType) -> Any:
    least, most = limits(dtype)
    scale = b.cast((_steps(dtype) - 1.0) / b.cast(high - low, dt.float64), dt.float32)
    scale = b.select(b.equal(low, high), b.constant(0, dt.float32), scale)
    result = b.cast(composed_round(b, x * scale) - (composed_round(b, low * scale) - float(least)), dt.float64)
    return b.cast(b.cast(composed_minimum(b, b.maximum(result, float(least)), float(most)), dt.int32), dt.as_dtype(dtype.np))


# --- biases and activations ------------------------------------------------------------------------------------------

@op("QuantizedBiasAdd", "input: T1, bias: T2, min_input: float, max_input: float, min_bias: float, max_bias: float -> "
    "output: out_type, min_out: float, max_out: float", T1=QUANTIZED, T2=QUANTIZED, out_type=QUANTIZED)
class QuantizedBiasAdd:
    """The sum of images and of one bias per channel, as integers of a range that has room for it."""

    gradient = None

    def shape(input, bias, min_input, max_input, min_bias, max_bias):
        if input.shape.ndims is not None and input.shape.ndims < 2:
            raise ValueError(f"the input must have at least 2 axes, not {input.shape.ndims}")
        if bias.shape.with_rank(1).ndims and input.shape.ndims:
            same_extent(input.shape.extents[-1], bias.shape.extents[0])
        return [input.shape, *scalar_shapes(min_input, max_input, min_bias, max_bias)]

    def kernel(input, bias, min_input, max_input, min_bias, max_bias, T1, T2, out_type):
        x, b = as_array(input), as_array(bias)
        if x.ndim < 2:
            raise invalid_argument(f"Input tensor must be at least 2D: {shape_text(x)}")
        if b.ndim != 1 or b.shape[0] != x.shape[-1]:
            raise invalid_argument("Must provide as many biases as the last dimension of the input tensor: "
                                   f"{shape_text(b)} vs. {shape_text(x)}")
        if out_type is not dt.qint32:
            raise invalid_argument(f"sums are of type qint32, not {out_type.name}")
        bounds = [scalar(bound, name) for bound, name in ((min_input, "min_input"), (max_input, "max_input"), (min_bias, "min_bias"),
                                                          (max_bias, "max_bias"))]
        high = max(bounds[1], -bounds[0], bounds[3], -bounds[2]) * _f(_SUMS)
        terms = [_as_integers(_as_floats(each, *given), -high, high, out_type) for each, given in ((x, (*bounds[:2], T1)), (b, (*bounds[2:], T2)))]
        return terms[0] + (terms[1] + _as_integer(_f(0), -high, high, out_type)), -high, high

    def compose(b, input, bias, min_input, max_input, min_bias, max_bias, T1, T2, out_type):
        if T1.size > 1 or T2.size > 1 or out_type is not dt.qint32 or len(input.shape) < 2 or bias.shape != input.shape[-1:]:
            b.unsupported("other types or shapes")
        high = b.maximum(b.maximum(max_input, min_input * -1), b.maximum(max_bias, min_bias * -1)) * float(_SUMS)
        terms = [_composed_integers(b, _composed_floats(b, each, low, most, dtype), high * -1, high, out_type)
                 for each, low, most, dtype in ((input, min_input, max_input, T1), (bias, min_bias, max_bias, T2))]
        return terms[0] + (terms[1] + _composed_integer(b, 0.0, high * -1, high, out_type)), high * -1, high


def _clip(features: Any, most: np.float32, low: Any, high: Any, dtype: DType, out_type: DType) -> tuple[np.ndarray, np.float32, np.float32]:
    low, high = scalar(low, "min_features"), scalar(high, "max_features")
    if dtype is not out_type:
        raise invalid_argument(f"the type stays as it is, {dtype.name}, and does not become {out_type.name}")
    return np.minimum(np.maximum(features, _as_integer(_f(0), low, high, dtype)), _as_integer(most, low, high, dtype)), low, high


def _composed_clipped(b: Any, features: Any, most: Any, low: Any, high: Any, dtype: DType, out_type: DType) -> tuple[Any, Any, Any]:
    if dtype is not out_type or dtype.size > 1:
        b.unsupported("other types")
    bounds = [_composed_integer(b, value, low, high, dtype) for value in (0.0, most)]
    return composed_minimum(b, b.maximum(features, bounds[0]), bounds[1]), low, high


@op("QuantizedRelu6", "features: Tinput, min_features: float, max_features: float -> activations: out_type, min_activations: float, "
    "max_activations: float", Tinput=QUANTIZED, out_type=quantized_type(dt.quint8))
class QuantizedRelu6:
    """Between the integers that stand for 0 and for 6."""

    gradient = None

    def shape(features, min_features, max_features):
        return [features.shape, *scalar_shapes(min_features, max_features)]

    def kernel(features, min_features, max_features, Tinput, out_type):
        return _clip(features, _f(6), min_features, max_features, Tinput, out_type)

    def compose(b, features, min_features, max_features, Tinput, out_type):
        return _composed_clipped(b, features, 6.0, min_features, max_features, Tinput, out_type)


@op("QuantizedReluX", "features: Tinput, max_value: float, min_features: float, max_features: float -> activations: out_type, "
    "min_activations: float, max_activations: float", Tinput=QUANTIZED, out_type=quantized_type(dt.quint8))
class QuantizedReluX:
    """Between the integers that stand for 0 and for ``max_value``. (TensorFlow 1.15 has the op, and no kernel for it.)"""

    gradient = None

    def shape(features, max_value, min_features, max_features):
        return [features.shape, *scalar_shapes(max_value, min_features, max_features)]

    def kernel(features, max_value, min_features, max_features, Tinput, out_type):
        return _clip(features, scalar(max_value, "max_value"), min_features, max_features, Tinput, out_type)

    def compose(b, features, max_value, min_features, max_features, Tinput, out_type):
        return _composed_clipped(b, features, max_value, min_features, max_features, Tinput, out_type)


# --- pooling ---------------------------------------------------------------------------------------------------------

def _pool_shapes(input: Tensor, ksize: Any, strides: Any, padding: str, *ranges: Tensor) -> list[Any]:
    return [TensorShape(core.pool_shape(input.shape, 4, ksize, strides, padding)), *scalar_shapes(*ranges)]


_POOLING = dict(T=QUANTIZED, ksize=INTS, strides=INTS, padding=one_of("SAME", "VALID"))


@op("QuantizedMaxPool", "input: T, min_input: float, max_input: float -> output: T, min_output: float, max_output: float", **_POOLING)
class QuantizedMaxPool:
    """The largest integer of each window."""

    gradient = None

    def shape(input, min_input, max_input, ksize, strides, padding):
        return _pool_shapes(input, ksize, strides, padding, min_input, max_input)

    def kernel(input, min_input, max_input, ksize, strides, padding):
        x, (low, high) = as_array(input), (scalar(min_input, "min_input"), scalar(max_input, "max_input"))
        return core.max_pool_array(x, core.pool_windows(x.shape, ksize, strides, padding)), low, high

    def native(emit, input, min_input, max_input, ksize, strides, padding):
        return emit.windows.max_pool(input, core.pool_windows(input.shape, ksize, strides, padding), "NHWC"), min_input, max_input


@op("QuantizedAvgPool", "input: T, min_input: float, max_input: float -> output: T, min_output: float, max_output: float", **_POOLING)
class QuantizedAvgPool:
    """The average of each window, rounded towards 0; the border does not count."""

    gradient = None

    def shape(input, min_input, max_input, ksize, strides, padding):
        return _pool_shapes(input, ksize, strides, padding, min_input, max_input)

    def kernel(input, min_input, max_input, ksize, strides, padding):
        x, (low, high) = as_array(input), (scalar(min_input, "min_input"), scalar(max_input, "max_input"))
        return core.average(x.astype(np.int32), core.pool_windows(x.shape, ksize, strides, padding)).astype(x.dtype), low, high

    def compose(b, input, min_input, max_input, ksize, strides, padding, T):
        if T is not dt.quint8 or math.prod(ksize) > _MOST_AVERAGED:
            b.unsupported("other types, or larger windows")
        floats, w = b.cast(input, dt.float32), core.pool_windows(input.shape, ksize, strides, padding)
        means = b.op("AvgPool", w.output, dt.float32, floats, T=dt.float32, ksize=ksize, strides=strides, padding=padding, data_format="NHWC")
        return b.cast(b.op("Floor", means.shape, means.dtype, means + _BELOW_A_SHARE, T=means.dtype), dt.uint8), min_input, max_input


# --- joining and shaping ---------------------------------------------------------------------------------------------

@op("QuantizedConcat", "concat_dim: int32, values: N * T, input_mins: N * float, input_maxes: N * float -> output: T, output_min: float, "
    "output_max: float", N=count(2), T=TYPE)
class QuantizedConcat:
    """Tensors joined along an axis, all with the range that has room for each."""

    ranks = {"concat_dim": 0}
    gradient = None

    def shape(concat_dim, values, input_mins, input_maxes):
        return [ConcatV2.shape(values, concat_dim), *scalar_shapes(*input_mins, *input_maxes)]

    def kernel(concat_dim, values, input_mins, input_maxes, T):
        lows = [scalar(bound, "input_mins") for bound in input_mins]
        highs = [scalar(bound, "input_maxes") for bound in input_maxes]
        low, high = min(_f(0), *lows), max(highs)
        parts = [as_array(value) if (start, stop) == (low, high) else _as_integers(_as_floats(as_array(value), start, stop, T), low, high, T)
                 for value, start, stop in zip(values, lows, highs)]
        return ConcatV2.kernel(parts, concat_dim), low, high

    def compose(b, concat_dim, values, input_mins, input_maxes, T):
        if T not in (dt.quint8, dt.qint8):
            b.unsupported("other types")
        axis, low, high = int(b.known(concat_dim)) % len(values[0].shape), composed_minimum(b, input_mins[0], 0), input_maxes[0]
        for start, stop in zip(input_mins[1:], input_maxes[1:]):
            low, high = composed_minimum(b, low, start), b.maximum(high, stop)
        parts = []
        for value, start, stop in zip(values, input_mins, input_maxes):
            other = b.logical_or(b.logical_or(b.less(start, low), b.less(low, start)), b.less(stop, high))
            parts.append(b.select(other, _composed_integers(b, _composed_floats(b, value, start, stop, T), low, high, T), value))
        shape = list(values[0].shape)
        shape[axis] = sum(value.shape[axis] for value in values)
        return b.op("ConcatV2", shape, parts[0].dtype, *parts, b.constant(axis, dt.int32), N=len(parts), T=parts[0].dtype, Tidx=dt.int32), low, high


@op("QuantizedReshape", "tensor: T, shape: Tshape, input_min: float, input_max: float -> output: T, output_min: float, output_max: float", T=TYPE,
    Tshape=INDEX_32)
class QuantizedReshape:
    """The same integers in another shape."""

    gradient = None

    def shape(tensor, shape, input_min, input_max):
        return [Reshape.shape(tensor, shape), *scalar_shapes(input_min, input_max)]

    def kernel(tensor, shape, input_min, input_max):
        return Reshape.kernel(tensor, shape), scalar(input_min, "input_min"), scalar(input_max, "input_max")

    def native(emit, tensor, shape, input_min, input_max):
        return emit.move.reshape(tensor, emit.known(shape)), input_min, input_max


@op("QuantizeDownAndShrinkRange", "input: Tinput, input_min: float, input_max: float -> output: out_type, output_min: float, output_max: float",
    Tinput=QUANTIZED, out_type=QUANTIZED)
class QuantizeDownAndShrinkRange:
    """Sums as integers of fewer bits, of the range that they use: RequantizationRange and Requantize in one."""

    gradient = None

    def shape(input, input_min, input_max):
        return [input.shape, *scalar_shapes(input_min, input_max)]

    def kernel(input, input_min, input_max, Tinput, out_type):
        low, high = RequantizationRange.kernel(input, input_min, input_max, Tinput)
        return Requantize.kernel(input, input_min, input_max, low, high, Tinput, out_type)


# --- functions -------------------------------------------------------------------------------------------------------

def quantized_avg_pool(input: Any, min_input: Any, max_input: Any, ksize: Any, strides: Any, padding: str, name: str | None = None) -> Any:
    """``tf.nn.quantized_avg_pool``: (averages, their range)."""
    return QuantizedAvgPool(input, min_input, max_input, ksize=ksize, strides=strides, padding=padding, name=name)


def quantized_max_pool(input: Any, min_input: Any, max_input: Any, ksize: Any, strides: Any, padding: str, name: str | None = None) -> Any:
    """``tf.nn.quantized_max_pool``: (maxima, their range)."""
    return QuantizedMaxPool(input, min_input, max_input, ksize=ksize, strides=strides, padding=padding, name=name)


def quantized_relu_x(features: Any, max_value: Any, min_features: Any, max_features: Any, out_type: Any = dt.quint8, name: str | None = None) -> Any:
    """``tf.nn.quantized_relu_x``: (integers between those for 0 and ``max_value``, their range)."""
    return QuantizedReluX(features, max_value, min_features, max_features, out_type=out_type, name=name)


def quantized_concat(concat_dim: Any, values: Any, input_mins: Any, input_maxes: Any, name: str | None = None) -> Any:
    """``tf.quantization.quantized_concat``: (the tensors joined, their range)."""
    return QuantizedConcat(concat_dim, values, input_mins, input_maxes, name=name)
