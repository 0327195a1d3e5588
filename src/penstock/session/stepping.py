"""A step whose nodes a debugger looks at, where the nodes run elsewhere: in parts, each of which fetches all that it computes.

``program/partial.py`` decides what a part runs; an operation never runs twice. A part ends where the debugger wants to stop: what it changes there is
fed to the parts that follow. Without stops a step is one part. Inside of functions, the bodies of loops, nothing is seen: they run on their tasks.
"""
from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from penstock.execute.trace import Probe, Recorder
from penstock.graph import dtypes
from penstock.graph.node import Operation, Tensor
from penstock.program.ir import Node, Program
from penstock.program.partial import PartialStep, RunPart, gives_handle
from penstock.session.fetches import Fetches

_NO_VALUES = (dtypes.resource, dtypes.variant)


def run_in_parts(program: Program, wanted: Fetches, feeds: dict[Tensor, Any], record: Recorder, run_part: RunPart) -> list[Any]:
    """The fetched values; ``record`` is called for each node of the placed program, in an order in which they could run."""
    nodes = [(node, node.origin) for node in program.nodes if node.origin is not None and node not in program.args]
    seen = [tensor for _, op in nodes for tensor in _values_of(op)]
    step = PartialStep(list(feeds), list(dict.fromkeys([*wanted.tensors, *seen])), [op for _, op in nodes])
    values: dict[Tensor, Any] = dict(feeds)
    for part in _parts(nodes, record):
        values.update(_run(step, [op for _, op in part], values, feeds, run_part))
        feeds = {}  # they are known from now on
        for node, op in part:
            values.update(_ask_recorder(node, op, values, record, step))
    return [values[tensor] for tensor in wanted.tensors]


def _parts(nodes: list[tuple[Node, Operation]], record: Recorder) -> Iterator[list[tuple[Node, Operation]]]:
    part: list[tuple[Node, Operation]] = []
    for node, op in nodes:
        part.append((node, op))
        if isinstance(record, Probe) and record.stops_at(op):
            yield part
            part = []
    if part:
        yield part


def _values_of(op: Operation) -> list[Tensor]:
    """The outputs that are values and can be fetched."""
    return [] if gives_handle(op) else [tensor for tensor in op.outputs if tensor.dtype.base_dtype not in _NO_VALUES]


def _run(step: PartialStep, part: list[Operation], values: dict[Tensor, Any], feeds: dict[Tensor, Any], run_part: RunPart) -> dict[Tensor, Any]:
    fetches = [tensor for op in part for tensor in _values_of(op) if tensor not in values]
    targets = [op for op in part if not gives_handle(op)]
    asked = step.begin(feeds, fetches, targets)
    computed = dict(zip(asked, run_part(step.known(), asked, [op for op in targets if op not in step.done], step.done)))
    step.ended(computed, [*feeds, *fetches, *targets])
    return computed


def _ask_recorder(node: Node, op: Operation, values: dict[Tensor, Any], record: Recorder, step: PartialStep) -> dict[Tensor, Any]:
    outputs = [values.get(tensor) for tensor in op.outputs]
    now = time.perf_counter_ns()
    others = record(node.device, node, now, now, outputs)
    if others is None:
        return {}
    changes = {tensor: np.asarray(value) for tensor, value, before in zip(op.outputs, others, outputs) if value is not before}
    for tensor, value in changes.items():
        step.replace(tensor, value)
    return changes
