"""The resources of a graph of boosted trees, and what checkpoints hold of them: TreeEnsemble and QuantileAccumulator."""
from __future__ import annotations

from typing import Any

from penstock.graph.keys import GraphKeys
from penstock.graph.scopes import add_to_collection, control_dependencies, name_scope
from penstock.ops.constant import identity
from penstock.ops.trees import ensembles, quantiles
from penstock.train.resources import register_resource
from penstock.train.saveable import SaveableObject, SaveSpec


class _Saveable(SaveableObject):
    """A resource by the names and tensors of its parts. It is created before it is restored."""

    def __init__(self, resource: Any, parts: dict[str, Any]) -> None:
        self._resource, name = resource, resource.handle.name
        super().__init__(resource.handle, [SaveSpec(tensor, "", name + suffix) for suffix, tensor in parts.items()], name)

    def restore(self, restored_tensors: list[Any], restored_shapes: Any) -> Any:
        """Replaces what the resource holds."""
        with control_dependencies([self._resource.initializer]):
            return self._resource.restore(restored_tensors)


class TreeEnsemble:
    """An ensemble of trees. Other tasks see it too, unless it ``is_local``."""

    def __init__(self, name: str, is_local: bool = False) -> None:
        with name_scope(name, "TreeEnsemble") as scope:
            self.handle = ensembles.BoostedTreesEnsembleResourceHandleOp(shared_name=scope, name=scope)
            self.initializer = ensembles.BoostedTreesCreateEnsemble(self.handle, 0, "")
            is_initialized = ensembles.IsBoostedTreesEnsembleInitialized(self.handle)
            if not is_local:
                stamp, serialized = self.serialize()
                add_to_collection(GraphKeys.SAVEABLE_OBJECTS, _Saveable(self, {"_stamp": stamp, "_serialized": serialized}))
            register_resource(self.handle, self.initializer, is_initialized, is_shared=not is_local)

    def serialize(self) -> list[Any]:
        """[stamp, protocol buffer]."""
        return ensembles.BoostedTreesSerializeEnsemble(self.handle)

    def restore(self, tensors: list[Any]) -> Any:
        """Replaces it by what ``serialize`` gave."""
        return ensembles.BoostedTreesDeserializeEnsemble(self.handle, *tensors)

    def states(self) -> list[Any]:
        """[stamp, number of trees, of those that are finished, of layers that were tried, first and last node of the newest layer]."""
        names = ("stamp_token", "num_trees", "num_finalized_trees", "num_attempted_layers", "last_layer_nodes_range")
        states = ensembles.BoostedTreesGetEnsembleStates(self.handle)
        return [identity(state, name=name) for state, name in zip(states, names, strict=True)]


class QuantileAccumulator:
    """Collects the quantiles of float features, which become the boundaries of their buckets."""

    def __init__(self, epsilon: float, num_streams: int, name: str) -> None:
        self._epsilon, self._num_quantiles = epsilon, int(1 / epsilon)
        with name_scope(name, "QuantileAccumulator") as scope:
            self.handle = quantiles.BoostedTreesQuantileStreamResourceHandleOp(shared_name=scope, name=scope)
            self.initializer = quantiles.BoostedTreesCreateQuantileStreamResource(self.handle, epsilon, num_streams)
            is_initialized = quantiles.IsBoostedTreesQuantileStreamResourceInitialized(self.handle)
        register_resource(self.handle, self.initializer, is_initialized)
        self.boundaries = quantiles.BoostedTreesQuantileStreamResourceGetBucketBoundaries(self.handle, num_features=num_streams)
        parts = {f"_bucket_boundaries_{index}": tensor for index, tensor in enumerate(self.boundaries)}
        add_to_collection(GraphKeys.SAVEABLE_OBJECTS, _Saveable(self, parts))

    def restore(self, tensors: list[Any]) -> Any:
        """Replaces the boundaries."""
        return quantiles.BoostedTreesQuantileStreamResourceDeserialize(self.handle, tensors)

    def add(self, features: list[Any], weights: Any) -> Any:
        """An operation that adds a batch."""
        summaries = quantiles.BoostedTreesMakeQuantileSummaries(features, weights, self._epsilon)
        return quantiles.BoostedTreesQuantileStreamResourceAddSummaries(self.handle, summaries)

    def flush(self) -> Any:
        """An operation that makes boundaries of what was added."""
        return quantiles.BoostedTreesQuantileStreamResourceFlush(self.handle, self._num_quantiles)
