"""From the measured plans of a step to its profile: nodes that can run when the same things have come become one block.

What a node waits for, directly or by way of others, is its *signature*: messages of other tasks, and operations that wait for a queue or an
accumulator. Nodes of one part with one signature run together, and what they send to one task travels as one message. A step with thousands of nodes
is a handful of blocks then, however many workers run it.
"""
from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import dataclass, field

from penstock.execute.device_plan import DevicePlan
from penstock.ops.transfer import Recv, Send, rendezvous_key
from penstock.platform.cpus import available_cpus
from penstock.program.ir import Node
from penstock.simulate.profile import Meeting, StepProfile, TaskPart, TensorMessage, WorkBlock

_SHORT = 100e-6  # seconds: native code that takes less is not shared out among threads
LARGE = 1 << 18  # bytes: arrays that a core's own cache does not keep from one step to the next

Signature = frozenset[object]


@dataclass
class Measured:
    """What a node did while it was measured."""

    seconds: list[float] = field(default_factory=list)  # with one thread
    together: list[float] = field(default_factory=list)  # with all of them, if it is native code,
    cores: list[float] = field(default_factory=list)  # and seconds of a core that this takes
    beside: list[float] = field(default_factory=list)  # with one thread, while another one uses the cache
    crowded: list[float] = field(default_factory=list)  # seconds of a core, with all of them, while others use all cores and the cache
    bytes: int = 0  # that it sent
    count: int = 1  # elements or gradients
    resource: str = ""
    total: int = 0  # of all its counts
    memory: int = 0  # bytes that it takes while its step runs
    touched: int = 0  # bytes of what it is given and makes,
    arena: int = 0  # and of what native code keeps in between

    def forget_times(self) -> None:
        """What was measured before does not count."""
        self.seconds.clear()
        self.together.clear()
        self.cores.clear()
        self.beside.clear()
        self.crowded.clear()

    @property
    def typical(self) -> float:
        """Seconds that it takes: as often more as less. So what disturbs a few runs does not count, and that shapes differ does."""
        return _median(self.seconds)

    @property
    def typical_together(self) -> float:
        """The same with all threads."""
        return _median(self.together)

    @property
    def uncached(self) -> float:
        """How much longer it takes if others use the cache."""
        return max(_median(self.beside) - self.typical, 0.0) if self.beside else 0.0

    @property
    def typical_crowded(self) -> float:
        """Seconds of a core if others use all of them."""
        return _median(self.crowded)

    @property
    def typical_cores(self) -> float:
        """Seconds of a core then."""
        return _median(self.cores)


def _median(seconds: list[float]) -> float:
    return statistics.median(seconds) if seconds else 0.0


@dataclass
class PlanOfTask:
    """The tables that a task runs in a step."""

    task: str
    tables: list[DevicePlan]


def step_profile(plans: list[PlanOfTask], measured: dict[Node, Measured], groups: dict[str, str]) -> StepProfile:
    """The profile of a step; its first part is that of the first plan.

    ``groups`` names accumulators that always get their gradients together: they count as one. The step that adds gradients tells which those are.
    """
    return _Cut(plans, measured, groups).profile()


class _Cut:
    def __init__(self, plans: list[PlanOfTask], measured: dict[Node, Measured], groups: dict[str, str]) -> None:
        self._plans, self._measured, self._groups = plans, measured, groups
        self._tables = {node: (plan.task, table) for plan in plans for table in plan.tables for node in table.nodes}
        self._sends = {rendezvous_key(node.attrs): node for node in self._tables if node.definition is Send}
        self._signatures: dict[Node, Signature] = {}
        self._numbers: dict[tuple[str, Signature], int] = {}  # of blocks, over all parts
        self._messages: dict[tuple[int, str], TensorMessage] = {}  # (block, to) -> the message

    def profile(self) -> StepProfile:
        order = list(self._in_order())
        for node in order:
            self._signatures[node] = self._signature(node)
        parts = {plan.task: TaskPart(plan.task) for plan in self._plans}
        places: dict[int, tuple[TaskPart, int]] = {}
        for node in order:
            part = parts[self._task(node)]
            number = self._number(node)
            if number not in places:
                places[number] = (part, len(part.blocks))
                part.blocks.append(WorkBlock())
            self._add(node, part, places[number][1], places)
        for part in parts.values():
            _tidy(part)
            self._add_memory(part)
            self._add_serial(part)
        return StepProfile(list(parts.values()))

    def _task(self, node: Node) -> str:
        return self._tables[node][0]

    def _number(self, node: Node) -> int:
        return self._numbers.setdefault((self._task(node), self._signatures[node]), len(self._numbers))

    def _sender(self, node: Node) -> Node | None:
        return self._sends.get(rendezvous_key(node.attrs)) if node.definition is Recv else None

    def _before(self, node: Node) -> list[Node]:
        sender = self._sender(node)
        return [*(other for other in node.before if other in self._tables), *([sender] if sender is not None else [])]

    def _in_order(self) -> Iterator[Node]:
        """All nodes, each after what it needs, over all tasks."""
        done: set[Node] = set()
        for root in self._tables:
            stack = [(root, False)]
            while stack:
                node, ready = stack.pop()
                if node in done:
                    continue
                if ready:
                    done.add(node)
                    yield node
                else:
                    stack.append((node, True))
                    stack.extend((other, False) for other in self._before(node) if other not in done)

    def _signature(self, node: Node) -> Signature:
        signature: set[object] = set()
        for other in self._before(node):
            if self._task(other) == self._task(node):
                signature |= self._signatures[other]
            else:
                signature.add(self._number(other))
        if node.definition.coordinates and node.definition.blocking:
            signature.add((node.definition.coordinates, self._resource(node), frozenset(signature)))
        return frozenset(signature)

    def _resource(self, node: Node) -> str:
        """The queue, or the accumulators that count as one, with its task."""
        name = self._measured[node].resource if node in self._measured else node.inputs[0][0].name
        if node.definition.coordinates in ("accumulate", "take", "advance"):
            name = self._groups.get(name, name)
        return f"{self._task(node)} {name}"

    def _add(self, node: Node, part: TaskPart, place: int, places: dict[int, tuple[TaskPart, int]]) -> None:
        block, measured = part.blocks[place], self._measured.get(node, Measured())
        block.nodes += 1
        for other in self._before(node):
            needed = self._number(other)
            if self._task(other) != part.task:
                message = self._message(needed, places, part.task)
                if message.number not in block.receives:
                    block.receives.append(message.number)
                message.tensors += 1
                message.bytes += self._measured.get(other, Measured()).bytes
            elif places[needed][1] != place and places[needed][1] not in block.needs:
                block.needs.append(places[needed][1])
        if node.definition.coordinates:
            meeting = self._meeting(node, part, place, measured)
            if meeting not in block.meetings:
                block.meetings.append(meeting)
        if node.definition is Send:
            return  # what a message costs is known from the calibration
        if self._is_native(node):
            block.native += measured.typical
            block.uncached += measured.uncached
            block.touched += measured.touched + measured.arena
        elif measured.touched >= LARGE:
            block.moving += measured.typical
        else:
            block.python += measured.typical

    def _is_native(self, node: Node) -> bool:
        return node in self._tables[node][1].regions and self._measured.get(node, Measured()).typical > _SHORT

    def _add_serial(self, part: TaskPart) -> None:
        """Which part of a task's native code its threads cannot share.

        The blocks of a task are taken together: that of a single one would be guessed from two short times, and decides what many cores bring.
        """
        threads = available_cpus()
        both = [self._measured[node] for node in self._measured if node in self._tables and self._task(node) == part.task and self._is_native(node)]
        both = [each for each in both if each.together]
        if both and threads > 1:
            alone, together, cores = (sum(getattr(each, name) for each in both) for name in ("typical", "typical_together", "typical_cores"))
            serial = serial_part(alone, together, threads)
            uncached, crowded = (sum(getattr(each, name) for each in both if each.crowded) for name in ("uncached", "typical_crowded"))
            for block in part.blocks:
                if block.native:
                    block.serial, block.held = serial, held_part(alone, cores, serial, threads)
                    block.crowded = max(crowded / (alone + uncached), 1.0)

    def _add_memory(self, part: TaskPart) -> None:
        """Of a running step: what nodes make, and what messages bring. Values that are dropped early are counted, too: it is an upper bound."""
        taken = {node: measured.memory for node, measured in self._measured.items() if node in self._tables and self._task(node) == part.task}
        coming = {node: self._measured.get(sender, Measured()).bytes for node in taken if (sender := self._sender(node)) is not None}
        taken = {node: taken[node] + coming.get(node, 0) for node in taken}
        part.memory = sum(taken.values())
        if part.memory:
            node = max(taken, key=lambda each: taken[each])
            part.largest, part.largest_memory = node.name.partition("/_")[0], taken[node]  # of a region or a Recv: what it is made for

    def _meeting(self, node: Node, part: TaskPart, place: int, measured: Measured) -> Meeting:
        kind = node.definition.coordinates
        if kind == "accumulate":
            self._groups.setdefault(measured.resource, f"gradients of block {place}")
        return Meeting(kind, self._resource(node), measured.count)

    def _message(self, sender: int, places: dict[int, tuple[TaskPart, int]], to: str) -> TensorMessage:
        key = (sender, to)
        if key not in self._messages:
            self._messages[key] = TensorMessage(to, 0, 0, len(self._messages))
            origin, place = places[sender]
            origin.blocks[place].sends.append(self._messages[key])
        return self._messages[key]


def _tidy(part: TaskPart) -> None:
    """Waiting comes first in a block."""
    for block in part.blocks:
        block.meetings.sort(key=lambda meeting: meeting.kind in ("accumulate", "advance"))


def serial_part(alone: float, together: float, threads: int) -> float:
    """Which part of work that takes so long with one thread, and with several, only one of them does (Amdahl's law)."""
    return min(max((threads * together / alone - 1.0) / (threads - 1.0), 0.0), 1.0)


def held_part(alone: float, cores: float, serial: float, threads: int) -> float:
    """For which part of what one thread does alone the others hold their cores, if all that takes so many seconds of a core: they look for more to
    do for a while before they nap."""
    return min(max((cores / alone - 1.0) / (serial * (threads - 1.0)), 0.0), 1.0) if serial else 0.0
