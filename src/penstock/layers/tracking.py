"""Layers and variables that are set as attributes of a layer belong to it, also inside lists, tuples and dictionaries."""
from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

from penstock.graph.graph import default_graph
from penstock.layers import restoring
from penstock.variables.variable import Variable

_NOTHING, _ITEM, _ITEMS, _VALUES = range(4)  # what a value of a type holds: the value itself, its items, its values


def contained(value: Any) -> Iterator[Any]:
    """The layers and variables in an attribute's value."""
    holds = _holds(type(value))  # type: ignore[arg-type]  # (mypy does not know that types are hashable)
    if holds == _ITEM:
        yield value
    elif holds == _VALUES:
        for item in value.values():
            yield from contained(item)
    elif holds == _ITEMS:
        for item in value:
            yield from contained(item)


@functools.lru_cache(maxsize=1024)  # each fit looks through all attributes of all layers, nearly all of which are numbers, texts and functions
def _holds(cls: type) -> int:
    """Where layers and variables may be in a value of a type."""
    if issubclass(cls, Variable) or (hasattr(cls, "trainable_weights") and hasattr(cls, "non_trainable_weights")):
        return _ITEM  # of a model its variables may not be known yet
    return _VALUES if issubclass(cls, dict) else _ITEMS if issubclass(cls, (list, tuple)) else _NOTHING


class Tracking:
    """The part of a layer that notices what its attributes hold.

    Attributes are looked through when they are asked for, so that a list which grows later is seen, too. Names of the machinery itself are in
    ``_untracked``.
    """

    _untracked = frozenset(["_layers", "_trainable_weights", "_non_trainable_weights", "_inbound_nodes", "_outbound_nodes", "_losses",
                            "_call_of_losses", "_callable_losses", "_updates", "_metrics", "_input_spec", "_initial_weights"])

    _layers: list[Any]
    _trainable_weights: list[Any]
    _non_trainable_weights: list[Any]

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name in self._untracked or isinstance(getattr(type(self), name, None), property):
            return
        items = list(contained(value))
        for item in items:
            if isinstance(item, Variable):
                self._track_variable(item)
        if items and default_graph().imperative:
            restoring.retry()

    def _track_variable(self, variable: Variable) -> None:
        weights = self.__dict__.get("_trainable_weights"), self.__dict__.get("_non_trainable_weights")
        if weights[0] is None or weights[1] is None:
            raise AttributeError(f"Set the variable {variable.name} after calling the constructor of the base class, `super().__init__()`.")
        if not any(variable is other for listed in weights for other in listed):  # type: ignore[union-attr]
            weights[0 if variable.trainable else 1].append(variable)  # type: ignore[union-attr]

    def _sublayers(self) -> list[Any]:
        """The layers that the attributes hold, each once, in the order of the attributes."""
        layers: list[Any] = list(self.__dict__.get("_layers", ()))
        for name, value in self.__dict__.items():
            if _holds(type(value)) != _NOTHING and name not in self._untracked:  # type: ignore[arg-type]
                layers += [item for item in contained(value) if not isinstance(item, Variable)]
        return list({id(layer): layer for layer in layers if layer is not self}.values())
