"""Normal numbers between bounds, by rejection: three proposals, chosen by where the bounds are (Robert, "Simulation of truncated normal
variables", 1995). The choice and the use of the stream are TensorFlow's, so that seeds give its numbers."""
from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from penstock.errors import invalid_argument
from penstock.ops.random import distributions
from penstock.ops.random.philox import Philox

_MAX_ITERATIONS = 1000
_SHARED_ROW = 100  # samples per row when all rows have the same parameters
_INSIDE = 1.3  # bounds at least this many deviations away on one side: plain normals are accepted often enough


def normal_between(rng: Philox, shape: list[int], means: np.ndarray, deviations: np.ndarray, lows: np.ndarray, highs: np.ndarray,
                   dtype: np.dtype) -> np.ndarray:
    """An array of this shape whose row i is normal with the i-th mean and deviation, between the i-th bounds.

    Each row goes on in the stream where the row before it stopped. TensorFlow does the same on one thread; when it spreads many rows over
    several, its numbers depend on their number.
    """
    size = math.prod(shape)
    rows, width = shape[0], size // max(shape[0], 1)
    if all(part.strides == (0,) or rows == 1 for part in (means, deviations, lows, highs)):
        rows, width = -(-size // _SHARED_ROW), _SHARED_ROW
    local = rng.reserve(rows * 2 * _MAX_ITERATIONS * (width + 3) // 4)
    out = np.empty(size, dtype)
    for row in range(rows):
        which = min(row, len(means) - 1)
        part = out[row * width:(row + 1) * width]
        part[:] = _row(local, len(part), *(np.float64(p[which]) for p in (means, deviations, lows, highs)), np.dtype(dtype))
    return out.reshape(shape)


def _row(rng: Philox, count: int, mean: float, deviation: float, low: float, high: float, dtype: np.dtype) -> np.ndarray:
    if not (deviation > 0 and low < high and (np.isfinite(low) or np.isfinite(high))):
        raise invalid_argument("Invalid parameters")
    if low == -np.inf or high < mean:  # mirror, so that a single bound is the lower one
        low, high, deviation = high, low, -deviation
    low, high = (low - mean) / deviation, (high - mean) / deviation
    parts: list[np.ndarray] = []
    missing, tries = count, 0
    for accepted in _proposal(rng, low, high, dtype):
        parts.append(accepted[:missing])
        missing -= len(parts[-1])
        tries = tries + 1 if not len(accepted) else 0
        if missing <= 0:
            break
        if tries > _MAX_ITERATIONS:
            raise invalid_argument(f"TruncatedNormal exceeded {_MAX_ITERATIONS} iterations for bounds {low} and {high}")
    return (np.concatenate(parts) if parts else np.empty(0)) * deviation + mean


def _proposal(rng: Philox, low: float, high: float, dtype: np.dtype) -> Iterator[np.ndarray]:
    root = math.sqrt(low * low + 4)
    cutoff = 2 * math.exp(0.5 + low * (low - root) / 4) / (low + root)
    if (low < -_INSIDE and high >= 0) or (high > _INSIDE and low <= 0):
        return _from_normals(rng, low, high, dtype)
    if high - low < cutoff:
        return _from_uniforms(rng, low, high, dtype)
    return _from_exponentials(rng, low, high, (low + root) / 2, dtype)


def _blocks(rng: Philox, draw: Callable[..., np.ndarray], dtype: np.dtype) -> Iterator[np.ndarray]:
    """The values of one block of the stream after the other."""
    width = 2 if dtype == np.float64 else 4
    while True:
        ahead = Philox(rng.state[0], 0)
        ahead.skip(rng.state[1])
        rng.skip(1)
        yield draw(ahead, [width], dtype).astype(np.float64)


def _from_normals(rng: Philox, low: float, high: float, dtype: np.dtype) -> Iterator[np.ndarray]:
    for z in _blocks(rng, distributions.normal, dtype):
        yield z[(z >= low) & (z <= high)]


def _from_uniforms(rng: Philox, low: float, high: float, dtype: np.dtype) -> Iterator[np.ndarray]:
    blocks = _blocks(rng, distributions.uniform, dtype)
    top = 0.0 if low < 0 else low * low
    for unit in blocks:
        z = unit * (high - low) + low
        yield z[next(blocks) <= np.exp((top - z * z) / 2)]


def _from_exponentials(rng: Philox, low: float, high: float, alpha: float, dtype: np.dtype) -> Iterator[np.ndarray]:
    for unit in _blocks(rng, distributions.uniform, dtype):
        with np.errstate(divide="ignore"):  # log(0): a candidate at infinity, which is rejected
            z = -np.log(unit[0::2]) / alpha + low
        distance = alpha - z if low < alpha else np.full_like(z, low - alpha)
        yield z[(unit[1::2] <= np.exp(-distance * distance / 2)) & (z < high)]
