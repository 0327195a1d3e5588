"""Recomputation, if it is asked for: what the backward pass needs of cheap forward nodes is computed again there, instead of being kept until then.

The backward pass is what stands in the scope that gradients get (``gradients/``). Forward nodes that are cheap (elementwise ones, and those that are
made of such), or that carry the hint ``_recompute_hint``, and that lead to it, are gathered into groups: nodes that feed each other. A group gets
a copy in front of the first backward node that needs it, which waits for the gradients that this node waits for. Two kinds of cheap nodes are kept:
those with several forward users (the sum at the end of a residual block: else all blocks would be one group), and groups that would
have more kept alive for them than they give up.
"""
from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from penstock.program.ir import Edge, Node, Program
from penstock.program.passes.walk import Walk, is_pure

SCOPE = "gradients/"
HINT = "_recompute_hint"


def recompute(program: Program, cheap: bool, hinted: bool, scope: str = SCOPE) -> Program:
    """With copies of cheap nodes (or of those with hints) for the backward pass."""
    backward = {node for node in program.nodes if node.name.startswith(scope) or "/" + scope in node.name}
    if not backward:
        return program
    walk = Walk(program)
    chosen = _choose_nodes(walk, backward, cheap, hinted)
    groups = [group for group in _groups(chosen) if _has_hint(group[0]) or _pays(group, backward)]
    return _with_copies(walk, groups, backward) if groups else program


def _choose_nodes(walk: Walk, backward: set[Node], cheap: bool, hinted: bool) -> list[Node]:
    """The nodes that may be computed again, and from which the backward pass is reached by way of such nodes; in the order of the program."""
    users = Counter(producer for node in walk.program.nodes if node not in backward for producer in {producer for producer, _ in node.inputs})
    wanted = {producer for node in backward for producer, _ in node.inputs}
    nodes = []
    for node in reversed(walk.program.nodes):
        if node in backward or node not in wanted or not node.inputs or node in walk.fetched or not is_pure(node):
            continue
        if (hinted and _has_hint(node)) or (cheap and _is_cheap(node) and users[node] < 2):
            nodes.append(node)
            wanted.update(producer for producer, _ in node.inputs)
    return nodes[::-1]


def _has_hint(node: Node) -> bool:
    return node.origin is not None and HINT in node.origin._extra


def _is_cheap(node: Node) -> bool:
    definition = node.definition
    return bool(definition.elementwise or definition.compose is not None or definition.keeps_order or definition.broadcasts)


def _groups(chosen: list[Node]) -> list[list[Node]]:
    """Chosen nodes that feed each other, together."""
    group = {node: [node] for node in chosen}
    for node in chosen:
        for producer, _ in node.inputs:
            if producer in group and group[producer] is not group[node]:
                joined = group[producer] + group[node]
                group.update(dict.fromkeys(joined, joined))
    place = {node: index for index, node in enumerate(chosen)}
    return [sorted(members, key=place.__getitem__) for members in {id(members): members for members in group.values()}.values()]


def _pays(group: list[Node], backward: set[Node]) -> bool:
    """Are the values that need not be kept larger than those which must be, for the copies?"""
    mine = set(group)
    used = {edge for node in backward for edge in node.inputs}
    given_up = {edge for edge in used if edge[0] in mine}
    kept = {edge for node in group for edge in node.inputs if edge[0] not in mine and edge not in used and edge[0].inputs}
    return sum(map(_size, given_up)) > sum(map(_size, kept))


def _size(edge: Edge) -> int:
    """Elements of an edge; an extent that is not known, such as that of a batch, counts as 1."""
    node, index = edge
    shape = node.origin.outputs[index].shape if node.origin is not None and index < len(node.origin.outputs) else None
    if shape is None or shape.ndims is None:
        return 1
    return math.prod(extent or 1 for extent in shape.as_list())


def _with_copies(walk: Walk, groups: list[list[Node]], backward: set[Node]) -> Program:
    """The program with the copies, each group's in front of the first backward node that needs one of them."""
    group_of = {node: group for group in groups for node in group}
    copies: dict[Node, Node] = {}
    reading: dict[Node, list[Node]] = {}  # variables, and copies that read them
    nodes: list[Node] = []
    for node in walk.program.nodes:
        if node in backward:
            for producer in [producer for producer, _ in node.inputs if producer in group_of]:
                if producer not in copies:
                    made = _copy(group_of[producer], node, group_of)
                    copies.update(made)
                    nodes += made.values()
                    _note_readers(walk, made.values(), reading)
            node.inputs = [(copies.get(producer, producer), index) for producer, index in node.inputs]
        if node.definition.updates:
            readers = [copy for edge in node.inputs for copy in reading.get(_source(edge), ())]
            node.control = list(dict.fromkeys([*node.control, *readers]))
        nodes.append(node)
    return Program(nodes, walk.program.args, walk.program.fetches)


def _copy(group: list[Node], user: Node, group_of: dict[Node, list[Node]]) -> dict[Node, Node]:
    waits = list(dict.fromkeys(producer for producer, _ in user.inputs if producer not in group_of and producer.inputs))
    made: dict[Node, Node] = {}
    for node in group:
        inputs = [(made.get(producer, producer), index) for producer, index in node.inputs]
        made[node] = replace(node, name=f"Recomputed/{node.name}", inputs=inputs, control=list(dict.fromkeys([*node.control, *waits])), late=True)
    return made


def _note_readers(walk: Walk, copies: Iterable[Node], reading: dict[Node, list[Node]]) -> None:
    """A copy that reads a variable by reference must have done so before it is updated."""
    for copy in copies:
        for edge in copy.inputs:
            if walk.carries_reference(edge):
                reading.setdefault(_source(edge), []).append(copy)


def _source(edge: Edge) -> Node:
    """The variable whose reference an edge carries, if it does."""
    node = edge[0]
    while node.definition.forwards_reference and node.inputs:
        node = node.inputs[0][0]
    return node
