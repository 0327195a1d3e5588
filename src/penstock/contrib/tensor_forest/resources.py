"""The resources of a forest's graph, and what checkpoints hold of them: a tree and its statistics, by TensorFlow's names."""
from __future__ import annotations

from typing import Any

from penstock.contrib import prelude as tf
from penstock.ops.trees import forests
from penstock.train.resources import register_resource
from penstock.train.saveable import SaveableObject, SaveSpec


class _Saveable(SaveableObject):
    """A resource as one string. It is created before it is restored."""

    def __init__(self, handle: Any, serialized: Any, create: Any, deserialize: Any, params: Any, name: str) -> None:
        super().__init__(handle, [SaveSpec(serialized, "", name)], name)
        self._handle, self._create, self._deserialize, self.params = handle, create, deserialize, params

    def restore(self, restored_tensors: list[Any], restored_shapes: Any) -> Any:
        """Replaces what the resource holds."""
        with tf.control_dependencies([self._create]):
            return self._deserialize(self._handle, restored_tensors[0], params=self.params.serialized_params_proto)


def tree_variable(params: Any, tree_config: Any, stats_handle: Any, name: str, container: str | None = None) -> Any:
    """The handle of a tree that is created, saved and restored with the variables; ``tree_config`` is what it begins with."""
    with tf.name_scope(name, "TreeVariable") as scope:
        handle = forests.DecisionTreeResourceHandleOp(container=container or "", shared_name=scope, name=scope)
        create = forests.CreateTreeVariable(handle, tree_config, params=params.serialized_params_proto)
        _register(params, handle, create, forests.TreeIsInitializedOp(handle), forests.TreeSerialize(handle), forests.TreeDeserialize)
        return handle


def fertile_stats_variable(params: Any, stats_config: Any, name: str, container: str | None = None) -> Any:
    """The handle of the statistics of a tree that grows."""
    with tf.name_scope(name, "FertileStatsVariable") as scope:
        handle = forests.FertileStatsResourceHandleOp(container=container or "", shared_name=scope, name=scope)
        create = forests.CreateFertileStatsVariable(handle, stats_config, params=params.serialized_params_proto)
        _register(params, handle, create, forests.FertileStatsIsInitializedOp(handle),
                  forests.FertileStatsSerialize(handle, params=params.serialized_params_proto), forests.FertileStatsDeserialize)
        return handle


def _register(params: Any, handle: Any, create: Any, is_initialized: Any, serialized: Any, deserialize: Any) -> None:
    tf.add_to_collection(tf.GraphKeys.SAVEABLE_OBJECTS, _Saveable(handle, serialized, create, deserialize, params, handle.name))
    register_resource(handle, create, is_initialized)
