"""Cuts a placed program into one program per device, or per task; every edge that is cut becomes a Send and a Recv.

A master cuts by task; each task then cuts its own part by device. A tensor that several nodes of the other side use
travels once. A control edge travels as an empty tensor.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from penstock.graph import dtypes
from penstock.ops.constant import Const
from penstock.ops.transfer import Recv, Send
from penstock.program.ir import Edge, Node, Program


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
    program = program.copy()
    return PartitionedProgram(cut(program), program.args, program.fetches)


def cut(program: Program, side: Callable[[str], str] = str) -> list[Partition]:
    """``partition`` with the program's own nodes, which are rewired.

    With ``side``, a function of a device's name such as the task it belongs to, there is one part per side: only edges between two sides are cut.
    """
    parts: dict[str, Partition] = {}
    sent: dict[tuple[Node, int, str], Node] = {}
    side_of = {node: side(node.device) for node in program.nodes}

    def brought(producer: Node, index: int, to: Node) -> tuple[Node, int]:
        here, there = side_of[producer], side_of[to]
        return (producer, index) if here == there else (_transfer(producer, index, to.device, here, there, parts, sent), 0)

    for node in program.nodes:
        part = parts.setdefault(side_of[node], Partition(side_of[node]))
        node.inputs = [brought(producer, index, node) for producer, index in node.inputs]
        node.control = [brought(other, -1, node)[0] for other in node.control]
        part.nodes.append(node)
    return [parts[name] for name in sorted(parts)]


def _transfer(producer: Node, index: int, device: str, here: str, there: str, parts: dict[str, Partition],
              sent: dict[tuple[Node, int, str], Node]) -> Node:
    """The Recv node, on ``device`` of the side ``there``, for an output of ``producer`` (-1: only the fact that it has run)."""
    recv = sent.get((producer, index, there))
    if recv is not None:
        return recv
    source = parts[here]
    what, which = producer, index
    if index < 0:
        nothing = {"value": np.zeros(0, np.float32), "dtype": dtypes.float32}
        what, which = Node(Const, f"{producer.name}/_done{len(sent)}", nothing, control=[producer], device=producer.device), 0
        source.nodes.append(what)
    dtype = what.output_dtypes[which].base_dtype
    shared = {"tensor_name": f"edge_{len(sent)}_{producer.name}", "send_device": producer.device, "send_device_incarnation": 1, "recv_device": device,
              "client_terminated": False}
    source.nodes.append(Node(Send, f"{producer.name}/_send{len(sent)}", {"T": dtype, **shared}, [(what, which)], device=producer.device,
                             origin=producer.origin))
    recv = Node(Recv, f"{producer.name}/_recv{len(sent)}", {"tensor_type": dtype, **shared}, device=device, origin=producer.origin)
    parts.setdefault(there, Partition(there)).nodes.append(recv)
    sent[producer, index, there] = recv
    return recv
