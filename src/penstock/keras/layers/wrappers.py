"""Wrapper and TimeDistributed: layers around a layer."""
from __future__ import annotations

from typing import Any

from penstock.graph.shape import TensorShape
from penstock.keras.backend.recurrence import rnn
from penstock.keras.layer_classes import deserialize
from penstock.layers.base import Layer
from penstock.layers.calls import call_arguments
from penstock.layers.input_spec import InputSpec
from penstock.ops.array.shape_ops import reshape, shape
from penstock.ops.math.reduce import reduce_any


class Wrapper(Layer):
    """``tf.keras.layers.Wrapper``: a layer around ``layer``."""

    def __init__(self, layer: Any, **kwargs: Any) -> None:
        assert isinstance(layer, Layer)
        super().__init__(**kwargs)
        self.layer = layer

    def build(self, input_shape: Any = None) -> None:
        """Builds the layer."""
        if not self.layer.built:
            self.layer.build(input_shape)
            self.layer.built = True
        self.built = True

    @property  # type: ignore[misc]
    def activity_regularizer(self) -> Any:
        """That of the layer."""
        return getattr(self.layer, "activity_regularizer", None) if "layer" in self.__dict__ else None

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the wrapper again."""
        return {**super().get_config(), "layer": {"class_name": type(self.layer).__name__, "config": self.layer.get_config()}}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """The wrapper that ``get_config`` describes."""
        config = dict(config)
        return cls(deserialize(config.pop("layer"), custom_objects=custom_objects), **config)


class TimeDistributed(Wrapper):
    """``tf.keras.layers.TimeDistributed``: the layer is applied to each step by itself."""

    _untracked = Wrapper._untracked | {"_merged"}

    def __init__(self, layer: Any, **kwargs: Any) -> None:
        if not isinstance(layer, Layer):
            raise ValueError(f"Please initialize `TimeDistributed` layer with a `Layer` instance. You passed: {layer}")
        super().__init__(layer, **kwargs)
        self.supports_masking = True
        # Steps and batch can be one axis, unless the layer has a state that depends on the batch.
        self._always_use_reshape = not getattr(layer, "stateful", False)
        self._merged: tuple[Any, Any] = (None, None)  # the inputs of the last call, and with their first two axes as one, for ``compute_mask``

    def build(self, input_shape: Any = None) -> None:
        """Builds the layer, for one step."""
        extents = TensorShape(input_shape).as_list()
        if len(extents) < 3:
            raise ValueError(f"`TimeDistributed` Layer should be passed an `input_shape ` with at least 3 dimensions, received: {extents}")
        self.input_spec = InputSpec(shape=[None, None, *extents[2:]])
        super().build((extents[0], *extents[2:]))

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """That of the layer, with the steps."""
        batch, steps, *rest = TensorShape(input_shape).as_list()
        inner = TensorShape(self.layer.compute_output_shape((batch, *rest))).as_list()
        return TensorShape([inner[0], steps, *inner[1:]])

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        """The outputs of all steps."""
        takes = call_arguments(self.layer.call)
        given = {"training": training} if takes.expects("training") else {}
        batch, steps, *_ = inputs.shape.as_list()
        if batch and not self._always_use_reshape:
            return rnn(lambda x, _: (self.layer(x, **given), []), inputs, [], input_length=steps)[1]
        if takes.expects("mask") and mask is not None:
            given["mask"] = _merge_first_axes(mask)
        merged = _merge_first_axes(inputs)
        self._merged = inputs, merged
        outputs = self.layer(merged, **given)
        lead = [-1, steps if steps else shape(inputs)[1]]
        made = reshape(outputs, [*lead, *_extents(outputs, 1)])
        made.set_shape([batch, steps, *outputs.shape.as_list()[1:]])
        return made

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """That of the layer, or which steps count."""
        batch, steps, *_ = inputs.shape.as_list()
        if batch and not self._always_use_reshape:
            return mask
        (known, merged), self._merged = self._merged, (None, None)
        if known is not inputs:
            merged = _merge_first_axes(inputs)
        inner = self.layer.compute_mask(merged, None if mask is None else _merge_first_axes(mask))
        if inner is not None:
            return reshape(inner, [-1, steps if steps else shape(inputs)[1], *_extents(inner, 1)])
        for _ in range(2, 0 if mask is None else mask.shape.ndims):
            mask = reduce_any(mask, axis=-1)
        return mask


def _extents(tensor: Any, first: int) -> list[Any]:
    """Extents from an axis on: numbers where they are known, else tensors."""
    extents = tensor.shape.as_list()[first:]
    sizes = shape(tensor)[first:] if None in extents else extents
    return [sizes[axis] if extent is None else extent for axis, extent in enumerate(extents)]


def _merge_first_axes(tensor: Any) -> Any:
    """The tensor with its first two axes as one."""
    made = reshape(tensor, [-1, *_extents(tensor, 2)])
    made.set_shape([None, *tensor.shape.as_list()[2:]])
    return made
