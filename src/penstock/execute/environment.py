"""What all plans of a session share: its devices, its state, and the plans of the functions that its ops call."""
from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from penstock.graph.function import FuncGraph
from penstock.native.config import config
from penstock.program import ir
from penstock.program.copies import with_copies
from penstock.program.devices import Device, kind_of
from penstock.program.passes import NONE, Options, optimise
from penstock.program.placement import place
from penstock.state.resources import Resources

observers: list[Callable[[Any, list[str]], None]] = []  # are shown every plan, and what it is for, before it runs: see debug/explain.py


def ends(program: ir.Program) -> list[str]:
    """The names of what a program computes: its fetches, and the nodes that nobody uses."""
    used = {producer for node in program.nodes for producer in (*(producer for producer, _ in node.inputs), *node.control)}
    return list(dict.fromkeys([*(node.name for node, _ in program.fetches), *(node.name for node in program.nodes if node not in used)]))


class Environment:
    """Makes plans; keeps the resources of the task and the private state of its nodes."""

    def __init__(self, devices: list[Device], soft_placement: bool = False, log_placement: bool = False,
                 resources: Resources | None = None, threads: int = 0, passes: Options = Options()) -> None:
        self.threads = threads or config.threads  # that share a large kernel
        self.passes = passes  # which graph passes a program goes through
        self.devices, self.soft_placement, self.log_placement = devices, soft_placement, log_placement
        self.resources = Resources() if resources is None else resources  # those of a task are shared by its sessions
        self.private = self.resources if resources is None else Resources()  # what has no name to be shared by goes with the session
        self.states: dict[str, dict[str, Any]] = {}  # per stateful node: random generators, ...
        self._functions: dict[tuple[FuncGraph, str], tuple[int, Any]] = {}
        self._lock = threading.Lock()

    def plan(self, program: ir.Program, native: bool = True, preferred: str = "") -> Any:
        """Places a program and packs it for the executor; without ``native``, every node of the user's runs by itself."""
        place(program, self.devices, self.soft_placement, self.log_placement, preferred)
        return self.pack(program, native=native)

    def pack(self, program: ir.Program, frames: bool = False, native: bool = True) -> Any:
        """Packs a program whose nodes have their devices already; ``frames`` if tensors that come from elsewhere may be dead."""
        from penstock.execute.frames import FramePlan  # a plan's kernels call back into this environment
        from penstock.execute.plan import Plan
        has_frames = frames or any(node.definition.control_flow for node in program.nodes)
        ir.check(program)
        if not has_frames:
            rewrites = native and all(kind_of(device).native for device in {node.device for node in program.nodes})
            program = optimise(program, self.passes if rewrites else replace(NONE, updates=self.passes.updates))
        program = with_copies(program)
        names = ends(program) if observers else []
        plan = FramePlan(program, self) if has_frames else Plan(program, self, native and config.mode != "off")
        for observe in observers:
            observe(plan, names)
        return plan

    def function(self, graph: FuncGraph, device: str) -> Any:
        """The plan of a function that a node on ``device`` calls, made at the first call."""
        found = self._functions.get((graph, device))
        if found is None or found[0] != graph._mutations:
            program = ir.prune(graph.outputs, (), graph.inputs)
            with self._lock:
                found = self._functions[graph, device] = (graph._mutations, self.plan(program, preferred=device))
        return found[1]

    def clear(self) -> None:
        """Forgets all state."""
        self.states, self._functions = {}, {}
        self.resources.clear()
