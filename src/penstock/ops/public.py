"""Public functions made from op definitions: ``sqrt = function(Sqrt, "sqrt")`` is called like TensorFlow's ``tf.sqrt``.

TensorFlow's order of arguments is: inputs, attributes that must be given, attributes with defaults, name. All may be
given by position, which an OpDef itself does not allow.
"""
from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from penstock.graph.attrs import REQUIRED
from penstock.graph.composite import SparseTensor
from penstock.graph.graph import default_graph
from penstock.graph.opdef import OpDef

_POSITIONAL = inspect.Parameter.POSITIONAL_OR_KEYWORD
_MISSING: Any = object()


def function(definition: OpDef, public_name: str, node_name: str | None = None,
             sparse: bool = False) -> Callable[..., Any]:
    """A plain function for an op: ``public_name`` is its name, ``node_name`` the default name of its nodes.

    With ``sparse`` a SparseTensor is taken too, and the op applied to its values: for ops that map 0 to 0.
    """
    rest = _attribute_names(definition)
    count = len(definition.inputs)

    def call(first: Any = _MISSING, /, *others: Any, name: str | None = None, **given: Any) -> Any:
        if others or first is _MISSING:
            values = others if first is _MISSING else (first, *others)
            if len(values) > count:
                values, name = values[:count], _take_extra(public_name, values[count:], rest, given, name)
        else:
            values = (first,)
        if sparse and isinstance(first, SparseTensor):
            return SparseTensor(first.indices, definition(first.values, name=name or node_name), first.dense_shape)
        graph = default_graph()
        if graph.imperative:  # one call less: this is what each operation of a loop costs
            return graph.call(definition, values, given, name or node_name)
        return definition(*values, name=name or node_name, **given)

    call.__name__ = call.__qualname__ = public_name
    call.__doc__ = f"``tf.{public_name}``: {definition.__doc__}"
    call.__module__ = definition.__module__
    call.__signature__ = _signature(definition, rest)  # type: ignore[attr-defined]
    call.made_of = definition, node_name  # type: ignore[attr-defined]
    return call


def _attribute_names(definition: OpDef) -> list[str]:
    """The attributes that a caller may give, those without defaults first."""
    names = [name for name in definition.attrs if name not in definition.inferred]
    return sorted(names, key=lambda name: definition.attrs[name].default is not REQUIRED)


def _take_extra(public_name: str, extra: tuple[Any, ...], rest: list[str], given: dict[str, Any],
                name: str | None) -> str | None:
    """Puts positional arguments behind the inputs into ``given``; returns the name, which may be the last of them."""
    places = [*rest, "name"]
    if len(extra) > len(places):
        raise TypeError(f"{public_name}() takes {len(places)} arguments besides its inputs but {len(extra)} were given")
    for place, value in zip(places, extra):
        if place == "name":
            name = value
        elif place in given:
            raise TypeError(f"{public_name}() got multiple values for argument '{place}'")
        else:
            given[place] = value
    return name


def _signature(definition: OpDef, rest: list[str]) -> inspect.Signature:
    parameters = [inspect.Parameter(arg.name, _POSITIONAL) for arg in definition.inputs]
    for name in rest:
        default = definition.attrs[name].default
        default = inspect.Parameter.empty if default is REQUIRED else default
        parameters.append(inspect.Parameter(name, _POSITIONAL, default=default))
    return inspect.Signature([*parameters, inspect.Parameter("name", _POSITIONAL, default=None)])
