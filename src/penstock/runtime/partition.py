"""Cuts a placed program into one program per device; every edge between two devices becomes a Send and a Recv.

A tensor that several nodes of the other device use travels once. A control edge travels as an empty tensor.
"""
from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from penstock.compiler.ir import Node, Program
from penstock.graph import dtypes
from penstock.graph.opdef import lookup
from penstock.ops.transfer import Recv, Send


@dataclass(slots=True)
class Partition:
    """What one device runs."""

    device: str
    nodes: list[Node] = field(default_factory=list)


def partition(program: Program) -> list[Partition]:
    """One Partition per device that has nodes, in the order of the devices' names; the nodes of each in a runnable order."""
    parts: dict[str, Partition] = {}
    sent: dict[tuple[Node, int, str], Node] = {}
    for node in program.nodes:
        part = parts.setdefault(node.device, Partition(node.device))
        node.inputs = [(producer, index) if producer.device == node.device else
                       (_transfer(producer, index, node.device, parts, sent), 0) for producer, index in node.inputs]
        node.control = [other if other.device == node.device else _transfer(other, -1, node.device, parts, sent) for other in node.control]
        part.nodes.append(node)
    return [parts[name] for name in sorted(parts)]


def _transfer(producer: Node, index: int, to: str, parts: dict[str, Partition], sent: dict[tuple[Node, int, str], Node]) -> Node:
    """The Recv node on device ``to`` for an output of ``producer`` (-1: only the fact that it has run)."""
    recv = sent.get((producer, index, to))
    if recv is not None:
        return recv
    source = parts[producer.device]
    what, which, control = producer, index, []
    if index < 0:
        what, which, control = Node(lookup("Const"), f"{producer.name}/_done{len(sent)}",
                                    {"value": np.zeros(0, np.float32), "dtype": dtypes.float32}, device=producer.device), 0, [producer]
        what.control = control
        source.nodes.append(what)
    dtype = what.output_dtypes[which].base_dtype
    shared = {"tensor_name": f"edge_{len(sent)}_{producer.name}", "send_device": producer.device, "send_device_incarnation": 1, "recv_device": to,
              "client_terminated": False}
    source.nodes.append(Node(Send, f"{producer.name}/_send{len(sent)}", {"T": dtype, **shared}, [(what, which)], device=producer.device,
                             origin=producer.origin))
    recv = Node(Recv, f"{producer.name}/_recv{len(sent)}", {"tensor_type": dtype, **shared}, device=to, origin=producer.origin)
    parts.setdefault(to, Partition(to)).nodes.append(recv)
    sent[producer, index, to] = recv
    return recv
