"""Loop variables that are not needed are taken out of a loop.

Above all those that gradients have added to it: lists of values for the way back, which a step that does not go back would fill for nothing, so that
its memory would grow with every iteration. A variable is needed if its last value is used, if the condition or a needed variable is computed from it,
or if computing it has effects that would not happen otherwise.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from penstock.graph.function import FuncGraph
from penstock.graph.node import Operation
from penstock.graph.traverse import operations_behind
from penstock.program.ir import Edge, Node, Program, functions_of
from penstock.program.passes.walk import Walk


def drop_loop_variables(program: Program) -> Program:
    """Without loop variables that no fetch depends on."""
    if not any(node.definition.repeats for node in program.nodes):
        return program
    walk = Walk(program)
    used: set[Edge] = set(program.fetches)
    instead: dict[Node, Node] = {}
    moved: dict[Edge, Edge] = {}
    for node in reversed(program.nodes):  # what uses a loop is seen before it
        if node.definition.repeats:
            wanted = {index for index in range(len(node.inputs)) if (node, index) in used}
            kept = _needed_positions(node.attrs["cond"], node.attrs["body"], wanted) if wanted else range(len(node.inputs))
            if len(kept) < len(node.inputs):
                instead[node] = smaller = _without_variables(node, kept)
                moved.update({(node, old): (smaller, new) for new, old in enumerate(kept)})
        used.update(instead.get(node, node).inputs)
    if not instead:
        return program
    nodes = [instead.get(node, node) for node in program.nodes]
    for node in nodes:
        node.inputs = [moved.get(edge, edge) for edge in node.inputs]
        node.control = [instead.get(other, other) for other in node.control]
    return walk.sweep(Program(nodes, program.args, [moved.get(edge, edge) for edge in program.fetches]))


def _needed_positions(test: FuncGraph, body: FuncGraph, wanted: set[int]) -> list[int]:
    """The positions of the variables that are needed, in order, if the last values of some are wanted."""
    kept = wanted | _inputs_among(test, _behind(test, range(len(test.outputs))))
    while True:
        behind = _behind(body, kept)
        needed = kept | _inputs_among(body, behind)
        needed |= {index for index in range(len(body.outputs)) if index not in needed and any(map(_has_effects, _behind(body, [index]) - behind))}
        if needed == kept:
            return sorted(kept)
        kept = needed


def _behind(function: FuncGraph, outputs: Sequence[int] | set[int]) -> set[Operation]:
    """What a function runs for some of its outputs."""
    return set(operations_behind([function.outputs[index] for index in outputs], (), ()))


def _inputs_among(function: FuncGraph, operations: set[Operation]) -> set[int]:
    return {index for index, tensor in enumerate(function.inputs) if tensor.op in operations}


def _has_effects(operation: Operation) -> bool:
    """Would it be noticed that it does not run?"""
    graph = operation.graph
    if isinstance(graph, FuncGraph) and operation in [tensor.op for tensor in graph.inputs]:
        return False
    functions = functions_of(operation)
    if functions and not operation.definition.calls_later:
        return any(_has_effects(other) for function in functions for other in operations_behind(function.outputs, (), ()))
    return operation.definition.stateful


def _without_variables(node: Node, kept: Sequence[int]) -> Node:
    """The loop with these variables only."""
    test, body = node.attrs["cond"], node.attrs["body"]
    attrs = {**node.attrs, "cond": test.reduced(kept, range(len(test.outputs))), "body": body.reduced(kept, kept)}
    for name in ("T", "output_shapes"):
        attrs[name] = tuple(node.attrs[name][index] for index in kept if index < len(node.attrs[name]))
    return replace(node, attrs=attrs, inputs=[node.inputs[index] for index in kept])
