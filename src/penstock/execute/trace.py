"""What RunMetadata tells of a step: which op ran when on which device, and the graph of each device."""
from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from tensorboard.compat.proto.step_stats_pb2 import StepStats

from penstock.ops.transfer import Recv
from penstock.program.ir import Node
from penstock.state.resources import held_value

# (device, node, start ns, end ns, outputs) -> outputs to go on with, or None for those that were given
Recorder = Callable[[str, Node, int, int, list[Any]], "list[Any] | None"]


class _Output(NamedTuple):
    """One output of a node: its shape, its bytes, and how many of them the node asked for."""

    shape: tuple[int, ...]
    size: int
    allocated: int


class Trace:
    """Collects the times of a step's nodes; those that wait for a tensor of another device are told only if ``waits`` says so.

    What a program is told of its step is where its own nodes ran: a tensor that is received elsewhere has the name of the node that made it.
    """

    def __init__(self, waits: bool = False) -> None:
        self._waits = waits
        self._lock = threading.Lock()
        self._rows: list[tuple[str, Node, int, int, list[_Output], int]] = []
        self._offset = time.time_ns() - time.perf_counter_ns()  # event times are told in wall-clock time

    def __call__(self, device: str, node: Node, start: int, end: int, outputs: list[Any]) -> None:
        if node.definition is Recv and not self._waits:
            return
        described = [_describe(value) for value in outputs]
        with self._lock:
            self._rows.append((device, node, start, end, described, threading.get_ident()))

    def step_stats(self) -> StepStats:
        """The collected times as TensorFlow's proto."""
        stats = StepStats()
        devices: dict[str, Any] = {}
        threads: dict[int, int] = {}
        for device, node, start, end, outputs, thread in self._rows:
            if device not in devices:
                devices[device] = stats.dev_stats.add(device=device)
            row = devices[device].node_stats.add(
                node_name=node.name, all_start_micros=(start + self._offset) // 1000, op_end_rel_micros=max(1, (end - start) // 1000),
                all_end_rel_micros=max(1, (end - start) // 1000), thread_id=threads.setdefault(thread, len(threads)),
                timeline_label=f"{node.name} = {node.definition.type}({', '.join(p.name for p, _ in node.inputs)})")
            _fill_outputs(row, node, outputs)
        return stats


def _describe(value: Any) -> _Output:
    """A reference counts as what it refers to, which is not new; nor is a view."""
    held = held_value(value)
    owned = getattr(getattr(value, "flags", None), "owndata", False)
    size = getattr(held, "nbytes", 0)
    return _Output(getattr(held, "shape", ()), size, size if owned else 0)


def _fill_outputs(row: Any, node: Node, outputs: list[_Output]) -> None:
    """A scalar has a shape too: TensorBoard shows nothing of a step in which one is missing."""
    for slot, output in enumerate(outputs):
        tensor = row.output.add(slot=slot).tensor_description
        tensor.dtype = node.output_dtypes[slot].as_datatype_enum
        tensor.allocation_description.requested_bytes = output.size
        tensor.shape.SetInParent()
        for extent in output.shape:
            tensor.shape.dim.add(size=extent)
    allocated = sum(output.allocated for output in outputs)
    if allocated:
        row.memory.add(allocator_name="cpu", total_bytes=allocated, peak_bytes=allocated, live_bytes=allocated)


def fill_cost_graph(node_lists: Iterable[Iterable[Node]], metadata: Any) -> None:
    """Adds what the nodes of a step cost: their times and outputs are in the StepStats already."""
    nodes = [node for nodes in node_lists for node in nodes]
    numbers = {node: number for number, node in enumerate(nodes)}
    stats = {(device.device, row.node_name): row for device in metadata.step_stats.dev_stats for row in device.node_stats}
    for node, number in numbers.items():
        made = metadata.cost_graph.node.add(name=node.name, device=node.device, id=number, control_input=[numbers[other] for other in node.control])
        for producer, index in node.inputs:
            made.input_info.add(preceding_node=numbers[producer], preceding_port=index)
        row = stats.get((node.device, node.name))
        if row is not None:
            made.compute_cost = row.all_end_rel_micros
            for output in row.output:
                described = output.tensor_description
                made.output_info.add(size=described.allocation_description.requested_bytes, alias_input_port=-1, shape=described.shape,
                                     dtype=described.dtype)


def fill_partition_graphs(node_lists: Iterable[Iterable[Node]], metadata: Any) -> None:
    """Adds the graph that each device ran, with its Send and Recv nodes."""
    for nodes in node_lists:
        metadata.partition_graphs.add().node.extend(node.node_def for node in nodes)
