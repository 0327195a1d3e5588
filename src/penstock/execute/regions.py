"""Puts regions in place of the nodes that can be native, and runs the nodes of a region by their own kernels while there is no native code."""
from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from penstock.execute.changing_shapes import ShapeWatch
from penstock.execute.device_plan import DevicePlan, RegionKernel
from penstock.execute.environment import Environment
from penstock.execute.executor import run_in_order
from penstock.execute.report import Stopwatch, watch
from penstock.program.devices import kind_of
from penstock.program.ir import Edge, Node, RegionBody, duplicate


class Regioned(NamedTuple):
    """Nodes of which some are regions: what is fed and what is wanted among them, and what runs each region."""

    nodes: list[Node]
    args: list[Node]
    outputs: list[Edge]
    kernels: dict[Node, RegionKernel]


def with_regions(nodes: Sequence[Node], args: Sequence[Node], outputs: Sequence[Edge], environment: Environment,
                 excluded: Collection[str] = (), apart: Collection[str] = ()) -> Regioned:
    """Copies of the nodes of one device, those that can be native gathered into regions; nodes that are ``excluded``, by their names, stay alone, and
    those that are set ``apart`` share no region with others."""
    from penstock.native.regions.forming import form, has_known_shapes  # brings in LLVM
    if environment.known_shapes_only:
        excluded = {*excluded, *(node.name for node in nodes if not has_known_shapes(node))}
    nodes, edges = duplicate(nodes, [*((arg, 0) for arg in args), *outputs])
    fed, wanted = [arg for arg, _ in edges[:len(args)]], edges[len(args):]
    kind = kind_of(nodes[0].device if nodes else "")
    nodes, moved, bodies = form(nodes, wanted, fed, excluded, apart, kind.always)
    kernels: dict[Node, RegionKernel] = {node: kind.region(body, environment, Interpretation) for node, body in bodies.items()}
    return Regioned(nodes, fed, [moved.get(edge, edge) for edge in wanted], kernels)


class Interpretation:
    """The body of a region as a plan of its own, for NumPy; with nodes that are ``excluded`` or set ``apart``, there are regions in it again."""

    def __init__(self, body: RegionBody, environment: Environment, excluded: Collection[str], apart: Collection[str] = ()) -> None:
        nodes, args, outputs, self.regions = Regioned(body.nodes, body.args, body.outputs, {})
        if excluded or apart:
            nodes, args, outputs, self.regions = with_regions(nodes, args, outputs, environment, excluded, apart)
        slots = {node: slot for slot, node in enumerate(args)}
        self._plan = DevicePlan(nodes, body.nodes[0].device, environment, set(outputs), slots, self.regions)
        self._places = [self._plan.slots[edge] for edge in outputs]
        self.watched: list[Stopwatch] = []
        if watch.on and (excluded or apart):
            self.watched = [Stopwatch(node, kernel) for node, kernel in zip(self._plan.nodes, self._plan.kernels)]
            self._plan.replace_kernels(self.watched)

    def watch_shapes(self) -> ShapeWatch:
        """Has the next runs looked at."""
        return ShapeWatch(self._plan)

    def run(self, inputs: Sequence[Any]) -> list[Any]:
        """The outputs."""
        values = [*inputs, *self._plan.start[len(inputs):]]
        run_in_order(self._plan, values)
        return [values[slot] for slot in self._places]
