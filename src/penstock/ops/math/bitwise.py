"""``tf.bitwise``: operations on the bits of integers."""
from __future__ import annotations

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph.dtypes import bool_, float16, float32, float64, int8, int16, int32, int64
from penstock.graph.opdef import op
from penstock.ops.common import INTEGERS, broadcasting, like
from penstock.ops.demands import check_rank, want_rank
from penstock.ops.public import function


@op("BitwiseAnd", "x: T, y: T -> z: T", T=INTEGERS)
class BitwiseAnd:
    """The bits that are set in both x and y."""

    elementwise = commutative = True
    shape = broadcasting("x", "y")

    def kernel(x, y):
        return np.bitwise_and(x, y)

    def lower(b, x, y):
        return b.bitwise_and(x, y)

    gradient = None


@op("BitwiseOr", "x: T, y: T -> z: T", T=INTEGERS)
class BitwiseOr:
    """The bits that are set in x or y."""

    elementwise = commutative = True
    shape = broadcasting("x", "y")

    def kernel(x, y):
        return np.bitwise_or(x, y)

    def lower(b, x, y):
        return b.bitwise_or(x, y)

    gradient = None


@op("BitwiseXor", "x: T, y: T -> z: T", T=INTEGERS)
class BitwiseXor:
    """The bits that differ in x and y."""

    elementwise = commutative = True
    shape = broadcasting("x", "y")

    def kernel(x, y):
        return np.bitwise_xor(x, y)

    def lower(b, x, y):
        return b.bitwise_xor(x, y)

    gradient = None


@op("Invert", "x: T -> y: T", T=INTEGERS)
class Invert:
    """All bits flipped."""

    elementwise = involution = True
    shape = like("x")

    def kernel(x):
        return np.invert(x)

    def lower(b, x):
        return b.invert(x)

    gradient = None


def _clamp_shift(y):
    """A shift that the machine defines: between 0 and the number of bits - 1."""
    dtype = np.asarray(y).dtype
    return np.clip(y, dtype.type(0), dtype.type(dtype.itemsize * 8 - 1))


def _lower_clamped(b, y, dtype):
    return b.maximum(b.minimum(y, dtype.size * 8 - 1), 0)


@op("LeftShift", "x: T, y: T -> z: T", T=INTEGERS)
class LeftShift:
    """The bits of x moved up by y places, of which there are at most as many as x has bits, less one."""

    elementwise = True
    shape = broadcasting("x", "y")

    def kernel(x, y):
        return np.left_shift(x, _clamp_shift(y))

    def lower(b, x, y, T):
        return b.left_shift(x, _lower_clamped(b, y, T))

    gradient = None


@op("RightShift", "x: T, y: T -> z: T", T=INTEGERS)
class RightShift:
    """The bits of x moved down by y places, of which there are at most as many as x has bits, less one."""

    elementwise = True
    shape = broadcasting("x", "y")

    def kernel(x, y):
        return np.right_shift(x, _clamp_shift(y))

    def lower(b, x, y, T):
        return b.right_shift(x, _lower_clamped(b, y, T))

    gradient = None


@op("PopulationCount", "x: T -> y: uint8", T=INTEGERS)
class PopulationCount:
    """How many bits are set."""

    elementwise = True
    shape = like("x")

    def kernel(x):
        array = np.asarray(x)
        return np.bitwise_count(array.view(f"u{array.dtype.itemsize}")).astype(np.uint8)

    gradient = None


@op("CompareAndBitpack", "input: T, threshold: T -> output: uint8",
    T=frozenset([bool_, float16, float32, float64, int8, int16, int32, int64]))
class CompareAndBitpack:
    """Eight results of ``input > threshold`` at a time as the bits of a byte, the first one highest."""

    def shape(input, threshold):
        want_rank(0, threshold=threshold)
        if input.shape.ndims is None:
            return None
        *outer, last = input.shape.with_rank_at_least(1).as_list()
        if last is not None and last % 8:
            raise ValueError(f"Dimension size must be evenly divisible by 8 but is {last}")
        return [*outer, None if last is None else last // 8]

    def kernel(input, threshold):
        check_rank(0, threshold=threshold)
        if np.ndim(input) == 0 or np.shape(input)[-1] % 8:
            raise invalid_argument(f"Inner dimension of input should be divisible by 8, but input has shape {list(np.shape(input))}")
        return np.packbits(np.greater(input, threshold), axis=-1)

    gradient = None


bitwise_and = function(BitwiseAnd, "bitwise_and")
bitwise_or = function(BitwiseOr, "bitwise_or")
bitwise_xor = function(BitwiseXor, "bitwise_xor")
invert = function(Invert, "invert")
left_shift = function(LeftShift, "left_shift")
right_shift = function(RightShift, "right_shift")
