"""Copies of Keras models in the graph of an estimator: with new layers, and weights of their own.

A chain or a graph of layers is cloned. What a subclassed model computes is code, which cannot be: if it has no configuration, the model itself gets
new layers for as long as its function is called, and its own ones back after that.
"""
from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from penstock.keras.engine.network import Network
from penstock.keras.models import Sequential, clone_model
from penstock.layers.base import Layer
from penstock.layers.branching import learning_phase
from penstock.layers.calls import call_arguments
from penstock.platform import logging

_LISTS = ("_layers", "_metrics", "_trainable_weights", "_non_trainable_weights", "_losses", "_callable_losses", "_updates", "_inbound_nodes",
          "_outbound_nodes")


def is_subclassed(model: Any) -> bool:
    """Whether what a model computes is code of its class, not a chain or a graph of layers."""
    return not (model._is_graph_network or isinstance(model, Sequential))


@contextlib.contextmanager
def cloned(model: Any, inputs: list[Any]) -> Iterator[Any]:
    """A copy of the model that was called on ``inputs``."""
    if not is_subclassed(model):
        yield clone_model(model, inputs)
        return
    try:
        clone = type(model).from_config(model.get_config())
    except NotImplementedError:
        logging.warning("This model is a subclassed model. Please implement `get_config` and `from_config` to better support cloning the model.")
        with _new_parts(model):
            yield _called(model, inputs)
    else:
        yield _called(clone, inputs)


def _called(model: Any, inputs: list[Any]) -> Any:
    takes_phase = call_arguments(model.call).expects("training")
    model(inputs[0] if len(inputs) == 1 else inputs, **({"training": learning_phase()} if takes_phase else {}))
    return model


@contextlib.contextmanager
def _new_parts(model: Any) -> Iterator[None]:
    """Inside of it, the model is like one that was never called, in all its parts."""
    saved: list[tuple[Any, dict[str, Any]]] = []
    made: dict[int, Any] = {}

    def reset(network: Any) -> None:
        saved.append((network, dict(network.__dict__)))
        made[id(network)] = network
        state = {name: renewed(value) for name, value in network.__dict__.items()}
        state.update({name: [] for name in _LISTS if name in state})
        state["_layers"] = [renewed(layer) for layer in network.__dict__.get("_layers", ())]
        state.update(built=False, inputs=[], outputs=[], input_names=[], output_names=[], _compiled=None, _predict_step=None)
        network.__dict__.update(state)

    def renewed(value: Any) -> Any:
        if isinstance(value, Layer):
            if id(value) not in made:
                made[id(value)] = _with_config(value)
                if made[id(value)] is value:
                    reset(value)
            return made[id(value)]
        if type(value) in (list, tuple) and any(isinstance(item, (Layer, list, tuple, dict)) for item in value):
            return type(value)(map(renewed, value))
        if type(value) is dict and any(isinstance(item, (Layer, list, tuple, dict)) for item in value.values()):
            return {key: renewed(item) for key, item in value.items()}
        return value

    try:
        reset(model)
        yield
    finally:
        for network, state in saved:
            network.__dict__.clear()
            network.__dict__.update(state)


def _with_config(layer: Any) -> Any:
    """A new layer; the same one if it is a subclassed model without a configuration."""
    try:
        return type(layer).from_config(layer.get_config())
    except NotImplementedError:
        if not isinstance(layer, Network):
            raise
        return layer
