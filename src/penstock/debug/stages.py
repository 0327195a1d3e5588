"""What becomes of a graph on its way to the executor, stage by stage, without running it.

    built         the user's graph
    pruned        the nodes that the fetches need, with feeds in place of what they cut off
    placed        every node has a device
    optimised     constants are folded, equal nodes merged, identities removed, ... (program/passes)
    partitioned   one list of nodes per device, with Send and Recv between them
    planned       the tables of the executor: slots instead of names; what runs as one native call is one node, a _Region
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.debug.printing import print_nodes, print_tables
from penstock.debug.views import NodeView, of_graph, of_program
from penstock.execute.environment import Environment
from penstock.graph.graph import Graph
from penstock.graph.node import Operation, Tensor
from penstock.program import ir
from penstock.program.devices import Device
from penstock.program.partition import partition
from penstock.program.passes import Options, optimise
from penstock.program.placement import place

STAGES = ("built", "pruned", "placed", "optimised", "partitioned", "planned")


@dataclass
class Stage:
    """The graph at one stage: its nodes, and all of it as text."""

    name: str
    summary: str
    nodes: list[NodeView]
    text: str


def stages(graph: Graph, fetches: Sequence[Tensor], targets: Sequence[Operation], feeds: Sequence[Tensor], devices: list[Device]) -> Iterator[Stage]:
    """The stages of a step, in order."""
    built = of_graph(graph.get_operations())
    yield Stage("built", f"{len(built)} nodes", built, print_nodes(built))
    program = ir.prune(fetches, targets, feeds)
    yield _stage("pruned", program.nodes)
    place(program, devices, soft=True)
    yield _stage("placed", program.nodes)
    if not any(node.definition.control_flow for node in program.nodes):  # whose tensors may be dead: no pass may move them
        program = optimise(program, Options())
    yield _stage("optimised", program.nodes)
    yield _in_parts("partitioned", [(part.device, part.nodes) for part in partition(program)])
    plan: Any = Environment(devices, soft_placement=True).plan(ir.prune(fetches, targets, feeds))
    planned = of_program([node for part in plan.parts for node in part.all_nodes])
    text = "\n".join(f"  {part.device}: {part.size} slots\n{_tables(part)}" for part in plan.parts)
    yield Stage("planned", f"{sum(len(part.nodes) for part in plan.parts)} kernels, {sum(part.size for part in plan.parts)} slots",
                planned, text)


def _stage(name: str, nodes: Sequence[ir.Node]) -> Stage:
    views = of_program(nodes)
    return Stage(name, f"{len(views)} nodes", views, print_nodes(views))


def _in_parts(name: str, parts: Sequence[tuple[str, list[ir.Node]]]) -> Stage:
    views = [(device, of_program(nodes)) for device, nodes in parts]
    every = [view for _, part in views for view in part]
    text = "\n".join(f"  {device}\n{print_nodes(part, '    ')}" for device, part in views)
    return Stage(name, f"{len(every)} nodes on {len(parts)} devices", every, text)


def _tables(part: Any) -> str:
    """A part with loops made of frames has no slots: its nodes are shown."""
    return print_tables(part, "    ") if hasattr(part, "frees") else print_nodes(of_program(part.all_nodes), "    ")
