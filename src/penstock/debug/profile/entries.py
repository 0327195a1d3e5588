"""What each operation counts: parameters and float operations, and, of traced steps, time and memory."""
from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.debug.profile.flops import Shape, Unknown, float_operations
from penstock.graph.graph import Graph
from penstock.graph.node import Operation

TRACED = ("micros", "accelerator_micros", "cpu_micros", "bytes", "peak_bytes", "residual_bytes", "output_bytes", "run_count")
FIGURES = (*TRACED, "params", "float_ops", "occurrence")
_ACCELERATORS = ("gpu", "stream", "tpu")


@dataclass
class Entry:
    """A node, a scope, a type or a line: its own figures, and their totals over what is shown below it."""

    name: str
    own: dict[str, int] = field(default_factory=lambda: dict.fromkeys(FIGURES, 0))
    total: dict[str, int] = field(default_factory=lambda: dict.fromkeys(FIGURES, 0))
    types: set[str] = field(default_factory=set)
    devices: list[str] = field(default_factory=list)
    shape: Shape | None = None  # of a variable
    input_shapes: list[Shape | None] = field(default_factory=list)
    accounted: bool = False
    children: list[Entry] = field(default_factory=list)
    members: list[Entry] = field(default_factory=list)  # the operations of a type or of a line

    def add_up(self) -> None:
        """Totals from the entry's own figures and its children's totals."""
        for key in FIGURES:
            self.total[key] = (self.own[key] if self.accounted else 0) + sum(child.total[key] for child in self.children)

    def join(self, members: Iterable[Entry]) -> None:
        """Makes this the sum of operations."""
        for member in members:
            self.members.append(member)
            self.types |= member.types
            self.devices.extend(device for device in member.devices if device not in self.devices)
            for key in FIGURES:
                self.own[key] += member.own[key]


def walk(top: Sequence[Entry], depth: int = 1) -> Iterator[tuple[Entry, int]]:
    """(entry, how deep it is), each before its children; without recursion, for a chain of inputs may be thousands of operations long."""
    waiting = [(entry, depth) for entry in reversed(top)]
    while waiting:
        entry, depth = waiting.pop()
        yield entry, depth
        waiting.extend((child, depth + 1) for child in reversed(entry.children))


def entries(graph: Graph, steps: Sequence[Any] = (), op_log: Any = None) -> tuple[dict[str, Entry], int]:
    """The entry of each operation, and how many lack float operations because a shape is not known.

    ``steps`` are the RunMetadata of traced steps; figures are their means.
    """
    traced = _Traced(steps)
    trainable = {variable.op.name for variable in graph.get_collection("trainable_variables")}
    by_name, unknown = {}, 0
    for op in graph.get_operations():
        entry = by_name[op.name] = Entry(op.name, types={op.type})
        entry.own["occurrence"] = 1
        entry.input_shapes = [_shape_of(tensor, traced.shapes) for tensor in op._inputs]
        _count_parameters(entry, op)
        if op.name in trainable:
            entry.types.add("_trainable_variables")
        try:
            entry.own["float_ops"] = float_operations(op, traced.shapes)
        except Unknown:
            unknown += 1
        traced.fill(entry)
    for logged in getattr(op_log, "log_entries", ()):
        if logged.name in by_name:
            by_name[logged.name].types.update(logged.types)
            by_name[logged.name].own["float_ops"] = logged.float_ops or by_name[logged.name].own["float_ops"]
    return by_name, unknown


def _shape_of(tensor: Any, known: dict[tuple[str, int], Shape]) -> Shape | None:
    if tensor.shape.is_fully_defined():
        return tuple(tensor.shape.as_list())
    return known.get((tensor.op.name, tensor.value_index))


def _count_parameters(entry: Entry, op: Operation) -> None:
    shape = op.attrs.get("shape") if op.type in ("Variable", "VariableV2", "VarHandleOp") else None
    if shape is not None and shape.is_fully_defined():
        entry.shape = tuple(shape.as_list())
        entry.own["params"] = math.prod(entry.shape)


class _Traced:
    """What traced steps tell: the shapes of outputs, and what each node took, as means over the steps."""

    def __init__(self, steps: Sequence[Any]) -> None:
        self.shapes: dict[tuple[str, int], Shape] = {}
        self._steps = max(1, len(steps))
        self._rows: dict[str, list[tuple[str, Any]]] = {}
        for step in steps:
            for device in step.step_stats.dev_stats:
                for stats in device.node_stats:
                    self._rows.setdefault(stats.node_name, []).append((device.device, stats))
                    for output in stats.output:
                        self.shapes[stats.node_name, output.slot] = tuple(dim.size for dim in output.tensor_description.shape.dim)

    def fill(self, entry: Entry) -> None:
        """Adds what was measured of a node."""
        rows = self._rows.get(entry.name, ())
        for device, stats in rows:
            self._add(entry.own, device, stats, persistent=entry.shape is not None)
            if device not in entry.devices:
                entry.devices.append(device)
                entry.types.add(device)
        for key in TRACED if rows else ():
            entry.own[key] = -(-entry.own[key] // self._steps)

    def _add(self, own: dict[str, int], device: str, stats: Any, persistent: bool) -> None:
        where = "accelerator_micros" if any(word in device.lower() for word in _ACCELERATORS) else "cpu_micros"
        given = sum(output.tensor_description.allocation_description.requested_bytes for output in stats.output)
        taken = given if persistent else sum(memory.total_bytes for memory in stats.memory)
        own["run_count"] += 1
        for key, value in (("micros", stats.all_end_rel_micros), (where, stats.all_end_rel_micros), ("output_bytes", given), ("bytes", taken),
                           ("peak_bytes", taken), ("residual_bytes", taken)):
            own[key] += value
