"""Which nodes are together in a region.

A member has a *key*: how often the path to it has left native code, and which blocking nodes it waits for. Members with equal keys are one region: no
path leads out of it and back in, and all of it can begin at the same time. Nodes that are *set apart*, because their arrays have other shapes in
every run, share no region with others: a path from the ones to the others counts as leaving native code. Nodes that compute with shapes and constants
alone are *folded*: every region that needs one has its own copy, whose value is then known.
"""
from __future__ import annotations

import functools
import operator
from collections.abc import Collection, Iterable

from penstock.native.regions.eligibility import folds, has_known_size, why_not_native
from penstock.native.regions.ties import made_here, tied_inputs, ties
from penstock.program.ir import Node

Key = tuple[int, int, bool]  # how often native code was left; a bit for each blocking node that is waited for; is it set apart?


def assign(nodes: list[Node], args: Collection[Node], excluded: Collection[str], apart: Collection[str] = ()) -> tuple[dict[Node, Key], set[Node]]:
    """A key per member of a region, as ``_Placing`` finds it, such that nodes that are tied together are in one region, or in none."""
    placing = _Placing(nodes, args, set(excluded), set(apart))
    groups = ties(placing.tied)
    placing.set_apart(groups)
    while True:
        inside, folded = placing.run()
        torn = [group for group in groups if len({inside.get(node) for node in group}) > 1]
        if not torn:
            return inside, folded
        for group in torn:
            keys = [inside[node] for node in group if node in inside]
            floor = max((level for level, _, _ in keys), default=0), _union(waits for _, waits, _ in keys)
            if len(keys) < len(group) or group[0] in placing.lowest or not placing.may_wait(group, floor[1]):  # waiting for each other does not help
                placing.exclude(group, inside)
            else:
                placing.lowest.update(dict.fromkeys(group, floor))


class _Placing:
    """One walk over the nodes finds all keys. ``lowest`` are keys that nodes must not fall short of, ``excluded`` names of nodes that stay out,
    ``apart`` of those that are set apart."""

    def __init__(self, nodes: list[Node], args: Collection[Node], excluded: set[str], apart: set[str]) -> None:
        self.nodes, self.args, self.excluded, self.apart = nodes, args, excluded, apart
        self.tied = {node: positions for node in nodes if (positions := tied_inputs(node))}
        self.lowest: dict[Node, tuple[int, int]] = {}
        self._waits: dict[Node, int] = {}  # which blocking nodes each node waits for, as the last run found it
        self._blocking = 0  # those that wait for something elsewhere; the others only have results whose shapes depend on values
        self._reason = functools.cache(why_not_native)

    def run(self) -> tuple[dict[Node, Key], set[Node]]:
        """The keys of the members, and the folded nodes."""
        level: dict[Node, int] = {}
        waits = self._waits = {}
        folded: set[Node] = set()
        sized: set[Node] = set()
        inside: dict[Node, Key] = {}
        self._blocking = blockers = 0
        for node in self.nodes:
            before = node.before
            lowest, needed = self.lowest.get(node, (0, 0))
            waits[node] = needed | _union(waits[other] for other in before if other in waits)
            mine = node.name in self.apart
            level[node] = max([level[other] + (other in inside and inside[other][2] != mine) for other in before if other in level], default=0)
            if node in self.args or node.name in self.excluded:
                pass
            elif folds(node, folded):
                folded.add(node)
                continue
            elif (has_known_size(node, folded, sized) or self._reason(node) is None) and self._has_its_own(node, inside):
                level[node] = max(level[node], lowest)
                inside[node] = level[node], waits[node], mine
                continue
            level[node] = max([level[other] + (other in inside or other in folded) for other in before if other in level], default=0)
            if node.definition.blocking or node.definition.dynamic_shape:
                waits[node] |= 1 << blockers
                self._blocking |= node.definition.blocking << blockers
                blockers += 1
        return inside, folded

    def set_apart(self, groups: list[list[Node]]) -> None:
        """Sets whole groups apart."""
        for group in groups:
            if any(node.name in self.apart for node in group):
                self.apart.update(node.name for node in group)

    def may_wait(self, group: list[Node], needed: int) -> bool:
        """Can all nodes of a group wait for these blocking nodes? Not if something elsewhere (another device, the other end of a queue) is to get
        something of the group's before: that may be what a blocking node waits for."""
        needed &= self._blocking
        behind = set(group)
        for node in self.nodes:
            if node not in behind and behind.isdisjoint(node.before):
                continue
            behind.add(node)
            if (node.definition.blocking or node.definition.hands_over) and needed & ~self._waits[node]:
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


def _union(masks: Iterable[int]) -> int:
    return functools.reduce(operator.or_, masks, 0)
