"""What becomes of a graph on its way to the executor, stage by stage, without running it.

    built         the user's graph
    pruned        the nodes that the fetches need, with feeds in place of what they cut off
    placed        every node has a device
    optimised     constants are folded, equal nodes merged, identities removed, ... (program/passes)
    partitioned   one list of nodes per device, with Send and Recv between them
    planned       the tables of the executor: slots instead of names; what runs as one native call is one node, a _Region
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.debug.printing import print_nodes, print_tables
from penstock.debug.views import NodeView, of_graph, of_program
from penstock.execute.pipeline import Pipeline
from penstock.execute.plan import Plan
from penstock.graph.graph import Graph
from penstock.graph.node import Operation, Tensor
from penstock.program.ir import Node, Program
from penstock.program.partition import PartitionedProgram
from penstock.program.stages import Observer

STAGES = ("built", "pruned", "placed", "optimised", "partitioned", "planned")


@dataclass
class StageGraph:
    """The graph at one stage: its nodes, and all of it as text."""

    name: str
    summary: str
    nodes: list[NodeView]
    text: str


def stages(graph: Graph, fetches: Sequence[Tensor], targets: Sequence[Operation], feeds: Sequence[Tensor], pipeline: Pipeline) -> list[StageGraph]:
    """The stages of a step, in order, on its way through a session's own pipeline."""
    built = of_graph(graph.get_operations())
    printer = _Printer()
    pipeline.observers.append(printer)
    try:
        pipeline.pack(pipeline.place(pipeline.prune(fetches, targets, feeds), pipeline.environment.devices))
    finally:
        pipeline.observers.remove(printer)
    return [StageGraph("built", f"{len(built)} nodes", built, print_nodes(built)), *printer.stages]


class _Printer(Observer):
    """Prints what it is shown."""

    def __init__(self) -> None:
        self.stages: list[StageGraph] = []

    def program(self, stage: str, program: Program) -> None:
        self.stages.append(_stage(stage, program.nodes))

    def partitioned(self, parts: PartitionedProgram) -> None:
        self.stages.append(_in_parts("partitioned", [(part.device, part.nodes) for part in parts.parts]))

    def planned(self, plan: Plan, program: Program) -> None:
        views = of_program([node for nodes in plan.node_lists for node in nodes])
        if not plan.device_plans:  # loops made of frames have no slots
            self.stages.append(StageGraph("planned", f"{len(views)} nodes in frames", views, print_nodes(views)))
            return
        parts = plan.device_plans
        text = "\n".join(f"  {part.device}: {part.size} slots\n{print_tables(part, '    ')}" for part in parts)
        summary = f"{sum(len(part.nodes) for part in parts)} kernels, {sum(part.size for part in parts)} slots"
        self.stages.append(StageGraph("planned", summary, views, text))


def _stage(name: str, nodes: Sequence[Node]) -> StageGraph:
    views = of_program(nodes)
    return StageGraph(name, f"{len(views)} nodes", views, print_nodes(views))


def _in_parts(name: str, parts: Sequence[tuple[str, list[Node]]]) -> StageGraph:
    views = [(device, of_program(nodes)) for device, nodes in parts]
    every = [view for _, part in views for view in part]
    text = "\n".join(f"  {device}\n{print_nodes(part, '    ')}" for device, part in views)
    return StageGraph(name, f"{len(every)} nodes on {len(parts)} devices", every, text)
