"""Gradient boosted trees of ``tf.contrib.boosted_trees``: ensembles, predictions, learning.

The state is a ``penstock.state.gradient_trees.ensemble.GradientTrees``. Ensembles and predictions have TensorFlow's ops. What TensorFlow's graphs do
with accumulators, buckets and splits, a dozen nodes per column, is one op here, ``_LearnGradientTrees``.
"""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from penstock.errors import KernelError, invalid_argument
from penstock.graph.attrs import Attr, count
from penstock.graph.opdef import op
from penstock.ops.common import fixed, nothing
from penstock.ops.queues.handles import SHARING, plain
from penstock.ops.random.philox import philox4x32
from penstock.ops.trees.resources import Handle, IsInitialized, created
from penstock.state.gradient_trees.ensemble import GradientTrees, learner_config
from penstock.state.gradient_trees.examples import Examples, SparseMatrix
from penstock.state.gradient_trees.handlers import LayerBatch

_HANDLE = "tree_ensemble_handle: resource"
_FEATURES = ("dense_float_features: num_dense_float_features * float, sparse_float_feature_indices: num_sparse_float_features * int64, "
             "sparse_float_feature_values: num_sparse_float_features * float, sparse_float_feature_shapes: num_sparse_float_features * int64, "
             "sparse_int_feature_indices: num_sparse_int_features * int64, sparse_int_feature_values: num_sparse_int_features * int64, "
             "sparse_int_feature_shapes: num_sparse_int_features * int64")
_COUNTS: dict[str, Any] = {f"num_{kind}_features": count() for kind in ("dense_float", "sparse_float", "sparse_int")}


@op("DecisionTreeEnsembleResourceHandleOp", "-> resource: resource", **SHARING)
class DecisionTreeEnsembleResourceHandleOp(Handle):
    """A handle of an ensemble."""

    _resource = GradientTrees


@op("TreeEnsembleIsInitializedOp", f"{_HANDLE} -> is_initialized: bool")
class TreeEnsembleIsInitializedOp(IsInitialized):
    """True if the ensemble has been created."""


class _Replacing:
    stateful = True
    ranks = {"stamp_token": 0, "tree_ensemble_config": 0}
    shape = nothing()
    gradient = None


@op("CreateTreeEnsembleVariable", f"{_HANDLE}, stamp_token: int64, tree_ensemble_config: string ->")
class CreateTreeEnsembleVariable(_Replacing):
    """Creates an ensemble, unless there is one."""

    def kernel(tree_ensemble_handle, stamp_token, tree_ensemble_config):
        plain(tree_ensemble_handle).create(int(stamp_token), tree_ensemble_config.item())
        return ()


@op("TreeEnsembleDeserialize", f"{_HANDLE}, stamp_token: int64, tree_ensemble_config: string ->")
class TreeEnsembleDeserialize(_Replacing):
    """Replaces an ensemble."""

    def kernel(tree_ensemble_handle, stamp_token, tree_ensemble_config):
        plain(tree_ensemble_handle).restore(int(stamp_token), tree_ensemble_config.item())
        return ()


@op("TreeEnsembleSerialize", f"{_HANDLE} -> stamp_token: int64, tree_ensemble_config: string")
class TreeEnsembleSerialize:
    """The stamp of an ensemble, and its protocol buffer."""

    stateful = True
    gradient = None

    def shape(tree_ensemble_handle):
        return [[], []]

    def kernel(tree_ensemble_handle):
        ensemble = created(tree_ensemble_handle)
        with ensemble.lock:
            return np.int64(ensemble.stamp), np.array(ensemble.proto.SerializeToString(), object)


@op("TreeEnsembleStampToken", f"{_HANDLE} -> stamp_token: int64")
class TreeEnsembleStampToken:
    """The stamp of an ensemble."""

    stateful = True
    shape = fixed()
    gradient = None

    def kernel(tree_ensemble_handle):
        return np.int64(created(tree_ensemble_handle).stamp)


@op("TreeEnsembleStats", f"{_HANDLE}, stamp_token: int64 -> num_trees: int64, num_layers: int64, active_tree: int64, active_layer: int64, "
    "attempted_trees: int64, attempted_layers: int64")
class TreeEnsembleStats:
    """How far an ensemble is grown: finished trees, all layers, all trees, layers of the last tree, trees and layers that were tried."""

    stateful = True
    gradient = None

    def shape(tree_ensemble_handle):
        return [[]] * 6

    def kernel(tree_ensemble_handle):
        return tuple(map(np.int64, created(tree_ensemble_handle).stats()))


# --- predictions -----------------------------------------------------------------------------------------------------

def _examples(arguments: dict[str, Any]) -> Examples:
    columns = {kind: [SparseMatrix(*parts) for parts in zip(*(arguments[f"sparse_{kind}_feature_{part}"] for part in ("indices", "values", "shapes")),
                                                            strict=True)] for kind in ("float", "int")}
    return Examples(arguments["dense_float_features"], columns["float"], columns["int"])


def _rolls(seed: int) -> Iterator[float]:
    """Numbers from 0 to 1 by Philox, of two words each."""
    number = 0
    while True:
        words = philox4x32(np.array([number], np.uint64), np.zeros(1, np.uint64), int(seed) & (1 << 64) - 1)[0].tolist()
        for high, low in (words[:2], words[2:]):
            yield ((high & 0xFFFFF) << 32 | low) / 2.0 ** 52
        number += 1


def _batch(features: list[Any]) -> Any:
    return features[0].shape.as_list()[0] if features and features[0].shape.ndims else None


@op("GradientTreesPrediction", f"{_HANDLE}, seed: int64, {_FEATURES} -> predictions: float, drop_out_tree_indices_weights: float",
    learner_config=Attr("string"), use_locking=False, apply_dropout=Attr("bool"), apply_averaging=Attr("bool"), center_bias=Attr("bool"),
    reduce_dim=Attr("bool"), **_COUNTS)
class GradientTreesPrediction:
    """The logits of examples, and which trees did not count, with their weights."""

    stateful = dynamic_shape = True
    ranks = {"seed": 0}
    gradient = None

    def shape(dense_float_features, learner_config, reduce_dim):
        try:
            size = _size(learner_config, reduce_dim)
        except KernelError as error:
            raise ValueError(str(error)) from None
        return [[_batch(dense_float_features), size], [2, None]]

    def kernel(tree_ensemble_handle, seed, dense_float_features, sparse_float_feature_indices, sparse_float_feature_values,
               sparse_float_feature_shapes, sparse_int_feature_indices, sparse_int_feature_values, sparse_int_feature_shapes, learner_config,
               apply_dropout, apply_averaging, center_bias, reduce_dim):
        ensemble, examples, config = created(tree_ensemble_handle), _examples(locals()), _config(learner_config)
        rolls = _rolls(seed) if apply_dropout else None
        logits, dropped = ensemble.predict(examples, config, _size(learner_config, reduce_dim), rolls, apply_averaging, center_bias)
        return logits, np.array([dropped, [ensemble.proto.tree_weights[tree] for tree in dropped]], np.float32).reshape(2, -1)


def _config(serialized: Any) -> Any:
    return learner_config(serialized if isinstance(serialized, bytes) else serialized.encode())


def _size(serialized: Any, reduce_dim: bool) -> int:
    classes = _config(serialized).num_classes
    if classes < 2:
        raise invalid_argument("Number of classes must be >=2")
    return int(classes) - 1 if reduce_dim else int(classes)


@op("GradientTreesPartitionExamples", f"{_HANDLE}, {_FEATURES} -> partition_ids: int32", use_locking=False, **_COUNTS)
class GradientTreesPartitionExamples:
    """The leaf of each example in the tree that grows."""

    stateful = True
    gradient = None

    def shape(dense_float_features):
        return [_batch(dense_float_features)]

    def kernel(tree_ensemble_handle, dense_float_features, sparse_float_feature_indices, sparse_float_feature_values, sparse_float_feature_shapes,
               sparse_int_feature_indices, sparse_int_feature_values, sparse_int_feature_shapes):
        return created(tree_ensemble_handle).partitions(_examples(locals()))


# --- learning --------------------------------------------------------------------------------------------------------

@op("_LearnGradientTrees", f"{_HANDLE}, stamp_token: int64, {_FEATURES}, partition_ids: int32, gradients: float, hessians: float, "
    "quantile_weights: float, bias_sums: float, class_id: int32, active: bool, examples_per_layer: int64 -> stats: int64",
    learner_config=Attr("string"), center_bias=Attr("bool"), is_chief=True, num_quantiles=100, **_COUNTS)
class LearnGradientTrees:
    """Adds a batch to the next layer, unless the ensemble has changed since its gradients were computed; the chief grows the layer when it is due.

    ``bias_sums`` [2, classes] are the sums of gradients and hessians that center the bias. Returns (finished trees, trees that were tried).
    """

    stateful = True
    ranks = {"stamp_token": 0, "partition_ids": 1, "quantile_weights": 1, "bias_sums": 2, "class_id": 0, "active": 2, "examples_per_layer": 0}
    gradient = None

    def shape(tree_ensemble_handle):
        return [2]

    def kernel(tree_ensemble_handle, stamp_token, dense_float_features, sparse_float_feature_indices, sparse_float_feature_values,
               sparse_float_feature_shapes, sparse_int_feature_indices, sparse_int_feature_values, sparse_int_feature_shapes, partition_ids,
               gradients, hessians, quantile_weights, bias_sums, class_id, active, examples_per_layer, learner_config, center_bias, is_chief,
               num_quantiles):
        ensemble = created(tree_ensemble_handle)
        batch = LayerBatch(_examples(locals()), partition_ids, gradients, hessians, quantile_weights)
        ensemble.learn(int(stamp_token), batch, _config(learner_config), int(class_id), bias_sums, active, num_quantiles, center_bias,
                       int(examples_per_layer) if is_chief else None, _rolls)
        stats = ensemble.stats()
        return np.array([stats[0], stats[4]], np.int64)


@op("_SerializeGradientTreeLayer", f"{_HANDLE} -> layer: string")
class SerializeGradientTreeLayer:
    """What the next layer has learned."""

    stateful = True
    shape = fixed()
    gradient = None

    def kernel(tree_ensemble_handle):
        ensemble = created(tree_ensemble_handle)
        with ensemble.lock:
            return np.array(ensemble.layer.serialize(), object)


@op("_RestoreGradientTreeLayer", f"{_HANDLE}, layer: string ->")
class RestoreGradientTreeLayer:
    """Replaces what the next layer has learned."""

    stateful = True
    ranks = {"layer": 0}
    shape = nothing()
    gradient = None

    def kernel(tree_ensemble_handle, layer):
        created(tree_ensemble_handle).layer.restore(layer.item())
        return ()
