"""The client's side of a step that is debugged on a cluster (``distributed/probing.py``): hands what tasks tell of their nodes to a probe.

Tasks name nodes; the probe is told of nodes of this program's graph, which know their lines: those of the step, and those inside of the functions of
its loops and branches, wherever the master has them run. What only the master knows, such as the nodes that it makes of a loop over several tasks, is
not told.
"""
from __future__ import annotations

from typing import Any

from penstock.distributed.messages import Message
from penstock.distributed.probing import ANSWER
from penstock.errors import InternalError
from penstock.execute.probe import Frames, Probe
from penstock.graph.function import FuncGraph
from penstock.graph.graph import Graph
from penstock.graph.node import Operation
from penstock.program.ir import Node, Program, prune


class ToldNodes:
    """The nodes of one step by their names, and the probe that is told of them."""

    def __init__(self, graph: Graph, program: Program, probe: Probe) -> None:
        self._graph, self._probe = graph, probe
        self._nodes = {node.name: node for node in program.nodes}
        self._inner: dict[str, Operation] | None = None

    def answer(self, message: Message) -> Message:
        """Tells the probe what a task has told; returns the answer to it."""
        try:
            events, waits, task = message.fields["events"], message.fields["waits"], message.fields["task"]
            values = iter(message.tensors)
            told = [(name, device, tuple((str(function), int(number)) for function, number in frames),
                     [next(values) if slot in slots else None for slot in range(count)]) for name, device, frames, count, slots in events]
        except (KeyError, ValueError, TypeError, StopIteration) as error:
            raise InternalError(None, None, f"what a task tells of its nodes is malformed: {error!r}") from None
        changed, outputs = None, list[Any]()
        for index, (name, device, frames, outputs) in enumerate(told):
            changed = self._tell(frames, device, name, outputs, waits is True and index == len(told) - 1)
        changes = {slot: value for slot, (value, before) in enumerate(zip(changed or (), outputs)) if value is not before}
        return Message(ANSWER, {"task": task, "slots": list(changes), "waits": self._probe.waits}, [], list(changes.values()))

    def _tell(self, frames: Frames, device: str, name: str, outputs: list[Any], waits: bool) -> list[Any] | None:
        node = self._nodes.get(name) or self._node_of_function(name)
        if node is None:
            return None
        node.device = device
        return self._probe.tell(_named_here(node, frames), device, node, outputs, waits)

    def _node_of_function(self, name: str) -> Node | None:
        if self._inner is None:
            self._inner = inner_operations(self._graph)
        operation = self._inner.get(name)
        if operation is None:
            return None
        function: Any = operation.graph
        for node in prune(function.outputs, function.effects, function.inputs).nodes:
            self._nodes.setdefault(node.name, node)
        return self._nodes.get(name)


def inner_operations(graph: Graph) -> dict[str, Operation]:
    """The operations inside of the functions that a graph calls, by their names."""
    operations, left, seen = dict[str, Operation](), [graph], set[Graph]()
    while left:
        each = left.pop()
        seen.add(each)
        if isinstance(each, FuncGraph):
            operations.update(each._by_name)
        left += [value for op in each._ops for value in op.attrs.values() if isinstance(value, FuncGraph) and value not in seen]
    return operations


def _named_here(node: Node, frames: Frames) -> Frames:
    """Frames with the names that functions have in this program, where they are those that the node was traced in."""
    names, graph = list[str](), node.origin.graph if node.origin is not None else None
    while isinstance(graph, FuncGraph):
        names.insert(0, graph.name)
        graph = graph.outer
    return tuple((name, number) for name, (_, number) in zip(names, frames)) if len(names) == len(frames) else frames
