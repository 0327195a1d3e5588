"""The stages of planning, each of which returns a program and leaves the one that it was given as it was.

    prune (-> decide) -> place -> optimise -> partition (by device) -> pack (execute/pipeline.py)
                  \\-> partition by task (distributed/parts.py), on a master: each task goes on with its part

``Stages`` is the way through them with the options of one session. At each joint observers are shown what there is: ``penstock graph`` prints it,
``penstock explain`` times it.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from penstock.graph.node import Operation, Tensor
from penstock.program import ir
from penstock.program.branches import take_branches
from penstock.program.copies import with_copies
from penstock.program.devices import Device, kind_of
from penstock.program.ir import Program
from penstock.program.partition import PartitionedProgram, partition
from penstock.program.passes import NONE, PassOptions, optimise
from penstock.program.placement import place


class Observer:
    """Sees what each stage gives. Nothing that it is shown may be changed, but for the kernels of a plan."""

    def program(self, stage: str, program: Program) -> None:
        """After ``pruned``, ``placed`` and ``optimised``."""

    def partitioned(self, parts: PartitionedProgram) -> None:
        """After the cut by device."""

    def planned(self, plan: Any, program: Program) -> None:
        """A plan (``execute.plan.Plan``) was made of an optimised program, and has not run yet."""


observers: list[Observer] = []  # see the plans of all sessions of this process


@contextmanager
def observing(observer: Observer) -> Iterator[None]:
    """Shows ``observer`` all that is planned inside the block, by whichever session."""
    observers.append(observer)
    try:
        yield
    finally:
        observers.remove(observer)


class Stages:
    """The stages with the options of one session; ``observers`` of its own are shown what goes through."""

    def __init__(self, soft_placement: bool = False, log_placement: bool = False, passes: PassOptions = PassOptions()) -> None:
        self._soft_placement, self._log_placement, self._passes = soft_placement, log_placement, passes
        self.observers: list[Observer] = []

    def prune(self, fetches: Sequence[Tensor], targets: Iterable[Operation], feeds: Sequence[Tensor]) -> Program:
        """What computes ``fetches`` and runs ``targets``, given ``feeds``."""
        return self._show("pruned", ir.prune(fetches, targets, feeds))

    def decide(self, program: Program, decided: dict[int, Any]) -> Program:
        """The program without the conditionals that feeds with these values decide: see ``branches.py``."""
        return take_branches(program.copy(), decided)

    def place(self, program: Program, devices: list[Device], preferred: str = "", elsewhere: Sequence[str] = ()) -> Program:
        """Every node has a device: the ``preferred`` one, if it has no wish and that can run it. ``elsewhere``: tasks that no node names."""
        program = program.copy()
        place(program, devices, self._soft_placement, self._log_placement, preferred, elsewhere)
        return self._show("placed", program)

    def optimise(self, program: Program, native: bool = True, frames: bool = False, caller: str = "") -> Program:
        """The nodes that are worth running, and the copies that the memories of their devices need.

        Without ``native`` it is the user's own nodes, of which updates of variables may move, and what loops compute in vain is left out; so it is
        if a device takes no rewritten nodes.
        A program with ``frames``, whose tensors may be dead, stays as it is: no pass may move its nodes. ``caller`` is the device of the node that
        calls it, if it is a function.
        """
        ir.check(program)
        if not frames:
            rewrites = native and all(kind_of(device).native for device in {node.device for node in program.nodes})
            passes = self._passes if rewrites else replace(NONE, updates=self._passes.updates)
            if any(node.definition.repeats for node in program.nodes):  # as of nodes outside of loops, only what is asked for runs, in every session
                passes = replace(passes, loops=True)
            program = optimise(program, passes)
        return self._show("optimised", with_copies(program, caller))

    def partition(self, program: Program) -> PartitionedProgram:
        """One list of nodes per device, with Send and Recv between them."""
        parts = partition(program)
        for observer in self._all_observers():
            observer.partitioned(parts)
        return parts

    def _show(self, stage: str, program: Program) -> Program:
        for observer in self._all_observers():
            observer.program(stage, program)
        return program

    def _all_observers(self) -> list[Observer]:
        return [*self.observers, *observers]
