"""Weighted quantiles of a stream of numbers, in little memory: summaries that are merged and compressed level by level.

A summary is a float32 matrix [entries, 4] in the order of values: value, weight, least and greatest rank. Its error is bounded by ``epsilon``. All
sums are made in float32 and in the order of the entries, so that boundaries are TensorFlow's.
"""
from __future__ import annotations

import math

import numpy as np

VALUE, WEIGHT, LEAST, GREATEST = range(4)
_EMPTY = np.zeros((0, 4), np.float32)


def summary_of(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The exact summary of some numbers; equal ones become one entry."""
    if not len(values):
        return _EMPTY
    order = np.argsort(values, kind="stable")
    values, weights = values[order], weights[order]
    starts = np.flatnonzero(np.r_[True, values[1:] != values[:-1]])
    weights = np.add.reduceat(weights, starts)
    ends = np.cumsum(weights, dtype=np.float32)
    return np.stack([values[starts], weights, np.r_[np.float32(0), ends[:-1]], ends], 1)


def merged(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The summary of what two summaries describe together."""
    if not len(first) or not len(second):
        return first if len(first) else second
    both = np.intersect1d(first[:, VALUE], second[:, VALUE])
    shared = first[np.isin(first[:, VALUE], both)]
    shared[:, WEIGHT:] += second[np.isin(second[:, VALUE], both), WEIGHT:]
    parts = [shared]
    for mine, other in ((first, second), (second, first)):
        alone = mine[~np.isin(mine[:, VALUE], both)]
        place = np.searchsorted(other[:, VALUE], alone[:, VALUE])
        alone[:, LEAST] += np.r_[np.float32(0), other[:, LEAST] + other[:, WEIGHT]][place]
        alone[:, GREATEST] += np.r_[other[:, GREATEST] - other[:, WEIGHT], other[-1, GREATEST]][place]
        parts.append(alone)
    result = np.concatenate(parts)
    return result[np.argsort(result[:, VALUE], kind="stable")]


def compressed(summary: np.ndarray, size: int, epsilon: float) -> np.ndarray:
    """About ``size`` entries, the first and the last among them; ranks are off by no more than the greater of ``epsilon`` and 1 / size."""
    size, count = max(size, 2), len(summary)
    if count <= size:
        return summary
    gap = np.float64(summary[-1, GREATEST]) * max(1 / size, epsilon)  # not a Python float, which a comparison would round to float32
    below, above = summary[:, GREATEST] - summary[:, WEIGHT], summary[:, LEAST] + summary[:, WEIGHT]
    chosen, place, credit = [0], 0, 0
    while place + 1 < count:
        after = place + 1
        while after < count and credit < count and below[after] - above[place] <= gap:
            credit += size
            after += 1
        place = max(after - 1, place + 1)
        chosen.append(place)
        credit -= count
    return summary[chosen] if chosen[-1] == count - 1 else summary[[*chosen, count - 1]]


def approximation_error(summary: np.ndarray) -> float:
    """The greatest uncertainty of a rank, as a share of the total weight."""
    if not len(summary):
        return 0.0
    own = summary[1:, GREATEST] - summary[1:, LEAST] - summary[1:, WEIGHT]
    between = (summary[1:, GREATEST] - summary[1:, WEIGHT]) - (summary[:-1, LEAST] + summary[:-1, WEIGHT])
    widest = max(np.maximum(own, between).max(initial=np.float32(0)), np.float32(0))
    return float(widest) / float(summary[-1, GREATEST])


def boundaries(summary: np.ndarray, number: int) -> np.ndarray:
    """At most about ``number`` values that represent the stream, each once."""
    if not len(summary):
        return np.zeros(0, np.float32)
    epsilon = float(np.float32(approximation_error(summary) + 1 / number))
    return compressed(summary, number, epsilon)[:, VALUE].copy()


def quantiles(summary: np.ndarray, number: int) -> np.ndarray:
    """``number`` + 1 values at equal distances of rank, the least and the greatest among them."""
    number, place, values = max(number, 2), 0, []
    for rank in range(number + 1 if len(summary) else 0):
        wanted = np.float32(2) * (np.float32(rank) * summary[-1, GREATEST] / np.float32(number))
        after = place + 1
        while after < len(summary) and wanted >= summary[after, LEAST] + summary[after, GREATEST]:
            after += 1
        place = after - 1
        is_below = after == len(summary) or (
            wanted < summary[place, LEAST] + summary[place, WEIGHT] + summary[after, GREATEST] - summary[after, WEIGHT])
        values.append(summary[place if is_below else after, VALUE])
    return np.array(values, np.float32)


class QuantileStream:
    """A stream of numbers whose quantiles will be asked for."""

    def __init__(self, epsilon: float, max_elements: int) -> None:
        self._epsilon, self._block = epsilon, _block_size(epsilon, max_elements)
        self._buffer_size = min(self._block << 1, max_elements)
        self._levels: list[np.ndarray] = []

    def push(self, values: np.ndarray, weights: np.ndarray) -> None:
        """Adds numbers; those without a positive weight do not count."""
        counts = weights > 0
        values, weights = values[counts], weights[counts]
        for start in range(0, len(values), self._buffer_size):
            end = start + self._buffer_size
            self.push_summary(summary_of(values[start:end], weights[start:end]))

    def push_summary(self, summary: np.ndarray) -> None:
        """Adds a summary: it is merged with those of its level, and goes a level up as long as the result is too large."""
        summary, level = compressed(summary, self._block, self._epsilon), 0
        while len(summary):
            if level == len(self._levels):
                self._levels.append(_EMPTY)
            here = self._levels[level]
            summary = merged(summary, here)
            if not len(here) or len(summary) <= self._block + 1:
                self._levels[level] = summary
                return
            summary, self._levels[level] = compressed(summary, self._block, self._epsilon), _EMPTY
            level += 1

    def final_summary(self) -> np.ndarray:
        """The summary of all that was added."""
        result = _EMPTY
        for level in self._levels:
            result = merged(result, level)
        return result


def _block_size(epsilon: float, max_elements: int) -> int:
    """The number of entries of a level, so that the error stays in bounds for so many elements."""
    level, size = 1, 2
    while (1 << level) * size < max_elements:
        size = math.ceil(level / epsilon) + 1
        level += 1
    return max(size, 2)


class QuantileStreams:
    """The resource: a stream per float feature, and the boundaries that were made of each."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._streams: list[QuantileStream] = []
        self._shape: tuple[float, int, int] | None = None
        self.boundaries: list[np.ndarray] = []

    @property
    def initialized(self) -> bool:
        """True once it was created."""
        return self._shape is not None

    def create(self, epsilon: float, max_elements: int, number: int) -> None:
        """Makes empty streams, unless it has streams already."""
        if self._shape is None:
            self._shape = (epsilon, max_elements, number)
            self.boundaries = [np.zeros(0, np.float32)] * number
            self._reset()

    def _reset(self) -> None:
        assert self._shape is not None
        epsilon, max_elements, number = self._shape
        self._streams = [QuantileStream(epsilon, max_elements) for _ in range(number)]

    def add_summaries(self, summaries: list[np.ndarray]) -> None:
        """Adds a summary to each stream."""
        for stream, summary in zip(self._streams, summaries, strict=True):
            stream.push_summary(summary)

    def take_summaries(self) -> list[np.ndarray]:
        """What the streams hold; they are empty then."""
        result = [stream.final_summary() for stream in self._streams]
        self._reset()
        return result
