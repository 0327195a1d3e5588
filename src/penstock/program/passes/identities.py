"""Nodes that only pass a value on, and waits that say nothing new, are taken out.

An Identity of a reference may go too: it hands the reference on, and what uses it reads the variable then, as without it. Other forwarding ops
(StopGradient) read the variable when they run, and stay.
"""
from __future__ import annotations

from penstock.ops.constant import Const
from penstock.program.ir import Edge, Node, Program
from penstock.program.passes.walk import Walk


def remove_identities(program: Program) -> Program:
    """Without nodes whose output is their input."""
    walk = Walk(program)

    def visit(node: Node, nodes: list[Node]) -> list[Edge] | None:
        definition = node.definition
        if not definition.forwards or node.control or walk.stays(node) or not _forwards(node):
            return None
        edge = node.inputs[0]
        if edge[0].device != node.device or not (definition.forwards_reference or walk.is_plain(node, edge)):
            return None
        return [edge]
    return walk.rewrite(visit)


def _forwards(node: Node) -> bool:
    rule = node.definition.forwards
    if not callable(rule):
        return rule
    return rule(*[node.attrs[str(name)] for name in node.definition.parameters_of(rule)])


def remove_waits(program: Program) -> Program:
    """Without control edges from nodes that run before anyway: inputs, constants, and nodes that only gather one or two others (``tf.group``)."""
    if not any(node.control for node in program.nodes):
        return program
    walk = Walk(program)
    _pass_waits_on(program, walk)
    for node in [node for node in program.nodes if node.control]:
        inputs = {producer for producer, _ in node.inputs}
        waits = dict.fromkeys(new for other in node.control for new in _waits(other))
        node.control = [other for other in waits if other not in inputs]
    return walk.sweep(program)


def _pass_waits_on(program: Program, walk: Walk) -> None:
    """Constants wait for nothing; what uses them waits instead. A shape that is a constant is known then, whatever the step has to do before.

    Gradients that are made under ``tf.control_dependencies(updates)`` are full of such constants.
    """
    waits: dict[Node, list[Node]] = {}  # of the constants so far
    for node in program.nodes:
        control = [new for other in node.control for new in waits.get(other, (other,))]
        control += [new for producer, _ in node.inputs for new in waits.get(producer, ())]
        if control:
            node.control = list(dict.fromkeys(control))
        if node.definition is Const and node.control and not walk.stays(node):
            waits[node], node.control = node.control, []


def _waits(node: Node) -> list[Node]:
    """What waiting for a node comes down to."""
    does_more = node.definition.stateful or node.inputs
    return [node] if does_more or len(node.control) > 2 else node.control
