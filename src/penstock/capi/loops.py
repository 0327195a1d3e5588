"""Loops: the caller builds condition and body in graphs of their own, which become those of a ``tf.while_loop``."""
from __future__ import annotations

import ctypes
from typing import Any

from penstock.capi import handles
from penstock.capi.entries import entry
from penstock.capi.handles import GraphState
from penstock.capi.imports import unchanged_if_it_fails
from penstock.capi.memory import tensors, write_output
from penstock.capi.structs import Output, WhileParams
from penstock.errors import InvalidArgumentError
from penstock.graph import raw_ops
from penstock.graph.graph_def import import_graph_def
from penstock.graph.node import Tensor
from penstock.ops.flow.control_flow import while_loop


class _Loop:
    """A loop to be: its graphs, and the memory that its TF_WhileParams shows."""

    def __init__(self, state: GraphState, inputs: list[Tensor]) -> None:
        self.state, self.inputs, self.graphs = state, inputs, (GraphState(), GraphState())
        self.arguments = [self._arguments(graph, label) for graph, label in zip(self.graphs, ("cond", "body"))]
        self.outputs = (Output * len(inputs))()
        self.numbers = [handles.add(graph) for graph in self.graphs]

    def _arguments(self, state: GraphState, label: str) -> Any:
        places = (Output * len(self.inputs))()
        with state.graph.as_default():
            for index, (place, tensor) in enumerate(zip(places, self.inputs)):
                write_output(place, raw_ops.Placeholder(dtype=tensor.dtype.base_dtype, shape=tensor.shape, name=f"{label}_input{index}"))
        return places

    def params(self) -> WhileParams:
        """What the caller is shown."""
        pointer = ctypes.POINTER(Output)
        cond, body = (ctypes.cast(each, pointer) for each in self.arguments)
        nothing = Output(None, -1)
        for index in range(len(self.inputs)):
            self.outputs[index] = nothing
        return WhileParams(len(self.inputs), self.numbers[0], cond, nothing, self.numbers[1], body, ctypes.cast(self.outputs, pointer), None)

    def end(self) -> None:
        """The graphs are gone."""
        for number, graph in zip(self.numbers, self.graphs):
            handles.remove(number)
            graph.release()


_loops: dict[int, _Loop] = {}  # by the handles of their conditions


@entry
def TF_NewWhile(graph: GraphState, inputs: Any, ninputs: int) -> WhileParams:
    """Begins a loop over ``inputs``."""
    if ninputs == 0:
        raise InvalidArgumentError(None, None, "TF_NewWhile() must be passed at least one input")
    loop = _Loop(graph, tensors(inputs, ninputs, "inputs"))
    _loops[loop.numbers[0]] = loop
    return loop.params()


def _close(params: Any) -> _Loop:
    loop = _loops.pop(params.contents.cond_graph or 0, None) if params else None
    if loop is None:
        raise InvalidArgumentError(None, None, "the TF_WhileParams are not those of a loop that TF_NewWhile began and nothing has ended")
    return loop


def _copy_body(state: GraphState, arguments: Any, values: tuple[Tensor, ...], outputs: list[Tensor]) -> list[Tensor]:
    """What ``outputs``, of a graph of its own, are for these values of its arguments: its nodes are added to the current graph."""
    by_argument = {handles.tensor(place.oper, place.index): value for place, value in zip(arguments, values)}
    graph_def = state.graph.as_graph_def()
    names = {tensor.op.name for tensor in by_argument}
    kept = [node for node in graph_def.node if node.name not in names]
    used = {text.partition(":")[0] for node in kept for text in node.input}
    del graph_def.node[:]
    graph_def.node.extend(kept)
    mapped = {tensor.name: value for tensor, value in by_argument.items() if tensor.op.name in used}
    inner = [tensor for tensor in outputs if tensor not in by_argument]
    made = iter(import_graph_def(graph_def, mapped, [tensor.name for tensor in inner], name="") or [])
    return [by_argument[tensor] if tensor in by_argument else next(made) for tensor in outputs]  # type: ignore[misc]


@entry
def TF_FinishWhile(params: Any, outputs: Any) -> None:
    """Adds the loop to its graph."""
    loop = _close(params)
    given, (cond, body) = params.contents, loop.graphs
    try:
        condition = _output(given.cond_output, cond, "cond_output")
        results = [_output(loop.outputs[index], body, f"body_outputs[{index}]") for index in range(len(loop.inputs))]
        if given.name is None:
            raise InvalidArgumentError(None, None, "TF_WhileParams `name` field is null")
        with loop.state.lock, unchanged_if_it_fails(loop.state.graph), loop.state.graph.as_default():
            made = while_loop(lambda *values: _copy_body(cond, loop.arguments[0], values, [condition])[0],
                              lambda *values: _copy_body(body, loop.arguments[1], values, results), loop.inputs, name=given.name.decode(),
                              return_same_structure=True)
        for index, tensor in enumerate(made):
            write_output(outputs[index], tensor)
    finally:
        loop.end()


def _output(place: Any, state: GraphState, what: str) -> Tensor:
    if not place.oper:
        raise InvalidArgumentError(None, None, f"TF_WhileParams `{what}` field isn't set")
    tensor = handles.tensor(place.oper, place.index, f"TF_WhileParams `{what}`")
    if tensor.graph is not state.graph:
        raise InvalidArgumentError(None, None, f"TF_WhileParams `{what}` is of another graph than it should be")
    return tensor


@entry
def TF_AbortWhile(params: Any) -> None:
    """Ends it without adding anything."""
    _close(params).end()
