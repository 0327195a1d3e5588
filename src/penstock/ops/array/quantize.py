"""Simulated quantization: floats rounded to what a few bits can hold, with gradients as if they had not been."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph import dtypes
from penstock.graph.attrs import one_of
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.ops.common import FLOATS, like

FAKE = {"num_bits": 8, "narrow_range": False}
RANGE = {"min": -6.0, "max": 6.0}


# --- FakeQuant: an affine grid of 2**num_bits steps between two bounds ------------------------------------------------

def _nudged_range(low: Any, high: Any, num_bits: int, narrow_range: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(low, high, step) of the grid, shifted a little so that 0 lies on it."""
    first, last = np.float32(narrow_range), np.float32(2**num_bits - 1)
    low, high = np.asarray(low, np.float32), np.asarray(high, np.float32)
    with np.errstate(divide="ignore", invalid="ignore"):  # low == high == 0 is treated by the callers
        step = (high - low) / (last - first)
        zero = np.clip(np.floor(first - low / step + np.float32(0.5)), first, last)
    return (first - zero) * step, (last - zero) * step, step


def _fake_quant(inputs: np.ndarray, low: Any, high: Any, num_bits: int, narrow_range: bool) -> np.ndarray:
    bottom, top, step = _nudged_range(low, high, num_bits, narrow_range)
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = np.floor((np.clip(inputs, bottom, top) - bottom) / step + np.float32(0.5))
        result = steps * step + bottom
    return np.where(np.logical_and(np.equal(low, 0), np.equal(high, 0)), np.float32(0), result).astype(np.float32)


def _fake_quant_gradients(gradients: np.ndarray, inputs: np.ndarray, low: Any, high: Any, num_bits: int,
                          narrow_range: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The parts of the gradient for elements inside, below and above the range."""
    _check_bits(num_bits)
    if gradients.shape != inputs.shape:
        raise invalid_argument(f"gradient and input must be the same size, not {list(gradients.shape)} and {list(inputs.shape)}")
    bottom, top, _ = _nudged_range(low, high, num_bits, narrow_range)
    empty = np.logical_and(np.equal(low, 0), np.equal(high, 0))
    below, above = ~empty & (inputs < bottom), ~empty & (inputs > top)
    return tuple(np.where(chosen, gradients, np.float32(0)) for chosen in (~(below | above), below, above))  # type: ignore[return-value]


# --- the same as native code: what is said of one element -------------------------------------------------------------

def _has_code(num_bits: int) -> None:
    """NotImplementedError for bits that the kernel refuses: it says so."""
    if not 2 <= num_bits <= 16:
        raise NotImplementedError(f"num_bits is {num_bits}")


def _lower_range(b: Any, low: Any, high: Any, num_bits: int, narrow_range: bool) -> tuple[Any, Any, Any]:
    """``_nudged_range``."""
    first, last = float(narrow_range), float(2**num_bits - 1)
    step = b.div(b.sub(high, low), last - first)
    zero = b.minimum(b.maximum(b.floor(b.add(b.sub(first, b.div(low, step)), 0.5)), first), last)
    return b.mul(b.sub(first, zero), step), b.mul(b.sub(last, zero), step), step


def _lower_grid(b: Any, inputs: Any, bottom: Any, top: Any, step: Any) -> Any:
    """The point of the grid that is next to the value."""
    inside = b.minimum(b.maximum(inputs, bottom), top)
    return b.add(b.mul(b.floor(b.add(b.div(b.sub(inside, bottom), step), 0.5)), step), bottom)


def _lower_fake_quant(b: Any, inputs: Any, min: Any, max: Any, num_bits: int, narrow_range: bool) -> Any:
    _has_code(num_bits)
    empty = b.logical_and(b.eq(min, 0), b.eq(max, 0))
    return b.select(empty, 0.0, _lower_grid(b, inputs, *_lower_range(b, min, max, num_bits, narrow_range)))


def _compose_range(b: Any, low: Any, high: Any, num_bits: int, narrow_range: bool) -> tuple[Any, Any, Any]:
    """``_nudged_range``."""
    if not 2 <= num_bits <= 16:
        b.unsupported(f"num_bits is {num_bits}")
    first, last = float(narrow_range), float(2**num_bits - 1)
    step = (high - low) / (last - first)
    zero = low / step * -1.0 + first + 0.5
    zero = b.binary("Minimum", b.maximum(b.op("Floor", zero.shape, zero.dtype, zero, T=zero.dtype), first), last)
    return (zero * -1.0 + first) * step, (zero * -1.0 + last) * step, step


def _compose_gradients(b: Any, gradients: Any, inputs: Any, min: Any, max: Any, num_bits: int, narrow_range: bool, summed: int) -> tuple[Any, ...]:
    """``_fake_quant_gradients``, with the parts below and above summed over that many axes. (The comparisons are false for an empty range, a NaN.)"""
    if gradients.shape != inputs.shape:
        b.unsupported("the gradient and the input differ in shape")
    bottom, top, _ = _compose_range(b, min, max, num_bits, narrow_range)
    below, above = b.less(inputs, bottom), b.less(top, inputs)
    inside = b.select(b.logical_or(below, above), b.constant(0, inputs.dtype), gradients)
    to_bounds = [b.reshape(b.sum(b.select(chosen, gradients, 0), range(summed)), min.shape) for chosen in (below, above)]
    return inside, *to_bounds


def _no_second_order(op: Any) -> LookupError:
    """A gradient that only pretends has no derivative of its own."""
    return LookupError(f"No gradient defined for operation '{op.name}' (op type: {op.type})")


def _check_bits(num_bits: int) -> None:
    if not 2 <= num_bits <= 16:
        raise invalid_argument(f"num_bits must be between 2 and 16, inclusive, not {num_bits}")


@op("FakeQuantWithMinMaxArgs", "inputs: float -> outputs: float", **RANGE, **FAKE)
class FakeQuantWithMinMaxArgs:
    """Values on a grid between two constant bounds."""

    elementwise = True
    shape = like("inputs")

    def kernel(inputs, min, max, num_bits, narrow_range):
        _check_bits(num_bits)
        if min >= max:
            raise invalid_argument(f"min has to be smaller than max, was: {min} >= {max}")
        return _fake_quant(inputs, min, max, num_bits, narrow_range)

    def lower(b, inputs, min, max, num_bits, narrow_range):
        _has_code(num_bits)
        if min >= max:
            raise NotImplementedError(f"min is {min}, max is {max}")
        return _lower_grid(b, inputs, *map(float, _nudged_range(min, max, num_bits, narrow_range)))

    def gradient(op, dy):
        return FakeQuantWithMinMaxArgsGradient(dy, op.inputs[0], **{name: op.attrs[name] for name in (*RANGE, *FAKE)})


@op("FakeQuantWithMinMaxArgsGradient", "gradients: float, inputs: float -> backprops: float", **RANGE, **FAKE)
class FakeQuantWithMinMaxArgsGradient:
    """The gradient of FakeQuantWithMinMaxArgs: that of the identity inside the range, 0 outside."""

    elementwise = True

    def shape(gradients, inputs):
        return gradients.shape.merge_with(inputs.shape)

    def kernel(gradients, inputs, min, max, num_bits, narrow_range):
        return _fake_quant_gradients(gradients, inputs, min, max, num_bits, narrow_range)[0]

    def lower(b, gradients, inputs, min, max, num_bits, narrow_range):
        _has_code(num_bits)
        if min == max == 0:
            return gradients
        bottom, top, _ = map(float, _nudged_range(min, max, num_bits, narrow_range))
        return b.select(b.logical_or(b.lt(inputs, bottom), b.gt(inputs, top)), 0.0, gradients)

    def gradient(op, dy):
        return [FakeQuantWithMinMaxArgsGradient(dy, op.inputs[1], **{name: op.attrs[name] for name in (*RANGE, *FAKE)}), None]


def _scalar_bounds(inputs: Tensor, min: Tensor, max: Tensor) -> Any:
    min.shape.assert_has_rank(0)
    max.shape.assert_has_rank(0)
    return inputs.shape


def _channel_bounds(inputs: Tensor, min: Tensor, max: Tensor) -> Any:
    channels = min.shape.with_rank(1).merge_with(max.shape.with_rank(1))
    if inputs.shape.ndims is None:
        return inputs.shape
    last = inputs.shape.with_rank_at_least(1)[-1:].merge_with(channels)
    return inputs.shape[:-1].concatenate(last)


@op("FakeQuantWithMinMaxVars", "inputs: float, min: float, max: float -> outputs: float", **FAKE)
class FakeQuantWithMinMaxVars:
    """Values on a grid between two bounds that can be learned."""

    elementwise = True
    lower = _lower_fake_quant

    def shape(inputs, min, max):
        return _scalar_bounds(inputs, min, max)

    def kernel(inputs, min, max, num_bits, narrow_range):
        _check_bits(num_bits)
        return _fake_quant(inputs, min, max, num_bits, narrow_range)

    def gradient(op, dy):
        return FakeQuantWithMinMaxVarsGradient(dy, *op.inputs, **{name: op.attrs[name] for name in FAKE})


@op("FakeQuantWithMinMaxVarsGradient", "gradients: float, inputs: float, min: float, max: float -> backprops_wrt_input: float, "
                                       "backprop_wrt_min: float, backprop_wrt_max: float", **FAKE)
class FakeQuantWithMinMaxVarsGradient:
    """The gradient of FakeQuantWithMinMaxVars: what lies outside of the range goes to the bound it was clipped to."""

    def shape(gradients, inputs, min, max):
        return [_scalar_bounds(inputs, min, max).merge_with(gradients.shape), [], []]

    def kernel(gradients, inputs, min, max, num_bits, narrow_range):
        inside, below, above = _fake_quant_gradients(gradients, inputs, min, max, num_bits, narrow_range)
        return inside, below.sum(dtype=np.float32), above.sum(dtype=np.float32)

    def compose(b, gradients, inputs, min, max, num_bits, narrow_range):
        return _compose_gradients(b, gradients, inputs, min, max, num_bits, narrow_range, len(inputs.shape))

    def gradient(op, *dys):
        raise _no_second_order(op)


@op("FakeQuantWithMinMaxVarsPerChannel", "inputs: float, min: float, max: float -> outputs: float", **FAKE)
class FakeQuantWithMinMaxVarsPerChannel:
    """FakeQuantWithMinMaxVars with bounds for each channel, the last axis."""

    shape = _channel_bounds

    def kernel(inputs, min, max, num_bits, narrow_range):
        _check_bits(num_bits)
        return _fake_quant(inputs, min, max, num_bits, narrow_range)

    def compose(b, inputs, min, max, num_bits, narrow_range):  # not `elementwise`: bounds belong to the last axis, wherever it may be moved
        bottom, top, step = _compose_range(b, min, max, num_bits, narrow_range)
        floor = (b.binary("Minimum", b.maximum(inputs, bottom), top) - bottom) / step + 0.5
        grid = b.op("Floor", floor.shape, floor.dtype, floor, T=floor.dtype) * step + bottom
        empty = b.op("LogicalAnd", min.shape, dtypes.bool_, b.equal(min, 0), b.equal(max, 0))
        return b.select(empty, b.constant(0, inputs.dtype), grid)

    def gradient(op, dy):
        return FakeQuantWithMinMaxVarsPerChannelGradient(dy, *op.inputs, **{name: op.attrs[name] for name in FAKE})


@op("FakeQuantWithMinMaxVarsPerChannelGradient", "gradients: float, inputs: float, min: float, max: float -> backprops_wrt_input: float, "
                                                 "backprop_wrt_min: float, backprop_wrt_max: float", **FAKE)
class FakeQuantWithMinMaxVarsPerChannelGradient:
    """The gradient of FakeQuantWithMinMaxVarsPerChannel."""

    def shape(gradients, inputs, min, max):
        return [_channel_bounds(inputs, min, max).merge_with(gradients.shape), min.shape, max.shape]

    def kernel(gradients, inputs, min, max, num_bits, narrow_range):
        inside, below, above = _fake_quant_gradients(gradients, inputs, min, max, num_bits, narrow_range)
        axes = tuple(range(inputs.ndim - 1))
        return inside, below.sum(axes, dtype=np.float32), above.sum(axes, dtype=np.float32)

    def compose(b, gradients, inputs, min, max, num_bits, narrow_range):
        return _compose_gradients(b, gradients, inputs, min, max, num_bits, narrow_range, len(inputs.shape) - 1)

    def gradient(op, *dys):
        raise _no_second_order(op)


# --- QuantizeAndDequantize: a grid that is symmetric around 0 ---------------------------------------------------------

def _round_trip(input: np.ndarray, low: Any, high: Any, bits: int, signed: bool, narrow: bool, clamp: bool, half_up: bool) -> np.ndarray:
    """Values scaled to integers of ``bits`` bits, rounded, and scaled back."""
    if not signed < bits < 63:
        raise invalid_argument(f"num_bits is out of range: {bits} with signed_input {signed}")
    x = np.asarray(input, np.float64)
    if x.size == 0:
        return input
    low, high = (float(low), float(high)) if clamp else (float(x.min()), float(x.max()))
    if low > high:
        raise invalid_argument(f"Invalid range: input_min {low} > input_max {high}")
    smallest = (-2**(bits - 1) + narrow) if signed else 0
    largest = 2**(bits - 1) - 1 if signed else 2**bits - 1
    by_low = smallest / low if smallest * low > 0 else np.inf
    by_high = largest / high if largest * high > 0 else np.inf
    scale = min(by_low, by_high)
    if not np.isfinite(scale):
        return np.zeros_like(input)
    if scale == 0:  # an infinite range
        return np.full_like(input, np.nan)
    if clamp:
        x = np.clip(x, smallest / scale, largest / scale)
    steps = np.floor(x * scale + 0.5) if half_up else np.rint(x * scale)
    return (steps / scale).astype(input.dtype)


@op("QuantizeAndDequantize", "input: T -> output: T", signed_input=True, num_bits=8, range_given=False, input_min=0.0, input_max=0.0, T=FLOATS)
class QuantizeAndDequantize:
    """Values rounded to what integers of a few bits can hold; the form of old graphs."""

    shape = like("input")

    def kernel(input, signed_input, num_bits, range_given, input_min, input_max):
        return _round_trip(input, input_min, input_max, num_bits, signed_input, False, range_given, False)

    def gradient(op, dy):
        return dy


@op("QuantizeAndDequantizeV2", "input: T, input_min: T, input_max: T -> output: T", signed_input=True, num_bits=8, range_given=False, T=FLOATS,
    round_mode=one_of("HALF_TO_EVEN", "HALF_UP", default="HALF_TO_EVEN"), narrow_range=False)
class QuantizeAndDequantizeV2:
    """Values rounded to what integers of a few bits can hold."""

    ranks = {"input_min": 0, "input_max": 0}
    shape = like("input")

    def kernel(input, input_min, input_max, signed_input, num_bits, range_given, round_mode, narrow_range):
        return _round_trip(input, input_min, input_max, num_bits, signed_input, narrow_range, range_given, round_mode == "HALF_UP")

    def gradient(op, dy):
        return [dy, None, None]


@op("QuantizeAndDequantizeV3", "input: T, input_min: T, input_max: T, num_bits: int32 -> output: T", signed_input=True, range_given=True,
    T=FLOATS, narrow_range=False)
class QuantizeAndDequantizeV3:
    """QuantizeAndDequantizeV2 with the number of bits as a tensor."""

    ranks = {"input_min": 0, "input_max": 0, "num_bits": 0}
    shape = like("input")

    def kernel(input, input_min, input_max, num_bits, signed_input, range_given, narrow_range):
        return _round_trip(input, input_min, input_max, int(num_bits), signed_input, narrow_range, range_given, False)

    def gradient(op, dy):
        return [dy, None, None, None]


# --- public functions ------------------------------------------------------------------------------------------------

def fake_quant_with_min_max_args(inputs: Any, min: float = -6, max: float = 6, num_bits: int = 8, narrow_range: bool = False,
                                 name: str | None = None) -> Tensor:
    """``tf.quantization.fake_quant_with_min_max_args``: values on a grid between two constant bounds."""
    return FakeQuantWithMinMaxArgs(inputs, min=min, max=max, num_bits=num_bits, narrow_range=narrow_range, name=name)


def fake_quant_with_min_max_args_gradient(gradients: Any, inputs: Any, min: float = -6, max: float = 6, num_bits: int = 8,
                                          narrow_range: bool = False, name: str | None = None) -> Tensor:
    """``tf.quantization.fake_quant_with_min_max_args_gradient``."""
    return FakeQuantWithMinMaxArgsGradient(gradients, inputs, min=min, max=max, num_bits=num_bits, narrow_range=narrow_range, name=name)


def fake_quant_with_min_max_vars(inputs: Any, min: Any, max: Any, num_bits: int = 8, narrow_range: bool = False,
                                 name: str | None = None) -> Tensor:
    """``tf.quantization.fake_quant_with_min_max_vars``: values on a grid between two bounds that can be learned."""
    return FakeQuantWithMinMaxVars(inputs, min, max, num_bits=num_bits, narrow_range=narrow_range, name=name)


def fake_quant_with_min_max_vars_gradient(gradients: Any, inputs: Any, min: Any, max: Any, num_bits: int = 8, narrow_range: bool = False,
                                          name: str | None = None) -> list[Tensor]:
    """``tf.quantization.fake_quant_with_min_max_vars_gradient``."""
    return FakeQuantWithMinMaxVarsGradient(gradients, inputs, min, max, num_bits=num_bits, narrow_range=narrow_range, name=name)


def fake_quant_with_min_max_vars_per_channel(inputs: Any, min: Any, max: Any, num_bits: int = 8, narrow_range: bool = False,
                                             name: str | None = None) -> Tensor:
    """``tf.quantization.fake_quant_with_min_max_vars_per_channel``: with bounds for each channel, the last axis."""
    return FakeQuantWithMinMaxVarsPerChannel(inputs, min, max, num_bits=num_bits, narrow_range=narrow_range, name=name)


def fake_quant_with_min_max_vars_per_channel_gradient(gradients: Any, inputs: Any, min: Any, max: Any, num_bits: int = 8,
                                                      narrow_range: bool = False, name: str | None = None) -> list[Tensor]:
    """``tf.quantization.fake_quant_with_min_max_vars_per_channel_gradient``."""
    return FakeQuantWithMinMaxVarsPerChannelGradient(gradients, inputs, min, max, num_bits=num_bits, narrow_range=narrow_range, name=name)


def quantize_and_dequantize(input: Any, input_min: Any, input_max: Any, signed_input: bool = True, num_bits: int = 8, range_given: bool = False,
                            round_mode: str = "HALF_TO_EVEN", name: str | None = None, narrow_range: bool = False) -> Tensor:
    """``tf.quantization.quantize_and_dequantize``: values rounded to what integers of ``num_bits`` bits can hold."""
    return QuantizeAndDequantizeV2(input, input_min, input_max, signed_input=signed_input, num_bits=num_bits, range_given=range_given,
                                   round_mode=round_mode, narrow_range=narrow_range, name=name)
