"""Cuts a placed program into one program per device, or per task; every edge that is cut becomes a Send and a Recv.

A master cuts by task; each task then cuts its own part by device. A tensor that several nodes of the other side use
travels once. A control edge travels as an empty tensor. Between tasks, what need not travel does not (``send_less``).
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from penstock.graph import dtypes
from penstock.graph.device import device_type
from penstock.ops.constant import Const
from penstock.ops.transfer import Recv, Send, SendReference, Token
from penstock.ops.travelling import NamedResource, ResourceName, VariantBytes, VariantOfBytes
from penstock.program.devices import host_kind
from penstock.program.ir import Edge, Node, Program, carries_reference

Sent = dict[tuple[Node, int, str, bool], Node]  # (producer, output, side, as a reference) -> the node of that side that has it

_TRAVELLING = {dtypes.resource: (ResourceName, NamedResource), dtypes.variant: (VariantBytes, VariantOfBytes)}  # between tasks
_SMALL = 1 << 10  # bytes of a constant that each task has for itself


@dataclass(slots=True)
class Partition:
    """What one device, or one task, runs."""

    device: str
    nodes: list[Node] = field(default_factory=list)


@dataclass(slots=True)
class PartitionedProgram:
    """A program in parts: its feeds and fetches are nodes of them."""

    parts: list[Partition]
    args: list[Node]
    fetches: list[Edge]


def partition(program: Program) -> PartitionedProgram:
    """One Partition per device that has nodes, in the order of their names; the nodes of each in a runnable order."""
    devices = {node.device for node in program.nodes}
    if len(devices) == 1:  # no edge is cut: its nodes stay as they are, and need no copies
        return PartitionedProgram([Partition(devices.pop(), list(program.nodes))], program.args, program.fetches)
    program = program.copy()
    if not program.has_frames:
        send_less(program)  # there are several only where a cluster is simulated
    return PartitionedProgram(cut(program), program.args, program.fetches)


def _task_of(device: str) -> str:
    return device.partition("/device:")[0]


def send_less(program: Program) -> None:
    """Rewires a program whose parts run on several tasks, so that less has to travel between them."""
    _copy_constants(program)
    _drop_last_waits(program)


def _copy_constants(program: Program) -> None:
    """Small constants that other tasks need (learning rates, mostly) are constants there, too: otherwise they would be sent in each step."""
    copies: dict[tuple[Node, str], Node] = {}
    nodes: list[Node] = []
    for node in program.nodes:
        inputs = []
        for producer, index in node.inputs:
            if _is_small_constant(producer) and _task_of(producer.device) != _task_of(node.device) and device_type(node.device) == host_kind().name:
                place = producer, _task_of(node.device)
                if place not in copies:
                    copies[place] = twin = producer.copy()
                    twin.name, twin.device = f"{producer.name}/_copy{len(copies) - 1}", node.device
                    nodes.append(twin)
                producer = copies[place]
            inputs.append((producer, index))
        node.inputs = inputs
        nodes.append(node)
    program.nodes = nodes


def _is_small_constant(node: Node) -> bool:
    value = node.attrs["value"] if node.definition is Const and not node.control else None
    return value is not None and value.dtype != object and value.nbytes <= _SMALL


def _drop_last_waits(program: Program) -> None:
    """An operation that does nothing, and that none waits for, need not wait for other tasks: the step ends when all parts have ended."""
    awaited = {other for node in program.nodes for other in node.control}
    for node in program.nodes:
        if node not in awaited and not (node.inputs or node.output_dtypes or node.definition.stateful):
            node.control = [other for other in node.control if _task_of(other.device) == _task_of(node.device)]


def cut(program: Program, side: Callable[[str], str] = str) -> list[Partition]:
    """``partition`` with the program's own nodes, which are rewired.

    With ``side``, a function of a device's name such as the task it belongs to, there is one part per side: only edges between two sides are cut.
    """
    parts: dict[str, Partition] = {}
    sent: Sent = {}
    side_of, args = {node: side(node.device) for node in program.nodes}, set(program.args)

    def edge_to(node: Node, producer: Node, index: int) -> Edge:
        here, there = side_of[producer], side_of[node]
        if here == there:
            return producer, index
        by_reference = (node.definition.passes_references and _task_of(producer.device) == _task_of(node.device)
                        and carries_reference((producer, index), args))
        return _transfer((producer, index), node.device, (here, there), parts, sent, by_reference), 0

    for node in program.nodes:
        part = parts.setdefault(side_of[node], Partition(side_of[node]))
        node.inputs = [edge_to(node, producer, index) for producer, index in node.inputs]
        node.control = [edge_to(node, other, -1)[0] for other in node.control]
        part.nodes.append(node)
    return [parts[name] for name in sorted(parts)]


def _transfer(edge: Edge, device: str, sides: tuple[str, str], parts: dict[str, Partition], sent: Sent, by_reference: bool) -> Node:
    """The node on ``device``, of the second side, that has the value of ``edge``, of the first (output -1: only the fact that its node has run)."""
    (producer, index), (here, there) = edge, sides
    key = producer, index, there, by_reference
    if key in sent:
        return sent[key]
    number, source, target = len(sent), parts[here].nodes, parts.setdefault(there, Partition(there)).nodes
    if index < 0:
        edge = _token(producer, number), 0
        source.append(edge[0])
    dtype = edge[0].output_dtypes[edge[1]].base_dtype
    forms = _TRAVELLING.get(dtype) if _task_of(producer.device) != _task_of(device) else None
    if forms is not None:
        edge = Node(forms[0], f"{producer.name}/_packed{number}", {}, [edge], device=producer.device, origin=producer.origin), 0
        source.append(edge[0])
        dtype = edge[0].output_dtypes[0]
    shared = {"tensor_name": f"edge_{number}_{producer.name}", "send_device": producer.device, "send_device_incarnation": 1, "recv_device": device,
              "client_terminated": False}
    source.append(Node(SendReference if by_reference else Send, f"{producer.name}/_send{number}", {"T": dtype, **shared}, [edge],
                       device=producer.device, origin=producer.origin))
    received = Node(Recv, f"{producer.name}/_recv{number}", {"tensor_type": dtype._as_ref if by_reference else dtype, **shared}, device=device,
                    origin=producer.origin)
    target.append(received)
    if forms is not None:
        received = Node(forms[1], f"{producer.name}/_unpacked{number}", {}, [(received, 0)], device=device, origin=producer.origin)
        target.append(received)
    sent[key] = received
    return received


def _token(producer: Node, number: int) -> Node:
    """An empty tensor that exists when ``producer`` has run. The host makes it, in native code if it can."""
    name = f"{producer.name}/_done{number}"
    if device_type(producer.device) != host_kind().name:
        return Node(Token, name, {}, control=[producer], device=producer.device)
    return Node(Const, name, {"value": np.zeros(0, np.float32), "dtype": dtypes.float32}, control=[producer], device=producer.device)
