"""Network: a layer that is made of layers.

A *graph network* knows its inputs and outputs; calling it again computes the layers between them on other tensors. A *subclassed* network is
whatever its ``call`` does; it learns its inputs and outputs when it is called first.
"""
from __future__ import annotations

import copy
from typing import Any

from penstock.graph import nest
from penstock.graph.node import Tensor
from penstock.graph.shape import TensorShape
from penstock.imperative.symbolic import graph_for_symbols
from penstock.keras.engine import config as configuration
from penstock.keras.engine.op_layers import AddLoss, AddMetric, connect_ops
from penstock.keras.engine.summary import print_summary
from penstock.keras.engine.topology import Topology, node_key, topology
from penstock.layers.base import Layer
from penstock.layers.branching import is_learning_phase
from penstock.layers.calls import call_arguments, current_call
from penstock.layers.nodes import Node, history_of
from penstock.platform import logging


def gives_ends(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether the arguments of a constructor are inputs and outputs."""
    return len(args) == 2 or (len(args) == 1 and "outputs" in kwargs) or ("inputs" in kwargs and "outputs" in kwargs)


class Network(Layer):
    """The base of models."""

    _untracked = Layer._untracked | {"inputs", "outputs", "_topology"}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._is_graph_network = gives_ends(args, kwargs)
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        self.input_names: list[str] = []
        self.output_names: list[str] = []
        self._topology: Topology | None = None
        if self._is_graph_network:
            self._init_graph_network(*args, **kwargs)
        else:
            super().__init__(*args, **kwargs)
            self._expects_training_arg = call_arguments(self.call).expects("training")

    def _init_graph_network(self, inputs: Any, outputs: Any, name: str | None = None, **kwargs: Any) -> None:
        if not self.__dict__.get("_initialized"):
            super().__init__(name=name, **kwargs)
        self._initialized, self._is_graph_network = True, True
        self._autocast = False  # its layers cast
        self._inbound_nodes: list[Node] = []
        self._extra_outputs: list[Any] = []  # what losses and metrics are made of, besides the outputs
        self._nested_inputs, self._nested_outputs = _as_lists(inputs), _as_lists(outputs)
        self.inputs, self.outputs = nest.flatten(inputs), nest.flatten(outputs)
        connect_ops(self.outputs)
        self._check_ends()
        self.built = self._compute_output_and_mask_jointly = True
        self._topology = topology(self.inputs, self.outputs)
        self._layers = list(self._topology.layers)
        self._input_layers = [history_of(tensor).layer for tensor in self.inputs]  # type: ignore[union-attr]
        self._output_layers = [history_of(tensor).layer for tensor in self.outputs]  # type: ignore[union-attr]
        self.input_names = [layer.name for layer in self._input_layers]
        self.output_names = _distinct([layer.name for layer in self._output_layers])
        Node(self, [], [], [], self._nested_inputs, self._nested_outputs)

    def _extend(self, tensors: list[Any]) -> None:
        """Makes layers part of the network that none of its outputs needs: those of losses and metrics."""
        if tensors:
            self._extra_outputs += tensors
            connect_ops(tensors)
            self._topology = topology(self.inputs, [*self.outputs, *self._extra_outputs])
            known = set(self._layers)
            added = [layer for layer in topology(self.inputs, tensors).layers if layer not in known]
            self._layers += added  # behind those that were there, as in TensorFlow: see ``layers``

    def add_loss(self, losses: Any, inputs: Any = None) -> None:
        """Adds losses; a tensor that is computed of tensors of a graph network becomes a part of it."""
        if not self._is_graph_network or current_call() is not None:
            super().add_loss(losses, inputs)
            return
        for loss in nest.flatten(losses):
            if isinstance(loss, Tensor):
                self._extend([AddLoss(unconditional=False)(loss)])
            else:
                super().add_loss(loss, inputs)

    def add_metric(self, value: Any, aggregation: str | None = None, name: str | None = None) -> None:
        """Has training report a value: its mean over batches."""
        if self._is_graph_network and current_call() is None:
            self._extend([AddMetric(aggregation, name)(value)])
        else:
            super().add_metric(value, aggregation, name)

    def _check_ends(self) -> None:
        cls = type(self).__name__
        if len({id(tensor) for tensor in self.inputs}) != len(self.inputs):
            raise ValueError(f"The list of inputs passed to the model is redundant. All inputs should only appear once. Found: {self.inputs}")
        for tensor in self.inputs:
            history = history_of(tensor)
            if history is None:
                raise ValueError(f"Input tensors to a {cls} must come from `tf.keras.Input`. Received: {tensor} (missing previous layer metadata).")
            nodes = history.layer._inbound_nodes
            if len(nodes) > 1 or (nodes and nodes[0].inbound_layers):
                logging.warning("%s inputs must come from `tf.keras.Input` (thus holding past layer metadata), they cannot be the output of a "
                                'previous non-Input layer. Here, a tensor specified as input to "%s" was not an Input tensor, it was generated by '
                                "layer %s.\nThe tensor that caused the issue was: %s", cls, self.name, history.layer.name, tensor.name)
        for tensor in self.outputs:
            if history_of(tensor) is None:
                raise ValueError(f"Output tensors to a {cls} must be the output of a TensorFlow `Layer` (thus holding past layer metadata). "
                                 f"Found: {tensor}")

    # --- layers and weights ------------------------------------------------------------------------------------------

    @property
    def layers(self) -> list[Any]:
        """The layers, in the order in which they are computed (graph networks) or were set as attributes."""
        return self._sublayers()

    def get_layer(self, name: str | None = None, index: int | None = None) -> Any:
        """The layer with this name or index."""
        if index is not None:
            if len(self.layers) <= index:
                raise ValueError(f"Was asked to retrieve layer at index {index} but model only has {len(self.layers)} layers.")
            return self.layers[index]
        if not name:
            raise ValueError("Provide either a layer name or layer index.")
        for layer in self.layers:
            if layer.name == name:
                return layer
        raise ValueError(f"No such layer: {name}")

    @property
    def weights(self) -> list[Any]:
        """All variables, layer by layer: the order in which they are saved."""
        self._check_built()
        return [weight for layer in self._sublayers() for weight in layer.weights] + self._trainable_weights + self._non_trainable_weights

    @property
    def trainable_weights(self) -> list[Any]:
        """The variables that are trained."""
        self._check_built()
        if not self.trainable:
            return []
        return [weight for layer in self._sublayers() for weight in layer.trainable_weights] + self._trainable_weights

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The other variables."""
        self._check_built()
        layers = self._sublayers()
        others = [weight for layer in layers for weight in layer.non_trainable_weights]
        if self.trainable:
            return others + self._non_trainable_weights
        trained = [weight for layer in layers for weight in layer.trainable_weights]
        return trained + self._trainable_weights + others + self._non_trainable_weights

    def _check_built(self) -> None:
        """ValueError if the variables are not made yet, and cannot be known."""
        if "build" in type(self).__dict__ and not self.built:
            raise ValueError(f"Weights for model {self.name} have not yet been created. Weights are created when the Model is first called on "
                             "inputs or `build()` is called with an `input_shape`.")

    @property
    def stateful(self) -> bool:
        """Whether a layer keeps its state from batch to batch."""
        return any(getattr(layer, "stateful", False) for layer in self._sublayers())

    @stateful.setter
    def stateful(self, value: bool) -> None:
        """Layers decide; the assignment of the base class has no effect."""

    def reset_states(self) -> None:
        """Resets the states of stateful layers."""
        for layer in self.layers:
            if hasattr(layer, "reset_states") and getattr(layer, "stateful", False):
                layer.reset_states()

    @property
    def state_updates(self) -> list[Any]:
        """The updates of stateful layers."""
        stateful = [layer for layer in self.layers if getattr(layer, "stateful", False)]
        return [update for layer in stateful for update in getattr(layer, "updates", [])]

    @property
    def dynamic(self) -> bool:
        """Whether a layer is to be run imperatively only."""
        return self._dynamic or any(layer.dynamic for layer in self._sublayers() if hasattr(layer, "dynamic"))

    # --- calling -----------------------------------------------------------------------------------------------------

    def build(self, input_shape: Any) -> None:
        """Makes the variables of a subclassed network, by calling it on placeholders of this shape."""
        if self._is_graph_network:
            self.built = True
            return
        if input_shape is None:
            raise ValueError("Input shape must be defined when calling build on a model subclass network.")
        with graph_for_symbols().as_default():
            self.call(configuration.placeholders(input_shape))
        self.built = True

    def _maybe_build(self, inputs: Any) -> None:
        if not self.built and "build" not in type(self).__dict__:
            self.built = True  # `call` makes the variables
        super()._maybe_build(inputs)

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        """The outputs for other inputs."""
        if not self._is_graph_network:
            raise NotImplementedError("When subclassing the `Model` class, you should implement a `call` method.")
        return self._run_internal_graph(inputs, training=training, mask=mask)

    def _run_internal_graph(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        flat = nest.flatten(inputs)
        for tensor, its_mask in zip(flat, [None] * len(flat) if mask is None else nest.flatten(mask)):
            tensor._keras_mask = its_mask
        values = {id(own): tensor for own, tensor in zip(self.inputs, flat)}

        def new(tensor: Any) -> Any:
            return values.get(id(tensor), tensor)

        assert self._topology is not None
        for node in self._topology.nodes:
            tensors = nest.flatten(node.input_tensors)
            if not node.inbound_layers or not all(id(tensor) in values for tensor in tensors):
                continue
            layer, kwargs = node.outbound_layer, dict(node.arguments or {})
            if call_arguments(layer.call).names and "training" in call_arguments(layer.call).names:
                if kwargs.get("training") is None or is_learning_phase(kwargs["training"]):
                    kwargs["training"] = training
            kwargs = {key: nest.map_structure(new, value) for key, value in kwargs.items()}
            results = layer(nest.map_structure(new, node.input_tensors), **kwargs)
            values.update({id(own): tensor for own, tensor in zip(nest.flatten(node.output_tensors), nest.flatten(results))})
        return nest.map_structure(lambda tensor: values[id(tensor)], self._nested_outputs)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """The masks of the outputs."""
        if not self._is_graph_network:
            return None
        return nest.map_structure(lambda tensor: tensor._keras_mask, self._run_internal_graph(inputs, mask=mask))

    def compute_output_shape(self, input_shape: Any) -> Any:
        """The shapes of the outputs, computed layer by layer."""
        if not self._is_graph_network:
            return super().compute_output_shape(input_shape)
        flat = configuration.flat_shapes(input_shape)
        if len(flat) != len(self._input_layers):
            raise ValueError(f"Invalid input_shape argument {input_shape}: model has {len(self._input_layers)} tensor inputs.")
        shapes = {id(own): TensorShape(shape) for own, shape in zip(self.inputs, flat)}
        assert self._topology is not None
        for node in self._topology.nodes:
            if node.inbound_layers:
                given = nest.map_structure(lambda tensor: tuple(shapes[id(tensor)].as_list()), node.input_tensors)
                made = configuration.flat_shapes(node.outbound_layer.compute_output_shape(given))
                shapes.update({id(tensor): TensorShape(shape) for tensor, shape in zip(nest.flatten(node.output_tensors), made)})
        return nest.map_structure(lambda tensor: shapes[id(tensor)], self._nested_outputs)

    # --- configurations ----------------------------------------------------------------------------------------------

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the network again: its layers, and how they are connected."""
        if not self._is_graph_network:
            raise NotImplementedError(f"{type(self).__name__} is a subclassed model: its `call` is code, which has no configuration. "
                                      "Save its weights instead (save_weights), or save it as a SavedModel.")
        return copy.deepcopy(configuration.network_config(self))

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """The network that ``get_config`` describes."""
        inputs, outputs, layers = configuration.rebuild(config, custom_objects)
        network = cls(inputs=inputs, outputs=outputs, name=config.get("name"))
        own = set(network.layers)
        others = [layer for layer in layers if layer not in own]  # that no output needs: those of losses and metrics
        network._layers += others
        network._extend([tensor for layer in others for tensor in nest.flatten(layer._inbound_nodes[-1].output_tensors)])
        return network

    def summary(self, line_length: int | None = None, positions: Any = None, print_fn: Any = None) -> None:
        """Prints a table of the layers."""
        if not self.built:
            raise ValueError("This model has not yet been built. Build the model first by calling `build()` or calling `fit()` with some data, or "
                             "specify an `input_shape` argument in the first layer(s) for automatic build.")
        print_summary(self, line_length=line_length, positions=positions, print_fn=print_fn)

    def node_keys(self) -> set[str]:
        """The names of the calls that are part of this network."""
        return set() if self._topology is None else self._topology.keys

    def kept_node_indices(self) -> dict[str, int]:
        """{name of a call: its index in a configuration}, which counts this network's calls alone."""
        kept: dict[str, int] = {}
        for layer in self.layers:
            index = 1 if isinstance(layer, Network) and layer._is_graph_network else 0  # a network begins with a call of its own
            for original in range(len(layer._inbound_nodes)):
                key = node_key(layer.name, original)
                if key in self.node_keys():
                    kept[key] = index
                    index += 1
        return kept


def _as_lists(ends: Any) -> Any:
    """Inputs or outputs as given; one in a list is itself."""
    return ends[0] if isinstance(ends, (list, tuple)) and len(ends) == 1 else list(ends) if isinstance(ends, tuple) else ends


def _distinct(names: list[str]) -> list[str]:
    """The names, numbered where one occurs again."""
    result: list[str] = []
    counts: dict[str, int] = {}
    for name in names:
        proposed = name
        while proposed in result:
            number = counts.get(name, 1)
            proposed, counts[name] = f"{name}_{number}", number + 1
        result.append(proposed)
    return result
