"""DecisionTree: one tree of a random forest, as arrays with an entry per node, and as the protocol buffer that checkpoints hold.

A node is a leaf or has a test: is the value of a feature below a threshold (or equal to it), or is it a certain value? Children are always behind
their parents. Leaves hold weights of classes, or means of outputs.
"""
from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from google.protobuf.message import DecodeError

from penstock.errors import invalid_argument
from penstock.state.forest_protos import MatchingValuesTest, TreeModel, TreePath

LESS_OR_EQUAL, LESS_THAN, EQUAL = 0, 1, -1  # what a test asks; the first two as TensorFlow numbers them
_EQUAL_URL = "type.googleapis.com/tensorflow.decision_trees.MatchingValuesTest"


class SplitTest(NamedTuple):
    """Goes left if the value of a feature is ``kind`` of the threshold."""

    feature: int
    threshold: float
    kind: int

    @classmethod
    def read(cls, node: Any) -> SplitTest:
        """Out of a BinaryNode."""
        if node.WhichOneof("left_child_test") == "inequality_left_child_test":
            test = node.inequality_left_child_test
            return cls(int(test.feature_id.id.value), test.threshold.float_value, test.type)
        matching = MatchingValuesTest.FromString(node.custom_left_child_test.value)
        return cls(int(matching.feature_id.id.value), matching.value[0].float_value, EQUAL)

    def write(self, node: Any) -> None:
        """Into a BinaryNode."""
        if self.kind == EQUAL:
            matching = MatchingValuesTest()
            matching.feature_id.id.value = str(self.feature)
            matching.value.add().float_value = self.threshold
            node.custom_left_child_test.type_url, node.custom_left_child_test.value = _EQUAL_URL, matching.SerializeToString()
            return
        test = node.inequality_left_child_test
        test.feature_id.id.value, test.type, test.threshold.float_value = str(self.feature), self.kind, self.threshold


def goes_left(values: np.ndarray, thresholds: np.ndarray, kinds: np.ndarray) -> np.ndarray:
    """The answers to tests."""
    return np.where(kinds == EQUAL, values == thresholds, (values < thresholds) | ((kinds == LESS_OR_EQUAL) & (values == thresholds)))


class DecisionTree:
    """The resource: a tree that grows."""

    def __init__(self, name: str) -> None:
        self.name, self.initialized, self._sparse = name, False, False
        self._tests: list[SplitTest | None] = []  # None for a leaf
        self._children: list[int] = []       # the left one; the right one is the next
        self.leaves = np.zeros((0, 0), np.float32)
        self._arrays: tuple[np.ndarray, ...] | None = None

    def load(self, serialized: bytes, outputs: int, sparse: bool) -> None:
        """Replaces everything; an empty tree becomes one leaf."""
        try:
            nodes = TreeModel.FromString(serialized).decision_tree.nodes
        except DecodeError:
            raise invalid_argument("Unable to parse tree  config.") from None
        count = max(1, len(nodes))
        self._tests, self._children, self._arrays = [None] * count, [0] * count, None
        self.leaves, self._sparse, self.initialized = np.zeros((count, outputs), np.float32), sparse, True
        for index, node in enumerate(nodes):
            if node.WhichOneof("node_type") == "binary_node":
                self._tests[index], self._children[index] = SplitTest.read(node.binary_node), node.binary_node.left_child_id.value
            elif node.leaf.WhichOneof("leaf") == "vector":
                self.leaves[index] = [value.float_value for value in node.leaf.vector.value]
            else:
                for label, value in node.leaf.sparse_vector.sparse_value.items():
                    self.leaves[index, label] = value.float_value

    def serialize(self) -> bytes:
        """The protocol buffer."""
        model = TreeModel()
        for index in range(self.size):
            self._write(index, model.decision_tree.nodes.add())
        serialized: bytes = model.SerializeToString()
        return serialized

    def _write(self, index: int, node: Any) -> None:
        if index:
            node.node_id.value = index
        test = self._tests[index]
        if test is not None:
            test.write(node.binary_node)
            node.binary_node.left_child_id.value, node.binary_node.right_child_id.value = self._children[index], self._children[index] + 1
        elif self._sparse:
            node.leaf.sparse_vector.SetInParent()
            for label in np.flatnonzero(self.leaves[index]).tolist():
                node.leaf.sparse_vector.sparse_value[label].float_value = self.leaves[index, label]
        else:
            for value in self.leaves[index].tolist():
                node.leaf.vector.value.add().float_value = value

    @property
    def size(self) -> int:
        """The number of nodes."""
        return len(self._tests)

    def split(self, node: int, test: SplitTest, left: np.ndarray, right: np.ndarray) -> tuple[int, int]:
        """Makes a leaf a test with two leaves; returns their numbers."""
        first = self.size
        self._tests[node], self._children[node], self._arrays = test, first, None
        self._tests += [None, None]
        self._children += [0, 0]
        self.leaves = np.concatenate([self.leaves, [left, right]]).astype(np.float32)
        self.leaves[node] = 0
        return first, first + 1

    def traverse(self, examples: Any) -> np.ndarray:
        """The leaf of each example."""
        places = np.zeros(len(examples), np.int32)
        for moved in self._steps(examples):
            places = moved
        return places

    def _steps(self, examples: Any) -> Any:
        """Where the examples stand after each test."""
        features, thresholds, kinds, children = self._as_arrays()
        places, moving = np.zeros(len(examples), np.int32), np.arange(len(examples))
        while (moving := moving[features[places[moving]] >= 0]).size:
            nodes = places[moving]
            left = goes_left(examples.values(moving, features[nodes]), thresholds[nodes], kinds[nodes])
            places = places.copy()
            places[moving] = children[nodes] + ~left
            yield places

    def _as_arrays(self) -> tuple[np.ndarray, ...]:
        if self._arrays is None:
            tests = [test or SplitTest(-1, 0.0, 0) for test in self._tests]
            self._arrays = (np.array([test.feature for test in tests]), np.array([test.threshold for test in tests], np.float32),
                            np.array([test.kind for test in tests]), np.array(self._children, np.int32))
        return self._arrays

    def paths(self, examples: Any) -> list[bytes]:
        """The nodes that each example visits, as TreePaths."""
        steps = [np.zeros(len(examples), np.int32), *self._steps(examples)]
        paths = []
        for example in range(len(examples)):
            path, last = TreePath(), -1
            for places in steps:
                if places[example] != last:
                    last = int(places[example])
                    self._write(last, path.nodes_visited.add())
            paths.append(path.SerializeToString())
        return paths

    def usage(self, features: int) -> np.ndarray:
        """How many tests ask for each feature."""
        return np.bincount([test.feature for test in self._tests if test is not None], minlength=features).astype(np.int32)
