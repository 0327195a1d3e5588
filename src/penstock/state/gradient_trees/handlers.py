"""What finds the best split of each leaf on one column: a handler per column, for numbers, sparse numbers and ids.

Numbers get buckets by their quantiles. The boundaries of a layer are those of the layer before, so the first layer only collects quantiles. Columns
that examples may lack count what all examples of a leaf sum up to in a bucket of its own, -1.
"""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from penstock.state.gradient_trees.examples import Examples
from penstock.state.gradient_trees.protos import LeafProto, NodeProto
from penstock.state.gradient_trees.statistics import NodeValues, Regularization, Statistics, Sums
from penstock.state.quantiles import QuantileStream, boundaries

_ALL = -1  # the bucket of all examples of a leaf
_EPSILON, _MAX_ELEMENTS = 0.01, 1 << 40


class LayerBatch(NamedTuple):
    """What a layer learns of some examples. ``weights`` are those of quantiles."""

    examples: Examples
    leaves: np.ndarray
    gradients: np.ndarray
    hessians: np.ndarray
    weights: np.ndarray


class Candidate(NamedTuple):
    """A split of a leaf: the node that it becomes, its children, what it gains."""

    leaf: int
    gain: np.float32
    node: Any
    left: Any
    right: Any


class Handler:
    """What all handlers share: ``column`` is the place of the column among those of its kind."""

    is_ready = True  # whether there are buckets to count in

    def __init__(self, column: int, num_quantiles: int) -> None:
        self._column, self._num_quantiles = column, num_quantiles
        self.statistics = Statistics()

    def add(self, batch: LayerBatch, is_active: bool, will_be_active: bool) -> None:
        """Counts a batch, if the column is used in this layer, and prepares the next layer, if it will be used there."""
        raise NotImplementedError(type(self).__name__)

    def finish_layer(self) -> None:
        """Called after the splits of a layer were asked for."""

    def splits(self, ratio: float, regularization: Regularization, complexity: float, class_id: int) -> Iterator[Candidate]:
        """The best split of each leaf; the sums start again."""
        sums = self.statistics.take()
        for leaf in () if sums is None else sums.leaves:
            own = sums.of_leaf(leaf)  # type: ignore[union-attr]
            scale = np.float32(ratio)
            yield from self._best(Sums(own.keys, own.gradients * scale, own.hessians * scale), regularization, complexity, class_id)

    def _best(self, sums: Sums, regularization: Regularization, complexity: float, class_id: int) -> Iterator[Candidate]:
        raise NotImplementedError(type(self).__name__)


class DenseHandler(Handler):
    """Splits of numbers that every example has: below a threshold, or above."""

    def __init__(self, column: int, num_quantiles: int) -> None:
        super().__init__(column, num_quantiles)
        self.boundaries: np.ndarray | None = None
        self.stream = QuantileStream(_EPSILON, _MAX_ELEMENTS)

    @property
    def is_ready(self) -> bool:  # type: ignore[override]
        """Once a layer has been seen."""
        return self.boundaries is not None

    def add(self, batch: LayerBatch, is_active: bool, will_be_active: bool) -> None:
        """Counts in the buckets of the layer before."""
        values = batch.examples.dense[self._column]
        if is_active and self.boundaries is not None and len(self.boundaries):
            self.statistics.add(batch.leaves, 0, self._buckets(values), batch.gradients, batch.hessians)
        if will_be_active:
            self._add_quantiles(values, batch.weights)

    def _buckets(self, values: np.ndarray) -> np.ndarray:
        assert self.boundaries is not None
        return np.minimum(np.searchsorted(self.boundaries, values), len(self.boundaries) - 1)

    def _add_quantiles(self, values: np.ndarray, weights: np.ndarray) -> None:
        stream = QuantileStream(_EPSILON, len(values) + 1)
        stream.push(values, weights.astype(np.float32))
        self.stream.push_summary(stream.final_summary())

    def finish_layer(self) -> None:
        """The quantiles become boundaries."""
        self.boundaries = boundaries(self.stream.final_summary(), self._num_quantiles)
        self.stream = QuantileStream(_EPSILON, _MAX_ELEMENTS)

    def _best(self, sums: Sums, regularization: Regularization, complexity: float, class_id: int) -> Iterator[Candidate]:
        left_g, left_h = np.cumsum(sums.gradients, 0), np.cumsum(sums.hessians, 0)
        total_g, total_h = left_g[-1], left_h[-1]
        root = regularization.values(total_g[None], total_h[None])
        left, right = regularization.values(left_g, left_h), regularization.values(total_g - left_g, total_h - left_h)
        best, gain = _greatest(left, right)
        node = NodeProto()
        rule = node.dense_float_binary_split
        rule.feature_column, rule.threshold = self._column, self.boundaries[sums.keys[best, 2]]  # type: ignore[index]
        yield _candidate(sums, node, gain - root.gains[0] - np.float32(complexity), left, right, best, class_id)


class SparseHandler(DenseHandler):
    """Splits of numbers that some examples lack; those go left or right, whichever gains more."""

    def add(self, batch: LayerBatch, is_active: bool, will_be_active: bool) -> None:
        """Counts values, and all examples."""
        column = batch.examples.sparse_floats[self._column]
        rows = column.indices[:, 0]
        if is_active and self.boundaries is not None:
            self.statistics.add(batch.leaves, 0, _ALL, batch.gradients, batch.hessians)
            if len(self.boundaries):
                self.statistics.add(batch.leaves[rows], column.indices[:, 1], self._buckets(column.values), batch.gradients[rows],
                                    batch.hessians[rows])
        if will_be_active:
            self._add_quantiles(column.values, batch.weights[rows])

    def _best(self, sums: Sums, regularization: Regularization, complexity: float, class_id: int) -> Iterator[Candidate]:
        if len(sums.keys) < 2:
            return
        total_g, total_h = sums.gradients[0], sums.hessians[0]
        keys, gradients, hessians = (part[1:] for part in sums)
        left_g, left_h = _sums_of_dimensions(keys[:, 1], gradients), _sums_of_dimensions(keys[:, 1], hessians)
        ends = np.searchsorted(keys[:, 1], keys[:, 1], side="right") - 1
        right_g, right_h = left_g[ends] - left_g, left_h[ends] - left_h  # of the examples that have a value
        root = regularization.values(total_g[None], total_h[None])
        ways = {"left": (regularization.values(total_g - right_g, total_h - right_h), regularization.values(right_g, right_h)),
                "right": (regularization.values(left_g, left_h), regularization.values(total_g - left_g, total_h - left_h))}
        best_of = {way: _greatest(*values) for way, values in ways.items()}
        # The first of equal ones wins, and a value to the left is tried before one to the right.
        way = max(best_of, key=lambda name: (best_of[name][1], -best_of[name][0], name == "left"))
        best, gain = best_of[way]
        node = NodeProto()
        rule = getattr(node, f"sparse_float_binary_split_default_{way}").split
        rule.feature_column, rule.dimension_id = self._column, int(keys[best, 1])
        rule.threshold = self.boundaries[keys[best, 2]]  # type: ignore[index]
        yield _candidate(sums, node, gain - root.gains[0] - complexity, *ways[way], best, class_id)


class IdHandler(Handler):
    """Splits of ids: examples that have one go left."""

    def add(self, batch: LayerBatch, is_active: bool, will_be_active: bool) -> None:
        """Counts ids, and all examples."""
        if is_active:
            column = batch.examples.sparse_ints[self._column]
            rows = column.indices[:, 0]
            self.statistics.add(batch.leaves, 0, _ALL, batch.gradients, batch.hessians)
            self.statistics.add(batch.leaves[rows], 0, column.values, batch.gradients[rows], batch.hessians[rows])

    def _best(self, sums: Sums, regularization: Regularization, complexity: float, class_id: int) -> Iterator[Candidate]:
        if len(sums.keys) < 2:
            return
        total_g, total_h = sums.gradients[0], sums.hessians[0]
        root = regularization.values(total_g[None], total_h[None])
        left = regularization.values(sums.gradients[1:], sums.hessians[1:])
        right = regularization.values(total_g - sums.gradients[1:], total_h - sums.hessians[1:])
        best, gain = _greatest(left, right)
        node = NodeProto()
        node.categorical_id_binary_split.feature_column = self._column
        node.categorical_id_binary_split.feature_id = int(sums.keys[best + 1, 2])
        yield _candidate(sums, node, gain - root.gains[0] - complexity, left, right, best, class_id)


def _sums_of_dimensions(dimensions: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Running sums that start again with each dimension."""
    running = np.cumsum(values, 0)
    starts = np.searchsorted(dimensions, dimensions)
    return running - (running[starts] - values[starts])


def _greatest(left: NodeValues, right: NodeValues) -> tuple[int, np.float32]:
    """(the first split that gains most, the gain of its children)."""
    gains = left.gains + right.gains
    best = int(gains.argmax())
    return best, gains[best]


def _candidate(sums: Sums, node: Any, gain: float, left: NodeValues, right: NodeValues, best: int, class_id: int) -> Candidate:
    leaves = (_leaf(values.weights[best], bool(values.is_empty[best]), class_id) for values in (left, right))
    return Candidate(int(sums.keys[0, 0]), np.float32(gain), node, *leaves)


def _leaf(weights: np.ndarray, is_empty: bool, class_id: int) -> Any:
    """A leaf of all classes, or of one. One without values cannot become part of a tree."""
    leaf = LeafProto()
    if class_id >= 0:
        leaf.sparse_vector.index.append(class_id)
        leaf.sparse_vector.value.append(float(np.float32(weights[0])))
    elif not is_empty:
        leaf.vector.value.extend(weights.astype(np.float32).tolist())
    return leaf
