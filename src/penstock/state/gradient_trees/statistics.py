"""Gradients and hessians of a layer: summed up by leaf, dimension and bucket, and what a split between two buckets gains.

All is float32, and added up in the order of examples and buckets, so that splits that gain the same are told apart as in TensorFlow.
Gradients are [rows] and hessians [rows] where a tree serves one class; otherwise they are [rows, classes], and hessians are
[rows, classes] (their diagonals) or [rows, classes, classes].
"""
from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

TREE_PER_CLASS, FULL_HESSIAN, DIAGONAL_HESSIAN = 1, 2, 3
_ALMOST_ZERO = 1e-6


class Sums(NamedTuple):
    """Sums with their keys, [rows, 3]: leaf, dimension, bucket; in the order of the keys."""

    keys: np.ndarray
    gradients: np.ndarray
    hessians: np.ndarray

    def of_leaf(self, leaf: int) -> Sums:
        """The rows of one leaf."""
        start, end = np.searchsorted(self.keys[:, 0], [leaf, leaf + 1])
        return Sums(*(part[start:end] for part in self))

    @property
    def leaves(self) -> list[int]:
        """The leaves, each once."""
        return np.unique(self.keys[:, 0]).tolist()


class Statistics:
    """Collects the sums of a layer."""

    def __init__(self) -> None:
        self._sums: Sums | None = None

    def add(self, leaves: np.ndarray, dimensions: Any, buckets: Any, gradients: np.ndarray, hessians: np.ndarray) -> None:
        """Adds a row per example."""
        keys = np.stack(np.broadcast_arrays(leaves.astype(np.int64), dimensions, buckets), 1)
        new = Sums(keys, gradients.astype(np.float32), hessians.astype(np.float32))
        parts = [new] if self._sums is None else [self._sums, new]
        self._sums = _sum_by_key(Sums(*(np.concatenate(each) for each in zip(*parts, strict=True))))

    def take(self) -> Sums | None:
        """What was collected; there is nothing then."""
        sums, self._sums = self._sums, None
        return sums

    def peek(self) -> Sums | None:
        """What was collected."""
        return self._sums

    def restore(self, sums: Sums | None) -> None:
        """Replaces what was collected."""
        self._sums = sums


def _sum_by_key(rows: Sums) -> Sums:
    """Rows with equal keys become one."""
    if not len(rows.keys):
        return rows
    order = np.lexsort(rows.keys.T[::-1])
    keys, gradients, hessians = (part[order] for part in rows)
    begins = np.r_[True, (keys[1:] != keys[:-1]).any(1)]
    groups = np.cumsum(begins) - 1
    return Sums(keys[begins], _sums_in_order(gradients, groups), _sums_in_order(hessians, groups))


def _sums_in_order(rows: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """The sum of each group, one row after the other: reduceat would add pairs, and round otherwise."""
    sums = np.zeros((groups[-1] + 1, *rows.shape[1:]), rows.dtype)
    np.add.at(sums, groups, rows)
    return sums


class NodeValues(NamedTuple):
    """What nodes with such sums are worth. Where nothing is known of a node (``is_empty``), it has no value at all."""

    weights: np.ndarray  # [nodes, values]
    gains: np.ndarray
    is_empty: np.ndarray


class Regularization(NamedTuple):
    """How nodes are valued."""

    strategy: int
    l1: float
    l2: float
    min_node_weight: float

    def values(self, gradients: np.ndarray, hessians: np.ndarray) -> NodeValues:
        """The weights and gains of nodes."""
        flat_g, flat_h = gradients.reshape(len(gradients), -1), hessians.reshape(len(hessians), -1)
        magnitude = np.sqrt((flat_h ** 2).sum(1))
        is_zero = ((flat_g ** 2).sum(1) <= _ALMOST_ZERO ** 2) & (magnitude <= _ALMOST_ZERO)
        if self.strategy == TREE_PER_CLASS:
            return self._of_one_class(flat_g[:, 0], flat_h[:, 0], is_zero)
        is_empty = is_zero | (magnitude <= self.min_node_weight)
        weights = np.zeros_like(flat_g)
        if self.strategy == DIAGONAL_HESSIAN:
            regular = hessians + np.float32(self.l2)
            known = ~is_empty & (regular != 0).all(1)
            weights[known] = -gradients[known] / regular[known]
            singular, matrices = np.flatnonzero(~is_empty & ~known), [np.diag(row) for row in regular[~is_empty & ~known]]
        else:
            singular = np.flatnonzero(~is_empty)
            matrices = list(hessians[singular] + self.l2 * np.eye(flat_g.shape[1]))
        for node, matrix in zip(singular.tolist(), matrices, strict=True):
            weights[node] = -np.linalg.lstsq(matrix, gradients[node], rcond=None)[0]
        return NodeValues(weights, -(flat_g * weights).sum(1), is_empty)

    def _of_one_class(self, gradient: np.ndarray, hessian: np.ndarray, is_zero: np.ndarray) -> NodeValues:
        shrunk = np.sign(gradient) * np.maximum(np.abs(gradient) - np.float32(self.l1), np.float32(0)) if self.l1 > 0 else gradient
        counts = ~is_zero & (hessian > self.min_node_weight)
        weights = np.where(counts, -shrunk / np.where(counts, hessian + np.float32(self.l2), np.float32(1)), np.float32(0))
        return NodeValues(weights[:, None], -weights * shrunk, np.zeros(len(gradient), bool))
