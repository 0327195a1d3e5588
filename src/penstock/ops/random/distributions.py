"""TensorFlow's random distributions as functions of a `Philox` generator.

Each function reserves from `rng` what the TensorFlow kernel of the same name reserves, so that a later call with the
same generator continues where TensorFlow's next run of the op would. Uniforms, integers and permutations equal
TensorFlow's bit for bit; what goes through log, sin, cos or pow equals them up to the last places of the C library.

Callers check their arguments (`lo < hi`, shapes without negative sizes, known dtypes); here they are taken as given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from penstock.ops.random.philox import CHUNK, Philox

# Blocks that TensorFlow sets aside for every output, whether it needs one word (uniform) or many (rejection).
RESERVED_PER_OUTPUT = 256

Shape = Sequence[int]
Convert = Callable[[np.ndarray], np.ndarray]


def uniform(rng: Philox, shape: Shape, dtype: np.dtype) -> np.ndarray:
    """Floats in [0, 1): every random bit that the significand has room for."""
    return _fill(rng, shape, dtype, _double if np.dtype(dtype) == np.float64 else _UNIT[np.dtype(dtype).name])


def uniform_int(rng: Philox, shape: Shape, lo: int, hi: int, dtype: np.dtype) -> np.ndarray:
    """Integers in [lo, hi), by remainder: slightly biased when the range does not divide 2**32 (2**64 for int64)."""
    bits = _word_type(dtype)
    span, base = bits.type(int(hi) - int(lo)), np.array(lo, dtype).view(bits)
    return _fill(rng, shape, dtype, lambda words: ((words.view(bits) % span) + base).view(dtype))


def normal(rng: Philox, shape: Shape, dtype: np.dtype) -> np.ndarray:
    """Standard normals, by the Box-Muller transform."""
    return _fill(rng, shape, dtype, _box_muller(dtype))


def truncated_normal(rng: Philox, shape: Shape, dtype: np.dtype) -> np.ndarray:
    """Standard normals within (-2, 2): values outside are dropped and the next ones take their place.

    Outputs come in groups, as many as one block gives. Each group has a region of the stream to itself and keeps the
    first values in it that are in bounds, so one group's rejections do not move its neighbours.
    """
    convert, width = _box_muller(dtype), _per_block(dtype)
    size = math.prod(shape)
    local = rng.reserve(size * RESERVED_PER_OUTPUT)
    groups = -(-size // width)
    out = np.empty((groups, width), dtype)
    for start in range(0, groups, CHUNK):
        _fill_truncated(local, out, np.arange(start, min(start + CHUNK, groups), dtype=np.uint64), convert)
    return out.reshape(-1)[:size].reshape(shape)


def _fill_truncated(rng: Philox, out: np.ndarray, pending: np.ndarray, convert: Convert) -> None:
    """Fills the rows `pending` of `out`; looks twice as far in the regions of those that are still short of values."""
    width = out.shape[1]
    region = np.uint64(width * RESERVED_PER_OUTPUT // 4)
    depth = 1
    while pending.size:
        offsets = pending[:, None] * region + np.arange(depth, dtype=np.uint64)
        values = convert(rng.at(offsets.reshape(-1))).reshape(len(pending), -1)
        inside = np.abs(values) < 2
        enough = np.count_nonzero(inside, axis=1) >= width
        inside, values = inside[enough], values[enough]
        if depth > 1:
            inside &= np.cumsum(inside, axis=1, dtype=np.uint8) <= width
        out[pending[enough]] = values[inside].reshape(-1, width)
        pending = pending[~enough]
        depth *= 2


def gamma(rng: Philox, shape: Shape, alpha: np.ndarray) -> np.ndarray:
    """`shape` samples for each element of `alpha` (rate 1), in its dtype; the result has shape `shape + alpha.shape`.

    Marsaglia and Tsang's method in double precision. alpha = 1 is the exponential distribution and is drawn as such;
    alpha < 1 is drawn at alpha + 1 and scaled down by a power of a further uniform.
    """
    return _per_parameter(rng, shape, alpha, alpha.dtype, _gamma_chunk)


def _gamma_chunk(streams: _Streams, alpha: np.ndarray) -> np.ndarray:
    out = np.empty_like(alpha)
    is_one = alpha == 1
    ones, pending = np.flatnonzero(is_one), np.flatnonzero(~is_one)
    out[ones] = -np.log1p(-streams.uniform(ones))
    d = np.where(alpha < 1, alpha + 2 / 3, alpha + -1 / 3)
    c = (1 / 3) / np.sqrt(d)
    while pending.size:
        x = streams.normal(pending)
        v = 1 + c[pending] * x
        # A cube that is not positive is rejected before a uniform is spent on it. (Nan is not: it ends as a result.)
        tried, x, v = (part[~(v <= 0)] for part in (pending, x, v))
        v = v * v * v
        u = streams.uniform(tried)
        tail = np.log(u) < 0.5 * x * x + d[tried] * (1 - v + np.log(v))
        accepted = (u < 1 - 0.0331 * (x * x) * (x * x)) | tail | np.isnan(v)
        done = tried[accepted]
        out[done] = d[done] * v[accepted]
        small = done[alpha[done] < 1]
        out[small] *= streams.uniform(small) ** (1 / alpha[small])
        pending = np.setdiff1d(pending, done, assume_unique=True)
    return out


def poisson(rng: Philox, shape: Shape, rate: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """`shape` counts for each element of `rate`; the result has shape `shape + rate.shape`.

    Knuth's product of uniforms below rate 10, Hoermann's transformed rejection from there on, in double precision.
    A count that the dtype cannot hold is drawn again.
    """
    limit = float((np.iinfo if np.dtype(dtype).kind == "i" else np.finfo)(dtype).max)
    return _per_parameter(rng, shape, rate, dtype, partial(_poisson_chunk, limit=limit))


def _poisson_chunk(streams: _Streams, rate: np.ndarray, limit: float) -> np.ndarray:
    out = np.full_like(rate, np.nan)
    _poisson_product(streams, rate, np.flatnonzero(rate < 10), out)
    missing = _poisson_rejection(streams, rate, np.flatnonzero((rate >= 10) & np.isfinite(rate)), limit, out)
    # Rates far above the limit: TensorFlow would search forever.
    out[missing] = limit
    return out


def _poisson_product(streams: _Streams, rate: np.ndarray, pending: np.ndarray, out: np.ndarray) -> None:
    """Counts the uniforms whose product stays above exp(-rate)."""
    bound, product, count = np.exp(-rate), np.ones_like(rate), 0
    while pending.size:
        product[pending] *= streams.uniform(pending)
        ended = product[pending] <= bound[pending]
        out[pending[ended]] = count
        pending = pending[~ended]
        count += 1


def _poisson_rejection(
    streams: _Streams, rate: np.ndarray, pending: np.ndarray, limit: float, out: np.ndarray
) -> np.ndarray:
    """Inverts a dominating distribution whose constants (a, b, 1/alpha) are Hoermann's.

    An attempt takes one block. Returns the outputs whose reserved blocks ran out before a count was found.
    """
    from scipy.special import gammaln  # here, because SciPy is slow to import and most programs draw no such counts

    for _ in range(RESERVED_PER_OUTPUT):
        if not pending.size:
            break
        r = rate[pending]
        b = 0.931 + 2.53 * np.sqrt(r)
        a = -0.059 + 0.02483 * b
        inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
        u = streams.uniform(pending) - 0.5
        v = streams.uniform(pending)
        margin = 0.5 - np.abs(u)
        k = np.floor((2 * a / margin + b) * u + r + 0.43)
        quick = (margin >= 0.07) & (v <= 0.9277 - 3.6224 / (b - 2))
        hopeless = (k < 0) | ((margin < 0.013) & (v > margin))
        s = np.log(v * inverse_alpha / (a / (margin * margin) + b))
        accepted = (k <= limit) & (quick | (~hopeless & (s <= -r + k * np.log(r) - gammaln(k + 1))))
        out[pending[accepted]] = k[accepted]
        pending = pending[~accepted]
    return pending


def multinomial(rng: Philox, logits: np.ndarray, num_samples: int, dtype: np.dtype) -> np.ndarray:
    """[batch, num_samples] class indices for rows of unnormalised log-probabilities; non-finite ones are never drawn.

    The rows take consecutive doubles of one stream. TensorFlow does the same on one thread; when it spreads a large
    batch over several, its rows start elsewhere, and its samples depend on the number of threads.
    """
    batch = len(logits)
    out = np.empty((batch, num_samples), dtype)
    if not out.size:
        return out
    # Doubles take two words each, and a row rounds its words up to whole blocks: that is what TensorFlow sets aside.
    local = rng.reserve(batch * -(-num_samples // 4) * 8 * RESERVED_PER_OUTPUT)
    noise = _stretch(local, out.size, np.dtype(np.float64), _double).reshape(batch, num_samples)
    masked = np.where(np.isfinite(logits), logits.astype(np.float64), -np.inf)
    highest = masked.max(axis=1, keepdims=True, initial=np.finfo(np.float64).min)
    cumulative = np.cumsum(np.exp(masked - highest), axis=1)
    for row in range(batch):
        out[row] = np.searchsorted(cumulative[row], noise[row] * cumulative[row, -1], side="right")
    return out


def permutation(rng: Philox, size: int) -> np.ndarray:
    """A random order of range(size), as int64: each place in turn swaps with one at or after it."""
    order = list(range(size))
    if size > 1:
        local = rng.reserve(-(-(size - 1) // 4))
        words = _stretch(local, size - 1, np.dtype(np.uint32), lambda words: words)
        here = np.arange(size - 1, dtype=np.int64)
        for i, j in enumerate((here + words % (size - here)).tolist()):
            order[i], order[j] = order[j], order[i]
    return np.array(order, np.int64)


def shuffle(rng: Philox, value: np.ndarray) -> np.ndarray:
    """`value` with its slices along the first axis in random order; a scalar, or one without two elements, as it is."""
    if value.size <= 1 or len(value) <= 1:
        return value
    return value[permutation(rng, len(value))]


# From words to numbers. A converter maps uint32 of shape [n, 4] to values, row by row, in the order of the outputs.


def _word_type(dtype: np.dtype) -> np.dtype:
    """The unsigned integer that one output of this type is made of: 64 bits for 64-bit types, else 32."""
    return np.dtype(np.uint64 if np.dtype(dtype).itemsize == 8 else np.uint32)


def _per_block(dtype: np.dtype) -> int:
    return 16 // _word_type(dtype).itemsize


def _float(words: np.ndarray) -> np.ndarray:
    """Floats in [0, 1) from the lower 23 bits: a float in [1, 2) has just these as its significand."""
    bits = words & np.uint32(0x7FFFFF)
    bits |= np.uint32(0x3F800000)
    values = bits.view(np.float32)
    values -= np.float32(1)
    return values


def _double(words: np.ndarray) -> np.ndarray:
    """Doubles in [0, 1) from pairs of words, the first of a pair being the upper one."""
    bits = words[:, 0::2].astype(np.uint64)
    bits &= np.uint64(0xFFFFF)
    bits |= np.uint64(0x3FF00000)
    bits <<= np.uint64(32)
    bits |= words[:, 1::2]
    values = bits.view(np.float64)
    values -= 1
    return values


def _fraction(bits: int) -> Convert:
    """Floats in [0, 1) from the lower `bits` bits, for the 16-bit types."""
    return lambda words: (words & np.uint32((1 << bits) - 1)).astype(np.float32) * np.float32(2.0**-bits)


_UNIT: dict[str, Convert] = {"float32": _float, "float16": _fraction(10), "bfloat16": _fraction(7)}


def _box_muller(dtype: np.dtype) -> Convert:
    return _normal_double if np.dtype(dtype) == np.float64 else _normal_float


def _normal_float(words: np.ndarray) -> np.ndarray:
    """Pairs of float32 normals from pairs of words.

    Functions are evaluated in double and rounded: that is what the C library's float functions come to, nearly always,
    while NumPy's own float32 ones may be a few places off. The angle is rounded to float before its sine is taken.
    """
    u = _float(words)
    radius = np.log(np.maximum(u[:, 0::2], np.float32(1e-7)), dtype=np.float64).astype(np.float32)
    radius *= np.float32(-2)
    np.sqrt(radius, out=radius)
    angle = (u[:, 1::2] * np.float64(2 * math.pi)).astype(np.float32).astype(np.float64)
    out = np.empty_like(u)
    np.multiply(np.sin(angle).astype(np.float32), radius, out=out[:, 0::2])
    np.multiply(np.cos(angle).astype(np.float32), radius, out=out[:, 1::2])
    return out


def _normal_double(words: np.ndarray) -> np.ndarray:
    """Pairs of float64 normals, one pair for each block."""
    u = _double(words)
    radius = np.sqrt(-2 * np.log(np.maximum(u[:, 0], 1e-7)))
    angle = 2 * math.pi * u[:, 1]
    return np.stack([np.sin(angle) * radius, np.cos(angle) * radius], axis=1)


def _fill(rng: Philox, shape: Shape, dtype: np.dtype, convert: Convert) -> np.ndarray:
    """An array of converted words: consecutive blocks, one after another."""
    size = math.prod(shape)
    local = rng.reserve(size * RESERVED_PER_OUTPUT)
    return _stretch(local, size, np.dtype(dtype), convert).reshape(shape)


def _stretch(rng: Philox, size: int, dtype: np.dtype, convert: Convert) -> np.ndarray:
    """The first `size` converted values at the position of `rng`, which does not move."""
    width = _per_block(dtype)
    out = np.empty(size, dtype)
    for start in range(0, size, CHUNK * width):
        part = out[start : start + CHUNK * width]
        part[:] = convert(rng.blocks(-(-part.size // width), start // width)).reshape(-1)[: part.size]
    return out


# Distributions that take a varying number of words for each output.


class _Streams:
    """One stream per output, each giving uniform and normal doubles on demand.

    Both kinds come two to a block and are handed out last first; the kinds share the blocks of an output in the order
    in which they run out of values, as in TensorFlow's kernels.
    """

    def __init__(self, rng: Philox, outputs: np.ndarray):
        self._rng = rng
        self._position = outputs * np.uint64(RESERVED_PER_OUTPUT)
        kinds: tuple[Convert, ...] = (_double, _normal_double)
        self._values = {convert: np.empty((outputs.size, 2)) for convert in kinds}
        self._left = {convert: np.zeros(outputs.size, np.int8) for convert in kinds}

    def uniform(self, which: np.ndarray) -> np.ndarray:
        """The next uniform of the streams with these indices."""
        return self._next(_double, which)

    def normal(self, which: np.ndarray) -> np.ndarray:
        """The next standard normal of the streams with these indices."""
        return self._next(_normal_double, which)

    def _next(self, convert: Convert, which: np.ndarray) -> np.ndarray:
        values, left = self._values[convert], self._left[convert]
        empty = which[left[which] == 0]
        values[empty] = convert(self._rng.at(self._position[empty]))
        self._position[empty] += np.uint64(1)
        left[empty] = 2
        left[which] -= 1
        return values[which, left[which]]


def _per_parameter(
    rng: Philox,
    shape: Shape,
    parameter: np.ndarray,
    dtype: np.dtype,
    sample: Callable[[_Streams, np.ndarray], np.ndarray],
) -> np.ndarray:
    """`shape` samples for each parameter. Outputs are numbered parameter by parameter but laid out sample by sample."""
    count, flat = math.prod(shape), parameter.reshape(-1).astype(np.float64)
    size = count * flat.size
    local = rng.reserve(size * RESERVED_PER_OUTPUT)
    out = np.empty(size, np.float64)
    # Rejected candidates may divide by 0 and odd parameters give nan: as in TensorFlow, without a warning.
    with np.errstate(all="ignore"):
        for start in range(0, size, CHUNK):
            outputs = np.arange(start, min(start + CHUNK, size), dtype=np.uint64)
            out[start : start + CHUNK] = sample(_Streams(local, outputs), flat[outputs // np.uint64(count)])
        return out.reshape(flat.size, count).T.astype(dtype).reshape((*shape, *parameter.shape))
