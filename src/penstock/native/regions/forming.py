"""Regions: which nodes of a partition run together as native code.

A node can be in a region if its op has ``native``, or a ``lower`` for the types at hand, or if it computes with shapes alone (``eligibility.py``). A
region is as large as it can be without waiting for something that it does not need: it never depends on itself by way of a node outside, and all
its members wait for the same blocking nodes (a dequeue, a tensor from another device). What depends on a shape that changes from step to step (the
distinct ids of a batch) is a region of its own, too: others need not be specialised again because of it (``membership.py``). Each region becomes
one node.
"""
from __future__ import annotations

import heapq
import itertools
from collections.abc import Collection, Iterable
from dataclasses import replace

from penstock.native.regions.membership import Key, assign
from penstock.native.specialise.generators import separate_generators
from penstock.ops.transfer import Arg, Region
from penstock.program.ir import Edge, Node, RegionBody, reference_source

_FEWEST = 2  # nodes that compute something: a region of fewer is not worth a call if there is little to compute
_LITTLE = 4096  # elements of all arrays of a node: NumPy needs no longer for them than a native call takes to begin


def form(nodes: list[Node], kept: Collection[Edge], args: Collection[Node], excluded: Collection[str] = (), apart: Collection[str] = (),
         small: bool = False) -> tuple[list[Node], dict[Edge, Edge], dict[Node, RegionBody]]:
    """The nodes with regions in place of their members, where the outputs of members are now, and the inside of each region.

    ``kept`` are outputs that the caller wants, ``args`` nodes that are fed, ``excluded`` the names of nodes that must stay outside,
    ``apart`` of those that share no region with others. ``small``: regions that do little count too.
    """
    nodes = separate_generators(nodes)
    members, folded = assign(nodes, args, excluded, apart)
    members = members if small else _worthwhile(members)
    place = {node: index for index, node in enumerate(nodes)}

    def complete(some: Iterable[Node], more: Iterable[Node] = ()) -> list[Node]:
        return sorted(_with_folded(list(some), folded, more), key=place.__getitem__)

    bodies = {key: complete(body) for key, body in _by_key(members).items()}
    outside = complete((node for node in nodes if node not in members and node not in folded), (node for node, _ in kept))
    needed = _needed_outside([outside, *bodies.values()], members, kept)
    made: dict[Key, Node] = {}
    inside: dict[Node, RegionBody] = {}
    moved: dict[Edge, Edge] = {}
    for key, body in bodies.items():
        mine = [edge for edge in needed if members[edge[0]] == key]
        made[key], inside[made[key]] = _region(body, mine)
        moved.update({edge: (made[key], index) for index, edge in enumerate(mine)})
    for node in (*outside, *made.values()):
        node.inputs = [moved.get(edge, edge) for edge in node.inputs]
        node.control = list(dict.fromkeys(made[members[other]] if other in members else other for other in node.control))
    position = {made[key]: place[body[-1]] for key, body in bodies.items()}
    position |= {node: place[node] for node in _still_used(outside, made.values(), nodes, kept)}
    return _in_order(position), moved, inside


def _by_key(members: dict[Node, Key]) -> dict[Key, list[Node]]:
    bodies: dict[Key, list[Node]] = {}
    for node, key in members.items():
        bodies.setdefault(key, []).append(node)
    return bodies


def _worthwhile(members: dict[Node, Key]) -> dict[Node, Key]:
    """Without the members of regions that do too little."""
    small = {key for key, body in _by_key(members).items() if not _pays([node for node in body if _computes(node)])}
    return {node: key for node, key in members.items() if key not in small}


def _computes(node: Node) -> bool:
    return not (node.definition.shape_only or not node.inputs or node.definition.aliases or node.definition.snapshot)


def _pays(computing: list[Node]) -> bool:
    return len(computing) >= _FEWEST or any(node.definition.repeats or not _does_little(node) for node in computing)


def _does_little(node: Node) -> bool:
    """Does the graph tell that the arrays of a node are small?"""
    tensors = [(each.origin, index) for each, index in (*node.inputs, *((node, index) for index in range(len(node.output_dtypes))))]
    shapes = [origin.outputs[index].shape for origin, index in tensors if origin is not None and index < len(origin.outputs)]
    sizes = [size for shape in shapes if (size := shape.num_elements()) is not None]
    return len(sizes) == len(tensors) and sum(sizes) <= _LITTLE


def _with_folded(body: list[Node], folded: set[Node], more: Iterable[Node]) -> set[Node]:
    """The nodes, and what they need of the folded ones."""
    members = set(body)
    waiting = [*(other for node in body for other in node.before), *more]
    while waiting:
        node = waiting.pop()
        if node in folded and node not in members:
            members.add(node)
            waiting += node.before
    return members


def _needed_outside(groups: list[list[Node]], members: dict[Node, Key], kept: Collection[Edge]) -> list[Edge]:
    """Outputs of members that other regions, nodes outside or the caller use."""
    wanted = dict.fromkeys(edge for edge in kept if edge[0] in members)
    for group in groups:
        mine = set(group)
        wanted.update(dict.fromkeys(edge for node in group for edge in node.inputs if edge[0] in members and edge[0] not in mine))
    return list(wanted)


def _still_used(outside: list[Node], regions: Collection[Node], nodes: list[Node], kept: Collection[Edge]) -> list[Node]:
    """Without nodes that handed on a reference to members alone: those have the variable itself now."""
    used = {other for node in (*outside, *regions) for other in node.before} | {node for node, _ in kept}
    had_users = {producer for node in nodes for producer, _ in node.inputs}
    return [node for node in outside if node in used or node not in had_users or not node.definition.forwards_reference]


# --- making the node -------------------------------------------------------------------------------------------------------------------------


def _region(members: list[Node], outputs: list[Edge]) -> tuple[Node, RegionBody]:
    body, sources, control = enclose(members, outputs)
    attrs = {"Tin": tuple(node.attrs["T"] for node in body.args), "Tout": tuple(node.output_dtypes[index] for node, index in outputs),
             "names": tuple(node.name for node in members)}
    last = members[-1]
    return Node(Region, f"{last.name}/_region", attrs, sources, control, last.device, last.origin), body


def enclose(members: list[Node], outputs: list[Edge]) -> tuple[RegionBody, list[Edge], list[Node]]:
    """The body of a region of these members, which edge each of its arguments stands for, and what it has to wait for."""
    inside = {node: replace(node) for node in members}
    stand_ins: dict[Edge, Node] = {}
    for copy in inside.values():
        copy.inputs = [(inside[producer], index) if producer in inside else (_stand_in(producer, index, stand_ins), 0)
                       for producer, index in copy.inputs]
        copy.control = [inside[other] for other in copy.control if other in inside]
    control = list(dict.fromkeys(other for node in members for other in node.control if other not in inside))
    wanted = [(inside[node], index) if node in inside else (_stand_in(node, index, stand_ins), 0) for node, index in outputs]
    body = RegionBody(list(inside.values()), list(stand_ins.values()), wanted,
                      all(map(_shape_known, stand_ins)))
    return body, list(stand_ins), control


def has_known_shapes(node: Node) -> bool:
    """Does the graph tell the shapes of all that goes in and comes out?"""
    return all(map(_shape_known, (*node.inputs, *((node, index) for index in range(len(node.output_dtypes))))))


def _shape_known(edge: Edge) -> bool:
    """Does the graph tell the shape of a value?"""
    node, output = edge
    return node.origin is not None and output < len(node.origin.outputs) and node.origin.outputs[output].shape.is_fully_defined()


def _stand_in(producer: Node, index: int, stand_ins: dict[Edge, Node]) -> Node:
    """The argument for a value from outside; for the reading of a variable, the variable itself."""
    edge = reference_source((producer, index)) or (producer, index)
    argument = stand_ins.get(edge)
    if argument is None:
        node, output = edge
        attrs = {"T": node.output_dtypes[output], "index": len(stand_ins)}
        argument = stand_ins[edge] = Node(Arg, f"_input_{len(stand_ins)}_{node.name}", attrs, device=node.device, origin=node.origin)
    return argument


def _in_order(position: dict[Node, int]) -> list[Node]:
    """All nodes in a runnable order, as near to their old positions as possible."""
    users: dict[Node, list[Node]] = {node: [] for node in position}
    left = dict.fromkeys(position, 0)
    for node in position:
        for other in set(node.before):
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
