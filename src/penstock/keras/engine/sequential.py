"""Sequential: a chain of layers. With an input shape it is a graph network from the start; without, it is built by its first inputs."""
from __future__ import annotations

import copy
from typing import Any

from penstock.graph import nest
from penstock.keras.engine.input_layer import Input, InputLayer
from penstock.keras.engine.model import Model
from penstock.keras.layer_classes import deserialize
from penstock.layers.base import Layer
from penstock.layers.calls import call_arguments
from penstock.layers.nodes import history_of
from penstock.platform import logging

_ONE_OUTPUT = "All layers in a Sequential model should have a single output tensor. For multi-output layers, use the functional API."


class Sequential(Model):
    """``tf.keras.Sequential``."""

    def __init__(self, layers: Any = None, name: str | None = None) -> None:
        super().__init__(name=name)
        self.supports_masking = self._compute_output_and_mask_jointly = self._initialized = True
        self._build_input_shape: Any = None
        for layer in layers if isinstance(layers, (list, tuple)) else [] if layers is None else [layers]:
            self.add(layer)

    @property
    def model(self) -> Sequential:
        """The model itself, which Keras once kept inside of this one."""
        return self

    @property
    def layers(self) -> list[Any]:
        """The layers, without that of the input."""
        layers = list(self._layers)
        return layers[1:] if layers and isinstance(layers[0], InputLayer) else layers

    def _sublayers(self) -> list[Any]:
        return list(self.__dict__.get("_layers", ()))

    def add(self, layer: Any) -> None:
        """Adds a layer at the end."""
        origin = history_of(layer)
        if origin is not None and isinstance(origin.layer, InputLayer):
            layer = origin.layer
        if not isinstance(layer, Layer):
            raise TypeError(f"The added layer must be an instance of class Layer. Found: {layer}")
        self.built = False
        begins = False
        if not self._layers:
            begins = self._begin(layer)
        elif self.outputs:
            output = layer(self.outputs[0])
            if len(nest.flatten(output)) != 1:
                raise TypeError(_ONE_OUTPUT)
            self.outputs = [output]
        if begins or self._is_graph_network:
            self._init_graph_network(self.inputs, self.outputs, name=self.name)
        else:
            self._layers.append(layer)

    def _begin(self, layer: Any) -> bool:
        """Takes the first layer; whether the shape of its inputs is known."""
        if not isinstance(layer, InputLayer):
            first = _first_layer(layer)
            if getattr(first, "_batch_input_shape", None) is None:
                return False
            layer(Input(batch_shape=first._batch_input_shape, dtype=first.dtype, name=f"{layer.name}_input"))
        outputs = nest.flatten(layer._inbound_nodes[-1].output_tensors)
        if len(outputs) != 1:
            raise ValueError(_ONE_OUTPUT)
        node = layer._inbound_nodes[-1]
        self.outputs, self.inputs = outputs, nest.flatten(node.input_tensors)
        return True

    def pop(self) -> None:
        """Takes the last layer away."""
        if not self.layers:
            raise TypeError("There are no layers in the model.")
        self._layers.pop()
        if not self.layers:
            self.outputs, self.inputs, self.built, self._is_graph_network = [], [], False, False
            self._layers = []
        elif self._is_graph_network:
            last = self.layers[-1]
            last._outbound_nodes = []
            self.outputs = [last.output]
            self._init_graph_network(self.inputs, self.outputs, name=self.name)

    def build(self, input_shape: Any = None) -> None:
        """Makes the variables."""
        if self._is_graph_network:
            self._init_graph_network(self.inputs, self.outputs, name=self.name)
        else:
            if input_shape is None:
                raise ValueError("You must provide an `input_shape` argument.")
            self._build_input_shape = tuple(input_shape.as_list() if hasattr(input_shape, "as_list") else input_shape)
            super().build(self._build_input_shape)
        self.built = True

    def _maybe_build(self, inputs: Any) -> None:
        if not self.built and not self._is_graph_network:
            self.built = True  # `call` makes the variables
        super()._maybe_build(inputs)

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        """The outputs of the last layer."""
        if self._is_graph_network:
            return super().call(inputs, training=training, mask=mask)
        outputs = inputs
        for layer in self.layers:
            takes = call_arguments(layer.call).names
            given = {"mask": mask, "training": training}
            outputs = layer(inputs, **{name: value for name, value in given.items() if name in takes})
            inputs, mask = outputs, getattr(outputs, "_keras_mask", None)
        return outputs

    def compute_output_shape(self, input_shape: Any) -> Any:
        """The shape of the outputs."""
        shape = input_shape
        for layer in self.layers:
            shape = layer.compute_output_shape(shape)
        return shape

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """The mask of the outputs."""
        return self.call(inputs, mask=mask)._keras_mask

    def predict_proba(self, x: Any, batch_size: int = 32, verbose: int = 0) -> Any:
        """Predictions; a warning if they are not probabilities."""
        predictions = self.predict(x, batch_size, verbose)
        if predictions.min() < 0.0 or predictions.max() > 1.0:
            logging.warning("Network returning invalid probability values. The last layer might not normalize predictions into probabilities "
                            "(like softmax or sigmoid would).")
        return predictions

    def predict_classes(self, x: Any, batch_size: int = 32, verbose: int = 0) -> Any:
        """The numbers of the most probable classes."""
        predictions = self.predict(x, batch_size=batch_size, verbose=verbose)
        return predictions.argmax(axis=-1) if predictions.shape[-1] > 1 else (predictions > 0.5).astype("int32")

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the model again."""
        layers = [{"class_name": type(layer).__name__, "config": layer.get_config()} for layer in self.layers]
        if self._is_graph_network and layers and "batch_input_shape" not in layers[0]["config"] and isinstance(self._layers[0], InputLayer):
            layers[0]["config"]["batch_input_shape"] = self._layers[0]._batch_input_shape
        config = {"name": self.name, "layers": copy.deepcopy(layers)}
        if self._build_input_shape:
            config["build_input_shape"] = self._build_input_shape
        return config

    @classmethod
    def from_config(cls, config: Any, custom_objects: Any = None) -> Any:
        """The model that ``get_config`` describes; older versions of Keras wrote a list of layers alone."""
        named = "name" in config
        model = cls(name=config["name"] if named else None)
        for layer in config["layers"] if named else config:
            model.add(deserialize(layer, custom_objects=custom_objects))
        if named and not model.inputs and config.get("build_input_shape"):
            model.build(config["build_input_shape"])
        return model

    @property
    def input_spec(self) -> Any:
        """That of the first layer."""
        layers = self.layers if "_layers" in self.__dict__ else []
        return getattr(layers[0], "input_spec", None) if layers else None

    @input_spec.setter
    def input_spec(self, value: Any) -> None:
        """The first layer decides; the assignment of the base class has no effect."""


def _first_layer(layer: Any) -> Any:
    """The layer that gets the inputs first: that of a chain in a chain."""
    while isinstance(layer, Model) and layer.layers and not layer._is_graph_network:
        layer = layer.layers[0]
    if isinstance(layer, Model) and layer._is_graph_network:
        return layer._input_layers[0]
    return layer
