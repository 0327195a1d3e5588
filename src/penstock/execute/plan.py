"""A plan: a program packed for the executor. Made once per (fetches, feeds), then reused by every step.

Values live in numbered slots; a node is an integer; the tables below are indexed by it. Nothing is looked up by name while a step runs.
"""
from __future__ import annotations

from collections.abc import Callable, Collection, Container
from typing import Any

from penstock.errors import InvalidArgumentError
from penstock.execute.environment import Environment
from penstock.execute.step import KernelContext
from penstock.ops.transfer import Recv, Region, rendezvous_key
from penstock.program.devices import host_kind, kind_of, runs_on_host
from penstock.program.ir import Node, Program, blocks, carries_reference
from penstock.program.partition import partition

Slot = int


class PartitionPlan:
    """The tables of one device.

    kernels[i](*inputs) runs node i, whose inputs are in slots ``inputs[i]``; ``references[i]`` are the positions among them that hold a Ref but are
    taken by value; the results go to slots ``outputs[i]`` (an int if the op has exactly one output). ``frees[i]`` are the slots that nobody but
    node i, if at all, needs any more when nodes run in order; ``spares[i]`` are the positions of inputs in them that its kernel may write over.
    ``pending[i]`` is how many nodes must have run before i, ``successors[i]`` who waits for i, ``uses`` how many nodes read a slot. ``waits[i]`` says
    that the kernel may block; ``receives[i]`` is the rendezvous key of a Recv, else None.
    """

    def __init__(self, nodes: list[Node], device: str, environment: Environment, fetched: set[tuple[Node, int]], arg_slots: dict[Node, Slot]) -> None:
        self.device, self.all_nodes = device, nodes
        self.nodes = [node for node in nodes if node not in arg_slots]
        index_of = {node: index for index, node in enumerate(self.nodes)}
        self.slots: dict[tuple[Node, int], Slot] = {(node, 0): slot for node, slot in arg_slots.items()}
        self.outputs: list[Any] = []
        self.size = len(arg_slots)
        for node in self.nodes:
            self._allocate(node)
        self.inputs = [tuple(self.slots[edge] for edge in node.inputs) for node in self.nodes]
        fed = {node for node in arg_slots if not node.output_dtypes[0].is_ref}
        self.references = [references_of(node, fed) for node in self.nodes]
        self.kernels = [kernel_of(node, environment) for node in self.nodes]
        self.receives = [rendezvous_key(node.attrs) if node.definition is Recv else None for node in self.nodes]
        self.waits = [blocks(node) for node in self.nodes]
        self.serial = not any(self.waits)
        self._dependencies(index_of)
        self._lifetimes({self.slots[edge] for edge in fetched if edge in self.slots})

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
            before = {index_of[other] for other in (*(producer for producer, _ in node.inputs), *node.control) if other in index_of}
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
                last.setdefault(slot, index + 1)  # nobody reads it
        self.frees: list[tuple[Slot, ...]] = [()] * (len(self.nodes) + 1)
        for slot, index in last.items():
            if slot not in kept:
                self.frees[index] = (*self.frees[index], slot)
        self.spares = [_spares(node, slots, frees) for node, slots, frees in zip(self.nodes, self.inputs, self.frees)]
        for slot in kept:
            self.uses[slot] += 1  # the caller


def _spares(node: Node, slots: tuple[Slot, ...], frees: tuple[Slot, ...]) -> tuple[int, ...]:
    """The positions of inputs that go after a node, and over which its kernel may write an output."""
    if not frees or not kind_of(node.device).reuses_inputs(node):
        return ()
    return tuple(position for position, (slot, (producer, index)) in enumerate(zip(slots, node.inputs))
                 if slot in frees and producer.output_dtypes[index] in node.output_dtypes)


class Plan:
    """A program, placed and cut, with the slots of its feeds and fetches."""

    def __init__(self, program: Program, environment: Environment, native: bool = False) -> None:
        parts = partition(program)
        fetches = program.fetches
        self.native = native
        self.parts: list[PartitionPlan] = []
        self.feed_places: list[list[tuple[int, Slot]]] = []  # per part: (which feed, its slot)
        waits = [node for part in parts for node in part.nodes if blocks(node)]
        for part in parts:
            args = [node for node in part.nodes if node in program.args]
            nodes, moved = with_regions(part.nodes, fetches, args, environment) if native and kind_of(part.device).native \
                else (part.nodes, {})
            fetches = [moved.get(edge, edge) for edge in fetches]
            slots = {node: slot for slot, node in enumerate(args)}
            if len(waits) == 1:
                nodes = _waiting_last(nodes)
            self.parts.append(PartitionPlan(nodes, part.device, environment, set(fetches), slots))
            self.feed_places.append([(node.attrs["index"], slot) for slot, node in enumerate(args)])
        self.fetch_places = [self._find(edge) for edge in fetches]
        self.simple = len(self.parts) <= 1 and all(part.serial for part in self.parts)
        self.waits_once = len(self.parts) <= 1 and len(waits) <= 1  # nothing could go on meanwhile
        self.in_order = self.waits_once and all(node.definition.heeds_step for node in waits)  # in the caller's thread

    def _find(self, edge: tuple[Node, int]) -> tuple[int, Slot, Node]:
        for index, part in enumerate(self.parts):
            if edge in part.slots:
                return index, part.slots[edge], edge[0]
        raise AssertionError(f"{edge[0].name} is in no partition")


def _waiting_last(nodes: list[Node]) -> list[Node]:
    """The nodes of a part in an order in which those that depend on a node which may wait come last: nobody else waits for it."""
    behind: set[Node] = set()
    for node in nodes:
        if blocks(node) or not behind.isdisjoint(node.control) or any(producer in behind for producer, _ in node.inputs):
            behind.add(node)
    return [node for node in nodes if node not in behind] + [node for node in nodes if node in behind]


def with_regions(nodes: list[Node], kept: Collection[tuple[Node, int]], args: Collection[Node], environment: Environment,
                 excluded: Collection[str] = ()) -> tuple[list[Node], dict[tuple[Node, int], tuple[Node, int]]]:
    """The nodes of a partition, those that can be native gathered into regions; and where outputs that were moved are now."""
    from penstock.execute.region import RegionRun
    from penstock.native.regions.forming import RegionBody, form  # brings in LLVM
    nodes, moved = form(nodes, kept, args, excluded)
    for node in nodes:
        if isinstance(node.payload, RegionBody):
            node.payload = RegionRun(node.payload, environment)
    return nodes, moved


def references_of(node: Node, args: Container[Node]) -> tuple[int, ...]:
    """Positions of inputs that carry a Ref where the op wants its value."""
    if node.definition.passes_references or node.definition.forwards_reference or node.definition.borrows:
        return ()
    found, position = [], 0
    for arg, edges in node.definition.group(node.inputs, node.attrs):
        for producer, index in edges:
            if not arg.is_ref and carries_reference((producer, index), args):
                found.append(position)
            position += 1
    return tuple(found)


def kernel_of(node: Node, environment: Environment) -> Callable[..., Any]:
    """The kernel of a node, bound to its attributes and its context."""
    if node.definition.kernel is None:
        return _no_kernel
    if node.definition is Region:  # nothing between the executor and native code
        run = node.payload.run
        return run if len(node.output_dtypes) != 1 else lambda *inputs: run(*inputs)[0]
    kind = host_kind() if runs_on_host(node) else kind_of(node.device)
    if not kind.supports(node):  # placed by a master that does not know the kind
        raise InvalidArgumentError(None, node.origin, f"no supported kernel for {kind.name} devices is available: '{node.name}' is a "
                                   f"{node.definition.type}, which has none")
    return kind.kernel(node, KernelContext(node, environment))


def _no_kernel(*inputs: Any) -> Any:
    raise LookupError("this op has no kernel")
