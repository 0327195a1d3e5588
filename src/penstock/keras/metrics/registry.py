"""Metrics by name."""
from __future__ import annotations

from typing import Any

from penstock.keras import losses
from penstock.keras.metrics import confusion, functions, means, wrapped
from penstock.keras.metrics.base import Metric
from penstock.keras.metrics.iou import MeanIoU
from penstock.layers.objects import deserialize_object, serialize_object

OBJECTS: dict[str, Any] = {
    **{name: value for name, value in losses.OBJECTS.items() if not isinstance(value, type)},
    **{function.__name__: function for function in (
        functions.accuracy, functions.binary_accuracy, functions.categorical_accuracy, functions.sparse_categorical_accuracy,
        functions.top_k_categorical_accuracy, functions.sparse_top_k_categorical_accuracy)},
    **{name: value for module in (means, wrapped, confusion) for name, value in vars(module).items()
       if isinstance(value, type) and issubclass(value, Metric) and not name.startswith("_")},
    "MeanIoU": MeanIoU,
}


def serialize(metric: Any) -> Any:
    """``tf.keras.metrics.serialize``."""
    return serialize_object(metric)


def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """``tf.keras.metrics.deserialize``."""
    return deserialize_object(config, OBJECTS, custom_objects, "metric function")


def get(identifier: Any) -> Any:
    """``tf.keras.metrics.get``: the metric that a name or a config means, or that was given."""
    if isinstance(identifier, (str, dict)):
        return deserialize(identifier)
    if callable(identifier):
        return identifier
    raise ValueError(f"Could not interpret metric function identifier: {identifier}")
