"""What the passes share: one walk over a program that puts other edges in the place of nodes, and what may be taken away at all.

A pass decides for one node at a time, in the order in which they run, so that it sees inputs which are rewritten already. Rules that hold for all:
a node that is fetched, or that nothing uses (a target of the step), stays; so does everything stateful; and no node loses something to wait for.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from penstock.ops.constant import Const
from penstock.program.ir import Edge, Node, Program, carries_reference, functions_of

Visit = Callable[[Node, list[Node]], Sequence[Edge] | None]


class Walk:
    """A program as a pass finds it: which nodes are used, which must stay, which edges carry references."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.used = {producer for node in program.nodes for producer, _ in node.inputs}
        for node in program.nodes:
            if node.control:
                self.used.update(node.control)
        self.fetched = {node for node, _ in program.fetches}
        self._targets = {node for node in program.nodes if node not in self.used}
        self._args = set(program.args)

    def stays(self, node: Node) -> bool:
        """True for fetched nodes and targets."""
        return node in self.fetched or node in self._targets

    def rewrite(self, visit: Visit) -> Program:
        """The program in which ``visit(node, nodes)`` says, for each node, which edges stand for its outputs from now on; None if it stays.

        ``nodes`` are those before it, to which the visit may add; a node that stays may have other inputs then. What is not needed any more is
        left out.
        """
        moved: dict[Edge, Edge] = {}
        instead: dict[Node, list[Node]] = {}  # for nodes that are gone: what has to have run
        nodes: list[Node] = []
        for node in self.program.nodes:
            if moved:
                _renew(node, moved, instead)
            edges = visit(node, nodes)
            if edges is None:
                nodes.append(node)
                continue
            moved.update({(node, index): edge for index, edge in enumerate(edges)})
            instead[node] = list(dict.fromkeys([*(producer for producer, _ in edges), *node.control]))
        if not moved and len(nodes) == len(self.program.nodes):
            return self.program
        return self.sweep(Program(nodes, self.program.args, [moved.get(edge, edge) for edge in self.program.fetches]))

    def sweep(self, program: Program) -> Program:
        """Without what is not needed, but for the targets and what has effects."""
        needed = {node for node, _ in program.fetches} | self._args
        kept: list[Node] = []
        for node in reversed(program.nodes):
            if node in needed or node in self._targets or node.definition.stateful:
                kept.append(node)
                for producer, _ in node.inputs:
                    needed.add(producer)
                if node.control:
                    needed.update(node.control)
        return Program(kept[::-1], program.args, program.fetches)

    def carries_reference(self, edge: Edge) -> bool:
        """True if a reference runs along the edge: what is read there depends on when it is read."""
        return carries_reference(edge, self._args)

    def is_plain(self, node: Node, edge: Edge) -> bool:
        """May the edge stand for the node's output? Not if something waits for the node's place, or if it would be read at another time or place."""
        return not node.control and edge[0].device == node.device and not self.carries_reference(edge)


def _renew(node: Node, moved: dict[Edge, Edge], instead: dict[Node, list[Node]]) -> None:
    node.inputs = [moved.get(edge, edge) for edge in node.inputs]
    if any(other in instead for other in node.control):
        node.control = list(dict.fromkeys(new for other in node.control for new in instead.get(other, (other,))))


def is_pure(node: Node) -> bool:
    """True if running the node twice, or not at all, makes no difference but for its outputs, which are arrays."""
    definition = node.definition
    return not (definition.stateful or definition.blocking or definition.control_flow or definition.calls_later or definition.kernel is None
                or any(dtype.is_ref or not dtype.is_numpy_compatible for dtype in node.output_dtypes) or functions_of(node))


def constant_of(edge: Edge) -> np.ndarray | None:
    """The value of an edge that comes from a constant."""
    return edge[0].attrs["value"] if edge[0].definition is Const else None
