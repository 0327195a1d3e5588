"""Operations of k-means: the nearest of some centers, and choices of points to begin with. Random choices are TensorFlow's for the same seeds."""
from __future__ import annotations

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph.opdef import op
from penstock.ops.random.philox import Philox

_LIMIT = 1 << 64


class _Words:
    """The 32-bit words of a Philox stream, one after the other."""

    def __init__(self, seed: int) -> None:
        self._stream, self._place = Philox(seed, 0), 0

    def word(self) -> int:
        block, index = divmod(self._place, 4)
        self._place += 1
        if index == 0:
            self._block = self._stream.blocks(1, block)[0]
        return int(self._block[index])

    def below(self, limit: int) -> int:
        """A number of [0, limit), of 64 bits."""
        while True:
            drawn = self.word() | self.word() << 32
            if limit & (limit - 1) == 0:
                return drawn & (limit - 1)
            if drawn >= _LIMIT % limit:
                return drawn % limit

    def fraction(self) -> np.float32:
        """A number of [0, 1)."""
        bits = np.array(127 << 23 | self.word() & 0x7FFFFF, np.uint32)
        return np.float32(bits.view(np.float32) - np.float32(1))


def _check_matrix(name: str, matrix: np.ndarray) -> None:
    if matrix.ndim != 2:
        raise invalid_argument(f"Input {name} should be a matrix.")


@op("NearestNeighbors", "points: float, centers: float, k: int64 -> nearest_center_indices: int64, nearest_center_distances: float")
class NearestNeighbors:
    """The k nearest centers of each point, the nearest first, and their squared distances."""

    gradient = None

    def shape(points, centers, k):
        return [[points.shape.with_rank(2).as_list()[0] if points.shape.ndims is not None else None, None]] * 2

    def kernel(points, centers, k):
        _check_matrix("points", points)
        _check_matrix("centers", centers)
        if not len(points):
            raise invalid_argument("Expected points.rows() > 0.")
        if points.shape[1] != centers.shape[1]:
            raise invalid_argument(f"Expected point_dimensions == center_dimensions: {points.shape[1]} vs {centers.shape[1]}.")
        half = 0.5 * np.square(points).sum(1, keepdims=True)
        distances = np.maximum(2 * (half - points @ centers.T + 0.5 * np.square(centers).sum(1)), 0).astype(np.float32)
        indices = np.argsort(distances, axis=1, kind="stable")[:, :int(k)]
        return indices.astype(np.int64), np.take_along_axis(distances, indices, 1)


@op("KmeansPlusPlusInitialization", "points: float, num_to_sample: int64, seed: int64, num_retries_per_sample: int64 -> samples: float")
class KmeansPlusPlusInitialization:
    """Points that lie far apart: each is drawn in proportion to its squared distance from those chosen so far, the best of several draws."""

    gradient = None

    def shape(points, num_to_sample, seed, num_retries_per_sample):
        return [None, points.shape.with_rank(2).as_list()[1] if points.shape.ndims is not None else None]

    def kernel(points, num_to_sample, seed, num_retries_per_sample):
        _check_matrix("points", points)
        wanted, count = int(num_to_sample), len(points)
        if not count:
            raise invalid_argument("Expected points.rows() > 0.")
        if wanted <= 0:
            raise invalid_argument("Expected num_to_sample > 0.")
        if wanted > count:
            raise invalid_argument(f"Expected num_to_sample <= points.rows(). {wanted} vs {count}.")
        retries = int(num_retries_per_sample) if num_retries_per_sample >= 0 else 2 + int(np.log(wanted))
        half = (0.5 * np.square(points).sum(1)).astype(np.float32)
        words, chosen = _Words(int(seed)), list[int]()
        nearest = np.full(count, np.inf, np.float32)

        def draw() -> int:
            if not chosen:
                return words.below(count)
            while True:
                index = int(np.searchsorted(ends, words.fraction() * ends[-1], side="right"))
                if index not in chosen:
                    return index

        for _ in range(wanted):
            ends = np.cumsum(nearest, dtype=np.float32)
            draws = [draw() for _ in range(1 + retries)]
            nears = [np.minimum(nearest, half - points @ points[index] + half[index]) for index in draws]
            best = int(np.argmin([near.sum() for near in nears]))
            nearest = nears[best]
            chosen.append(min(draws[best], count - 1))
        return points[chosen]


@op("KMC2ChainInitialization", "distances: float, seed: int64 -> index: int64")
class KMC2ChainInitialization:
    """The end of a chain over the points: each is gone on to with a probability in proportion to its distance."""

    gradient = None

    def shape(distances, seed):
        return []

    def kernel(distances, seed):
        if distances.ndim != 1:
            raise invalid_argument("Input distances should be a vector.")
        if not distances.size:
            raise invalid_argument("Expected distances_tensor.size() > 0.")
        words, selected = _Words(int(seed)), 0
        for index in range(1, distances.size):
            if distances[index] > words.fraction() * distances[selected]:
                selected = index
        return np.int64(selected)
