"""Plans: what the executor runs. A plan is made once per (fetches, feeds), then reused by every step.

``Plan`` is all that sessions, workers and functions know of one. A ``PackedPlan`` has tables per device; a program with the control-flow nodes of the
paper is a ``FramePlan`` (``frames.py``).
"""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

import numpy as np

from penstock.errors import CancelledError, KernelError, OpError
from penstock.execute.device_plan import DevicePlan, Slot, picks
from penstock.execute.driven import DrivenRun
from penstock.execute.environment import Environment
from penstock.execute.executor import DeviceRun, run_in_order, run_together
from penstock.execute.failures import describe
from penstock.execute.regions import Regioned, with_regions
from penstock.execute.report import Described
from penstock.execute.step import Step, working_for
from penstock.execute.trace import Recorder
from penstock.graph.dtypes import resource
from penstock.program.devices import Kernel, kind_of
from penstock.program.ir import Edge, Node, blocks
from penstock.program.partition import PartitionedProgram
from penstock.state.resources import Ref

Wrap = Callable[[Node, Kernel, "Described | None"], Kernel]  # (node, its kernel, what describes the inside of a region) -> another kernel


class Plan(Protocol):
    """A program that can be run."""

    why_numpy: str  # why none of its nodes is native; "" if some may be
    node_lists: list[list[Node]]  # what runs on each device
    device_plans: list[DevicePlan]  # the tables of each device; none if nodes run by frames
    once: list[Node]  # nodes that run once per step: some of them, if others run in loops
    in_order: bool  # all of it runs in the caller's thread, one node after the other

    def run(self, feeds: list[Any], step: Step, record: Recorder | None = None) -> list[Any]:
        """The fetched values, those of references read; ``record`` is called for each node that has run."""

    def call(self, arguments: list[Any], step: Step, record: Recorder | None = None) -> list[Any]:
        """The outputs, as they are, of a function that a node of ``step`` calls."""

    def wrap_kernels(self, wrap: Wrap) -> None:
        """Puts other kernels in the place of those of all nodes."""

    @property
    def drivable(self) -> PackedPlan | None:
        """The plan itself, if it can run without a thread of its own (``driven.py``)."""


_PLAIN = frozenset((np.ndarray, np.float32, np.float64, np.int32, np.int64, np.bool_, type(None)))  # types of values other than references


class PackedPlan:
    """A program, placed and cut, with the slots of its feeds and fetches."""

    def __init__(self, program: PartitionedProgram, environment: Environment, why_numpy: str, node_by_node: bool = False) -> None:
        self.why_numpy = why_numpy
        parts, fetches = program.parts, program.fetches
        self.device_plans: list[DevicePlan] = []
        self._feed_places: list[list[tuple[int, Slot]]] = []  # per device: (which feed, its slot)
        waits = [node for part in parts for node in part.nodes if blocks(node)]
        in_a_row = _one_after_the_other([node for part in parts for node in part.nodes], waits)
        for part in parts:
            nodes, args, fetches, regions = Regioned(part.nodes, [node for node in part.nodes if node in program.args], fetches, {})
            kind = kind_of(part.device)
            if kind.native and (not why_numpy or (kind.always and not node_by_node)):
                nodes, args, fetches, regions = with_regions(nodes, args, fetches, environment)
            if waits and in_a_row:
                nodes = _waiting_last(nodes)
            slots = {node: slot for slot, node in enumerate(args)}
            self.device_plans.append(DevicePlan(nodes, part.device, environment, set(fetches), slots, regions))
            self._feed_places.append([(node.attrs["index"], slot) for slot, node in enumerate(args)])
        self._fetch_places = [self._place(edge) for edge in fetches]  # (device, slot, node)
        self.node_lists = [part.all_nodes for part in self.device_plans]
        self.once = [node for part in self.device_plans for node in part.nodes]
        self._serial = len(self.device_plans) <= 1 and all(part.serial for part in self.device_plans)
        self._waits_once = len(self.device_plans) <= 1 and in_a_row  # nothing could go on meanwhile
        self.in_order = self._waits_once and all(node.definition.cancellable for node in waits)
        self._alone = self.device_plans[0] if self.in_order and self.device_plans else None
        self._pick = picks(tuple(slot for _, slot, _ in self._fetch_places))  # of the slots of the only device
        self._stepless = not any(_asks_for_more(node, node in program.args) for part in parts for node in part.nodes)

    @property
    def drivable(self) -> PackedPlan | None:
        """A plan for one device."""
        return self if len(self.device_plans) == 1 else None

    def run(self, feeds: list[Any], step: Step, record: Recorder | None = None) -> list[Any]:
        """The fetched values."""
        if self._alone is None or record is not None or step.deadline is not None:
            slots = self._slots(feeds)
            run_together([DeviceRun(part, values, step, record) for part, values in zip(self.device_plans, slots)], step)
            return self.fetched(slots)
        values = self._alone.start.copy()  # from here on for small steps: ``_slots``, ``working_for`` and ``fetched`` without their calls
        for feed, slot in self._feed_places[0]:
            values[slot] = feeds[feed]
        if self._stepless:
            step.quiet.run(run_in_order, self._alone, values)
        else:
            with working_for(step):
                run_in_order(self._alone, values)
        results = [*self._pick(values)]
        return results if self._stepless or _PLAIN.issuperset(map(type, results)) else self._read(results)

    def call(self, arguments: list[Any], step: Step, record: Recorder | None = None) -> list[Any]:
        """The outputs of a function."""
        slots = self._slots(arguments)
        if record is None and (self._serial or (self._waits_once and step.deadline is None)):
            for part, values in zip(self.device_plans, slots):
                run_in_order(part, values)
        else:
            in_step_of_its_own(step, lambda inner: run_together([DeviceRun(part, values, inner, record)
                                                                 for part, values in zip(self.device_plans, slots)], inner), record)
        return [slots[part][slot] for part, slot, _ in self._fetch_places]

    def drive(self, feeds: list[Any], step: Step, done: Callable[[OpError | None], None]) -> DrivenRun:
        """A run without a thread of its own, to be begun; if ``done`` is called without an error, ``fetched([run.slots])`` are its values."""
        return DrivenRun(self.device_plans[0], self._slots(feeds)[0], step, done)

    def wrap_kernels(self, wrap: Wrap) -> None:
        """Puts other kernels in the place of all kernels."""
        for part in self.device_plans:
            part.replace_kernels([wrap(node, kernel, part.regions.get(node)) for node, kernel in zip(part.nodes, part.kernels)])

    def _slots(self, feeds: list[Any]) -> list[list[Any]]:
        """The slots of each device at the beginning: those of feeds and constants are filled."""
        slots = []
        for part, places in zip(self.device_plans, self._feed_places):
            values = part.start.copy()
            for feed, slot in places:
                values[slot] = feeds[feed]
            slots.append(values)
        return slots

    def fetched(self, slots: list[list[Any]]) -> list[Any]:
        """The fetched values, those of references read."""
        values = [slots[part][slot] for part, slot, _ in self._fetch_places]
        return values if _PLAIN.issuperset(map(type, values)) else self._read(values)

    def _read(self, values: list[Any]) -> list[Any]:
        return [read_reference(value, node) if isinstance(value, Ref) else value for value, (_, _, node) in zip(values, self._fetch_places)]

    def _place(self, edge: Edge) -> tuple[int, Slot, Node]:
        for index, part in enumerate(self.device_plans):
            if edge in part.slots:
                return index, part.slots[edge], edge[0]
        raise AssertionError(f"{edge[0].name} is in no partition")


def read_reference(reference: Ref, node: Node) -> Any:
    """The value of the variable that ``node`` refers to, for the caller of the step."""
    try:
        return reference.read()
    except KernelError as error:  # the variable has none
        raise describe(error, node, []) from None


def in_step_of_its_own(step: Step, run: Callable[[Step], Any], record: Recorder | None = None) -> Any:
    """Runs a function in a step inside ``step``, which ends when that is cancelled; ``record``, if there is one, is told of what it calls."""
    inner = Step(parent=step)
    if record is not None:
        inner.probe = record
    unregister = step.on_cancel(lambda: inner.cancel(step.cancelled or CancelledError(None, None, "the step was cancelled")))
    try:
        return run(inner)
    finally:
        unregister()


def _asks_for_more(node: Node, is_fed: bool) -> bool:
    """Has a node to do with more than its inputs and attributes: with its step, with something that outlives it, or with what users' code sees?"""
    definition = node.definition
    if any(dtype.is_ref or dtype is resource for dtype in node.output_dtypes):
        return True
    return not is_fed and (definition.kernel is None or definition.needs_context or not definition.__module__.startswith("penstock."))


def _waits_behind(nodes: Iterable[Node]) -> dict[Node, int]:
    """How many nodes that may wait stand before each, at most, on one way; itself counts too."""
    waits: dict[Node, int] = {}
    for node in nodes:
        waits[node] = max((waits.get(other, 0) for other in node.before), default=0) + blocks(node)
    return waits


def _waiting_last(nodes: list[Node]) -> list[Node]:
    """The nodes of a part in an order in which those that depend on a node which may wait come last: no other node waits for it."""
    waits = _waits_behind(nodes)
    return sorted(nodes, key=waits.__getitem__)


def _one_after_the_other(nodes: list[Node], waiting: list[Node]) -> bool:
    """Does each of the nodes that may wait depend on the one before?"""
    if len(waiting) < 2:
        return True
    waits = _waits_behind(nodes)
    return len({waits[node] for node in waiting}) == len(waiting)
