"""Updates of variables as early as they can be: a gradient is then gone before the next one is there, instead of waiting until all of them are.

What leads to nothing but updates by cheap steps (a gradient that is scaled or clipped) goes with them. No other node moves, and none passes a node
that uses a variable which he writes, or writes one which he uses.
"""
from __future__ import annotations

from typing import Any

from penstock.graph import dtypes
from penstock.program.ir import Edge, Node, Program, functions_of
from penstock.program.passes.walk import Walk, constant_of, is_pure

_FRONT = -1


def update_early(program: Program) -> Program:
    """The same nodes; updates, and what is there for them alone, stand behind the last node that they wait for."""
    if not has_updates(program):
        return program
    walk = Walk(program)
    moving = _moving(walk)
    place: dict[Node, int] = {}
    touched: dict[Any, int] = {}  # where variables are used last; None stands for any of them
    written: dict[Any, int] = {}
    for position, node in enumerate(program.nodes):
        reads, writes = _accesses(walk, node)
        place[node] = position
        if node in moving and None not in (*reads, *writes):
            before = [place[other] for other in node.before]
            before += [touched.get(variable, _FRONT) for variable in writes and (*writes, None)]
            before += [written.get(variable, _FRONT) for variable in reads and (*reads, None)]
            place[node] = max(before, default=_FRONT)
        for seen, variables in ((touched, (*reads, *writes)), (written, writes)):
            seen.update((variable, max(place[node], seen.get(variable, _FRONT))) for variable in variables)
    order = {node: position for position, node in enumerate(program.nodes)}
    return Program(sorted(program.nodes, key=lambda node: (place[node], order[node])), program.args, program.fetches)


def has_updates(program: Program) -> bool:
    """Is there a node that changes a variable in place?"""
    return any(node.definition.updates for node in program.nodes)


def _accesses(walk: Walk, node: Node) -> tuple[list[Any], list[Any]]:
    """The variables that a node reads, and those that it may write. One that hands on a reference does neither: what gets it does."""
    reads: list[Any] = []
    writes: list[Any] = [None for _ in functions_of(node)]
    if node.definition.forwards_reference:
        return reads, writes
    for arg, edges in node.definition.group(node.inputs, node.attrs):
        for edge in edges:
            if _refers(walk, edge):
                by_value = not arg.is_ref and edge[0].output_dtypes[edge[1]] is not dtypes.resource
                (reads if by_value or node.definition.snapshot else writes).append(_variable(edge))
    return reads, writes


def _moving(walk: Walk) -> set[Node]:
    """Updates, cheap nodes that are there for them alone, and what takes no memory: constants, and references to variables."""
    moving: set[Node] = set()
    elsewhere = set(walk.fetched)  # what others need
    for node in reversed(walk.program.nodes):
        if (node.definition.updates and not node.definition.blocking) or _is_free(walk, node) or (_is_cheap(walk, node) and node not in elsewhere):
            moving.add(node)
        else:
            elsewhere.update(node.before)
    return moving


def _is_free(walk: Walk, node: Node) -> bool:
    """Does it take neither memory nor time?"""
    if node.control or node.definition.blocking:
        return False
    if node.inputs:
        return node.definition.forwards_reference and _refers(walk, node.inputs[0])
    return constant_of((node, 0)) is not None or all(dtype.is_ref or dtype is dtypes.resource for dtype in node.output_dtypes or [dtypes.bool_])


def _is_cheap(walk: Walk, node: Node) -> bool:
    elementwise = node.definition.elementwise and is_pure(node) and not any(_refers(walk, edge) for edge in node.inputs)
    return (elementwise or node.definition.snapshot) and not walk.stays(node)


def _refers(walk: Walk, edge: Edge) -> bool:
    return edge[0].output_dtypes[edge[1]] is dtypes.resource or walk.carries_reference(edge)


def _variable(edge: Edge) -> Any:
    """What stands for the variable that an edge refers to; None if it comes from outside."""
    node = edge[0]
    while node.inputs and (node.definition.forwards_reference or node.definition.updates or node.definition.forwards):
        node = node.inputs[0][0]
    if not node.definition.stateful or node.inputs:
        return None
    return node.attrs.get("container"), node.attrs.get("shared_name") or node.name
