"""Calls of functions by their names: a node whose type is the name of a function.

A graph knows such functions by name (``Graph._functions``), and a GraphDef has them in its library. The definition of the type is that of
``_CallNamed``, with the function and its types as attributes that need not be written.
"""
from __future__ import annotations

import copy
import dataclasses

from penstock.graph.function import FuncGraph
from penstock.graph.graph import Graph
from penstock.graph.node import Operation
from penstock.graph.opdef import REGISTRY, OpDef, lookup


def call_definition(function: FuncGraph) -> OpDef:
    """The op type that calls a function by its name."""
    definition = copy.copy(lookup("_CallNamed"))
    definition.type = function.name
    types = {"Tin": [tensor.dtype.base_dtype for tensor in function.inputs], "Tout": [tensor.dtype.base_dtype for tensor in function.outputs]}
    definition.attrs = {name: dataclasses.replace(attr, default=function if name == "f" else tuple(types[name]))
                        for name, attr in definition.attrs.items()}
    definition.implied = tuple(definition.attrs)
    return definition


def add_function(graph: Graph, function: FuncGraph) -> None:
    """Makes a function known to a graph by its name, as the functions that it calls are. ValueError if the name is that of another function."""
    known = graph._functions.setdefault(function.name, function)
    if known is not function:
        raise ValueError(f"Cannot add function '{function.name}' because a different function with the same name already exists.")


def call_node(function: FuncGraph, inputs: list[object], name: str | None) -> Operation:
    """Adds a node that calls a function by its name."""
    definition = call_definition(function)
    return definition.node([inputs], {key: attr.default for key, attr in definition.attrs.items()}, name)


def outputs_of(op_type: str, functions: dict[str, FuncGraph]) -> list[str] | None:
    """The names of the outputs of a function; None for a type that is not the name of one."""
    if op_type in REGISTRY:
        return None
    signature = functions[op_type].signature
    assert signature is not None
    return signature.results

