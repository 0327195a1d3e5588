"""Ensembles of boosted trees: creation, predictions, growth. Their state is a ``penstock.state.tree_ensembles.TreeEnsemble``."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.graph.attrs import Attr, count
from penstock.graph.opdef import op
from penstock.ops.common import fixed, nothing
from penstock.ops.queues.handles import SHARING, plain
from penstock.ops.trees.gains import are_equal, is_larger, weights_and_gains
from penstock.ops.trees.resources import Handle, IsInitialized, created
from penstock.state.tree_ensembles import BestSplit, TreeEnsemble
from penstock.state.tree_protos import DebugOutput

_FEATURES: dict[str, Any] = {"num_bucketized_features": count(1), "logits_dimension": Attr("int")}


@op("BoostedTreesEnsembleResourceHandleOp", "-> resource: resource", **SHARING)
class BoostedTreesEnsembleResourceHandleOp(Handle):
    """A handle of an ensemble."""

    _resource = TreeEnsemble


@op("IsBoostedTreesEnsembleInitialized", "tree_ensemble_handle: resource -> is_initialized: bool")
class IsBoostedTreesEnsembleInitialized(IsInitialized):
    """True if the ensemble has been created."""


@op("BoostedTreesCreateEnsemble", "tree_ensemble_handle: resource, stamp_token: int64, tree_ensemble_serialized: string ->")
class BoostedTreesCreateEnsemble:
    """Creates an ensemble, unless there is one."""

    stateful = True
    shape = nothing()
    gradient = None

    def kernel(tree_ensemble_handle, stamp_token, tree_ensemble_serialized):
        ensemble = plain(tree_ensemble_handle)
        if not ensemble.initialized:
            ensemble.load(tree_ensemble_serialized.item(), int(stamp_token))
        return ()


@op("BoostedTreesDeserializeEnsemble", "tree_ensemble_handle: resource, stamp_token: int64, tree_ensemble_serialized: string ->")
class BoostedTreesDeserializeEnsemble:
    """Replaces an ensemble."""

    stateful = True
    shape = nothing()
    gradient = None

    def kernel(tree_ensemble_handle, stamp_token, tree_ensemble_serialized):
        created(tree_ensemble_handle).load(tree_ensemble_serialized.item(), int(stamp_token))
        return ()


@op("BoostedTreesSerializeEnsemble", "tree_ensemble_handle: resource -> stamp_token: int64, tree_ensemble_serialized: string")
class BoostedTreesSerializeEnsemble:
    """The stamp of an ensemble, and its protocol buffer."""

    stateful = True
    gradient = None

    def shape(tree_ensemble_handle):
        return [[], []]

    def kernel(tree_ensemble_handle):
        ensemble = created(tree_ensemble_handle)
        return np.int64(ensemble.stamp), np.array(ensemble.proto.SerializeToString(), object)


@op("BoostedTreesGetEnsembleStates", "tree_ensemble_handle: resource -> stamp_token: int64, num_trees: int32, num_finalized_trees: int32, "
    "num_attempted_layers: int32, last_layer_nodes_range: int32")
class BoostedTreesGetEnsembleStates:
    """How far an ensemble is grown; the last output tells the nodes of the last layer, from the first to behind the last."""

    stateful = True
    gradient = None

    def shape(tree_ensemble_handle):
        return [[], [], [], [], [2]]

    def kernel(tree_ensemble_handle):
        ensemble = created(tree_ensemble_handle)
        growing = ensemble.proto.growing_metadata
        last = [growing.last_layer_node_start, max(1, growing.last_layer_node_end)]
        return (np.int64(ensemble.stamp), np.int32(ensemble.num_trees), np.int32(ensemble.num_finalized_trees),
                np.int32(growing.num_layers_attempted), np.array(last, np.int32))


# --- predictions -----------------------------------------------------------------------------------------------------

def _batch(features: list[Any]) -> Any:
    return features[0].shape.with_rank(1).as_list()[0] if features[0].shape.ndims is not None else None


@op("BoostedTreesPredict", "tree_ensemble_handle: resource, bucketized_features: num_bucketized_features * int32 -> logits: float", **_FEATURES)
class BoostedTreesPredict:
    """The logits of examples."""

    stateful = True
    gradient = None

    def shape(bucketized_features, logits_dimension):
        return [_batch(bucketized_features), logits_dimension]

    def kernel(tree_ensemble_handle, bucketized_features, logits_dimension):
        return created(tree_ensemble_handle).predict(np.stack(bucketized_features), logits_dimension)


@op("BoostedTreesTrainingPredict", "tree_ensemble_handle: resource, cached_tree_ids: int32, cached_node_ids: int32, "
    "bucketized_features: num_bucketized_features * int32 -> partial_logits: float, tree_ids: int32, node_ids: int32", **_FEATURES)
class BoostedTreesTrainingPredict:
    """What the logits of examples change by since they stood at the cached nodes, and the nodes where they stand now."""

    stateful = True
    gradient = None

    def shape(bucketized_features, logits_dimension):
        batch = _batch(bucketized_features)
        return [[batch, logits_dimension], [batch], [batch]]

    def kernel(tree_ensemble_handle, cached_tree_ids, cached_node_ids, bucketized_features, logits_dimension):
        ensemble = created(tree_ensemble_handle)
        if not ensemble.num_trees:
            return np.zeros((len(cached_tree_ids), logits_dimension), np.float32), cached_tree_ids, np.zeros_like(cached_node_ids)
        logits, nodes = ensemble.predict_from(cached_tree_ids, cached_node_ids, np.stack(bucketized_features), logits_dimension)
        return logits, np.full_like(cached_tree_ids, ensemble.num_trees - 1), nodes


@op("BoostedTreesExampleDebugOutputs", "tree_ensemble_handle: resource, bucketized_features: num_bucketized_features * int32 -> "
    "examples_debug_outputs_serialized: string", **_FEATURES)
class BoostedTreesExampleDebugOutputs:
    """The way of each example through the trees: the features of the splits, and the logit before the first and after each."""

    stateful = True
    gradient = None

    def shape(bucketized_features):
        return [_batch(bucketized_features)]

    def kernel(tree_ensemble_handle, bucketized_features):
        ensemble, features = created(tree_ensemble_handle), np.stack(bucketized_features)
        return np.array([_way(ensemble, features[:, [row]]) for row in range(features.shape[1])], object)


def _way(ensemble: TreeEnsemble, features: np.ndarray) -> bytes:
    """The way of one example."""
    output, before = DebugOutput(), np.float32(0)
    for tree, weight in enumerate(ensemble.proto.tree_weights):
        arrays, node = ensemble.arrays(tree, 1), np.zeros(1, np.int32)
        logit = np.float32(weight) * arrays.value[0, 0]
        if tree == 0:
            output.logits_path.append(float(logit))
        while not arrays.is_leaf[node].all():
            output.feature_ids.append(int(arrays.feature[node[0]]))
            node = arrays.step(node, features)
            logit = np.float32(weight) * arrays.value[node[0], 0]
            output.logits_path.append(float(logit + before))
        if tree == 0 or node[0]:
            before += logit
    return bytes(output.SerializeToString())


# --- growth ----------------------------------------------------------------------------------------------------------

@op("BoostedTreesCenterBias", "tree_ensemble_handle: resource, mean_gradients: float, mean_hessians: float, l1: float, l2: float -> "
    "continue_centering: bool")
class BoostedTreesCenterBias:
    """Moves the bias of an ensemble by a step; False when it hardly moved."""

    stateful = True
    shape = fixed()
    gradient = None

    def kernel(tree_ensemble_handle, mean_gradients, mean_hessians, l1, l2):
        weight, _ = weights_and_gains(mean_gradients.ravel()[:1], mean_hessians.ravel()[:1], l1, l2)
        return np.bool_(created(tree_ensemble_handle).center_bias(weight[0]))


@op("BoostedTreesUpdateEnsemble", "tree_ensemble_handle: resource, feature_ids: int32, node_ids: num_features * int32, gains: num_features * float, "
    "thresholds: num_features * int32, left_node_contribs: num_features * float, right_node_contribs: num_features * float, max_depth: int32, "
    "learning_rate: float ->", pruning_mode=Attr("int", minimum=0), num_features=count())
class BoostedTreesUpdateEnsemble:
    """Adds a layer: the best split of each node, among those of all features. Of equal ones the feature with the lower id wins."""

    stateful = True
    shape = nothing()
    gradient = None

    def kernel(tree_ensemble_handle, feature_ids, node_ids, gains, thresholds, left_node_contribs, right_node_contribs, max_depth, learning_rate,
               pruning_mode):
        best: dict[int, BestSplit] = {}
        for feature, *candidates in zip(feature_ids.tolist(), node_ids, gains, thresholds, left_node_contribs, right_node_contribs):
            for node, gain, threshold, left, right in zip(*candidates):
                held = best.get(int(node))
                wins = held is None or (feature < held.feature_id if are_equal(gain, held.gain) else is_larger(gain, held.gain))
                if wins:
                    best[int(node)] = BestSplit(feature, int(threshold), gain, learning_rate * left[0], learning_rate * right[0])
        created(tree_ensemble_handle).grow(best, int(max_depth), pruning_mode)
        return ()
