"""TreeEnsemble: the state of boosted trees, as the protocol buffer that checkpoints hold.

Trees grow layer by layer. A split node keeps the value that it had as a leaf (``metadata.original_leaf``), but for a root whose value was 0. Every
change raises the stamp, so that statistics of an older ensemble can be told apart. Values are float32 and added up tree after tree, as in TensorFlow.
"""
from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from google.protobuf.message import DecodeError

from penstock.errors import invalid_argument
from penstock.state.tree_protos import TreeEnsembleProto
from penstock.state.tree_pruning import prune

NO_PRUNING, PRE_PRUNING, POST_PRUNING = range(3)
_CENTERED = 0.01  # a bias that changes by less than this share is centered


class BestSplit(NamedTuple):
    """The best split of a node."""

    feature_id: int
    threshold: int
    gain: np.float32
    left: np.float32
    right: np.float32


class TreeArrays(NamedTuple):
    """A tree as arrays with an entry per node. The values of split nodes are those that they had as leaves."""

    is_leaf: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    is_equality: np.ndarray
    value: np.ndarray  # [nodes, logits]

    def step(self, nodes: np.ndarray, features: np.ndarray) -> np.ndarray:
        """The next node of each example; a leaf stays."""
        values, threshold = features[self.feature[nodes], np.arange(len(nodes))], self.threshold[nodes]
        goes_left = np.where(self.is_equality[nodes], values == threshold, values <= threshold)
        return np.where(self.is_leaf[nodes], nodes, np.where(goes_left, self.left[nodes], self.right[nodes]))

    def leaves(self, nodes: np.ndarray, features: np.ndarray) -> np.ndarray:
        """The leaf that each example reaches from its node."""
        while not self.is_leaf[nodes].all():
            nodes = self.step(nodes, features)
        return nodes


class TreeEnsemble:
    """The resource: trees, their weights, and how far the last one is grown."""

    def __init__(self, name: str) -> None:
        self.name, self.stamp, self.initialized = name, -1, False
        self.proto: Any = TreeEnsembleProto()
        self._arrays: dict[tuple[int, int], TreeArrays] = {}

    def load(self, serialized: bytes, stamp: int) -> None:
        """Replaces everything."""
        try:
            self.proto = TreeEnsembleProto.FromString(serialized)
        except DecodeError:
            raise invalid_argument("Unable to parse tree ensemble proto.") from None
        self.stamp, self.initialized = stamp, True
        self._arrays.clear()

    @property
    def num_trees(self) -> int:
        """The number of trees, the one that grows among them."""
        return len(self.proto.trees)

    @property
    def num_finalized_trees(self) -> int:
        """The number of trees that do not grow any more."""
        count = self.num_trees
        return count if not count or self.proto.tree_metadata[-1].is_finalized else count - 1

    # --- reading -----------------------------------------------------------------------------------------------------

    def arrays(self, tree: int, dimension: int) -> TreeArrays:
        """A tree for predictions of so many logits."""
        key = tree, dimension
        if key not in self._arrays:
            self._arrays[key] = _as_arrays(self.proto.trees[tree].nodes, dimension)
        return self._arrays[key]

    def predict(self, features: np.ndarray, dimension: int) -> np.ndarray:
        """The logits of examples: the weighted sum of the leaves that they reach."""
        batch = features.shape[1]
        logits = np.zeros((batch, dimension), np.float32)
        for tree, weight in enumerate(self.proto.tree_weights):
            arrays = self.arrays(tree, dimension)
            logits += np.float32(weight) * arrays.value[arrays.leaves(np.zeros(batch, np.int32), features)]
        return logits

    def predict_from(self, tree_ids: np.ndarray, node_ids: np.ndarray, features: np.ndarray, dimension: int) -> tuple[np.ndarray, np.ndarray]:
        """(what is to be added to the logits of examples that stand at these nodes, -1 for nowhere; the leaves of the last tree)."""
        logits = np.zeros((len(tree_ids), dimension), np.float32)
        places = node_ids.copy()
        for tree, weight in enumerate(self.proto.tree_weights):
            reached = tree_ids <= tree
            arrays = self.arrays(tree, dimension)
            starts, correction = self._starts(tree, np.where(tree_ids == tree, places, -1), dimension)
            ends = arrays.leaves(starts[reached], features[:, reached])
            logits[reached] += np.float32(weight) * (correction[reached] + arrays.value[ends])
            places[reached] = ends
        return logits, places

    def _starts(self, tree: int, nodes: np.ndarray, dimension: int) -> tuple[np.ndarray, np.ndarray]:
        """Where examples go on in a tree, and what was added to their logits for it already, with a minus. Pruning may have moved their nodes."""
        cached, starts = nodes >= 0, np.maximum(nodes, 0)
        correction = np.zeros((len(nodes), dimension), np.float32)
        moves = self.proto.tree_metadata[tree].post_pruned_nodes_meta
        if moves and self.proto.tree_metadata[tree].is_finalized:
            changes = np.array([list(move.logit_change) for move in moves], np.float32)
            correction[cached] = changes[starts[cached]]
            starts[cached] = np.array([move.new_node_id for move in moves], np.int32)[starts[cached]]
        correction[cached] -= self.arrays(tree, dimension).value[starts[cached]]
        return starts, correction

    # --- growing -----------------------------------------------------------------------------------------------------

    def center_bias(self, logit: np.float32) -> bool:
        """Adds to the bias, the value of the first root; False when it hardly changes any more."""
        self.stamp += 1
        if not self.num_trees:
            self._add_tree(logit)
            return True
        root = self.proto.trees[0].nodes[0]
        before = np.float32(root.leaf.scalar if root.HasField("leaf") else root.metadata.original_leaf.scalar)
        root.leaf.scalar = float(before + logit)
        self._arrays.clear()
        with np.errstate(divide="ignore", invalid="ignore"):
            return bool(abs(logit / before) > _CENTERED)

    def grow(self, splits: dict[int, BestSplit], max_depth: int, pruning: int) -> None:
        """Adds a layer to the last tree. A tree of ``max_depth`` layers is finished, and the next one begins."""
        self.stamp += 1
        self._count_attempt()
        if not self.num_trees:
            self._add_tree(np.float32(0))
        tree = self.num_trees - 1
        nodes, metadata, growing = self.proto.trees[tree].nodes, self.proto.tree_metadata[tree], self.proto.growing_metadata
        start = len(nodes)
        for node_id, split in sorted(splits.items()):
            if pruning != PRE_PRUNING or split.gain >= 0:
                _split(nodes, node_id, split)
        end = len(nodes)
        self._forget(tree)
        if start == end:
            return
        metadata.num_layers_grown += 1
        if metadata.num_layers_grown >= max_depth:
            metadata.is_finalized = True
            if pruning == POST_PRUNING:
                prune(self.proto.trees[tree], metadata)
            self._add_tree(np.float32(0))
            start, end = 0, 1
        growing.last_layer_node_start, growing.last_layer_node_end = start, end

    def _count_attempt(self) -> None:
        growing, trees, metadata = self.proto.growing_metadata, self.proto.trees, self.proto.tree_metadata
        growing.num_layers_attempted += 1
        if not trees or ((len(trees) == 1 or metadata[-2].is_finalized) and len(trees[-1].nodes) == 1):
            growing.num_trees_attempted += 1

    def _add_tree(self, logit: np.float32) -> None:
        self.proto.trees.add().nodes.add().leaf.scalar = float(logit)
        self.proto.tree_weights.append(1.0)
        self.proto.tree_metadata.add()

    def _forget(self, tree: int) -> None:
        """Drops what was made of a tree before it changed."""
        self._arrays = {key: arrays for key, arrays in self._arrays.items() if key[0] != tree}


def _split(nodes: Any, node_id: int, split: BestSplit) -> None:
    """Makes a leaf a split node with two leaves."""
    node = nodes[node_id]
    value = np.float32(node.leaf.scalar)
    left_id = len(nodes)
    if node_id or value:
        node.metadata.original_leaf.scalar = float(value)
    node.metadata.gain = float(split.gain)
    rule = node.bucketized_split
    rule.feature_id, rule.threshold, rule.left_id, rule.right_id = split.feature_id, split.threshold, left_id, left_id + 1
    for contribution in (split.left, split.right):
        nodes.add().leaf.scalar = float(value + contribution)


def leaf_values(leaf: Any, dimension: int) -> list[float]:
    """The logits of a leaf."""
    return list(leaf.vector.value) if leaf.HasField("vector") else [leaf.scalar] * dimension


def _as_arrays(nodes: Any, dimension: int) -> TreeArrays:
    integers, values = np.zeros((6, len(nodes)), np.int32), np.zeros((len(nodes), dimension), np.float32)
    for index, node in enumerate(nodes):
        kind = node.WhichOneof("node")
        if kind == "leaf":
            integers[0, index], values[index] = True, leaf_values(node.leaf, dimension)
            continue
        rule = getattr(node, kind)
        is_equality = kind == "categorical_split"
        integers[1:, index] = rule.feature_id, rule.value if is_equality else rule.threshold, rule.left_id, rule.right_id, is_equality
        values[index] = leaf_values(node.metadata.original_leaf, dimension)
    is_leaf, feature, threshold, left, right, equality = integers
    return TreeArrays(is_leaf.astype(bool), feature, threshold, left, right, equality.astype(bool), values)
