"""Fractional pooling: windows of two neighbouring sizes, mixed at random, so that any number of them fills the extent.

The random numbers are TensorFlow's: the same seeds give the same windows. A *pooling sequence* holds the first index of
each window and, at its end, the extent.
"""
from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph import dtypes as dt
from penstock.graph.attrs import Attr, types
from penstock.graph.opdef import op
from penstock.graph.static import constant_value_as_shape
from penstock.ops.array.masking import masked
from penstock.ops.array.shape_ops import shape_internal
from penstock.ops.nn.conv_shape import check_rank
from penstock.ops.nn.pooling_core import undefined
from penstock.ops.random.philox import Philox

_TYPES = dict(T=types(dt.float32, dt.float64, dt.int32, dt.int64))
_ATTRS = dict(pooling_ratio=Attr("list(float)", minimum=4), pseudo_random=False, overlapping=False, deterministic=False,
              seed=0, seed2=0, **_TYPES)
_SIGNATURE = "value: T -> output: T, row_pooling_sequence: int64, col_pooling_sequence: int64"



# --- the windows -----------------------------------------------------------------------------------------------------

def _words(random: Philox, count: int) -> list[int]:
    blocks = -(-count // 4)
    return random.reserve(blocks).blocks(blocks).reshape(-1)[:count].tolist()


def _shuffled_windows(size: int, count: int, random: Philox) -> np.ndarray:
    """A sequence of windows whose two sizes are in random order."""
    small, larger = divmod(size, count)
    sizes = [small + 1] * larger + [small] * (count - larger)
    words = _words(random, count)
    for i in range(count - 1):
        j = i + words[i] % (count - i)
        sizes[i], sizes[j] = sizes[j], sizes[i]
    return np.concatenate([[0], np.cumsum(sizes)])


def _even_windows(size: int, count: int, random: Philox) -> np.ndarray:
    """A sequence of windows whose two sizes are spread evenly, from a random start."""
    ratio, small = size / count, size // count
    high, low = _words(random, 2)
    limit = min((small + 2) / ratio - 1, (size + 1 - small) / ratio - (count - 1))
    start = ((high & 0xFFFFF) << 32 | low) / 2.0 ** 52 * limit
    return np.array([0, *(math.ceil(ratio * (i + start)) - 1 for i in range(1, count)), size])


def _sequence(size: int, ratio: float, random: Philox, pseudo_random: bool) -> np.ndarray:
    count = int(size / ratio)
    if count < 1:
        raise invalid_argument(f"pooling_ratio {ratio} leaves nothing of an extent of {size}")
    if size % count == 0:
        return np.arange(count + 1) * (size // count)
    return (_even_windows if pseudo_random else _shuffled_windows)(size, count, random).astype(np.int64)


def _positions(sequence: np.ndarray, size: int, overlapping: bool) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """For the first, second, ... position within a window: (the windows that have it, where it is)."""
    starts, ends = sequence[:-1], np.minimum(sequence[1:] + overlapping, size)
    for offset in range(int((ends - starts).max())):
        inside = np.flatnonzero(starts + offset < ends)
        yield inside, starts[inside] + offset


def _taps(rows: np.ndarray, columns: np.ndarray, shape: Any, overlapping: bool) -> Iterator[tuple[Any, Any]]:
    """(index into the output, index into the input), position by position; no index meets an element twice."""
    for to_row, from_row in _positions(rows, shape[1], overlapping):
        for to_column, from_column in _positions(columns, shape[2], overlapping):
            every = slice(None)
            yield (every, to_row[:, None], to_column), (every, from_row[:, None], from_column)


# --- kernels ---------------------------------------------------------------------------------------------------------

def _sequences(ctx: Any, value: np.ndarray, pooling_ratio: Any, pseudo_random: bool, deterministic: bool, seed: int,
               seed2: int) -> tuple[np.ndarray, np.ndarray]:
    if value.ndim != 4:
        raise invalid_argument(f"tensor_in must be 4-dimensional, not {list(value.shape)}")
    if not deterministic:
        if seed or seed2:
            raise invalid_argument("Both seed and seed2 should be 0 if deterministic is false.")
        random = Philox.from_entropy()
    else:  # the same windows in every step
        random = ctx.state.setdefault("philox", Philox.for_op(seed, seed2)).reserve(0)
    rows = _sequence(value.shape[1], pooling_ratio[1], random, pseudo_random)
    return rows, _sequence(value.shape[2], pooling_ratio[2], random, pseudo_random)


def _output_shape(value: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> tuple[int, ...]:
    return value.shape[0], len(rows) - 1, len(columns) - 1, value.shape[3]


def _max(value: np.ndarray, rows: np.ndarray, columns: np.ndarray, overlapping: bool) -> np.ndarray:
    result = value[:, rows[:-1]][:, :, columns[:-1]]
    for to, source in _taps(rows, columns, value.shape, overlapping):
        result[to] = np.maximum(result[to], value[source])
    return result


def _counts(rows: np.ndarray, columns: np.ndarray, shape: Any, overlapping: bool, dtype: np.dtype) -> np.ndarray:
    sizes = [np.minimum(sequence[1:] + overlapping, size) - sequence[:-1] for sequence,
             size in zip((rows, columns), shape[1:3])]
    return np.multiply.outer(*sizes)[:, :, None].astype(dtype)


def _check_sequences(rows: np.ndarray, columns: np.ndarray, shape: Any, output_shape: Any) -> None:
    """InvalidArgumentError unless these are pooling sequences of an input of one shape that give an output of the other."""
    if len(shape) != 4 or min(shape) < 0:
        raise invalid_argument(f"original input tensor shape must be 1-dimensional and 4 elements, got {list(shape)}")
    for name, sequence, extent in (("row", rows, shape[1]), ("col", columns, shape[2])):
        if len(sequence) < 2 or sequence[0] < 0 or sequence[-1] > extent or (sequence[:-1] >= sequence[1:]).any():
            raise invalid_argument(f"{name}_pooling_sequence must increase within [0, {extent}], got {sequence.tolist()}")
    expected = (shape[0], len(rows) - 1, len(columns) - 1, shape[3])
    if tuple(output_shape) != expected:
        raise invalid_argument(f"out_backprop must have the shape {list(expected)}, not {list(output_shape)}")


def _divide(total: np.ndarray, counts: np.ndarray) -> np.ndarray:
    return total // counts if total.dtype.kind == "i" else total / counts


def _shapes(value, pooling_ratio):
    if pooling_ratio[0] != 1 or pooling_ratio[3] != 1:
        raise ValueError("Fractional pooling is not yet supported on the batch nor channel dimension.")
    if min(pooling_ratio) < 1:
        raise ValueError(f"pooling_ratio cannot be smaller than 1, got: {list(pooling_ratio)}")
    batch, height, width, depth = check_rank(value.shape, 4).as_list()
    inner = [None if size is None else int(size / ratio) for size, ratio in zip((height, width), pooling_ratio[1:3])]
    return [[batch, *inner, depth], *([None if count is None else count + 1] for count in inner)]


@op("FractionalMaxPool", _SIGNATURE, **_ATTRS)
class FractionalMaxPool:
    """The largest element of each window, and where the windows were."""

    stateful = True  # random

    def shape(value, pooling_ratio):
        return _shapes(value, pooling_ratio)

    def kernel(ctx, value, pooling_ratio, pseudo_random, overlapping, deterministic, seed, seed2):
        rows, columns = _sequences(ctx, value, pooling_ratio, pseudo_random, deterministic, seed, seed2)
        return _max(value, rows, columns, overlapping), rows, columns

    def gradient(op, dy, *_):
        output, rows, columns = op.outputs
        return FractionalMaxPoolGrad(op.inputs[0], output, dy, rows, columns, overlapping=op.attrs["overlapping"])


@op("FractionalMaxPoolGrad",
    "orig_input: T, orig_output: T, out_backprop: T, row_pooling_sequence: int64, col_pooling_sequence: int64"
    " -> output: T", overlapping=False, **_TYPES)
class FractionalMaxPoolGrad:
    """The gradient of FractionalMaxPool: each window's goes to its first maximum."""

    ranks = {"orig_input": 4, "orig_output": 4, "out_backprop": 4, "row_pooling_sequence": 1, "col_pooling_sequence": 1}

    def shape(orig_input, orig_output, out_backprop):
        orig_output.shape.merge_with(out_backprop.shape)
        return orig_input.shape.with_rank(4)

    def kernel(orig_input, orig_output, out_backprop, row_pooling_sequence, col_pooling_sequence, overlapping):
        sequences = row_pooling_sequence, col_pooling_sequence
        _check_sequences(*sequences, orig_input.shape, out_backprop.shape)
        best = _max(orig_input, *sequences, overlapping)
        free = np.ones(best.shape, bool)
        result = np.zeros_like(orig_input)
        for to, source in _taps(*sequences, orig_input.shape, overlapping):
            won = (orig_input[source] == best[to]) & free[to]
            free[to] ^= won
            result[source] += masked(out_backprop[to], won)
        return result

    gradient = undefined


@op("FractionalAvgPool", _SIGNATURE, **_ATTRS)
class FractionalAvgPool:
    """The mean of each window, and where the windows were."""

    stateful = True  # random

    def shape(value, pooling_ratio):
        return _shapes(value, pooling_ratio)

    def kernel(ctx, value, pooling_ratio, pseudo_random, overlapping, deterministic, seed, seed2):
        rows, columns = _sequences(ctx, value, pooling_ratio, pseudo_random, deterministic, seed, seed2)
        total = np.zeros(_output_shape(value, rows, columns), value.dtype)
        for to, source in _taps(rows, columns, value.shape, overlapping):
            total[to] += value[source]
        return _divide(total, _counts(rows, columns, value.shape, overlapping, value.dtype)), rows, columns

    def gradient(op, dy, *_):
        _, rows, columns = op.outputs
        shape = shape_internal(op.inputs[0], out_type=dt.int64)
        return FractionalAvgPoolGrad(shape, dy, rows, columns, overlapping=op.attrs["overlapping"])


@op("FractionalAvgPoolGrad",
    "orig_input_tensor_shape: int64, out_backprop: T, row_pooling_sequence: int64, col_pooling_sequence: int64"
    " -> output: T", overlapping=False, **_TYPES)
class FractionalAvgPoolGrad:
    """The gradient of FractionalAvgPool: each window's is shared evenly."""

    ranks = {"orig_input_tensor_shape": 1, "out_backprop": 4, "row_pooling_sequence": 1, "col_pooling_sequence": 1}

    def shape(orig_input_tensor_shape):
        return check_rank(constant_value_as_shape(orig_input_tensor_shape), 4)

    def kernel(orig_input_tensor_shape, out_backprop, row_pooling_sequence, col_pooling_sequence, overlapping):
        sequences, shape = (row_pooling_sequence, col_pooling_sequence), tuple(orig_input_tensor_shape.tolist())
        _check_sequences(*sequences, shape, out_backprop.shape)
        share = _divide(out_backprop, _counts(*sequences, shape, overlapping, out_backprop.dtype))
        result = np.zeros(shape, out_backprop.dtype)
        for to, source in _taps(*sequences, shape, overlapping):
            result[source] += share[to]
        return result

    gradient = undefined


def fractional_max_pool(value, pooling_ratio, pseudo_random=False, overlapping=False, deterministic=False, seed=0,
                        seed2=0,
                        name=None):
    """``tf.nn.fractional_max_pool``: (output, row_pooling_sequence, col_pooling_sequence)."""
    return FractionalMaxPool(value, pooling_ratio=pooling_ratio, pseudo_random=pseudo_random, overlapping=overlapping,
                             deterministic=deterministic, seed=seed, seed2=seed2, name=name)


def fractional_avg_pool(value, pooling_ratio, pseudo_random=False, overlapping=False, deterministic=False, seed=0,
                        seed2=0,
                        name=None):
    """``tf.nn.fractional_avg_pool``: (output, row_pooling_sequence, col_pooling_sequence)."""
    return FractionalAvgPool(value, pooling_ratio=pooling_ratio, pseudo_random=pseudo_random, overlapping=overlapping,
                             deterministic=deterministic, seed=seed, seed2=seed2, name=name)
