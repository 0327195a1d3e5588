"""Puts regions in place of the nodes that can be native, and runs the nodes of a region by their own kernels while there is no native code."""
from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from penstock.execute.device_plan import DevicePlan, RegionKernel
from penstock.execute.environment import Environment
from penstock.execute.executor import run_in_order
from penstock.execute.report import Stopwatch, watch
from penstock.program.ir import Edge, Node, RegionBody, duplicate


def with_regions(nodes: list[Node], kept: Collection[Edge], args: Collection[Node], environment: Environment,
                 excluded: Collection[str] = ()) -> tuple[list[Node], dict[Edge, Edge], dict[Node, RegionKernel]]:
    """The nodes of a partition, those that can be native gathered into regions; where outputs that were moved are now; and what runs each region."""
    from penstock.execute.region import RegionRun  # brings in LLVM
    from penstock.native.regions.forming import form  # brings in LLVM
    nodes, moved, bodies = form(nodes, kept, args, excluded)
    return nodes, moved, {node: RegionRun(body, environment, Interpretation) for node, body in bodies.items()}


class Interpretation:
    """The body of a region as a plan of its own, for NumPy; nodes around those that are ``excluded`` from native code are regions again."""

    def __init__(self, body: RegionBody, environment: Environment, excluded: Collection[str]) -> None:
        nodes, outputs, self.regions = body.nodes, body.outputs, dict[Node, RegionKernel]()
        if excluded:
            nodes, outputs = duplicate(nodes, outputs)  # the body may be read by a compilation, or cut again
            nodes, moved, self.regions = with_regions(nodes, outputs, body.args, environment, excluded)
            outputs = [moved.get(edge, edge) for edge in outputs]
        slots = {node: slot for slot, node in enumerate(body.args)}
        self._plan = DevicePlan(nodes, body.nodes[0].device, environment, set(outputs), slots, self.regions)
        self._places = [self._plan.slots[edge] for edge in outputs]
        self.watched: list[Stopwatch] = []
        if watch.on and excluded:
            self.watched = [Stopwatch(node, kernel) for node, kernel in zip(self._plan.nodes, self._plan.kernels)]
            self._plan.kernels = list(self.watched)

    def run(self, inputs: Sequence[Any]) -> list[Any]:
        """The outputs."""
        values = [*inputs, *[None] * (self._plan.size - len(inputs))]
        run_in_order(self._plan, values)
        return [values[slot] for slot in self._places]
