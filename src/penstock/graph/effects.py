"""The order of effects: reads and writes of a variable happen in the order of the program, and results wait for what was done on the way.

Graphs know only the edges that a program draws. Where a program is Python that is traced (functions, converted control flow, segments of imperative
style), its order is an edge, too.
"""
from __future__ import annotations

from typing import Any

from penstock.graph import dtypes, nest, raw_ops
from penstock.graph.composite import CompositeTensor, IndexedSlices, SparseTensor
from penstock.graph.function import FuncGraph, is_effect
from penstock.graph.graph import Graph
from penstock.graph.keys import GraphKeys
from penstock.graph.node import Operation, Tensor


class Order:
    """Has reads and writes of a variable run in the order of the program, and so all other effects."""

    def __init__(self) -> None:
        self._written: dict[Tensor, Operation] = {}  # the last write of a variable, by its handle
        self._read: dict[Tensor, list[Operation]] = {}  # what has read it since
        self._last: Operation | None = None  # the last effect that is not one on a variable

    def place(self, node: Operation) -> None:
        """Makes a node wait for what stands before it in the program."""
        if not node.definition.stateful or node.definition.draws:
            return
        before: dict[Operation, None] = {}
        calls, on_variables = any(isinstance(value, FuncGraph) for value in node.attrs.values()), False
        for arg, tensors in node.definition.group(node._inputs, node.attrs):
            for handle in tensors:
                if handle.dtype is not dtypes.resource:
                    continue
                on_variables = True
                written = self._written.get(handle)
                if written is not None:
                    before[written] = None
                if calls or arg.name in node.definition.updates or not node.definition.outputs:
                    before.update((reader, None) for reader in self._read.pop(handle, ()))
                    self._written[handle] = node
                else:
                    self._read.setdefault(handle, []).append(node)
        if node._inputs and (calls or not on_variables):
            if self._last is not None:
                before[self._last] = None
            self._last = node
        node._control_inputs += [other for other in before if other is not node and other not in node._control_inputs]


def wait_for_effects(graph: FuncGraph, values: list[Any] | None = None) -> list[Any]:
    """Orders the effects of a function that was traced, and has its outputs wait for them; or instead ``values``, which it returns."""
    effects = [op for op in graph._ops if is_effect(op)]
    order = Order()
    for op in effects:
        order.place(op)
    outputs = graph.outputs if values is None else values
    if effects:
        with graph.as_default(), graph.control_dependencies(effects):
            outputs = [_waiting(value) for value in outputs]
    if values is None:
        graph.outputs = outputs
    return outputs


def after_effects(graph: Graph, first: int, result: Any) -> Any:
    """The result of a function that was built in place, from the operation number ``first`` on: it waits for the effects of the function."""
    variables = [*graph.get_collection(GraphKeys.GLOBAL_VARIABLES), *graph.get_collection(GraphKeys.LOCAL_VARIABLES)]
    initializers = {getattr(variable, "initializer", None) for variable in variables}
    effects = [op for op in graph._ops[first:] if is_effect(op) and op not in initializers]
    if not effects or result is None:
        return result
    order = Order()
    for op in effects:
        order.place(op)
    with graph.as_default(), graph.control_dependencies(effects):
        return nest.map_structure(lambda leaf: _waiting(leaf) if isinstance(leaf, Tensor) else leaf, result)


def _waiting(value: Any) -> Any:
    """The same value, after the control dependencies of this place."""
    if nest.is_sequence(value):
        return nest.map_structure(_waiting, value)
    if hasattr(value, "with_flow"):
        return value.with_flow(_waiting(value.flow))
    if isinstance(value, (SparseTensor, IndexedSlices, CompositeTensor)):
        return nest.map_structure(_waiting, value, expand_composites=True)
    return raw_ops.Identity(value)
