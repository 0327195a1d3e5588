"""Inference with integers of 8 bits: floats as integers of a range, products of such integers, and sums of 32 bits as 8 bits again.

A quantized tensor comes with the floats that its least and its largest integer stand for. A product subtracts from its factors the integers that
stand for 0, and adds up in 32 bits; its range follows from those of its factors. What TensorFlow computes in single precision is computed so here.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph import dtypes as dt
from penstock.graph.attrs import INTS, ints, one_of, types
from penstock.graph.dtypes import DType
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.shape import TensorShape, unknown_shape
from penstock.ops.common import shape_text
from penstock.ops.linalg.matrix_shape import same_extent
from penstock.ops.nn.conv_shape import check_depth, conv_shape, conv_windows
from penstock.ops.nn.im2col import convolve

QUANTIZED = frozenset({dt.qint8, dt.quint8, dt.qint16, dt.quint16, dt.qint32})
MODES = ("MIN_COMBINED", "MIN_FIRST", "SCALED")
_f = np.float32


def quantized_type(default: Any = None) -> Any:
    return types(*QUANTIZED) if default is None else types(*QUANTIZED, default=default)


def limits(dtype: DType) -> tuple[int, int]:
    info = np.iinfo(dtype.np)
    return int(info.min), int(info.max)


def scalar(value: Any, name: str) -> np.float32:
    if np.size(value) != 1:
        raise invalid_argument(f"{name} must be a scalar, not of shape {shape_text(np.asarray(value))}")
    return _f(np.asarray(value).reshape(()))


def rounded(x: np.ndarray) -> np.ndarray:
    """To the nearest integer; halves away from zero."""
    return np.trunc(x + np.copysign(x.dtype.type(0.5), x))


def zero_point(low: np.float32, high: np.float32, dtype: DType) -> int:
    """The integer that stands for 0, which need not be one of the type."""
    least = limits(dtype)[0]
    if low == high:
        return least
    steps = 2.0 ** (8 * dtype.size)
    scale = steps / ((float(high) - float(low)) * (steps / (steps - 1.0)))
    return least - int(rounded(np.float64(float(low) * scale)))


def _to_float(x: np.ndarray, low: np.float32, high: np.float32, dtype: DType) -> np.ndarray:
    """What integers stand for: those of the mode MIN_FIRST."""
    if low == high:
        return np.full(np.shape(x), low, _f)
    steps = 2.0 ** (8 * dtype.size)
    scale = (float(high) - float(low)) * (steps / (steps - 1.0)) / steps
    start = float(rounded(low / _f(scale)) * _f(scale))
    return (start + (np.asarray(x, np.float64) - limits(dtype)[0]) * scale).astype(_f)


def composed_round(b: Any, x: Any) -> Any:
    """``rounded`` while an op is taken apart for the compiler."""
    down, up = (b.op(op_type, x.shape, x.dtype, x + half, T=x.dtype) for op_type, half in (("Ceil", -0.5), ("Floor", 0.5)))
    return b.select(b.less(x, 0), down, up)


def composed_minimum(b: Any, x: Any, y: Any) -> Any:
    return b.binary("Minimum", x, y)


def composed_scale(b: Any, low: Any, high: Any, dtype: DType) -> tuple[Any, Any]:
    """(the lower bound, the floats from one integer to the next), in double precision."""
    steps = 2.0 ** (8 * dtype.size)
    low, high = b.cast(low, dt.float64), b.cast(high, dt.float64)
    return low, (high - low) * (steps / (steps - 1.0)) / steps


def product_range(low_a: np.float32, high_a: np.float32, low_b: np.float32, high_b: np.float32, first: DType, second: DType) -> list[np.float32]:
    """The floats that the least and the largest sum of 32 bits stand for."""
    level = _f(1)
    for low, high, dtype in ((low_a, high_a, first), (low_b, high_b, second)):
        least, most = limits(dtype)
        level = level * ((high - low) / _f(most - least))
    return [_f(level * _f(limit)) for limit in limits(dt.qint32)]


def scalar_shapes(*ranges: Tensor) -> list[TensorShape]:
    for tensor in ranges:
        tensor.shape.with_rank(0)
    return [TensorShape([]), TensorShape([])]


# --- floats and integers ---------------------------------------------------------------------------------------------

def _quantize_range(low: np.float32, high: np.float32) -> tuple[np.float32, np.float32]:
    """A range with 0 in it that is not too narrow."""
    if low > high:
        raise invalid_argument("input_max_range must be larger than input_min_range.")
    start = min(_f(0), low)
    epsilon = max(_f(1), abs(low), abs(high)) / _f(100)
    return start, max(_f(0), high, start + epsilon)


def _scaled_range(low: np.float32, high: np.float32, dtype: DType) -> tuple[np.float32, np.float32, np.float32]:
    """(least, largest, integers per unit) of a range around 0 that both bounds fit into."""
    sides = [_f(limit) / bound for limit, bound in zip(limits(dtype), (low, high)) if limit * bound > 0]
    scale = min(sides, default=np.finfo(_f).max)
    least, most = (_f(limit) / scale for limit in limits(dtype))
    return least, most, scale


@op("QuantizeV2", "input: float, min_range: float, max_range: float -> output: T, output_min: float, output_max: float", T=QUANTIZED,
    mode=one_of(*MODES, default="MIN_COMBINED"), round_mode=one_of("HALF_AWAY_FROM_ZERO", "HALF_TO_EVEN", default="HALF_AWAY_FROM_ZERO"))
class QuantizeV2:
    """Floats as integers of a range, which is widened until it has 0 in it."""

    gradient = None

    def shape(input, min_range, max_range):
        return [input.shape, *scalar_shapes(min_range, max_range)]

    def kernel(input, min_range, max_range, T, mode, round_mode):
        if round_mode == "HALF_TO_EVEN" and mode != "SCALED":
            raise invalid_argument(f"Round mode 'HALF_TO_EVEN' only supported for mode 'SCALED', but mode is '{mode}'.")
        low, high = _quantize_range(scalar(min_range, "min_range"), scalar(max_range, "max_range"))
        least, most = limits(T)
        x = np.asarray(input, _f)
        if mode == "SCALED":
            low, high, scale = _scaled_range(low, high, T)
            result = np.clip(x, low, high) * scale
            result = np.rint(result) if round_mode == "HALF_TO_EVEN" else rounded(result)
        elif mode == "MIN_COMBINED":
            scale = _f(most - least) / (high - low)
            moved = (np.clip(x, low, high) - low) * scale
            result = np.floor(moved + _f(0.5)) if not least else rounded(moved - _f(-least))
        else:
            steps = 2.0 ** (8 * T.size)
            scale = _f(steps / ((float(high) - float(low)) * (steps / (steps - 1.0))))
            result = rounded(x * scale) - rounded(low * scale) + _f(least)
        return np.clip(result.astype(np.float64), least, most).astype(T.np), low, high

    def compose(b, input, min_range, max_range, T, mode, round_mode):
        if T.size > 1 or (round_mode == "HALF_TO_EVEN" and mode != "SCALED"):
            b.unsupported("more than 8 bits, or another way of rounding")
        b.refuse(b.less(max_range, min_range))
        least, most = limits(T)
        low = composed_minimum(b, min_range, 0)
        widest = b.maximum(b.maximum(b.maximum(min_range, min_range * -1), b.maximum(max_range, max_range * -1)), 1)
        high = b.maximum(b.maximum(max_range, 0), low + widest / 100)
        if mode == "SCALED":
            none = b.constant(np.finfo(_f).max, dt.float32)
            scale = b.select(b.less(high * -1, 0), float(most) / high, none)
            scale = composed_minimum(b, scale, b.select(b.less(low, 0), float(least) / low, none)) if least else scale
            low, high = float(least) / scale, float(most) / scale
            scaled = composed_minimum(b, b.maximum(input, low), high) * scale
            result = b.op("Rint", scaled.shape, scaled.dtype, scaled, T=scaled.dtype) if round_mode == "HALF_TO_EVEN" else composed_round(b, scaled)
        elif mode == "MIN_COMBINED":
            moved = (composed_minimum(b, b.maximum(input, low), high) - low) * (float(most - least) / (high - low))
            result = composed_round(b, moved + float(least)) if least else b.op("Floor", moved.shape, moved.dtype, moved + 0.5, T=moved.dtype)
        else:
            start, level = composed_scale(b, low, high, T)
            scale = b.cast(1.0 / level, dt.float32)
            result = composed_round(b, input * scale) - composed_round(b, b.cast(start, dt.float32) * scale) + float(least)
        return b.cast(composed_minimum(b, b.maximum(result, least), most), dt.as_dtype(T.np)), low, high


@op("Dequantize", "input: T, min_range: float, max_range: float -> output: float", T=QUANTIZED, mode=one_of(*MODES, default="MIN_COMBINED"))
class Dequantize:
    """The floats that integers stand for."""

    gradient = None

    def shape(input, min_range, max_range):
        scalar_shapes(min_range, max_range)
        return input.shape

    def kernel(input, min_range, max_range, T, mode):
        low, high = scalar(min_range, "min_range"), scalar(max_range, "max_range")
        least, most = limits(T)
        x = np.asarray(input)
        if mode == "MIN_FIRST":
            return _to_float(x, low, high, T)
        if mode == "SCALED":
            return x.astype(_f) * (max(low / _f(least), high / _f(most)) if least else high / _f(most))
        half = _f((most - least + 1) / 2) if least else _f(0)
        return (x.astype(_f) + half) * ((high - low) / _f(most - least)) + low

    def compose(b, input, min_range, max_range, T, mode):
        least, most = limits(T)
        if mode == "MIN_FIRST":
            _, level = composed_scale(b, min_range, max_range, T)
            single = b.cast(level, dt.float32)
            start = b.cast(composed_round(b, min_range / single) * single, dt.float64)
            result = b.cast(start + (b.cast(input, dt.float64) - float(least)) * level, dt.float32)
            return b.select(b.equal(min_range, max_range), min_range, result)
        x = b.cast(input, dt.float32)
        if mode == "SCALED":
            return x * (b.maximum(min_range / float(least), max_range / float(most)) if least else max_range / float(most))
        return (x + ((most - least + 1) / 2 if least else 0.0)) * ((max_range - min_range) / float(most - least)) + min_range


# --- products --------------------------------------------------------------------------------------------------------

def _factors(*given: tuple[Any, DType, Any, Any, str]) -> tuple[list[np.ndarray], list[np.float32]]:
    """The factors with 0 where 0 is meant, as int32, and the range of their products."""
    bounds: list[np.float32] = []
    arrays = []
    for array, dtype, low, high, name in given:
        low, high = scalar(low, f"min_{name}"), scalar(high, f"max_{name}")
        if low > high:
            raise invalid_argument(f"min_{name} must be no more than max_{name}: {low} and {high}")
        arrays.append((np.asarray(array).astype(np.int64) - zero_point(low, high, dtype)).astype(np.int32))
        bounds += [low, high]
    return arrays, product_range(*bounds, given[0][1], given[1][1])  # type: ignore[arg-type]


@op("QuantizedMatMul", "a: T1, b: T2, min_a: float, max_a: float, min_b: float, max_b: float -> out: Toutput, min_out: float, max_out: float",
    T1=QUANTIZED, T2=QUANTIZED, Toutput=quantized_type(dt.qint32), transpose_a=False, transpose_b=False, Tactivation=quantized_type(dt.quint8))
class QuantizedMatMul:
    """The product of two matrices of integers."""

    gradient = None

    def shape(a, b, min_a, max_a, min_b, max_b, transpose_a, transpose_b):
        bounds = scalar_shapes(min_a, max_a, min_b, max_b)
        if a.shape.with_rank(2).ndims is None or b.shape.with_rank(2).ndims is None:
            return [unknown_shape(2), *bounds]
        (rows, left), (right, columns) = (x.shape.extents[::-1] if swap else x.shape.extents for x, swap in ((a, transpose_a), (b, transpose_b)))
        same_extent(left, right)
        return [TensorShape([rows, columns]), *bounds]

    def kernel(a, b, min_a, max_a, min_b, max_b, transpose_a, transpose_b, T1, T2, Toutput):
        _only_32_bits(Toutput)
        (x, y), bounds = _factors((a, T1, min_a, max_a, "a"), (b, T2, min_b, max_b, "b"))
        return np.matmul(x.T if transpose_a else x, y.T if transpose_b else y), *bounds

    def native(emit, a, b, min_a, max_a, min_b, max_b, transpose_a, transpose_b, T1, T2, Toutput):
        return emit.quantized.matmul((a, T1, min_a, max_a), (b, T2, min_b, max_b), transpose_a, transpose_b, Toutput)


@op("QuantizedConv2D", "input: Tinput, filter: Tfilter, min_input: float, max_input: float, min_filter: float, max_filter: float -> "
    "output: out_type, min_output: float, max_output: float", Tinput=QUANTIZED, Tfilter=QUANTIZED, out_type=quantized_type(dt.qint32), strides=INTS,
    padding=one_of("SAME", "VALID"), dilations=ints(1, 1, 1, 1))
class QuantizedConv2D:
    """The convolution of images with filters, both of integers. The border counts as 0."""

    gradient = None

    def shape(input, filter, min_input, max_input, min_filter, max_filter, strides, padding, dilations):
        bounds = scalar_shapes(min_input, max_input, min_filter, max_filter)
        return [conv_shape("QuantizedConv2D", 4, input, filter, strides, dilations, padding, "NHWC"), *bounds]

    def kernel(input, filter, min_input, max_input, min_filter, max_filter, strides, padding, dilations, Tinput, Tfilter, out_type):
        _only_32_bits(out_type)
        w = conv_windows(np.shape(input), np.shape(filter), strides, dilations, padding, "NHWC")
        check_depth(np.shape(input)[3], *np.shape(filter)[2:])
        (x, f), bounds = _factors((input, Tinput, min_input, max_input, "input"), (filter, Tfilter, min_filter, max_filter, "filter"))
        return convolve(x, f, w), *bounds

    def native(emit, input, filter, min_input, max_input, min_filter, max_filter, strides, padding, dilations, Tinput, Tfilter, out_type):
        return emit.quantized.conv2d((input, Tinput, min_input, max_input), (filter, Tfilter, min_filter, max_filter), strides, padding, dilations,
                                     out_type)


def _only_32_bits(dtype: DType) -> None:
    if dtype is not dt.qint32:
        raise invalid_argument(f"sums are of type qint32, not {dtype.name}: Requantize makes fewer bits of them")


# --- fewer bits ------------------------------------------------------------------------------------------------------

@op("RequantizationRange", "input: Tinput, input_min: float, input_max: float -> output_min: float, output_max: float", Tinput=QUANTIZED)
class RequantizationRange:
    """The range of the floats that some integers stand for, with 0 in it."""

    gradient = None

    def shape(input_min, input_max):
        return scalar_shapes(input_min, input_max)

    def kernel(input, input_min, input_max, Tinput):
        low, high = scalar(input_min, "input_min"), scalar(input_max, "input_max")
        values = np.asarray(input)
        used = [values.min(), values.max()] if values.size else [limits(Tinput)[1], limits(Tinput)[0]]
        least, most = limits(Tinput)
        level = (float(high) - float(low)) / (most - least)  # (from the lower bound as it is, not from the nearest integer)
        bounds = [_f(float(low) + (float(value) - least) * level) for value in used]
        return min(_f(0), bounds[0]), bounds[1]

    def compose(b, input, input_min, input_max, Tinput):
        if not np.prod(input.shape) or not input.shape:
            b.unsupported("there is nothing to look at")
        least, most = limits(Tinput)
        low, high = b.cast(input_min, dt.float64), b.cast(input_max, dt.float64)
        level = (high - low) / float(most - least)
        axes = list(range(len(input.shape)))
        used = [b.cast(b.reshape(fold(input, axes), ()), dt.float64) for fold in (b.min, b.max)]
        bounds = [b.cast(low + (value - float(least)) * level, dt.float32) for value in used]
        return composed_minimum(b, bounds[0], 0), bounds[1]


@op("Requantize", "input: Tinput, input_min: float, input_max: float, requested_output_min: float, requested_output_max: float -> "
    "output: out_type, output_min: float, output_max: float", Tinput=QUANTIZED, out_type=QUANTIZED)
class Requantize:
    """Sums as integers of fewer bits, of a range that is given."""

    gradient = None

    def shape(input, input_min, input_max, requested_output_min, requested_output_max):
        return [input.shape, *scalar_shapes(input_min, input_max, requested_output_min, requested_output_max)]

    def kernel(input, input_min, input_max, requested_output_min, requested_output_max, Tinput, out_type):
        low, high = scalar(input_min, "input_min"), scalar(input_max, "input_max")
        start, stop = scalar(requested_output_min, "requested_output_min"), scalar(requested_output_max, "requested_output_max")
        if start > 0:
            raise invalid_argument(f"requested_output_min must be <= 0, but got {start}")
        if stop < start:
            raise invalid_argument(f"requested_output_max must be >= requested_output_min, but got {stop} and {start}")
        if (Tinput, out_type) != (dt.qint32, dt.quint8):
            raise invalid_argument(f"sums of type qint32 become quint8, not {Tinput.name} {out_type.name}")
        return _fixed_point(np.asarray(input), low, high, start, stop), start, stop

    def compose(b, input, input_min, input_max, requested_output_min, requested_output_max, Tinput, out_type):
        if (Tinput, out_type) != (dt.qint32, dt.quint8):
            b.unsupported("other types")
        start, stop = requested_output_min, requested_output_max
        b.refuse(b.logical_or(b.less(start * -1, 0), b.less(stop, start)))
        one, wide = float(1 << 16), stop - start
        none = b.equal(wide, 0)
        wide = b.select(none, b.constant(1, dt.float32), wide)
        scale = b.cast((input_max - input_min) * (255.0 * one) / wide, dt.int64)
        moved = b.cast((input_min + input_max) / 2.0 * (255.0 / wide) * one, dt.int64) - b.cast(start * 255.0 * one / wide, dt.int64)
        result = b.binary("RightShift", b.cast(input, dt.int64) * scale, 32) + (moved + (1 << 15))
        result = composed_minimum(b, b.maximum(b.binary("RightShift", result, 16), 0), 255)
        return b.cast(b.select(none, b.constant(0, dt.int64), result), dt.uint8), start, stop


def _fixed_point(sums: np.ndarray, low: np.float32, high: np.float32, start: np.float32, stop: np.float32) -> np.ndarray:
    """Sums in another range, by integers with 16 bits behind the point: the numbers are TensorFlow's, which has no floats here either."""
    one, wide = _f(1 << 16), stop - start
    if wide == 0:
        return np.zeros(sums.shape, np.uint8)
    scale = int(_f(255) * one * (high - low) / wide)
    moved = int((low + high) / _f(2) * (_f(255) / wide) * one) - int(one * (start * _f(255)) / wide)
    result = ((sums.astype(np.int64) * scale >> 32) + moved + (1 << 15)) >> 16
    return np.clip(result, 0, 255).astype(np.uint8)


@op("QuantizedRelu", "features: Tinput, min_features: float, max_features: float -> activations: out_type, min_activations: float, "
    "max_activations: float", Tinput=QUANTIZED, out_type=quantized_type(dt.quint8))
class QuantizedRelu:
    """At least the integer that stands for 0."""

    gradient = None

    def shape(features, min_features, max_features):
        return [features.shape, *scalar_shapes(min_features, max_features)]

    def kernel(features, min_features, max_features, Tinput, out_type):
        low, high = scalar(min_features, "min_features"), scalar(max_features, "max_features")
        if Tinput is not out_type:
            raise invalid_argument(f"the type stays as it is, {Tinput.name}, and does not become {out_type.name}")
        least, most = limits(Tinput)
        zero = np.clip(zero_point(low, high, Tinput), least, most).astype(Tinput.np)
        return np.maximum(features, zero), low, high

    def compose(b, features, min_features, max_features, Tinput, out_type):
        if Tinput is not out_type or Tinput.size > 1:
            b.unsupported("other types")
        least, most = limits(Tinput)
        low, level = composed_scale(b, min_features, max_features, Tinput)
        zero = composed_round(b, low * (1.0 / level)) * -1 + float(least)
        zero = b.select(b.equal(min_features, max_features), b.constant(least, dt.float64), zero)
        zero = b.cast(b.cast(composed_minimum(b, b.maximum(zero, least), most), dt.int32), dt.as_dtype(Tinput.np))
        return b.maximum(features, zero), min_features, max_features


# --- functions -------------------------------------------------------------------------------------------------------

def quantize(input: Any, min_range: Any, max_range: Any, T: Any, mode: str = "MIN_COMBINED", round_mode: str = "HALF_AWAY_FROM_ZERO",
             name: str | None = None) -> Any:
    """``tf.quantize``: (integers, the float of the least one, the float of the largest one)."""
    return QuantizeV2(input, min_range, max_range, T=T, mode=mode, round_mode=round_mode, name=name)


def quantize_v2(input: Any, min_range: Any, max_range: Any, T: Any, mode: str = "MIN_COMBINED", name: str | None = None,
                round_mode: str = "HALF_AWAY_FROM_ZERO") -> Any:
    """``tf.quantize_v2``: ``quantize`` under its old name."""
    return QuantizeV2(input, min_range, max_range, T=T, mode=mode, round_mode=round_mode, name=name)


def dequantize(input: Any, min_range: Any, max_range: Any, mode: str = "MIN_COMBINED", name: str | None = None) -> Tensor:
    """``tf.dequantize``: the floats that integers stand for."""
    return Dequantize(input, min_range, max_range, mode=mode, name=name)


def quantized_conv2d(input: Any, filter: Any, min_input: Any, max_input: Any, min_filter: Any, max_filter: Any, strides: Any, padding: str,
                     out_type: Any = dt.qint32, dilations: Any = (1, 1, 1, 1), name: str | None = None) -> Any:
    """``tf.nn.quantized_conv2d``: (sums, the floats of the least and the largest one)."""
    return QuantizedConv2D(input, filter, min_input, max_input, min_filter, max_filter, strides=strides, padding=padding, out_type=out_type,
                           dilations=dilations, name=name)
