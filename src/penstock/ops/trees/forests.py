"""Trees of random forests (``tf.contrib.tensor_forest``): creation, growth, predictions.

The state is a ``penstock.state.decision_trees.DecisionTree`` and, while it grows, its ``penstock.state.fertile_stats.FertileStats``.
"""
from __future__ import annotations

import re
import struct
from functools import lru_cache
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from penstock.errors import invalid_argument
from penstock.graph.attrs import Attr
from penstock.graph.opdef import op
from penstock.ops.common import fixed, like, nothing, unknown
from penstock.ops.queues.handles import SHARING, plain
from penstock.ops.random.philox import Philox
from penstock.ops.trees.resources import Handle, IsInitialized, created
from penstock.platform.hashing import hash64
from penstock.state.decision_trees import EQUAL, DecisionTree, SplitTest
from penstock.state.fertile_stats import FertileStats
from penstock.state.forest_protos import ForestParams

_PARAMS: dict[str, Any] = {"params": Attr("string")}
_SPEC: dict[str, Any] = {"input_spec": Attr("string"), **_PARAMS}
_INPUTS = "input_data: float, sparse_input_indices: int64, sparse_input_values: float, sparse_input_shape: int64"
_MODEL_SPARSE, _CATEGORICAL = 1, 1
_STRING_HASH_SEED = 0xC70F6907  # of std::hash


@lru_cache(64)
def _params(serialized: bytes) -> Any:
    return _parse(ForestParams, serialized, "params")


def _parse(message: Any, serialized: bytes, what: str) -> Any:
    try:
        return message.FromString(serialized)
    except DecodeError:
        raise invalid_argument(f"{what} is not a serialized {message.DESCRIPTOR.name}") from None


@lru_cache(64)
def _columns(spec: bytes) -> tuple[int, np.ndarray, int]:
    """(the number of dense features, the types of each, the type of sparse ones) of a description of the input."""
    text = spec.decode() if isinstance(spec, bytes) else spec
    parts = re.fullmatch(r"dense_features_size: (\d+) dense: \[(.*)\] sparse: \[(.*)\]", text, re.DOTALL)
    if parts is None:
        raise invalid_argument(f"input_spec does not describe features: {text[:80]!r}")
    size, dense, sparse = parts.groups()
    types = [int(kind) for kind, width in re.findall(r"original_type: (\d+) size: (-?\d+)", dense) for _ in range(int(width))]
    kind_match = re.search(r"original_type: (\d+)", sparse)
    return int(size), np.array(types, int), int(kind_match[1]) if kind_match else 0


class _Examples:
    """A batch: features, dense or sparse or both, and perhaps labels and weights."""

    def __init__(self, spec: bytes, dense: np.ndarray, indices: np.ndarray, values: np.ndarray, shape: np.ndarray, targets: Any = None,
                 weights: Any = None, params: Any = None) -> None:
        self._dense_size, self._types, self._sparse_type = _columns(spec)
        self._dense = dense if dense.ndim == 2 else None
        if self._dense is not None and self._dense.shape[1] != self._dense_size:
            raise invalid_argument(f"The input has {self._dense.shape[1]} features, and {self._dense_size} were announced.")
        self._sparse = dict(zip(map(tuple, indices.tolist()), values.tolist(), strict=True)) if indices.ndim == 2 else None
        self._columns_of: dict[int, list[int]] = {}
        for row, column in self._sparse or ():
            self._columns_of.setdefault(row, []).append(column)
        self._size = len(dense) if self._dense is not None else int(shape[0]) if self._sparse is not None else 0
        self._weights = weights
        if targets is not None:
            self._targets = _targets(targets, self._size, params)

    def __len__(self) -> int:
        return self._size

    def values(self, rows: np.ndarray, features: np.ndarray) -> np.ndarray:
        """The value of a feature of each row; a sparse one that is not there is 0."""
        if self._sparse is None:
            if self._dense is None or (features.size and features.max() >= self._dense_size):
                raise invalid_argument(f"The tree asks for feature {features.max()}, and examples have {self._dense_size}. "
                                       "Was it trained with other features?")
            return self._dense[rows, features]
        places = zip(rows.tolist(), features.tolist(), strict=True)
        return np.array([self._dense[row, feature] if self._dense is not None and feature < self._dense_size
                         else self._sparse.get((row, feature - self._dense_size), 0.0) for row, feature in places], np.float32)

    def candidate(self, row: int, random: Any, kind: int) -> SplitTest | None:
        """A random feature of an example, and its value; None if it has no feature."""
        sparse = sorted(self._columns_of.get(row, ())) if self._sparse is not None else []
        if not self._dense_size + len(sparse):
            return None
        drawn = random(self._dense_size + len(sparse))
        feature = drawn if drawn < self._dense_size else sparse[drawn - self._dense_size] + self._dense_size
        if (self._types[drawn] if drawn < self._dense_size else self._sparse_type) == _CATEGORICAL:
            kind = EQUAL
        return SplitTest(feature, float(self.values(np.array([row]), np.array([feature]))[0]), kind)

    def labels(self, rows: np.ndarray) -> np.ndarray:
        """Classes."""
        return self._targets[rows, 0].astype(int)

    def label(self, row: int) -> int:
        """The class of an example; 0 where outputs are numbers."""
        return int(self._targets[row, 0])

    def outputs(self, rows: np.ndarray) -> np.ndarray:
        """Numbers [rows, outputs]."""
        return self._targets[rows]

    def weights(self, rows: np.ndarray) -> np.ndarray:
        """Weights, 1 where none are given."""
        weights = np.ones(len(rows), np.float32)
        given = rows < self._weights.size
        weights[given] = self._weights.ravel()[rows[given]]
        return weights


def _targets(targets: np.ndarray, size: int, params: Any) -> np.ndarray:
    """Labels as [examples, targets]."""
    if params.is_regression:
        if targets.size != size * params.num_outputs:
            raise invalid_argument(f"Labels of shape {list(targets.shape)} for {size} examples with num_classes={params.num_outputs} outputs each.")
        return targets.reshape(size, params.num_outputs)
    if targets.size != size:
        raise invalid_argument(f"Labels of shape {list(targets.shape)} for {size} examples: a class per example is needed.")
    wrong = targets[(targets < 0) | (targets >= params.num_outputs)]
    if wrong.size:
        raise invalid_argument(f"Label {wrong[0]:g} is outside of [0, {params.num_outputs}). Is params.num_classes set correctly?")
    return targets.reshape(size, 1)


class _Draws:
    """Whole numbers below a limit, in the order in which TensorFlow's generator gives them. Without a seed they cannot be repeated."""

    def __init__(self, seed: int) -> None:
        self._stream, self._words, self._blocks = Philox.for_op(seed, 0), list[int](), 0

    def _word(self) -> int:
        if not self._words:
            self._words = self._stream.at(np.arange(self._blocks, self._blocks + 16, dtype=np.uint64)).ravel()[::-1].tolist()
            self._blocks += 16
        return self._words.pop()

    def __call__(self, limit: int) -> int:
        if not limit & (limit - 1):
            return self._word() & (limit - 1)
        rejected = 0xFFFFFFFF % limit + 1  # words below this would favour small numbers
        while (word := self._word()) < rejected:
            continue
        return word % limit


# --- the tree --------------------------------------------------------------------------------------------------------

@op("DecisionTreeResourceHandleOp", "-> resource: resource", **SHARING)
class DecisionTreeResourceHandleOp(Handle):
    """A handle of a tree."""

    _resource = DecisionTree


@op("TreeIsInitializedOp", "tree_handle: resource -> is_initialized: bool")
class TreeIsInitializedOp(IsInitialized):
    """True if the tree has been created."""


@op("CreateTreeVariable", "tree_handle: resource, tree_config: string ->", **_PARAMS)
class CreateTreeVariable:
    """Creates a tree, unless there is one."""

    stateful = True
    shape = nothing()
    gradient = None

    def kernel(tree_handle, tree_config, params):
        tree, known = plain(tree_handle), _params(params)
        if not tree.initialized:
            tree.load(tree_config.item(), known.num_outputs, known.leaf_type == _MODEL_SPARSE)
        return ()


@op("TreeDeserialize", "tree_handle: resource, tree_config: string ->", **_PARAMS)
class TreeDeserialize:
    """Replaces a tree."""

    stateful = True
    shape = nothing()
    gradient = None

    def kernel(tree_handle, tree_config, params):
        known = _params(params)
        created(tree_handle).load(tree_config.item(), known.num_outputs, known.leaf_type == _MODEL_SPARSE)
        return ()


@op("TreeSerialize", "tree_handle: resource -> tree_config: string")
class TreeSerialize:
    """A tree as protocol buffer."""

    stateful = True
    shape = fixed()
    gradient = None

    def kernel(tree_handle):
        return np.array(created(tree_handle).serialize(), object)


@op("TreeSize", "tree_handle: resource -> tree_size: int32")
class TreeSize:
    """The number of nodes."""

    stateful = True
    shape = fixed()
    gradient = None

    def kernel(tree_handle):
        return np.int32(created(tree_handle).size)


@op("FeatureUsageCounts", "tree_handle: resource -> feature_counts: int32", **_PARAMS)
class FeatureUsageCounts:
    """How many nodes ask for each feature."""

    stateful = True
    gradient = None
    shape = unknown(1)

    def kernel(tree_handle, params):
        return created(tree_handle).usage(_params(params).num_features)


@op("TraverseTreeV4", f"tree_handle: resource, {_INPUTS} -> leaf_ids: int32", **_SPEC)
class TraverseTreeV4:
    """The leaf of each example."""

    stateful = True
    gradient = None
    shape = unknown(1)

    def kernel(tree_handle, input_data, sparse_input_indices, sparse_input_values, sparse_input_shape, input_spec):
        return created(tree_handle).traverse(_Examples(input_spec, input_data, sparse_input_indices, sparse_input_values, sparse_input_shape))


@op("TreePredictionsV4", f"tree_handle: resource, {_INPUTS} -> predictions: float, tree_paths: string", **_SPEC)
class TreePredictionsV4:
    """What the leaves say of examples: the shares of classes, or means; and the nodes on the way, if ``inference_tree_paths`` asks for them."""

    stateful = True
    gradient = None

    def shape(input_data, params):
        batch = input_data.shape[0] if input_data.shape.ndims == 2 else None
        return [[batch, _params(params).num_outputs], [None]]

    def kernel(tree_handle, input_data, sparse_input_indices, sparse_input_values, sparse_input_shape, input_spec, params):
        tree, known = created(tree_handle), _params(params)
        examples = _Examples(input_spec, input_data, sparse_input_indices, sparse_input_values, sparse_input_shape)
        values = tree.leaves[tree.traverse(examples)]
        if not known.is_regression:
            sums = values.sum(1, keepdims=True)
            values = np.divide(values, sums, out=values, where=sums > 0)
        return values, np.array(tree.paths(examples) if known.inference_tree_paths else [], object)


@op("UpdateModelV4", "tree_handle: resource, leaf_ids: int32, input_labels: float, input_weights: float ->", **_PARAMS)
class UpdateModelV4:
    """Adds the weights of examples to the classes of their leaves. Means stay as they are until a leaf is split."""

    stateful = True
    shape = nothing()
    gradient = None

    def kernel(tree_handle, leaf_ids, input_labels, input_weights, params):
        tree, known = created(tree_handle), _params(params)
        labels = _targets(input_labels, len(leaf_ids), known)
        if not known.is_regression:
            weights = np.ones(len(leaf_ids), np.float32)
            weights[:input_weights.size] = input_weights.ravel()[:len(leaf_ids)]
            np.add.at(tree.leaves, (leaf_ids, labels[:, 0].astype(int)), weights)
        return ()


# --- its statistics --------------------------------------------------------------------------------------------------

@op("FertileStatsResourceHandleOp", "-> resource: resource", **SHARING)
class FertileStatsResourceHandleOp(Handle):
    """A handle of the statistics of a tree."""

    _resource = FertileStats


@op("FertileStatsIsInitializedOp", "stats_handle: resource -> is_initialized: bool")
class FertileStatsIsInitializedOp(IsInitialized):
    """True if the statistics have been created."""


@op("CreateFertileStatsVariable", "stats_handle: resource, stats_config: string ->", **_PARAMS)
class CreateFertileStatsVariable:
    """Creates statistics, unless there are some."""

    stateful = True
    shape = nothing()
    gradient = None

    def kernel(stats_handle, stats_config, params):
        stats = plain(stats_handle)
        if not stats.initialized:
            stats.load(stats_config.item(), _params(params))
        return ()


@op("FertileStatsDeserialize", "stats_handle: resource, stats_config: string ->", **_PARAMS)
class FertileStatsDeserialize:
    """Replaces statistics."""

    stateful = True
    shape = nothing()
    gradient = None

    def kernel(stats_handle, stats_config, params):
        created(stats_handle).load(stats_config.item(), _params(params))
        return ()


@op("FertileStatsSerialize", "stats_handle: resource -> stats_config: string", **_PARAMS)
class FertileStatsSerialize:
    """Statistics as protocol buffer."""

    stateful = True
    shape = fixed()
    gradient = None

    def kernel(stats_handle, params):
        return np.array(created(stats_handle).serialize(_params(params)), object)


@op("ProcessInputV4", f"tree_handle: resource, stats_handle: resource, {_INPUTS}, input_labels: float, input_weights: float, leaf_ids: int32 -> "
    "finished_nodes: int32", random_seed=Attr("int"), **_SPEC)
class ProcessInputV4:
    """Adds examples to the statistics of their leaves; returns the leaves that have seen enough.

    Where a leaf still collects candidates, examples come one by one: the draws belong to them in their order, or with ``collate_examples`` in that of
    their leaves; then what is left of a batch after the last candidate is dropped.
    """

    stateful = True
    gradient = None
    shape = unknown(1)

    def kernel(stats_handle, input_data, sparse_input_indices, sparse_input_values, sparse_input_shape, input_labels, input_weights, leaf_ids,
               random_seed, input_spec, params):
        stats, known = created(stats_handle), _params(params)
        inputs = input_data, sparse_input_indices, sparse_input_values, sparse_input_shape
        examples = _Examples(input_spec, *inputs, input_labels, input_weights, known)
        draws, rows, order = _Draws(random_seed), dict[int, list[int]](), np.arange(len(leaf_ids))
        late = {leaf for leaf in set(leaf_ids.tolist()) if known.collate_examples and not stats.leaves[leaf].is_initialized}
        if known.collate_examples:
            order = np.argsort(leaf_ids, kind="stable")
        for row in order.tolist():
            leaf = int(leaf_ids[row])
            slot = stats.leaves[leaf]
            if not slot.is_initialized:
                test = examples.candidate(row, draws, known.inequality_test_type)
                if test is not None:
                    slot.add_candidate(test, examples, row)
            elif leaf not in late:
                rows.setdefault(leaf, []).append(row)
        for leaf, added in rows.items():
            stats.leaves[leaf].add(examples, np.array(added))
        return np.array([leaf for leaf in rows if stats.leaves[leaf].is_finished], np.int32)


@op("GrowTreeV4", "tree_handle: resource, stats_handle: resource, finished_nodes: int32 ->", **_PARAMS)
class GrowTreeV4:
    """Splits leaves by their best candidates, as long as the tree may grow; a leaf without one collects candidates anew."""

    stateful = True
    shape = nothing()
    gradient = None

    def kernel(tree_handle, stats_handle, finished_nodes, params):
        tree, stats, known = created(tree_handle), created(stats_handle), _params(params)
        for leaf in finished_nodes.tolist():
            if tree.size >= known.max_nodes:
                break
            seen = stats.leaves.pop(leaf)
            best = seen.best()
            if best is None:
                stats.start(leaf, seen.depth, known)
                continue
            for child in tree.split(leaf, *best):
                stats.start(child, seen.depth + 1, known)
        return ()


@op("FinalizeTree", "tree_handle: resource, stats_handle: resource ->", **_PARAMS)
class FinalizeTree:
    """Nothing for means, which leaves hold in their final form. Shares of classes are not stored: predictions compute them."""

    stateful = True
    shape = nothing()
    gradient = None

    def kernel(params):
        if not _params(params).is_regression:
            raise invalid_argument("FinalizeTreeOp is disabled for classification: predictions divide by the sums of leaves.")
        return ()


@op("ReinterpretStringToFloat", "input_data: string -> output_data: float")
class ReinterpretStringToFloat:
    """A number per string, by its hash: equal strings give equal numbers."""

    shape = like("input_data")
    gradient = None

    def kernel(input_data):
        hashes = [hash64(text, _STRING_HASH_SEED) for text in input_data.ravel().tolist()]
        return np.frombuffer(struct.pack(f"{len(hashes)}Q", *hashes), np.uint64).astype(np.float32).reshape(input_data.shape)
