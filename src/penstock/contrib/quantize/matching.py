"""Patterns of operations: a pattern is a function of a tensor that gives {name: operation} of what it has matched, or None."""
from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from penstock.graph.node import Operation, Tensor

Match = dict[str, Any]
Pattern = Callable[[Tensor], "Match | None"]


def anything(tensor: Tensor) -> Match | None:
    """Matches every tensor."""
    return {}


def named(name: str) -> Pattern:
    """Matches every tensor, and keeps it."""
    return lambda tensor: {name: tensor}


def op(types: str, *inputs: Pattern, ordered: bool = True, name: str | None = None) -> Pattern:
    """An operation of one of some types (``"Add|AddV2"``), with inputs that match; without ``inputs``, with any."""
    wanted = frozenset(types.split("|"))

    def match(tensor: Tensor) -> Match | None:
        node = tensor.op
        if node.type not in wanted or (inputs and len(inputs) != len(node.inputs)):
            return None
        matched = _match_inputs(node, inputs, ordered) if inputs else {}
        return matched if matched is None or name is None else {**matched, name: node}

    return match


def _match_inputs(node: Operation, patterns: tuple[Pattern, ...], ordered: bool) -> Match | None:
    for order in [patterns] if ordered else itertools.permutations(patterns):
        matched: Match | None = {}
        for tensor, pattern in zip(node.inputs, order):
            part = pattern(tensor)
            if part is None:
                matched = None
                break
            assert matched is not None
            matched.update(part)
        if matched is not None:
            return matched
    return None


def either(*patterns: Pattern) -> Pattern:
    """The first of some patterns that matches."""
    return lambda tensor: next((matched for pattern in patterns if (matched := pattern(tensor)) is not None), None)


def search(graph: Any, pattern: Pattern) -> list[Match]:
    """What a pattern matches, at each operation of a graph that has outputs."""
    matched = (pattern(node.outputs[0]) for node in graph.get_operations() if node.outputs)
    return [match for match in matched if match is not None]


def consumers_by_op(graph: Any) -> dict[Operation, list[Operation]]:
    """{operation: those that use its results}, as the graph is now."""
    users: dict[Operation, dict[Operation, None]] = {}
    for node in graph.get_operations():
        for tensor in node.inputs:
            users.setdefault(tensor.op, {})[node] = None
    return {node: list(each) for node, each in users.items()}


def reroute(new: Tensor, old: Tensor, users: list[Operation] | None = None) -> int:
    """Has operations (all but those that make ``new``, or ``users``) use ``new`` in the place of ``old``; returns how many inputs have changed."""
    changed = 0
    for user in dict.fromkeys(old.consumers() if users is None else [each for each in old.consumers() if each in users]):
        for index, tensor in enumerate(list(user.inputs)):
            if tensor is old:
                user._update_input(index, new)
                changed += 1
    return changed
