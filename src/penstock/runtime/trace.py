"""What RunMetadata tells of a step: which op ran when on which device, and the graph of each device."""
from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from tensorboard.compat.proto.step_stats_pb2 import StepStats

from penstock.compiler.ir import Node
from penstock.runtime.resources import Ref

Recorder = Callable[[str, Node, int, int, list[Any]], None]  # (device, node, start ns, end ns, outputs)


class Trace:
    """Collects the times of a step's nodes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rows: list[tuple[str, Node, int, int, list[Any], int]] = []
        self._offset = time.time_ns() - time.perf_counter_ns()  # event times are told in wall-clock time

    def __call__(self, device: str, node: Node, start: int, end: int, outputs: list[Any]) -> None:
        values = [value.value if isinstance(value, Ref) else value for value in outputs]  # a reference counts as what it refers to
        shapes = [(getattr(value, "shape", None), getattr(value, "nbytes", 0)) for value in values]
        with self._lock:
            self._rows.append((device, node, start, end, shapes, threading.get_ident()))

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
            for slot, (shape, size) in enumerate(outputs):
                output = row.output.add(slot=slot)
                output.tensor_description.allocation_description.requested_bytes = size
                for extent in shape or ():
                    output.tensor_description.shape.dim.add(size=extent)
        return stats


def fill_partition_graphs(plan: Any, metadata: Any) -> None:
    """Adds the graph that each device ran, with its Send and Recv nodes."""
    for part in plan.parts:  # a Plan or a FramePlan
        graph_def = metadata.partition_graphs.add()
        for node in part.all_nodes:
            graph_def.node.append(node.node_def)
