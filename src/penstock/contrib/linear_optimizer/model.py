"""``tf.contrib.linear_optimizer.SdcaModel``: a linear model whose examples have dual variables, which are kept in a table by the ids of examples.

A step changes *unshrinked* weights; ``update_weights`` makes the model's weights of them, nearer to 0 by l1 / l2. A variable may be a list of its
parts, one behind the other.
"""
from __future__ import annotations

from typing import Any

from penstock.contrib import prelude as tf
from penstock.ops.math.segment import segment_sum
from penstock.ops.nn.cross_entropy import sigmoid_cross_entropy_with_logits
from penstock.ops.nn.nn_ops import log_poisson_loss
from penstock.ops.sparse.embedding import embedding_lookup
from penstock.ops.state.sdca import SdcaFprint, SdcaOptimizerV2
from penstock.ops.state.sdca_losses import LOSSES
from penstock.summary import summary
from penstock.train.lookup import MutableDenseHashTable
from penstock.train.session_run_hook import SessionRunArgs, SessionRunHook
from penstock.variables.partitioned import PartitionedVariable
from penstock.variables.variable import Variable

_KINDS = ("sparse_features_weights", "dense_features_weights")


class ShardedTable:
    """The states of examples, in several tables; the first number of a key tells which."""

    def __init__(self, num_shards: int, name: str = "ShardedMutableHashTable") -> None:
        with tf.name_scope(name, "sharded_mutable_hash_table"):
            self.shards = [MutableDenseHashTable(tf.int64, tf.float32, [0.0] * 4, empty_key=[0, 0], deleted_key=[1, 1],
                                                 name=f"{name}-{index + 1}-of-{num_shards}") for index in range(num_shards)]

    def _shard_of(self, keys: Any) -> Any:
        return tf.cast(tf.mod(tf.abs(keys[:, 0]), len(self.shards)), tf.int32)

    def lookup(self, keys: Any) -> Any:
        """The states of keys; zeros for new ones."""
        if len(self.shards) == 1:
            return self.shards[0].lookup(keys)
        shard, number = self._shard_of(keys), len(self.shards)
        places = tf.dynamic_partition(tf.range(tf.shape(keys)[0]), shard, number)
        values = [table.lookup(part) for table, part in zip(self.shards, tf.dynamic_partition(keys, shard, number), strict=True)]
        return tf.dynamic_stitch(places, values)

    def insert(self, keys: Any, values: Any) -> Any:
        """An operation that stores states."""
        if len(self.shards) == 1:
            return self.shards[0].insert(keys, values)
        shard, number = self._shard_of(keys), len(self.shards)
        parts = zip(self.shards, tf.dynamic_partition(keys, shard, number), tf.dynamic_partition(values, shard, number), strict=True)
        return tf.group(*[table.insert(key, value) for table, key, value in parts])

    def size(self) -> Any:
        """The number of examples."""
        return tf.add_n([table.size() for table in self.shards])

    def total(self) -> Any:
        """The sum of all states."""
        return tf.add_n([tf.reduce_sum(tf.cast(table.export()[1], tf.float64), 0) for table in self.shards])


class SdcaModel:
    """``tf.contrib.linear_optimizer.SdcaModel``; see its parts below for what ``examples``, ``variables`` and ``options`` hold."""

    def __init__(self, examples: dict[str, Any], variables: dict[str, Any], options: dict[str, Any]) -> None:
        if not examples or not variables or not options:
            raise ValueError("examples, variables and options must all be specified.")
        if options["loss_type"] not in LOSSES:
            raise ValueError("Unsupported loss_type: ", options["loss_type"])
        _check(examples, "example_labels example_weights example_ids", "sparse_features dense_features")
        _check(variables, "", " ".join(_KINDS))
        _check(options, "loss_type symmetric_l2_regularization symmetric_l1_regularization")
        for name in ("symmetric_l1_regularization", "symmetric_l2_regularization"):
            if options[name] < 0:
                raise ValueError(f"{name} should be non-negative. Found ({options[name]:f})")
        self._examples, self._options, self._loss_type = examples, options, options["loss_type"]
        self._l1, self._l2 = options["symmetric_l1_regularization"], max(options["symmetric_l2_regularization"], 1.0)
        self._weights = {kind: [_parts(each) for each in variables[kind]] for kind in _KINDS}
        suffix = options.get("slot_suffix", "_unshrinked/SDCAOptimizer")
        self._zeros_beside = {kind: [[_zeros_beside(part, suffix) for part in parts] for parts in self._weights[kind]] for kind in _KINDS}
        self._table = ShardedTable(options.get("num_table_shards") or 1)
        summary.scalar("approximate_duality_gap", self.approximate_duality_gap())
        summary.scalar("examples_seen", self._table.size())

    # --- training ----------------------------------------------------------------------------------------------------

    def minimize(self, global_step: Any = None, name: str | None = None) -> Any:
        """An operation that moves the dual variables of the examples, and the unshrinked weights with them."""
        with tf.name_scope(name, "sdca/minimize"):
            sparse, (sparse_slots, dense_slots) = self._examples["sparse_features"], (self._zeros_beside[kind] for kind in _KINDS)
            keys = SdcaFprint(tf.convert_to_tensor(self._examples["example_ids"]))
            ids = [tf.unique(feature.feature_indices)[0] for feature in sparse]
            gathered = [embedding_lookup(slot, each, partition_strategy="div") for slot, each in zip(sparse_slots, ids, strict=True)]
            states, sparse_changes, dense_changes = SdcaOptimizerV2(
                [feature.example_indices for feature in sparse], [feature.feature_indices for feature in sparse],
                [feature.feature_values for feature in sparse if feature.feature_values is not None],
                [tf.convert_to_tensor(each) for each in self._examples["dense_features"]], tf.convert_to_tensor(self._examples["example_weights"]),
                tf.convert_to_tensor(self._examples["example_labels"]), ids, gathered, [_whole(slot) for slot in dense_slots],
                self._table.lookup(keys), loss_type=self._loss_type, adaptive=self._options.get("adaptive", True), l1=self._l1, l2=self._l2,
                num_loss_partitions=self._options.get("num_loss_partitions", 1), num_inner_iterations=1)
            with tf.control_dependencies([states]):
                updates = [self._table.insert(keys, states)]
                for slot, each, change in zip(sparse_slots, ids, sparse_changes, strict=True):
                    updates += _scatter_add(slot, each, change)
                for slot, change in zip(dense_slots, dense_changes, strict=True):
                    cut = tf.split(change, [part.shape.as_list()[0] for part in slot])
                    updates += [tf.assign_add(part, piece) for part, piece in zip(slot, cut, strict=True)]
            if global_step is None:
                return tf.group(*updates)
            with tf.control_dependencies(updates):
                return tf.assign_add(global_step, 1, name=name).op

    def update_weights(self, train_op: Any) -> Any:
        """An operation that makes the model's weights of the unshrinked ones, after ``train_op``."""
        with tf.control_dependencies([train_op]):
            pairs = [pair for kind in _KINDS for parts in zip(self._weights[kind], self._zeros_beside[kind]) for pair in zip(*parts, strict=True)]
            by = self._l1 / self._l2
            return tf.group(*[weight.assign(tf.sign(slot) * tf.relu(tf.abs(slot) - by)).op for weight, slot in pairs])

    # --- predictions and losses --------------------------------------------------------------------------------------

    def predictions(self, examples: dict[str, Any]) -> Any:
        """Probabilities with the logistic loss, counts with the Poisson loss, otherwise the weighted sums."""
        _check(examples, "example_weights", "sparse_features dense_features")
        result = self._linear_predictions(examples)
        return tf.sigmoid(result) if self._loss_type == "logistic_loss" else tf.exp(result) if self._loss_type == "poisson_loss" else result

    def _linear_predictions(self, examples: dict[str, Any]) -> Any:
        with tf.name_scope("sdca/prediction"):
            sparse_weights, dense_weights = ([_whole(parts) for parts in self._weights[kind]] for kind in _KINDS)
            dense: Any = 0.0
            for numbers, weights in zip(examples["dense_features"], dense_weights, strict=True):
                dense += tf.matmul(tf.convert_to_tensor(numbers), tf.reshape(weights, [-1, 1]))
            result = tf.reshape(dense, [-1])
            for feature, weights in zip(examples["sparse_features"], sparse_weights, strict=True):
                terms = tf.gather(tf.reshape(weights, [-1]), feature.feature_indices)
                if feature.feature_values is not None:
                    terms *= feature.feature_values
                result += segment_sum(terms, feature.example_indices)
            return result

    def _penalties(self, l2: float) -> tuple[Any, Any]:
        """(l1 loss, l2 loss) of all weights."""
        weights = [tf.cast(tf.convert_to_tensor(part), tf.float64) for kind in _KINDS for parts in self._weights[kind] for part in parts]
        return (self._l1 * tf.add_n([tf.reduce_sum(tf.abs(each)) for each in weights]),
                l2 * tf.add_n([tf.reduce_sum(tf.square(each)) for each in weights]) / 2.0)

    def approximate_duality_gap(self) -> Any:
        """How far the model is at most from the best one, per weight of examples."""
        with tf.name_scope("sdca/approximate_duality_gap"):
            total = self._table.total()
            l1_loss, l2_loss = self._penalties(self._l2)
            return (total[1] + total[2] + l1_loss + 2.0 * l2_loss) / total[3]

    def unregularized_loss(self, examples: dict[str, Any]) -> Any:
        """The mean loss of examples."""
        _check(examples, "example_labels example_weights", "sparse_features dense_features")
        with tf.name_scope("sdca/unregularized_loss"):
            predictions = tf.cast(self._linear_predictions(examples), tf.float64)
            labels, weights = (tf.cast(tf.convert_to_tensor(examples[key]), tf.float64) for key in ("example_labels", "example_weights"))
            return tf.reduce_sum(self._losses(labels, predictions) * weights) / tf.reduce_sum(weights)

    def _losses(self, labels: Any, predictions: Any) -> Any:
        if self._loss_type == "logistic_loss":
            return sigmoid_cross_entropy_with_logits(labels=labels, logits=predictions)
        if self._loss_type == "poisson_loss":
            return log_poisson_loss(targets=labels, log_input=predictions)
        if self._loss_type in ("hinge_loss", "smooth_hinge_loss"):
            return tf.relu(1.0 - (2.0 * labels - 1.0) * predictions)
        return tf.square(labels - predictions) / 2.0

    def regularized_loss(self, examples: dict[str, Any]) -> Any:
        """The mean loss of examples, and the penalties of weights."""
        with tf.name_scope("sdca/regularized_loss"):
            l1_loss, l2_loss = self._penalties(self._options["symmetric_l2_regularization"])
            weights = tf.cast(tf.convert_to_tensor(examples["example_weights"]), tf.float64)
            return (l1_loss + l2_loss) / tf.reduce_sum(weights) + self.unregularized_loss(examples)


class UpdateWeightsHook(SessionRunHook):
    """Makes the weights of a model of the unshrinked ones, in each step."""

    def __init__(self, model: SdcaModel, train_op: Any) -> None:
        self._model, self._train_op = model, train_op

    def begin(self) -> None:
        """Makes the operation."""
        self._update_op = self._model.update_weights(self._train_op)

    def before_run(self, run_context: Any) -> SessionRunArgs:
        """Asks for it."""
        return SessionRunArgs(self._update_op)


def _check(given: dict[str, Any], present: str, lists: str = "") -> None:
    for name in present.split():
        if given[name] is None:
            raise ValueError(f"{name} must be specified.")
    for name in lists.split():
        if not isinstance(given[name], list):
            raise ValueError(f"{name} must be a list.")


def _parts(variable: Any) -> list[Any]:
    return list(variable) if isinstance(variable, (list, PartitionedVariable)) else [variable]


def _zeros_beside(part: Any, suffix: str) -> Any:
    with tf.colocate_with(part):
        return Variable(tf.zeros_like(part.initialized_value(), tf.float32), name=part.op.name + suffix)


def _whole(parts: list[Any]) -> Any:
    return tf.convert_to_tensor(parts[0]) if len(parts) == 1 else tf.concat(parts, 0)


def _scatter_add(parts: list[Any], ids: Any, change: Any) -> list[Any]:
    """Operations that add rows to the parts that have them."""
    if len(parts) == 1:
        return [tf.scatter_add(parts[0], ids, change)]
    start, updates = 0, []
    for part in parts:
        end = start + part.shape.as_list()[0]
        here = tf.logical_and(tf.greater_equal(ids, start), tf.less(ids, end))
        updates.append(tf.scatter_add(part, tf.boolean_mask(ids, here) - start, tf.boolean_mask(change, here)))
        start = end
    return updates
