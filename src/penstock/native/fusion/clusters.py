"""Fusion: which items of a region are computed in one loop nest. (``cluster_writer.py`` writes its code.)

Elementwise items over one space join, with the reductions of that space and what is computed of their results; across the forward and the backward
pass, with as many outputs as are needed. A value that is used inside a group only is never stored. A group must not wait for itself: no path may
lead out of it and back in, which bit masks of what comes before and after each group tell in a few operations.
"""
from __future__ import annotations

import heapq
from collections import ChainMap
from collections.abc import Mapping, Sequence

from penstock.native.fusion.cluster_space import Kind, Level, Space, kind_of, space_of, without_ones
from penstock.native.fusion.composition import compose_items
from penstock.native.items import Item, Value
from penstock.ops.transfer import Refuse

_LARGEST, _LARGEST_SMALL = 250, 1500  # items of a group: the time that LLVM takes grows faster than the code, but many small calls take time too
_OPERANDS, _OPERANDS_SMALL = 48, 300  # arrays that a group touches
_SMALL = 4096  # elements: groups below are joined even if they have nothing in common, to save calls
_TRIES = 4  # other users of an input that an item is tried to be joined with


def group_items(items: Sequence[Item], most_operands: int | None = None) -> list[list[Item]]:
    """The items in groups, in an order in which they can run. An item that cannot be fused is a group of its own; composite ones are taken apart.

    ``most_operands``: arrays that a group may touch, if that is fewer than usual."""
    return _Grouping(compose_items(items), most_operands).result()


class _Group:
    """Members as positions, and as bits of masks: ``before`` and ``after`` are the items that have to run before and after any of them."""

    __slots__ = ("after", "before", "bits", "checks", "levels", "members", "operands", "space", "updates")

    def __init__(self, position: int, before: int, space: Space | None) -> None:
        self.members, self.bits, self.before, self.after, self.space = [position], 1 << position, before, 0, space
        self.levels: dict[Value, Level] = {}  # if an axis is reduced
        self.operands = 0  # at most: arrays that it touches
        self.updates = self.checks = False  # does it write variables, may it fail?


class _Grouping:
    def __init__(self, items: Sequence[Item], most_operands: int | None = None) -> None:
        self.items = items
        self.limits = (_OPERANDS, _OPERANDS_SMALL) if most_operands is None else (most_operands, most_operands)
        self.position = {item: index for index, item in enumerate(items)}
        self.kinds = [kind_of(item) for item in items]
        self.groups: list[_Group] = []
        self.direct: list[list[int]] = []
        self._closure()
        self.recent: dict[Space, _Group] = {}
        for index in range(len(items)):
            if self.kinds[index] is not Kind.OTHER:
                self._place(index)

    def _closure(self) -> None:
        """What comes before and after each item."""
        for index, item in enumerate(self.items):
            producers = {self.position[value.item] for value in item.inputs if value.item in self.position}  # others stand outside of the function
            producers |= {self.position[other] for other in item.after if other in self.position}
            self.direct.append(sorted(producers))
            before = 0
            for other in producers:
                before |= self.groups[other].before | self.groups[other].bits
            mine = _Group(index, before, space_of(item, self.kinds[index]))
            mine.operands, mine.updates = len(item.inputs) + len(item.outputs), bool(item.node.definition.updates)
            mine.checks = item.node.definition is Refuse
            if mine.space is not None and mine.space.reduced:
                mine.levels = self._levels([index], mine.space, mine.updates) or {}
            self.groups.append(mine)
        for index in reversed(range(len(self.items))):
            mine = self.groups[index]
            reached = mine.after | mine.bits
            for other in self.direct[index]:
                self.groups[other].after |= reached

    def _place(self, index: int) -> None:
        """Joins an item with the groups of its producers, then with other users of its inputs, then with some small group of the same shape."""
        item = self.items[index]
        for value in item.inputs:
            if value.item in self.position:
                self._try(index, self.position[value.item])
        space = self.groups[index].space
        assert space is not None
        for value in item.inputs:
            if without_ones(value.shape) == space.shape and space.shape:
                for user in value.users[-_TRIES:]:
                    if user is not item and user in self.position and self.position[user] < index:
                        self._try(index, self.position[user])
        if space.size <= _SMALL:
            other = self.recent.get(space)
            if other is not None and other is not self.groups[index]:
                self._try(index, other.members[0])
            self.recent[space] = self.groups[index]

    def _try(self, x: int, y: int) -> None:
        a, b = self.groups[x], self.groups[y]
        if a is b or a.space is None or b.space is None:
            return
        if (a.updates and b.checks) or (a.checks and b.updates):
            return  # a step that fails has not written what waits for the check
        size = len(a.members) + len(b.members)
        if size > (_LARGEST if a.space.size > _SMALL or b.space.size > _SMALL else _LARGEST_SMALL):
            return
        both = a.bits | b.bits
        if ((a.after & b.before) | (b.after & a.before)) & ~both:
            return  # something has to run between them
        space = a.space.join(b.space)
        if space is None:
            return
        levels = self._joined_levels(a, b, space)
        if levels is None:
            return
        members = sorted([*a.members, *b.members])
        operands = a.operands + b.operands
        limit = self.limits[space.size <= _SMALL]
        if operands > limit:
            operands = self._operands(members)
        if operands <= limit:
            self._join(a, b, members, space)
            a.levels, a.operands, a.updates, a.checks = levels, operands, a.updates or b.updates, a.checks or b.checks

    def _joined_levels(self, a: _Group, b: _Group, space: Space) -> dict[Value, Level] | None:
        """The levels of the members of both; None if they cannot be one nest."""
        updates = a.updates or b.updates
        if not space.reduced:
            return {}
        for large, small in ((a, b), (b, a)):  # the usual case: one more item, after all others
            if len(small.members) == 1 and small.members[0] > large.members[-1] and space == large.space and updates == large.updates:
                added = self._levels(small.members, space, updates, large.levels)
                if added is None:
                    return None
                large.levels.update(added)
                return large.levels
        return self._levels(sorted([*a.members, *b.members]), space, updates)

    def _levels(self, members: Sequence[int], space: Space, updates: bool, known: dict[Value, Level] | None = None) -> dict[Value, Level] | None:
        new: dict[Value, Level] = {}
        levels: Mapping[Value, Level] = new if known is None else ChainMap(new, known)
        for index in members:
            level = space.level(self.items[index], self.kinds[index], levels)
            if level is None or not space.admits(level, updates):
                return None
            for value in self.items[index].outputs:
                new[value] = level
        return new

    def _operands(self, members: list[int]) -> int:
        """How many arrays some items read and write."""
        mine = {self.items[index] for index in members}
        outside: set[int] = set()
        for item in mine:
            outside.update(id(value) for value in item.inputs if value.item not in mine and value.known is None)
            outside.update(id(value) for value in item.outputs if used_outside(value, mine))
        return len(outside)

    def _join(self, a: _Group, b: _Group, members: list[int], space: Space) -> None:
        bits = a.bits | b.bits
        only_a, only_b = a.after & ~b.after & ~bits, b.after & ~a.after & ~bits
        late = [*self._groups_in(only_a), *self._groups_in(only_b)]
        early = [*self._groups_in(a.before & ~b.before & ~bits), *self._groups_in(b.before & ~a.before & ~bits)]
        a.before, a.after = (a.before | b.before) & ~bits, (a.after | b.after) & ~bits
        a.members, a.bits, a.space = members, bits, space
        for index in b.members:
            self.groups[index] = a
        # what comes before one of them now comes before all that is after the other; for groups that are after, or before, both that is not new
        before, after = a.before | bits, a.after | bits
        for each in late:
            each.before |= before
        for each in early:
            each.after |= after

    def _groups_in(self, mask: int) -> list[_Group]:
        groups = []
        while mask:
            each = self.groups[(mask & -mask).bit_length() - 1]
            groups.append(each)
            mask &= ~each.bits
        return groups

    def result(self) -> list[list[Item]]:
        """The groups in order: of those that can run, the one with the earliest item."""
        waiting: dict[int, set[int]] = {}
        followers: dict[int, list[int]] = {}
        for index, each in enumerate(self.groups):
            if each.members[0] == index:
                needs = {self.groups[other].members[0] for member in each.members for other in self.direct[member]} - {index}
                waiting[index] = needs
                for other in needs:
                    followers.setdefault(other, []).append(index)
        ready = [index for index, needs in waiting.items() if not needs]
        heapq.heapify(ready)
        order = []
        while ready:
            index = heapq.heappop(ready)
            order.append([self.items[member] for member in self.groups[index].members])
            for other in followers.get(index, ()):
                waiting[other].discard(index)
                if not waiting[other]:
                    heapq.heappush(ready, other)
        assert len(order) == len(waiting), "a group waits for itself"
        return order


def used_outside(value: Value, members: set[Item]) -> bool:
    """True if the value is needed outside of a group."""
    return value.wanted or any(user not in members for user in value.users)
