"""``tfe.Network`` and ``tfe.Sequential``: layers made of layers, as they were before ``tf.keras.Model``."""
from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, NoReturn

from penstock.checkpoint.checkpoint_state import latest_checkpoint
from penstock.checkpoint.versions import open_checkpoint
from penstock.contrib.eager.saver import Saver
from penstock.layers.base import Layer as AnyLayer
from penstock.layers.naming import snake_case, unique_object_name
from penstock.layers.scoped import Layer
from penstock.variables.creators import variable_creator_scope

MapFunc = Callable[[str], str]


class Network(Layer):
    """``tfe.Network``: give ``track_layer`` the layers that ``call`` uses; their variables are those of the network."""

    def __init__(self, name: str | None = None) -> None:
        if name is not None and "/" in name:
            raise ValueError("Forward slashes ('/') are not allowed in Network names.")
        super().__init__(name=name or unique_object_name(snake_case(type(self).__name__), zero_based=True))
        self._tracked: list[Any] = []
        self._pending: list[tuple[Any, MapFunc | None]] = []  # checkpoints that variables which are made later take their values from

    def track_layer(self, layer: Any) -> Any:
        """Makes a layer a part of the network; returns it."""
        if not isinstance(layer, AnyLayer):
            raise TypeError(f"Network.track_layer() passed type {type(layer)}, not a tf.layers.Layer")
        if any(other is not layer and other.name == layer.name and _is_named(layer) for other in self._tracked):
            raise ValueError(f"Attempted to add two Layers with the name '{layer.name}' to the same Network.")
        self._tracked.append(layer)
        return layer

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        with variable_creator_scope(self._restore) if self._pending else nullcontext():
            return super().__call__(inputs, *args, **kwargs)

    def _restore(self, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        """Makes a variable, with its value from a checkpoint if there is one for it."""
        variable = next_creator(**kwargs)
        for checkpoint, map_func in self._pending:
            name = _name_in(self, variable, map_func)
            if name in checkpoint.tensors:
                variable.assign(checkpoint.read(name))
        return variable

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Computes the outputs."""
        raise RuntimeError("When subclassing the `Network` class, you should implement a `call` method.")

    def add_variable(self, *args: Any, **kwargs: Any) -> NoReturn:
        """RuntimeError: the variables are those of layers."""
        raise RuntimeError("add_variable not supported in Network class yet: track a layer that has the variable.")

    def add_loss(self, losses: Any, inputs: Any = None) -> NoReturn:
        """RuntimeError: the losses are those of layers."""
        raise RuntimeError("add_loss is not supported in Network class yet: track a layer that has the loss.")

    @property
    def layers(self) -> list[Any]:
        """The layers that are tracked."""
        return list(self._tracked)

    def get_layer(self, name: str | None = None, index: int | None = None) -> Any:
        """A layer, by its name or its index."""
        if index is not None:
            if name is not None:
                raise ValueError("Provide only a layer name or a layer index, not both.")
            if len(self._tracked) <= index:
                raise ValueError(f"Was asked to retrieve layer at index {index} but model only has {len(self._tracked)} layers.")
            return self._tracked[index]
        if not name:
            raise ValueError("Provide either a layer name or layer index.")
        layer_of_name = next((layer for layer in self._tracked if layer.name == name), None)
        if layer_of_name is None:
            raise ValueError(f"No such layer: {name}")
        return layer_of_name

    def _gather(self, kind: str) -> list[Any]:
        return list({id(item): item for layer in self._tracked for item in getattr(layer, kind)}.values())

    @property
    def trainable_weights(self) -> list[Any]:
        """The variables of the layers that are trained; none if ``trainable`` is off."""
        return self._gather("trainable_weights") if self.trainable else []

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The other variables of the layers."""
        others = self._gather("non_trainable_weights")
        return others if self.trainable else [*self._gather("trainable_weights"), *others]

    @property
    def weights(self) -> list[Any]:
        """All variables of the layers."""
        return self._gather("weights")

    @property
    def losses(self) -> list[Any]:
        """The losses of the layers."""
        return self._gather("losses")


class Sequential(Network):
    """``tfe.Sequential``: layers and functions, one after the other."""

    def __init__(self, layers_funcs: Any = None, name: str | None = None) -> None:
        super().__init__(name)
        self._layers_funcs: list[Any] = []
        for item in layers_funcs or ():
            self.add(item)

    def add(self, layer_func: Any) -> None:
        """Another layer, or function of one argument."""
        if not callable(layer_func):
            raise TypeError(f"Sequential.add() takes only tf.layers.Layer objects or callables; not '{layer_func}' of type '{type(layer_func)}'.")
        is_layer = isinstance(layer_func, AnyLayer)
        takes_training = "training" in inspect.signature(layer_func.call if is_layer else layer_func).parameters
        self._layers_funcs.append((takes_training, self.track_layer(layer_func) if is_layer else layer_func))

    def call(self, inputs: Any, training: Any = None) -> Any:  # type: ignore[override]
        """The output of the last; ``training`` is told to those that take it."""
        for takes_training, each in self._layers_funcs:
            inputs = each(inputs, training) if takes_training and training is not None else each(inputs)
        return inputs


def _is_named(layer: Any) -> bool:
    """Was its name given, rather than made of its class?"""
    return bool(layer.name.rstrip("0123456789_") != snake_case(type(layer).__name__))


def _name_in(network: Network, variable: Any, map_func: MapFunc | None) -> str:
    """The name of a variable in a checkpoint: without that of the network."""
    name = variable.name.rpartition(":")[0]
    prefix = network.scope_name + "/"
    if map_func is not None:
        return map_func(name)
    return str(name[len(prefix):] if name.startswith(prefix) else name)


def save_network_checkpoint(network: Network, save_path: str, global_step: Any = None, map_func: MapFunc | None = None) -> str:
    """Saves the variables of a network, by their names in it; in a folder, under the name of the network. Returns the name of the checkpoint."""
    if not network.built:
        raise ValueError("Attempt to save the Network before it was first called. This means variables have not yet been created, so there is "
                         "nothing to save.")
    if os.path.isdir(save_path):
        save_path = os.path.join(save_path, network.name)
    return Saver({_name_in(network, variable, map_func): variable for variable in network.variables}).save(save_path, global_step)


def restore_network_checkpoint(network: Network, save_path: str, map_func: MapFunc | None = None) -> None:
    """Gives the variables of a network the values of a checkpoint, also those that are made later. ``save_path`` may be a folder."""
    if os.path.isdir(save_path):
        save_path = latest_checkpoint(save_path) or save_path
    checkpoint = open_checkpoint(save_path)
    if network.built:
        for variable in network.variables:
            variable.assign(checkpoint.read(_name_in(network, variable, map_func)))
    network._pending.append((checkpoint, map_func))
