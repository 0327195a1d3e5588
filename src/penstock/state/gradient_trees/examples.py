"""A batch of examples as trees see it: columns of numbers, of sparse numbers and of sparse ids, and the leaf that each example reaches."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from penstock.errors import invalid_argument


class SparseMatrix(NamedTuple):
    """A sparse matrix [examples, dimensions]."""

    indices: np.ndarray
    values: np.ndarray
    shape: np.ndarray

    def dimension(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """(the values of one dimension, which examples have one)."""
        values, is_there = np.zeros(int(self.shape[0]), self.values.dtype), np.zeros(int(self.shape[0]), bool)
        own = self.indices[:, 1] == number
        rows = self.indices[own, 0]
        values[rows], is_there[rows] = self.values[own], True
        return values, is_there

    def has_any(self, ids: Sequence[int]) -> np.ndarray:
        """Which examples have one of these values."""
        result = np.zeros(int(self.shape[0]), bool)
        result[self.indices[np.isin(self.values, ids), 0]] = True
        return result


class Examples:
    """The columns of a batch. A column of a kind is known by its place among those of that kind, as in the protocol buffers of trees."""

    def __init__(self, dense: Sequence[np.ndarray], sparse_floats: Sequence[SparseMatrix] = (), sparse_ints: Sequence[SparseMatrix] = ()) -> None:
        self.dense = [_column(values) for values in dense]
        self.sparse_floats, self.sparse_ints = list(sparse_floats), list(sparse_ints)
        sizes = {len(values) for values in self.dense} | {int(column.shape[0]) for column in (*sparse_floats, *sparse_ints)}
        if len(sizes) != 1:
            raise invalid_argument("There are no features." if not sizes else f"Features have different numbers of examples: {sorted(sizes)}.")
        self._size, = sizes

    def __len__(self) -> int:
        return self._size

    def leaves(self, tree: Any) -> np.ndarray:
        """The leaf of a tree that each example reaches."""
        result, waiting = np.zeros(len(self), np.int32), [(0, np.arange(len(self)))]
        while waiting:
            node, rows = waiting.pop()
            if not len(rows):
                continue
            kind = tree.nodes[node].WhichOneof("node")
            if kind == "leaf":
                result[rows] = node
            else:
                rule = rule_of(tree.nodes[node])
                goes_left = self._goes_left(kind, rule)[rows]
                waiting += [(rule.left_id, rows[goes_left]), (rule.right_id, rows[~goes_left])]
        return result

    def _goes_left(self, kind: str, rule: Any) -> np.ndarray:
        columns: list[Any]
        columns = self.dense if kind.startswith("dense") else self.sparse_floats if kind.startswith("sparse") else self.sparse_ints
        if rule.feature_column >= len(columns):
            raise invalid_argument(f"A tree asks for column {rule.feature_column} of the kind {kind}, and examples have {len(columns)}. "
                                   "Was it trained with other features?")
        column = columns[rule.feature_column]
        if kind.startswith("dense"):
            return column <= np.float32(rule.threshold)
        if kind.startswith("sparse"):
            values, is_there = column.dimension(rule.dimension_id)
            is_low = values <= np.float32(rule.threshold)
            return is_low | ~is_there if kind.endswith("left") else is_low & is_there
        return column.has_any([rule.feature_id] if kind == "categorical_id_binary_split" else list(rule.feature_ids))


def rule_of(node: Any) -> Any:
    """What an inner node decides by, with the ids of its children."""
    rule = getattr(node, node.WhichOneof("node"))
    return rule.split if hasattr(rule, "split") else rule


def _column(values: np.ndarray) -> np.ndarray:
    if values.size != len(values):
        raise invalid_argument(f"A dense feature has one number per example; this one has the shape {list(values.shape)}.")
    return values.reshape(-1)
