"""What no pass may change, checked after each one, beside the rules for every program (``ir.check``).

- Feeds are the same; there are as many fetches as before, of the same types.
- Every input has the type that the signature of the op asks for.
- What has effects still runs, and so does what nothing uses: the targets of the step. What only watches may go (``debugging.py``).
- Who waits for a node with effects, directly or through nodes that only gather waits, still runs after it; but for constants, whose users wait.
"""
from __future__ import annotations

from typing import Any

from penstock.graph.dtypes import DType
from penstock.ops.constant import Const
from penstock.program.ir import Node, Program, check


class Promises:
    """What a program does for the outside, written down before a pass, which may change nodes in place."""

    def __init__(self, program: Program) -> None:
        used = {producer for node in program.nodes for producer, _ in node.inputs}.union(*(node.control for node in program.nodes if node.control))
        fetched = {node for node, _ in program.fetches}
        self._args = list(program.args)
        self._fetched = [node.output_dtypes[index].base_dtype for node, index in program.fetches]
        self._running = {node.name for node in program.nodes if _has_effects(node) or not (node in used or node in fetched or node in program.args)}
        gated = {node for node in program.nodes if node.control and _is_free(node)}
        self._waits = {node.name: waits for node in program.nodes
                       if (node.control or (gated and any(producer in gated for producer, _ in node.inputs)))
                       and not (node in gated and node in used and node not in fetched)
                       and (waits := {other.name for other in _effects_before(node)})}

    def check(self, program: Program) -> None:
        """Raises AssertionError if a program does not do what the one before it did."""
        check(program)
        assert program.args == self._args, "the feeds are others"
        fetched = [node.output_dtypes[index].base_dtype for node, index in program.fetches]
        assert fetched == self._fetched, f"the fetches have the types {_names(fetched)}, not {_names(self._fetched)}"
        lost = self._running - {node.name for node in program.nodes}
        assert not lost, f"{', '.join(sorted(lost))} would not run any more"
        for node in program.nodes:
            given, wanted = [producer.output_dtypes[index].base_dtype for producer, index in node.inputs], _expected_dtypes(node)
            assert given == wanted, f"{node.name} gets {_names(given)}, and wants {_names(wanted)}"
        if self._waits:
            self._check_waits(program)

    def _check_waits(self, program: Program) -> None:
        bits = {name: 1 << number for number, name in enumerate(sorted(set().union(*self._waits.values())))}
        before: dict[Node, int] = {}  # those of ``bits`` that have run when a node has
        for node in program.nodes:
            ran = 0
            for producer, _ in node.inputs:
                ran |= before.get(producer, 0)
            for other in node.control:
                ran |= before[other]
            for name in self._waits.get(node.name, ()):
                assert ran & bits[name], f"{node.name} does not wait for {name} any more"
            before[node] = ran | bits.get(node.name, 0)


def _has_effects(node: Node) -> bool:
    return node.definition.stateful and not node.definition.watches


def _is_free(node: Node) -> bool:
    """True for constants, which may come at any time: what uses them waits for what they waited for."""
    return node.definition is Const


def _effects_before(node: Node) -> set[Node]:
    """Nodes with effects that a node waits for; through those without inputs, which have no results but their waiting, and constants that it uses."""
    left = [*node.control, *(other for producer, _ in node.inputs if _is_free(producer) for other in producer.control)]
    effects, seen = set(), set(left)
    while left:
        other = left.pop()
        if _has_effects(other):
            effects.add(other)
        elif not other.inputs:
            left += [each for each in other.control if each not in seen]
            seen.update(other.control)
    return effects


def _expected_dtypes(node: Node) -> list[DType]:
    """The types of inputs that the signature asks for."""
    dtypes: list[DType] = []
    for arg, edges in node.definition.group(node.inputs, node.attrs):
        if arg.type_list_attr is not None:
            dtypes += node.attrs[arg.type_list_attr]
        else:
            wanted: Any = arg.dtype if arg.type_attr is None else node.attrs[arg.type_attr]
            dtypes += [wanted] * len(edges)
    return dtypes


def _names(types: list[DType]) -> str:
    return ", ".join(dtype.name for dtype in types)
