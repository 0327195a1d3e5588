"""``tf.keras.models``: models, and models from files, configurations and other models."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.graph import nest
from penstock.keras.engine.input_layer import Input, InputLayer
from penstock.keras.engine.model import Model as Model
from penstock.keras.engine.sequential import Sequential as Sequential
from penstock.keras.saving.description import model_from_config as model_from_config
from penstock.keras.saving.description import model_from_json as model_from_json
from penstock.keras.saving.description import model_from_yaml as model_from_yaml
from penstock.keras.saving.entry import load_model as load_model
from penstock.keras.saving.entry import save_model as save_model
from penstock.layers.nodes import history_of


def _clone(layer: Any) -> Any:
    return type(layer).from_config(layer.get_config())


def clone_model(model: Any, input_tensors: Any = None, clone_function: Callable[[Any], Any] | None = None) -> Any:
    """``tf.keras.models.clone_model``: new layers of the same configurations, with new weights."""
    if not isinstance(model, Model) or not (model._is_graph_network or isinstance(model, Sequential)):
        raise ValueError("Expected `model` argument to be a functional `Model` instance, but got a subclass model instead.")
    make = _clone if clone_function is None else clone_function
    if isinstance(model, Sequential):
        return clone_sequential(model, input_tensors, make)
    return clone_functional(model, input_tensors, make)


def clone_sequential(model: Any, input_tensors: Any = None, make: Callable[[Any], Any] = _clone) -> Any:
    """A copy of a chain of layers."""
    if not isinstance(model, Sequential):
        raise ValueError(f"Expected `model` argument to be a `Sequential` model instance, but got: {model}")
    layers = [make(layer) for layer in model.layers]
    given = nest.flatten(input_tensors) if input_tensors is not None else []
    if len(given) > 1:
        raise ValueError("To clone a `Sequential` model, we expect  at most one tensor as part of `input_tensors`.")
    if given:
        history = history_of(given[0])
        if history is not None and not isinstance(history.layer, InputLayer):
            raise ValueError("Cannot clone a `Sequential` model on top of a tensor that comes from a Keras layer other than an `InputLayer`. Use the "
                             "functional API instead.")
        tensor = given[0] if history is not None else Input(tensor=given[0])
        return Sequential([tensor, *layers], name=model.name)
    first = model._layers[0] if model._layers else None
    return Sequential([*([make(first)] if isinstance(first, InputLayer) else []), *layers], name=model.name)


def clone_functional(model: Any, input_tensors: Any = None, make: Callable[[Any], Any] = _clone) -> Any:
    """A copy of a graph of layers."""
    if not isinstance(model, Model) or isinstance(model, Sequential) or model._topology is None:
        raise ValueError(f"Expected `model` argument to be a functional `Model` instance, got: {model}")
    if input_tensors is None:
        inputs = [Input(batch_shape=layer._batch_input_shape, dtype=layer.dtype, sparse=layer.sparse, name=layer.name)
                  for layer in model._input_layers]
    else:
        inputs = [tensor if history_of(tensor) is not None else Input(tensor=tensor, name=f"input_wrapper_for_{name}")
                  for tensor, name in zip(nest.flatten(input_tensors), model.input_names)]
    values = {id(old): new for old, new in zip(model.inputs, inputs)}
    made: dict[Any, Any] = {}
    for node in model._topology.nodes:
        layer = node.outbound_layer
        if not node.inbound_layers:
            continue
        if layer not in made:
            made[layer] = make(layer)
        given = nest.map_structure(lambda tensor: values[id(tensor)], node.input_tensors)
        arguments = {key: nest.map_structure(lambda value: values.get(id(value), value), value) for key, value in (node.arguments or {}).items()}
        outputs = made[layer](given, **arguments)
        values.update({id(old): new for old, new in zip(nest.flatten(node.output_tensors), nest.flatten(outputs))})
    outputs = nest.map_structure(lambda tensor: values[id(tensor)], model._nested_outputs)
    return Model(nest.pack_sequence_as(model._nested_inputs, inputs), outputs, name=model.name)
