"""Regions: which nodes of a partition run together as native code.

A node can be in a region if its op has ``native``, or a ``lower`` for the types at hand, or if it computes with shapes alone. A region is as large
as it can be without waiting for something that it does not need: it never depends on itself by way of a node outside, and all its members wait for
the same blocking nodes (a dequeue, a tensor from another device). What depends on a shape that changes from step to step (the distinct ids of a
batch) is a region of its own, too: others need not be specialised again because of it. Each region becomes one node.
"""
from __future__ import annotations

import functools
import heapq
import itertools
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from penstock.compiler.fusion.costs import why_not
from penstock.compiler.generators import separated
from penstock.compiler.ir import Node, functions_of, prune
from penstock.compiler.scope import pure
from penstock.compiler.ties import made_here, tied_inputs, ties
from penstock.graph import dtypes
from penstock.graph.dtypes import DType
from penstock.graph.function import FuncGraph
from penstock.ops.transfer import Arg, Region, Send

Edge = tuple[Node, int]
Key = tuple[int, int]
_FEWEST = 2  # nodes that compute something: a region of fewer is not worth a call, unless one of them is a loop


@dataclass(eq=False, slots=True)
class RegionBody:
    """The inside of a region: copies of its nodes, whose inputs from outside are stand-ins."""

    nodes: list[Node]
    args: list[Node]  # stand-ins, one per input
    outputs: list[Edge]


def form(nodes: list[Node], kept: Collection[Edge], args: Collection[Node], excluded: Collection[str] = ()) -> tuple[list[Node], dict[Edge, Edge]]:
    """The nodes with regions in place of their members, and where the outputs of members are now.

    ``kept`` are outputs that the caller wants, ``args`` nodes that are fed, ``excluded`` the names of nodes that must stay outside.
    """
    nodes = separated(nodes)
    members, folded = _assign(nodes, args, excluded)
    bodies: dict[Key, list[Node]] = {}
    for node, key in members.items():
        bodies.setdefault(key, []).append(node)
    for key, body in list(bodies.items()):
        if sum(map(_computes, body)) < _FEWEST and not any(node.definition.repeats for node in body):
            del bodies[key]
            members = {node: other for node, other in members.items() if other is not key}
    place = {node: index for index, node in enumerate(nodes)}
    bodies = {key: sorted(_with_folded(body, folded), key=place.__getitem__) for key, body in bodies.items()}
    outside = sorted(_with_folded([node for node in nodes if node not in members and node not in folded], folded, [node for node, _ in kept]),
                     key=place.__getitem__)
    needed = _needed_outside([outside, *bodies.values()], members, kept)
    made: dict[Key, Node] = {}
    moved: dict[Edge, Edge] = {}
    for key, body in bodies.items():
        mine = [edge for edge in needed if members.get(edge[0]) is key]
        made[key] = _region(body, mine)
        moved.update({edge: (made[key], index) for index, edge in enumerate(mine)})
    for node in (*outside, *made.values()):
        node.inputs = [moved.get(edge, edge) for edge in node.inputs]
        node.control = list(dict.fromkeys(made[members[other]] if other in members else other for other in node.control))
    used = {producer for node in (*outside, *made.values()) for producer in (*(producer for producer, _ in node.inputs), *node.control)}
    had_users = {producer for node in nodes for producer, _ in node.inputs}
    outside = [node for node in outside if node in used or node not in had_users or not node.definition.forwards_reference or _is_kept(node, kept)]
    position = {node: place[node] for node in outside} | {made[key]: place[body[-1]] for key, body in bodies.items()}
    return _sorted(position), moved


def _is_kept(node: Node, kept: Collection[Edge]) -> bool:
    return any(edge[0] is node for edge in kept)


# --- who is in which region ------------------------------------------------------------------------------------------------------------------


def _assign(nodes: list[Node], args: Collection[Node], excluded: Collection[str]) -> tuple[dict[Node, Key], set[Node]]:
    """A key per member of a region, as ``_Placing`` finds it, so that nodes that are tied together are in one region, or in none."""
    placing = _Placing(nodes, args, set(excluded))
    groups = ties(placing.tied)
    while True:
        inside, folded = placing.run()
        torn = [group for group in groups if len({inside.get(node) for node in group}) > 1]
        if not torn:
            return inside, folded
        for group in torn:
            keys = [inside[node] for node in group if node in inside]
            floor = max((level for level, _ in keys), default=0), _union(waits for _, waits in keys)
            if len(keys) < len(group) or group[0] in placing.floors or not placing.may_wait(group, floor[1]):  # waiting for each other does not help
                placing.exclude(group, inside)
            else:
                placing.floors.update(dict.fromkeys(group, floor))


class _Placing:
    """Which nodes are members of a region.

    A key says how often the path to a node has left native code, and which blocking nodes it waits for. Nodes that compute with shapes and
    constants alone are *folded*: every region that needs one has its own copy, whose value is then known. ``floors`` are keys that
    nodes must not fall short of.
    """

    def __init__(self, nodes: list[Node], args: Collection[Node], excluded: set[str]) -> None:
        self.nodes, self.args, self.excluded = nodes, args, excluded
        self.tied = {node: found for node in nodes if (found := tied_inputs(node))}
        self.floors: dict[Node, Key] = {}
        self._waits: dict[Node, int] = {}  # which blocking nodes each node waits for, as the last run found it
        self._blocking = 0  # those that wait for somebody elsewhere; the others only have results of unforeseen shapes
        self._reason = functools.cache(why_not_native)

    def run(self) -> tuple[dict[Node, Key], set[Node]]:
        """The keys of the members, and the folded nodes."""
        level: dict[Node, int] = {}
        waits = self._waits = {}
        folded: set[Node] = set()
        sized: set[Node] = set()
        inside: dict[Node, Key] = {}
        keys: dict[Key, Key] = {}
        self._blocking = blockers = 0
        for node in self.nodes:
            before = [*(producer for producer, _ in node.inputs), *node.control]
            lowest, needed = self.floors.get(node, (0, 0))
            waits[node] = needed | _union(waits[other] for other in before if other in waits)
            level[node] = max([level[other] for other in before if other in level], default=0)
            if node in self.args or node.name in self.excluded:
                pass
            elif _folds(node, folded):
                folded.add(node)
                continue
            elif (_sized(node, folded, sized) or self._reason(node) is None) and self._has_its_own(node, inside):
                level[node] = max(level[node], lowest)
                key = (level[node], waits[node])
                inside[node] = keys.setdefault(key, key)
                continue
            level[node] = max([level[other] + (other in inside or other in folded) for other in before if other in level], default=0)
            if node.definition.blocking or node.definition.unforeseen:
                waits[node] |= 1 << blockers
                self._blocking |= node.definition.blocking << blockers
                blockers += 1
        return inside, folded

    def may_wait(self, group: list[Node], needed: int) -> bool:
        """Can all nodes of a group wait for these blocking nodes? Not if somebody elsewhere (another device, the other end of a queue) is to get
        something of the group's before: that may be what a blocking node waits for."""
        needed &= self._blocking
        behind = set(group)
        for node in self.nodes:
            if node not in behind and behind.isdisjoint(node.control) and not any(producer in behind for producer, _ in node.inputs):
                continue
            behind.add(node)
            if (node.definition.blocking or node.definition is Send) and needed & ~self._waits[node]:
                return False
        return True

    def exclude(self, group: list[Node], inside: Collection[Node]) -> None:
        """Leaves a group of tied nodes outside, and notes why."""
        culprit = next((node for node in group if node not in inside), None)
        if culprit is None:
            reason = "what handles its list or array of tensors cannot be one region: something outside has to run in between"
        else:
            why = self._reason(culprit) or "its list or array of tensors comes from outside"
            reason = f"of {culprit.name} ({culprit.definition.type}), which handles the same list or array of tensors: {why}"
        for node in group:
            node.note = why if node is culprit else reason
            self.excluded.add(node.name)

    def _has_its_own(self, node: Node, inside: Collection[Node]) -> bool:
        """Are the lists and arrays that a node handles made by members?"""
        edges = [node.inputs[position] for position in self.tied.get(node, ())]
        return all(producer in inside and made_here((producer, index)) for producer, index in edges)


def _sized(node: Node, folded: Collection[Node], sized: set[Node]) -> bool:
    """Is what the node computes known once the sizes of arrays are?"""
    if node.definition.array_role == "size" or (pure(node.definition) and any(producer in sized for producer, _ in node.inputs)
                                                and all(producer in sized or producer in folded for producer, _ in node.inputs)):
        sized.add(node)
        return True
    return False


def _with_folded(body: list[Node], folded: set[Node], more: Iterable[Node] = ()) -> set[Node]:
    """The nodes, and what they need of the folded ones."""
    found = set(body)
    waiting = [producer for node in body for producer in (*(producer for producer, _ in node.inputs), *node.control)] + list(more)
    while waiting:
        node = waiting.pop()
        if node in folded and node not in found:
            found.add(node)
            waiting += [*(producer for producer, _ in node.inputs), *node.control]
    return found


def _union(masks: Iterable[int]) -> int:
    result = 0
    for mask in masks:
        result |= mask
    return result


def _folds(node: Node, folded: set[Node]) -> bool:
    """Does the node compute with shapes and constants alone?"""
    definition = node.definition
    if not pure(definition) or node.control or not all(_plain(dtype) for dtype in node.output_dtypes):
        return False
    return definition.shape_only or all(producer in folded for producer, _ in node.inputs)


def why_not_native(node: Node) -> str | None:
    """Why the node cannot be in a region; None if it can. (Which shapes it can handle is seen later.)"""
    definition = node.definition
    if definition.blocking:
        return "it may wait"
    if definition.control_flow:
        return "it is a primitive of control flow"
    for function in functions_of(node):
        reason = _why_not_function(function)
        if reason is not None:
            return reason
    if definition.forwards_reference and _reference_source(node) is not None:
        return "it hands on a reference to a variable"
    if _only_waits(node):
        return None
    inputs = [producer.output_dtypes[index] for producer, index in node.inputs]
    native, hands_on = definition.native is not None, definition.repeats or definition.array_role
    special = {dtypes.variant} if native else set()
    foreign = [dtype for dtype in inputs if not _plain(dtype) and dtype not in special | {dtypes.resource}]
    foreign += [dtype for dtype in node.output_dtypes if not _plain(dtype) and dtype not in special | ({dtypes.resource} if hands_on else set())]
    if foreign:
        return f"native code does not cover {foreign[0].base_dtype.name}"
    if native or definition.reduces or definition.keeps_order or definition.broadcasts or definition.compose is not None:
        return None
    if definition.lower is None or not (definition.elementwise or definition.updates):
        return "its op has no native form"
    return None if definition.updates else why_not(definition, node.attrs, [dtype.base_dtype for dtype in inputs])


def _only_waits(node: Node) -> bool:
    """Does the node nothing but wait for others, as ``tf.group`` does? In a region everything is in order without it."""
    return not node.inputs and not node.output_dtypes and pure(node.definition)


def _why_not_function(function: FuncGraph) -> str | None:
    """Why not all that a function does can be native."""
    program = prune(function.outputs, (), function.inputs)
    folded: set[Node] = set()
    sized: set[Node] = set()
    for node in program.nodes:
        if _folds(node, folded):
            folded.add(node)
        elif node not in program.args and not _sized(node, folded, sized):
            reason = why_not_native(node)
            if reason is not None:
                return f"of {node.name} ({node.definition.type}) in it: {reason}"
    return None


def _plain(dtype: DType) -> bool:
    base = dtype.base_dtype
    return base.is_floating or base.is_bool or (base.is_integer and not base.is_quantized)


def _reference_source(node: Node) -> Edge | None:
    """The variable whose reference a node hands on, if it does."""
    edge: Edge = (node, 0)
    while not edge[0].output_dtypes[edge[1]].is_ref:
        if not edge[0].definition.forwards_reference or not edge[0].inputs:
            return None
        edge = edge[0].inputs[0]
    return edge


def _computes(node: Node) -> bool:
    return not (node.definition.shape_only or not node.inputs or node.definition.aliases or node.definition.snapshot)


def _needed_outside(groups: list[list[Node]], members: dict[Node, Key], kept: Collection[Edge]) -> list[Edge]:
    """Outputs of members that other regions, nodes outside or the caller use."""
    wanted = dict.fromkeys(edge for edge in kept if edge[0] in members)
    for group in groups:
        mine = set(group)
        wanted.update(dict.fromkeys(edge for node in group for edge in node.inputs if edge[0] in members and edge[0] not in mine))
    return list(wanted)


# --- making the node -------------------------------------------------------------------------------------------------------------------------


def _region(members: list[Node], outputs: list[Edge]) -> Node:
    inside = {node: replace(node) for node in members}
    stand_ins: dict[Edge, Node] = {}
    for copy in inside.values():
        copy.inputs = [(inside[producer], index) if producer in inside else (_stand_in(producer, index, stand_ins), 0)
                       for producer, index in copy.inputs]
        copy.control = [inside[other] for other in copy.control if other in inside]
    control = list(dict.fromkeys(other for node in members for other in node.control if other not in inside))
    body = RegionBody(list(inside.values()), list(stand_ins.values()), [(inside[node], index) for node, index in outputs])
    attrs = {"Tin": tuple(node.attrs["T"] for node in stand_ins.values()), "Tout": tuple(node.output_dtypes[index] for node, index in outputs),
             "names": tuple(node.name for node in members)}
    last = members[-1]
    return Node(Region, f"{last.name}/_region", attrs, list(stand_ins), control, last.device, last.origin, payload=body)


def _stand_in(producer: Node, index: int, stand_ins: dict[Edge, Node]) -> Node:
    """The argument for a value from outside; for the reading of a variable, the variable itself."""
    edge: Edge = (producer, index)
    source = _reference_source(producer) if producer.definition.forwards_reference and not producer.output_dtypes[index].is_ref else None
    edge = source or edge
    found = stand_ins.get(edge)
    if found is None:
        node, output = edge
        attrs = {"T": node.output_dtypes[output], "index": len(stand_ins)}
        found = stand_ins[edge] = Node(Arg, f"_input_{len(stand_ins)}_{node.name}", attrs, device=node.device, origin=node.origin, payload=output)
    return found


def _sorted(position: dict[Node, int]) -> list[Node]:
    """All nodes in a runnable order, as near to their old positions as possible."""
    users: dict[Node, list[Node]] = {node: [] for node in position}
    left = dict.fromkeys(position, 0)
    for node in position:
        for other in {*(producer for producer, _ in node.inputs), *node.control}:
            if other in position:
                users[other].append(node)
                left[node] += 1
    order = itertools.count()
    ready = [(place, next(order), node) for node, place in position.items() if not left[node]]
    heapq.heapify(ready)
    result: list[Node] = []
    while ready:
        _, _, node = heapq.heappop(ready)
        result.append(node)
        for user in users[node]:
            left[user] -= 1
            if not left[user]:
                heapq.heappush(ready, (position[user], next(order), user))
    assert len(result) == len(position), "regions depend on each other in a circle"
    return result
