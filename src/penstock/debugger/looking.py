"""What the page shows of a stopped program: the graph of its run, the lines of Python that made it, and one operation."""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from penstock.debug.picture import picture
from penstock.debug.tfdbg.stops import user_line
from penstock.debug.views import NodeView, of_graph, of_program
from penstock.graph.function import FuncGraph
from penstock.graph.graph import Graph
from penstock.graph.node import Operation
from penstock.session.observers import SessionRun

_MOST_OF_A_LINE = 40  # operations that are told of


class BadRequest(ValueError):
    """A message that asks for what there is not."""


def all_operations(graph: Graph) -> Iterator[Operation]:
    """The operations of a graph, and those inside of its loops and branches."""
    left = [graph]
    while left:
        for op in left.pop()._ops:
            yield op
            left += [value for value in op.attrs.values() if isinstance(value, FuncGraph)]


def run_picture(run: SessionRun) -> dict[str, Any]:
    """The operations of a run, as placed, with their places on a page."""
    pipeline = run.backend.pipeline
    placed = pipeline.place(pipeline.prune(run.wanted.tensors, run.wanted.targets, list(run.feeds)), pipeline.environment.devices)
    return picture(of_program(placed.nodes), _phase_in(run.graph))


def function_picture(function: Graph) -> dict[str, Any]:
    """The operations of a function: the body of a loop, or a branch."""
    return picture(of_graph(function._ops), lambda view: "forward")


def _phase_in(graph: Graph) -> Any:
    """Which part of a step an operation belongs to: gradients are made in scopes of that name; what updates says so itself."""
    def phase(view: NodeView) -> str:
        op = graph._by_name.get(view.name)
        if op is not None and op.definition.updates and op.inputs:
            return "update"
        return "gradient" if any(part.rpartition("_")[0] == "gradients" or part == "gradients" for part in view.name.split("/")) else "forward"
    return phase


def source_lines(graph: Graph) -> dict[str, dict[int, list[str]]]:
    """The names of operations by the file and the line that made them."""
    files: dict[str, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
    for op in all_operations(graph):
        file, line, _ = user_line(op)
        if file and len(files[file][line]) < _MOST_OF_A_LINE:
            files[file][line].append(op.name)
    return files


def operation(graph: Graph, name: Any) -> dict[str, Any]:
    """What there is to know of an operation, without its values."""
    op = next((op for op in all_operations(graph) if op.name == name), None)
    if op is None:
        raise BadRequest(f"there is no operation {name!r}")
    (view,) = of_graph([op])
    file, line, text = user_line(op)
    consumers = {consumer.name: None for tensor in op.outputs for consumer in tensor.consumers()}
    return {"name": op.name, "type": op.type, "device": op.device, "outputs": [f"{op.name}:{index}" for index in range(len(op.outputs))],
            "shapes": view.outputs, "attrs": view.attrs, "inputs": [*dict.fromkeys(tensor.op.name for tensor in op.inputs)],
            "consumers": list(consumers), "file": file, "line": line, "code": text.strip()}
