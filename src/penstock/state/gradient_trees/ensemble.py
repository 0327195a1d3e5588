"""GradientTrees: the resource. An ensemble of trees, and what its next layer has learned so far.

Every layer raises the stamp. What was computed with an older ensemble does not count any more: ``learn`` drops it.
"""
from __future__ import annotations

import io
import threading
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from penstock.errors import invalid_argument
from penstock.state.gradient_trees import growth
from penstock.state.gradient_trees.dropout import dropped_trees
from penstock.state.gradient_trees.examples import Examples
from penstock.state.gradient_trees.handlers import DenseHandler, Handler, IdHandler, LayerBatch, SparseHandler
from penstock.state.gradient_trees.protos import EnsembleProto, LearnerConfig
from penstock.state.gradient_trees.statistics import Regularization, Sums


@lru_cache(16)
def learner_config(serialized: bytes) -> Any:
    """The configuration of a learner."""
    try:
        return LearnerConfig.FromString(serialized)
    except DecodeError:
        raise invalid_argument("Unable to parse learner config.") from None


class GradientTrees:
    """The resource."""

    def __init__(self, name: str) -> None:
        self.name, self.stamp, self.initialized = name, -1, False
        self.proto: Any = EnsembleProto()
        self.layer = GrowingLayer()
        self.lock = threading.RLock()

    def create(self, stamp: int, serialized: bytes) -> None:
        """Takes an ensemble over, unless there is one."""
        if not self.initialized:
            self.restore(stamp, serialized)

    def restore(self, stamp: int, serialized: bytes) -> None:
        """Replaces the ensemble. What the layer has learned goes with it."""
        try:
            proto = EnsembleProto.FromString(serialized)
        except DecodeError:
            raise invalid_argument("Unable to parse tree ensemble config.") from None
        with self.lock:
            self.proto, self.stamp, self.initialized, self.layer = proto, int(stamp), True, GrowingLayer()

    # --- predictions -------------------------------------------------------------------------------------------------

    def predict(self, examples: Examples, config: Any, size: int, rolls: Iterator[float] | None, is_averaged: bool,
                has_bias: bool) -> tuple[np.ndarray, list[int]]:
        """(the logits of examples, [examples, size]; the trees that did not count, because rolls of the dice dropped them)."""
        with self.lock:
            proto, result = self.proto, np.zeros((len(examples), size), np.float32)
            left_out = self._drop(config, rolls, has_bias)
            weights = _averaged_weights(proto.tree_weights, config.averaging_config) if is_averaged else list(proto.tree_weights)
            for number, tree in enumerate(proto.trees):
                is_growing = config.growing_mode == LearnerConfig.WHOLE_TREE and not proto.tree_metadata[number].is_finalized
                if number not in left_out and not (is_growing and not (has_bias and number == 0)):
                    result += np.float32(weights[number]) * _leaf_values(tree, size)[examples.leaves(tree)]
            return result, left_out

    def _drop(self, config: Any, rolls: Iterator[float] | None, has_bias: bool) -> list[int]:
        if rolls is None or config.learning_rate_tuner.WhichOneof("tuner") != "dropout":
            return []
        stay = {*([0] if has_bias else []), *([len(self.proto.trees) - 1] if self.proto.HasField("growing_metadata") else [])}
        return dropped_trees(rolls, config.learning_rate_tuner.dropout, self.proto.tree_weights, stay)

    def partitions(self, examples: Examples) -> np.ndarray:
        """The leaf of each example in the tree that grows; 0 if the next layer begins a tree."""
        with self.lock:
            if not self.proto.trees or self.proto.tree_metadata[-1].is_finalized:
                return np.zeros(len(examples), np.int32)
            return examples.leaves(self.proto.trees[-1])

    def stats(self) -> list[int]:
        """[finished trees, layers, trees, layers of the last tree, trees that were tried, layers that were tried]."""
        metadata, growing = self.proto.tree_metadata, self.proto.growing_metadata
        unfinished = bool(metadata) and not metadata[-1].is_finalized
        return [len(metadata) - unfinished, sum(each.num_layers_grown for each in metadata), len(metadata),
                metadata[-1].num_layers_grown if metadata else 0, growing.num_trees_attempted, growing.num_layers_attempted]

    # --- learning ----------------------------------------------------------------------------------------------------

    def learn(self, stamp: int, batch: LayerBatch, config: Any, class_id: int, bias_sums: np.ndarray, active: np.ndarray, num_quantiles: int,
              has_bias: bool, examples_per_layer: int | None, rolls: Callable[[int], Iterator[float]]) -> None:
        """Adds a batch to the layer, and grows it when there are ``examples_per_layer``. None, of tasks that are not the chief, never grows."""
        with self.lock:
            if stamp != self.stamp:
                return
            dice = rolls(self.proto.growing_metadata.num_trees_attempted)
            if self.layer.handlers is None:
                self.layer.begin(batch.examples, num_quantiles, has_bias)
            self.layer.add(batch, bias_sums, active)
            if examples_per_layer is not None and self.layer.examples >= examples_per_layer:
                self._finish_layer(config, class_id, dice, has_bias)

    def _finish_layer(self, config: Any, class_id: int, dice: Iterator[float], has_bias: bool) -> None:
        layer, limits = self.layer, config.regularization
        rules = Regularization(config.multi_class_strategy, limits.l1, limits.l2, config.constraints.min_node_weight)
        is_ready = all(handler.is_ready for handler in layer.handlers or ())
        splits = [(number, split) for number, handler in enumerate(layer.handlers or ())
                  for split in handler.splits(1 / layer.steps, rules, limits.tree_complexity, class_id)]
        for handler in layer.handlers or ():
            handler.finish_layer()
        self.stamp += 1
        if layer.is_centering:
            gradients, hessians = layer.bias_sums
            layer.is_centering = growth.center_bias(self.proto, np.where(hessians > 0, -gradients / np.where(hessians > 0, hessians, 1), 0))
        else:
            growth.grow(self.proto, config, splits if is_ready else [], dice, has_bias)
        layer.examples, layer.steps, layer.bias_sums = 0, 0, np.zeros_like(layer.bias_sums)


class GrowingLayer:
    """What the next layer has learned."""

    def __init__(self) -> None:
        self.handlers: list[Handler] | None = None
        self.examples = self.steps = 0
        self.is_centering = False
        self.bias_sums = np.zeros((2, 0))
        self._restored: bytes | None = None  # what handlers go on with, once columns are known

    def begin(self, examples: Examples, num_quantiles: int, has_bias: bool) -> None:
        """A handler per column of such examples."""
        kinds = (DenseHandler, examples.dense), (SparseHandler, examples.sparse_floats), (IdHandler, examples.sparse_ints)
        self.handlers = [kind(column, num_quantiles) for kind, columns in kinds for column in range(len(columns))]
        self.is_centering = has_bias
        if self._restored:
            self._fill(self._restored)
            self._restored = None

    def add(self, batch: LayerBatch, bias_sums: np.ndarray, active: np.ndarray) -> None:
        """Adds a batch; ``active``, [handlers, 2], says which columns count in this layer and in the next one."""
        self.bias_sums = bias_sums + (self.bias_sums if self.bias_sums.size else 0)
        for handler, (is_active, will_be) in zip(self.handlers or (), active.tolist(), strict=True):
            handler.add(batch, is_active, will_be)
        self.examples += len(batch.examples)
        self.steps += 1

    # --- as bytes ----------------------------------------------------------------------------------------------------

    def serialize(self) -> bytes:
        """All of it, for a checkpoint."""
        if self._restored:
            return self._restored
        if self.handlers is None:
            return b""
        arrays: dict[str, np.ndarray] = {"counts": np.array([self.examples, self.steps, self.is_centering]), "bias": self.bias_sums}
        for number, handler in enumerate(self.handlers or ()):
            sums = handler.statistics.peek()
            arrays |= {} if sums is None else {f"{number}/{field}": value for field, value in sums._asdict().items()}
            if isinstance(handler, DenseHandler):
                arrays[f"{number}/quantiles"] = handler.stream.final_summary()
                arrays |= {} if handler.boundaries is None else {f"{number}/boundaries": handler.boundaries}
        file = io.BytesIO()
        np.savez(file, **arrays)  # type: ignore[arg-type]
        return file.getvalue()

    def restore(self, serialized: bytes) -> None:
        """The way back."""
        self._restored = serialized

    def _fill(self, serialized: bytes) -> None:
        with np.load(io.BytesIO(serialized), allow_pickle=False) as arrays:
            self.examples, self.steps, self.is_centering = (int(arrays["counts"][0]), int(arrays["counts"][1]), bool(arrays["counts"][2]))
            self.bias_sums = arrays["bias"]
            for number, handler in enumerate(self.handlers or ()):
                if f"{number}/keys" in arrays:
                    handler.statistics.restore(Sums(*(arrays[f"{number}/{field}"] for field in Sums._fields)))
                if isinstance(handler, DenseHandler) and f"{number}/quantiles" in arrays:
                    handler.stream.push_summary(arrays[f"{number}/quantiles"])
                    handler.boundaries = arrays.get(f"{number}/boundaries")


def _averaged_weights(weights: Any, config: Any) -> list[float]:
    """The weights of an average of ensembles: of all that the last trees were added to, one after the other."""
    kind, number = config.WhichOneof("config"), len(weights)
    if kind is None:
        return list(weights)
    if kind == "average_last_n_trees":
        if config.average_last_n_trees <= 0:
            raise invalid_argument("Average last n trees must be a positive number")
        start = int(max(0.0, number - config.average_last_n_trees))
    else:
        if not 0 < config.average_last_percent_trees <= 1:
            raise invalid_argument("Average last percent must be in (0,1] interval.")
        start = int(max(0.0, number * (1 - config.average_last_percent_trees)))
    count = number - start
    return [weight if place < start else weight * (count - place + start) / count for place, weight in enumerate(weights)]


def _leaf_values(tree: Any, size: int) -> np.ndarray:
    """What each node of a tree adds to the logits, [nodes, size]; only those of leaves count."""
    values = np.zeros((len(tree.nodes), size), np.float32)
    for number, node in enumerate(tree.nodes):
        leaf = node.leaf
        if leaf.HasField("sparse_vector"):
            values[number, list(leaf.sparse_vector.index)] = leaf.sparse_vector.value
        elif leaf.HasField("vector"):
            values[number, :len(leaf.vector.value)] = leaf.vector.value
    return values
