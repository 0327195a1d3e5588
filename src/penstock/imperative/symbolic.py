"""The graph of models that are built of symbolic inputs while imperative style is on: ``tf.keras.Input`` and what is computed of it.

Its variables are the program's own: a handle is a node of the same resource, and sessions of this graph share the resources of imperative style. So
``fit`` is a step of a session, and the model can also be called with values.
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from penstock.graph import nest
from penstock.graph.function import FuncGraph, outermost
from penstock.graph.graph import Graph, default_graph
from penstock.graph.node import Tensor
from penstock.imperative.eager_graph import EagerGraph
from penstock.imperative.tensor import EagerTensor
from penstock.ops.constant import Const
from penstock.state.resources import Ref

_KEY = ("the graph of symbolic models",)  # a collection of the graph of imperative style


class SymbolicGraph(FuncGraph):
    """See the head of this module. What is made inside ``tf.init_scope``, and so every variable, belongs to imperative style."""

    def __init__(self, outer: EagerGraph) -> None:
        super().__init__("symbolic", outer)
        self.resources = outer.runner.environment.resources

    @property
    def building_function(self) -> bool:
        """False: its operations run in sessions."""
        return False

    def capture(self, tensor: Tensor) -> Tensor:
        """A handle of the same variable; a constant for any other value."""
        if tensor.op.graph is self:
            return tensor
        if not isinstance(tensor, EagerTensor):
            raise ValueError(f"{tensor} must be from the graph it is used in.")
        inner = self.captures.get(tensor)
        if inner is None:
            inner = self._node_for(tensor)
            if isinstance(tensor._value(), Ref):
                self.captures[tensor] = inner
        return inner

    def _node_for(self, tensor: EagerTensor) -> Tensor:
        controls, self._state.control = self._state.control, []  # it waits for nothing, wherever it is first used
        try:
            return self._add_node_for(tensor)
        finally:
            self._state.control = controls

    def _add_node_for(self, tensor: EagerTensor) -> Tensor:
        name = Graph.unique_name(self, tensor.op.name)
        if not isinstance(tensor._value(), Ref):
            return Const.add_node(self, name, (), {"value": tensor._value(), "dtype": tensor.dtype}).outputs[0]
        handle: Tensor = tensor.op.definition.add_node(self, name, (), tensor.op.attrs).outputs[tensor.value_index]
        handle.op._device, handle._handle_data = tensor.op.device, tensor._handle_data  # the variable is there
        return handle


def symbolic_graph(graph: EagerGraph) -> SymbolicGraph:
    """The one graph of symbolic models of a program."""
    kept = graph.get_collection_ref(_KEY)
    if not kept:
        kept.append(SymbolicGraph(graph))
    symbolic: SymbolicGraph = kept[0]
    return symbolic


def forget_symbolic_graph() -> None:
    """In imperative style, the next symbolic model begins a new graph."""
    graph = default_graph()
    if isinstance(graph, EagerGraph):
        old = graph.get_collection(_KEY)
        graph.clear_collection(_KEY)
        for items in graph._collections.values():
            items[:] = [item for item in items if getattr(item, "graph", None) not in old]


def graph_for_symbols() -> Graph:
    """Where a symbolic input is made: the default graph, or, in imperative style, the graph of symbolic models."""
    graph = default_graph()
    return symbolic_graph(graph) if isinstance(graph, EagerGraph) else graph


def in_symbolic_graph(method: Callable[..., Any]) -> Callable[..., Any]:
    """Has a method that builds and runs steps of sessions do so in the graph of symbolic models, where imperative style is on."""
    @functools.wraps(method)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        if not default_graph().imperative:
            return method(*args, **kwargs)
        with graph_for_symbols().as_default():
            return method(*args, **kwargs)

    return decorated


def symbolic_graph_of(values: Any) -> Graph | None:
    """The graph of a symbolic tensor among ``values``, where the default graph is that of imperative style."""
    if not default_graph().imperative:
        return None
    for value in nest.flatten(values):
        if isinstance(value, Tensor) and not isinstance(value, EagerTensor):
            return value.op.graph
    return None


def is_imperative(graph: Graph) -> bool:
    """Whether a graph is that of imperative style, or a function that is traced for it; no part of a symbolic model."""
    while isinstance(graph, FuncGraph) and not isinstance(graph, SymbolicGraph):
        graph = graph.outer
    return graph.imperative


def graph_of_sessions(graph: Graph) -> Graph:
    """The graph around the functions of loops and branches: that of sessions."""
    while isinstance(graph, FuncGraph) and not isinstance(graph, SymbolicGraph):
        graph = graph.outer
    return symbolic_graph(graph) if isinstance(graph, EagerGraph) else graph


def flush(graph: Graph) -> None:
    """Has what imperative style has recorded run, before a session of a symbolic graph does."""
    outer = outermost(graph)
    if isinstance(outer, EagerGraph):
        outer.flush()
