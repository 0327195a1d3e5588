"""Copies between memories: a value that a node gives in the memory of its device and another node takes as a host value, or the other way round,
gets a node that copies it.

A device with a memory of its own keeps the values of its nodes there. What is fed, fetched, sent or received is a host value, and so are the
arguments that an op or the kind of device wants on the host. A value is copied once, however many nodes use it. The variables of a loop stay in the
memory of its device from iteration to iteration: functions get them there, and leave them there.
"""
from __future__ import annotations

from dataclasses import replace

from penstock.graph.dtypes import DType
from penstock.graph.opdef import OpDef
from penstock.ops.transfer import CopyIn, CopyOut
from penstock.program.devices import DeviceKind, Memory, kind_of, runs_on_host
from penstock.program.ir import Edge, Node, Program


def with_copies(program: Program, caller: str = "") -> Program:
    """The placed program, with the copies that its devices' memories need. A function gets and gives values in the memory of its ``caller``."""
    devices = _Devices()
    if all(devices.memory(device) is None for device in {node.device for node in program.nodes} | {caller}):
        return program
    return _Copying(devices, caller).run(program.copy())


class _Devices:
    """The kinds and memories of the devices of a program."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[DeviceKind, Memory | None]] = {}

    def _look_up(self, device: str) -> tuple[DeviceKind, Memory | None]:
        if device not in self._known:
            kind = kind_of(device)
            self._known[device] = kind, kind.memory(device)
        return self._known[device]

    def memory(self, device: str) -> Memory | None:
        """The memory of a device; None for the host's."""
        return self._look_up(device)[1]

    def inputs_inside(self, node: Node) -> list[bool | None]:
        """Per input: does the node take it in the memory of its device? None for a reference: it goes along, what it refers to stays where it is."""
        return [None if arg.is_ref else self._inside(node, arg.name, producer.output_dtypes[index].base_dtype)
                for arg, edges in node.definition.group(node.inputs, node.attrs) for producer, index in edges]

    def output_inside(self, edge: Edge) -> bool:
        """Is a value, or what a reference refers to, in the memory of its producer's device?"""
        node, index = edge
        name = node.definition.output_names(node.attrs)[index]
        return self._inside(node, name, node.output_dtypes[index].base_dtype)

    def _inside(self, node: Node, argument: str, dtype: DType) -> bool:
        kind, memory = self._look_up(node.device)
        if memory is None or not memory.holds(dtype) or node.definition.calls_later:
            return False
        return argument not in node.definition.host_memory if runs_on_host(node) else not kind.in_host_memory(node, argument, dtype)


class _Copying:
    """Adds the copies to one program."""

    def __init__(self, devices: _Devices, caller: str) -> None:
        self._devices, self._caller = devices, caller
        self._args: set[Node] = set()  # whose values are in the memory of the caller
        self._nodes: list[Node] = []
        self._outside: dict[Edge, Edge] = {}
        self._inside: dict[tuple[Edge, str], Edge] = {}

    def run(self, program: Program) -> Program:
        """The program with its copies; its nodes are given new inputs."""
        for arg in program.args:
            if self._in_callers_memory((arg, 0)):
                arg.device = self._caller
                self._args.add(arg)
        for node in program.nodes:
            for producer, _ in node.inputs:
                if producer.definition.control_flow == "next":
                    producer.device = node.device  # a Merge counts the NextIterations among its inputs: a copy goes before, not between them
        for node in program.nodes:
            node.inputs = [edge if inside is None else self._to_device(edge, node.device) if inside else self._to_host(edge)
                           for edge, inside in zip(node.inputs, self._devices.inputs_inside(node))]
            self._nodes.append(node)
        fetches = [self._to_device(edge, self._caller) if self._in_callers_memory(edge) else self._to_host(edge) for edge in program.fetches]
        return replace(program, nodes=self._nodes, fetches=fetches)

    def _in_callers_memory(self, edge: Edge) -> bool:
        """Is a value of this type in the memory of the caller, before and after the call?"""
        memory, dtype = self._devices.memory(self._caller), edge[0].output_dtypes[edge[1]]
        return memory is not None and not dtype.is_ref and memory.holds(dtype)

    def _is_inside(self, edge: Edge) -> bool:
        return edge[0] in self._args or self._devices.output_inside(edge)

    def _to_host(self, edge: Edge) -> Edge:
        """Where the host value of an edge is."""
        if not self._is_inside(edge):
            return edge
        if edge not in self._outside:
            self._outside[edge] = self._copy(CopyOut, edge, edge[0].device)
        return self._outside[edge]

    def _to_device(self, edge: Edge, device: str) -> Edge:
        """Where the value of an edge is in the memory of a device."""
        if edge[0].device == device and self._is_inside(edge):
            return edge
        if (edge, device) not in self._inside:
            self._inside[edge, device] = self._copy(CopyIn, self._to_host(edge), device)
        return self._inside[edge, device]

    def _copy(self, definition: OpDef, edge: Edge, device: str) -> Edge:
        producer, index = edge
        number = len(self._outside) + len(self._inside)
        copy = Node(definition, f"{producer.name}/{definition.type.lower()}{number}", {"T": producer.output_dtypes[index].base_dtype}, [edge],
                    device=device, origin=producer.origin)
        self._nodes.append(copy)
        return copy, 0
