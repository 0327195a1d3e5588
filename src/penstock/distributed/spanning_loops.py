"""Loops whose bodies span tasks: how each task knows how many iterations there are.

A loop's nodes run once per iteration because values go round in it. A Recv has no inputs to make it run, so each task that
gets tensors inside a loop gets a small loop of its own beside it:

    start -> Enter -> Merge -> Switch -> NextIteration -> back to Merge
                        |        ^
                        |        +-- the loop's condition, sent by the task that computes it
                        +-- every Recv of the iteration waits for this

So a Recv runs once in every iteration, the last one included, in which the body is dead and dead tensors travel; and so does
the Send of a value that is the same in each. In a loop inside a loop, ``start`` is the Merge of the outer one.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.graph import dtypes
from penstock.graph.opdef import lookup
from penstock.ops.flow.primitives import LoopCond
from penstock.ops.transfer import Recv, Send
from penstock.program.ir import Node, Program
from penstock.program.partition import Partition
from penstock.program.variants import variant_groups

ROOT = ""


@dataclass(slots=True)
class _Frames:
    """Which loop each node's outputs lie in, the loop around each loop, and the condition of each."""

    of: dict[Node, str]
    parent: dict[str, str]
    condition: dict[str, Node]


def gather(program: Program) -> None:
    """Puts nodes that only pass values on to where the values go round: an edge of one iteration only cannot cross between tasks. Nor can a list."""
    for group in variant_groups(program):
        if not any(node.definition.list_role for node in group):
            continue
        # A loop that has a gradient pushes what that needs onto lists, wherever it was computed.
        device, _ = Counter(node.device for node in group if node.definition.list_role).most_common(1)[0]
        for node in group:
            node.device = device
    for node in program.nodes:
        kind = node.definition.control_flow
        if kind == "merge":
            for producer, _ in node.inputs:
                if producer.definition.control_flow in ("next", "enter"):
                    producer.device = node.device
        elif kind == "exit":
            node.device = node.inputs[0][0].device


def frames_of(program: Program) -> _Frames:
    """The loops of a program."""
    frames = _Frames({}, {}, {})
    for node in program.nodes:
        before = node.before
        inside = max((frames.of[other] for other in before if other in frames.of), key=lambda name: _depth(frames, name), default=ROOT)
        kind = node.definition.control_flow
        if kind == "enter":
            frames.parent[node.attrs["frame_name"]] = inside
            inside = node.attrs["frame_name"]
        elif kind == "exit":
            inside = frames.parent.get(inside, ROOT)
        frames.of[node] = inside
        if node.definition is LoopCond:
            frames.condition[inside] = node
    return frames


def _depth(frames: _Frames, name: str) -> int:
    depth = 0
    while name != ROOT:
        name, depth = frames.parent.get(name, ROOT), depth + 1
    return depth


def drive(parts: list[Partition], frames: _Frames, side: Callable[[str], str]) -> None:
    """Adds to the parts of a program what makes their Recv nodes, and Send nodes of invariants, run in every iteration of the loops they are in."""
    where: dict[str, str] = {}
    for part in parts:
        for node in part.nodes:
            if node.definition is Send:
                sent = node.inputs[0][0]
                where[node.attrs["tensor_name"]] = frames.of[sent if sent in frames.of else sent.control[0]]  # else: tells that a node has run
    drivers = _Drivers(parts, frames, side)
    for part in parts:
        for node in list(part.nodes):
            driven = node.definition is Recv or (node.definition is Send and node.inputs[0][0].attrs.get("is_constant", False))
            frame = where.get(node.attrs["tensor_name"], ROOT) if driven else ROOT
            if frame != ROOT:
                node.control = [drivers.merge(frame, part, node.device)]
    for part in parts:
        part.nodes = _in_order(part.nodes)


class _Drivers:
    """The small loops, made when they are needed."""

    def __init__(self, parts: list[Partition], frames: _Frames, side: Callable[[str], str]) -> None:
        self._parts, self._frames, self._side = {part.device: part for part in parts}, frames, side
        self._merges: dict[tuple[str, str], Node] = {}

    def merge(self, frame: str, part: Partition, device: str) -> Node:
        """The node that runs in every iteration of a loop on a task."""
        node = self._merges.get((frame, part.device))
        if node is None:
            node = self._make(frame, part, device)
        return node

    def _make(self, frame: str, part: Partition, device: str) -> Node:
        condition = self._frames.condition[frame]
        prefix = f"{condition.name}/_loop{len(self._merges)}"

        def node(op_type: str, name: str, inputs: list[tuple[Node, int]], **attrs: Any) -> Node:
            made = Node(lookup(op_type), f"{prefix}_{name}", {"T": dtypes.int32, **attrs}, inputs, device=device)
            part.nodes.append(made)
            return made

        parent = self._frames.parent.get(frame, ROOT)
        if parent == ROOT:
            start = Node(lookup("Const"), f"{prefix}_start", {"value": np.int32(0), "dtype": dtypes.int32}, device=device)
            part.nodes.append(start)
        else:
            start = self.merge(parent, part, device)
        enter = node("Enter", "enter", [(start, 0)], frame_name=frame, is_constant=False, parallel_iterations=10)
        merge = self._merges[frame, part.device] = node("Merge", "merge", [(enter, 0)], N=2)
        switch = node("Switch", "switch", [(merge, 0), (self._condition(condition, part, device, merge, prefix), 0)])
        merge.inputs.append((node("NextIteration", "next", [(switch, 1)]), 0))
        return merge

    def _condition(self, condition: Node, part: Partition, device: str, merge: Node, prefix: str) -> Node:
        """The loop's condition, on this task."""
        home = self._side(condition.device)
        if home == part.device:
            return condition
        shared = {"tensor_name": f"{prefix}_condition", "send_device": condition.device, "send_device_incarnation": 1, "recv_device": device,
                  "client_terminated": False}
        self._parts[home].nodes.append(Node(Send, f"{prefix}_send", {"T": dtypes.bool_, **shared}, [(condition, 0)], device=condition.device))
        received = Node(Recv, f"{prefix}_recv", {"tensor_type": dtypes.bool_, **shared}, control=[merge], device=device)
        part.nodes.append(received)
        return received


def _in_order(nodes: list[Node]) -> list[Node]:
    """Each node after those that it depends on, but for the way back of a loop."""
    ordered: dict[Node, None] = {}
    for goal in nodes:
        stack = [(goal, False)]
        while stack:
            node, expanded = stack.pop()
            if expanded:
                ordered[node] = None
            elif node not in ordered:
                stack.append((node, True))
                stack.extend((other, False) for other in node.before
                             if other not in ordered and other.definition.control_flow != "next")
    return list(ordered)
