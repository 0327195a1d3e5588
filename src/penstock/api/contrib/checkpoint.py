"""``tf.contrib.checkpoint``: objects that are saved, and what checkpoints say of them."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.keras.saving.trackable": "Checkpointable CheckpointableBase=Checkpointable List Mapping NoDependency UniqueNameTracker "
                                       "dot_graph_from_checkpoint list_objects object_metadata",
    "penstock.keras.saving.checkpoint": "CheckpointManager",
    "penstock.keras.saving.states": "NumpyState PythonStateWrapper=PythonState split_dependency",
    "penstock.variables.template": "capture_dependencies",
    "tensorboard.compat.proto.trackable_object_graph_pb2": "CheckpointableObjectGraph=TrackableObjectGraph",
}
publish(__name__, TABLE)
