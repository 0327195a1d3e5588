"""With the behaviour of TensorFlow 2 a layer has a type from the beginning, Keras's float type if it is given none, and casts what comes in to it."""
from __future__ import annotations

from typing import Any

from penstock.graph import nest, version2
from penstock.graph.dtypes import DType, as_dtype
from penstock.graph.node import Tensor
from penstock.layers import settings
from penstock.ops.array.cast import cast
from penstock.platform import logging


def first_type(layer: Any, given: Any) -> DType | None:
    """The type of a layer that has not been called; None if its first input decides."""
    if given is None and version2.enabled() and not layer._infers_type:
        layer._has_default_type = True
        return as_dtype(settings.floatx())
    return None if given is None else as_dtype(given)


def cast_inputs(layer: Any, inputs: Any) -> Any:
    """The inputs of a call; those of another float type are cast."""
    wanted = layer._dtype
    if not version2.enabled() or not layer._autocast or wanted is None or not wanted.is_floating:
        return inputs

    def converted(item: Any) -> Any:
        if not isinstance(item, Tensor) or not item.dtype.is_floating or item.dtype.base_dtype is wanted:
            return item
        if layer._has_default_type and not layer._has_warned:
            layer._has_warned = True
            _warn(layer.name, item.dtype.base_dtype.name, wanted.name)
        return cast(item, wanted)

    return nest.map_structure(converted, inputs)


def _warn(name: str, given: str, wanted: str) -> None:
    logging.warning("Layer %s is casting an input tensor from dtype %s to the layer's dtype of %s, which is new behavior in TensorFlow 2.  To have "
                    "layers compute in %s, call `tf.keras.backend.set_floatx('%s')`, or pass dtype='%s' to the layer; with autocast=False it takes "
                    "inputs as they are.", name, given, wanted, given, given, given)
