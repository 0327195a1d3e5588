"""The tables of one device: its part of a program, packed for the executor. Made once per step, then reused by every run of it.

Values live in numbered slots; a node is an integer; the tables below are indexed by it. Nothing is looked up by name while a step runs.
"""
from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol

from penstock.execute.environment import Environment
from penstock.execute.kernels import kernel_of, references_of
from penstock.execute.report import Described
from penstock.ops.constant import Const
from penstock.ops.transfer import Recv, rendezvous_key
from penstock.program.devices import Kernel, kind_of
from penstock.program.ir import Edge, Node, blocks

Slot = int


class RegionKernel(Described, Protocol):
    """What runs the nodes of a region as one."""

    def run(self, *inputs: Any) -> list[Any]:
        """The outputs of the region."""

    def ran_before(self, kernels: int | None) -> None:
        """Is told that the step has run once without regions, and how many kernels its functions and loops ran then, if that was counted."""

    def is_in_function(self) -> None:
        """Is told that it is a part of a function."""


class DevicePlan:
    """The tables of one device. ``regions`` are those among its nodes that stand for several.

    kernels[i](*inputs) runs node i, whose inputs are in slots ``inputs[i]``; ``references[i]`` are the positions among them that hold a Ref but are
    taken by value; the results go to slots ``outputs[i]`` (an int if the op has exactly one output). ``frees[i]`` are the slots that only
    node i, if any, still needs when nodes run in order; ``spares[i]`` are the positions of inputs in them that its kernel may write over.
    ``pending[i]`` is how many nodes must have run before i, ``successors[i]`` who waits for i, ``uses`` how many nodes read a slot. ``waits[i]`` says
    that the kernel may block; ``receives[i]`` is the rendezvous key of a Recv, else None.
    ``rows`` is all that a run in order needs: (index, kernel, function that picks the inputs, references, outputs, frees, spares) of each node but
    for constants, whose values are in ``start``, the slots at the beginning of such a run.
    """

    def __init__(self, nodes: list[Node], device: str, environment: Environment, fetched: set[Edge], arg_slots: dict[Node, Slot],
                 regions: Mapping[Node, RegionKernel]) -> None:
        self.device, self.all_nodes, self.regions = device, nodes, regions
        self.nodes = [node for node in nodes if node not in arg_slots]
        index_of = {node: index for index, node in enumerate(self.nodes)}
        self.slots: dict[Edge, Slot] = {(node, 0): slot for node, slot in arg_slots.items()}
        self.outputs: list[Any] = []
        self.size = len(arg_slots)
        for node in self.nodes:
            self._allocate(node)
        self.inputs = [tuple(self.slots[edge] for edge in node.inputs) for node in self.nodes]
        fed = {node for node in arg_slots if not node.output_dtypes[0].is_ref}
        self.references = [references_of(node, fed) for node in self.nodes]
        self.kernels = [_region_kernel(node, regions[node]) if node in regions else kernel_of(node, environment) for node in self.nodes]
        self.receives = [rendezvous_key(node.attrs) if node.definition is Recv else None for node in self.nodes]
        self.waits = [blocks(node) for node in self.nodes]
        self.serial = not any(self.waits)
        self._dependencies(index_of)
        self._lifetimes({self.slots[edge] for edge in fetched if edge in self.slots})
        self.start: list[Any] = [None] * self.size
        constants = {index for index, node in enumerate(self.nodes) if node.definition is Const and kind_of(device).native}
        for index in constants:
            self.start[self.outputs[index]] = self.kernels[index]()
        self._make_rows(constants)

    def _make_rows(self, without: Collection[int] = ()) -> None:
        columns = zip(self.kernels, map(picks, self.inputs), self.references, self.outputs, self.frees, self.spares)
        self.rows = [(index, *row) for index, row in enumerate(columns) if index not in without]

    def replace_kernels(self, kernels: Sequence[Kernel]) -> None:
        """Has other kernels run the nodes, constants included."""
        self.kernels = list(kernels)
        self._make_rows()

    def _allocate(self, node: Node) -> None:
        count = len(node.output_dtypes)
        for index in range(count):
            self.slots[node, index] = self.size + index
        self.outputs.append(self.size if count == 1 else tuple(range(self.size, self.size + count)))
        self.size += count

    def _dependencies(self, index_of: dict[Node, int]) -> None:
        self.pending = [0] * len(self.nodes)
        self.successors: list[list[int]] = [[] for _ in self.nodes]
        for index, node in enumerate(self.nodes):
            before = {index_of[other] for other in node.before if other in index_of}
            self.pending[index] = len(before)
            for other in before:
                self.successors[other].append(index)

    def _lifetimes(self, kept: set[Slot]) -> None:
        self.uses = [0] * self.size
        last: dict[Slot, int] = {}
        for index, slots in enumerate(self.inputs):
            for slot in slots:
                self.uses[slot] += 1
                last[slot] = index
        for index, slots in enumerate(self.outputs):
            for slot in [slots] if type(slots) is int else slots:
                last.setdefault(slot, index + 1)  # it is never read
        self.frees: list[tuple[Slot, ...]] = [()] * (len(self.nodes) + 1)
        for slot, index in last.items():
            if slot not in kept:
                self.frees[index] = (*self.frees[index], slot)
        self.spares = [_spares(node, slots, frees) for node, slots, frees in zip(self.nodes, self.inputs, self.frees)]
        for slot in kept:
            self.uses[slot] += 1  # the caller


def picks(slots: tuple[Slot, ...]) -> Callable[[list[Any]], Sequence[Any]]:
    """A function that takes the values of some slots: the quickest one."""
    if len(slots) > 1:
        return operator.itemgetter(*slots)
    first = slots[0] if slots else 0
    return operator.itemgetter(slice(first, first + len(slots)))


def _spares(node: Node, slots: tuple[Slot, ...], frees: tuple[Slot, ...]) -> tuple[int, ...]:
    """The positions of inputs that go after a node, and over which its kernel may write an output."""
    if not frees or not kind_of(node.device).reuses_inputs(node):
        return ()
    return tuple(position for position, (slot, (producer, index)) in enumerate(zip(slots, node.inputs))
                 if slot in frees and producer.output_dtypes[index] in node.output_dtypes)


def _region_kernel(node: Node, region: RegionKernel) -> Kernel:
    """Nothing stands between the executor and native code."""
    run = region.run
    return run if len(node.output_dtypes) != 1 else lambda *inputs: run(*inputs)[0]
