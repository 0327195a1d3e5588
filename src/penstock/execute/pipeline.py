"""From a graph to a plan: the stages of ``program/stages.py``, and the packing behind them. Local sessions, workers and functions plan by it.

The policy of the first run lives here, in ``PlannedStep``: many steps run once (initializers, a look at the loss) and need no compiler. So the first
run of a step has a plan without regions, in which NumPy runs every node of the user's; when the step comes again, the final plan is made. A step
that trains comes again, and one that draws a million random numbers takes longer than the compiler: these have their final plan from the beginning.
How often a loop turns is only seen when it does: a first run that is in a long one, and has left no trace, is broken off and begun again by the
final plan. What NumPy still runs then is settled by ``native/table/patience.py``.
"""
from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from tensorboard.compat.proto.config_pb2 import RunMetadata

from penstock.errors import InternalError, KernelError
from penstock.execute.device_plan import RegionKernel
from penstock.execute.environment import CallFunction, Environment
from penstock.execute.frames import FramePlan
from penstock.execute.plan import PackedPlan, Plan
from penstock.execute.probe import Probe, Probed
from penstock.execute.region import draws_many
from penstock.execute.step import LongLoop, Step, at_most, count_kernels, kernels_in_functions, works_alone
from penstock.execute.trace import Trace, fill_cost_graph, fill_partition_graphs
from penstock.graph.function import FuncGraph
from penstock.native.config import config
from penstock.platform.garbage import uncollected
from penstock.program.branches import deciding_feeds
from penstock.program.devices import kind_of
from penstock.program.ir import Program, can_begin_anew
from penstock.program.stages import Stages

_SPARES = 2  # per function: a new iterator is made before the old one is forgotten
_LONG = 20_000  # kernels in loops, a fifth of a second or more: the compiler takes less


class Pipeline(Stages):
    """Makes the plans of one environment, those of the functions that its kernels call included."""

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment.soft_placement, environment.log_placement, environment.passes)
        self.environment = environment
        self._probed: dict[tuple[FuncGraph, str, Environment], tuple[int, Plan]] = {}  # the same, node by node
        self._lock = threading.Lock()
        self._later = [environment.for_datasets(several) for several in (False, True)]
        environment.call_function, environment.call_at = functools.partial(self._call, environment), self._call_at
        self._undivided = environment.undivided()
        for each in (environment, *self._later):
            each.call_later, each.lasting_calls = self._call_later, self._lasting_calls
        for each in self._later:
            each.call_function = self._call_later
        self._spares: WeakKeyDictionary[FuncGraph, list[_OwnCalls]] = WeakKeyDictionary()  # by their functions, those that nobody uses now

    def pack(self, program: Program, native: bool = True, frames: bool = False, caller: str = "", environment: Environment | None = None) -> Plan:
        """The plan of a program whose nodes have their devices; ``frames`` if tensors that come from elsewhere may be dead.

        ``caller`` is the device of the node that calls it, if it is a function, ``environment`` the one that its kernels are to know.
        """
        environment = environment or self.environment
        frames |= program.has_frames
        program = self.optimise(program, native, frames, caller)
        plan: Plan
        if frames:
            plan = FramePlan(program, environment)
        else:
            plan = PackedPlan(self.partition(program), environment, _why_numpy(native), not native)
        for observer in self._all_observers():
            observer.planned(plan, program)
        return plan

    def _call(self, environment: Environment, function: FuncGraph, device: str, arguments: list[Any], step: Step) -> list[Any]:
        """Runs a function that a node on ``device`` calls; its plan is made at the first call."""
        if step.probe is not None:
            return self._call_probed(environment, function, device, arguments, step)
        known = environment.plans.get((function, device))  # (which state of the function, its kernels, its plan)
        if known is None or known[0] != function._mutations:
            with self._lock:
                planned = self._function_plan(function, device, environment)
                known = environment.plans[function, device] = (function._mutations, *planned)
        count_kernels(known[1])
        return known[2].call(arguments, step)

    def _call_at(self, function: FuncGraph, device: str, arguments: list[Any], step: Step) -> list[Any]:
        """Runs the whole of a function on one device, of this task or another one."""
        if any(each.name == device for each in self.environment.devices):
            return self._call(self._undivided, function, device, arguments, step)
        elsewhere = self.environment.call_on_task
        if elsewhere is None:
            raise KernelError(InternalError, f"Currently don't support instantiating functions on device: {device}")
        return elsewhere(function, device, arguments, step)

    def _call_probed(self, environment: Environment, function: FuncGraph, device: str, arguments: list[Any], step: Step) -> list[Any]:
        """Runs a function node by node, for a debugger."""
        key = (function, device, environment)
        known = self._probed.get(key)
        if known is None or known[0] != function._mutations:
            known = self._probed[key] = (function._mutations, self._function_plan(function, device, environment, native=False)[1])
        return known[1].call(arguments, step, step.probe.inside(function.name))

    def _call_later(self, function: FuncGraph, device: str, arguments: list[Any], step: Step) -> list[Any]:
        """Runs a function of a dataset."""
        return self._call(self._later[not works_alone()], function, device, arguments, step)

    def _lasting_calls(self, function: FuncGraph, anew: bool) -> CallFunction:
        if not anew:
            return self._call_later
        spares = self._spares.setdefault(function, [])
        own = spares.pop() if spares else _OwnCalls(self._call, self._later)
        call = functools.partial(own.call)
        weakref.finalize(call, own.give_back, spares).atexit = False
        return call

    def _function_plan(self, function: FuncGraph, device: str, environment: Environment, native: bool = True) -> tuple[int, Plan]:
        """How many kernels run in a call of a function, and its plan."""
        program = self.prune(function.outputs, function.effects, function.inputs)
        kernels = sum(bool(node.inputs) for node in program.nodes)
        if not environment.divides:
            for node in program.nodes:
                node.device = ""
        plan = self.pack(self.place(program, environment.devices, preferred=device), native, caller=device, environment=environment)
        for region in _regions(plan):
            region.is_in_function()
        return kernels, plan

    def clear(self) -> None:
        """Forgets the plans of functions."""
        self._probed = {}
        self._spares.clear()
        for each in (self.environment, self._undivided, *self._later):
            each.plans.clear()


class _OwnCalls:
    """``call_later`` with states of its own: those of the function that it calls, and of the datasets that this one makes.

    An iterator that is initialised anew has calls of its own. The plans of those that an earlier one has used do for it if nothing is left in them
    but states of nodes, which are forgotten. That is not so where the function has made a dataset, nor of a function that one thread calls at a
    time: when its native code takes over depends on how often it was called, which must not depend on when an earlier iterator was forgotten.
    """

    def __init__(self, call: Callable[..., list[Any]], environments: Sequence[Environment]) -> None:
        self._call, self._states, self._lasts = call, dict[str, dict[str, Any]](), False
        self._alone, self._several = self._own = [each.with_own_states(self._states) for each in environments]
        for each in self._own:
            each.call_later = each.call_function = self.call
            each.lasting_calls = self._for_dataset

    def call(self, function: FuncGraph, device: str, arguments: list[Any], step: Step) -> list[Any]:
        """As ``CallFunction``."""
        return self._call(self._own[not works_alone()], function, device, arguments, step)

    def _for_dataset(self, function: FuncGraph, anew: bool) -> CallFunction:
        self._lasts = True
        return self.call

    def give_back(self, spares: list[_OwnCalls]) -> None:
        """Its user is gone: it becomes one of the spare ones."""
        if self._lasts or self._alone.plans or len(spares) >= _SPARES:
            return
        for state in self._states.values():
            state.clear()
        spares.append(self)


def _why_numpy(native: bool) -> str:
    """Why a plan has no native code; "" if it may have."""
    if config.mode == "off":
        return "the compiler is off (PENSTOCK_COMPILE=off)"
    return "" if native else "it ran once only: native code is made when a step runs again"


def _regions(plan: Plan) -> list[RegionKernel]:
    return [region for part in plan.device_plans for region in part.regions.values()]


def _trains(program: Program) -> bool:
    """Does a step improve variables by what it computes? It has products, or loops, and updates that need the values from before."""
    definitions = [node.definition for node in program.nodes]
    return any(each.updates and not each.allows_uninitialized for each in definitions) and any(each.flops or each.repeats for each in definitions)


def _never_by_numpy(program: Program) -> bool:
    """Is there a device whose nodes are compiled from the first run on?"""
    return any(kind_of(device).always for device in {node.device for node in program.nodes})


class PlannedStep:
    """A step and its plans, made of one placed program: for its first run, for all later runs, and for runs that are looked at node by node."""

    def __init__(self, pipeline: Pipeline, program: Program, frames: bool = False, ran: bool = False) -> None:
        self._pipeline, self._program, self._frames = pipeline, program, frames
        self._lock = threading.Lock()
        self._begun = ran  # the step has run before, in another way
        self._kernels: int | None = None  # that functions and loops ran in the first run
        self._counted = 0  # runs, of a session that measures some
        self._node_by_node: Plan | None = None
        self.final: Plan | None = None  # for all runs but the first
        self.deciding = deciding_feeds(program)  # numbers of the feeds whose values choose branches
        self._decided: dict[tuple[bool, ...], PlannedStep] = {}  # by these values
        self.drivable: PackedPlan | None = None  # the final plan, if it can run without a thread of its own

    def for_feeds(self, feeds: Sequence[Any]) -> PlannedStep:
        """The step for these feeds: without the branches that their values do not choose."""
        if not self.deciding or any(np.ndim(feeds[number]) for number in self.deciding):
            return self
        values = tuple([bool(feeds[number]) for number in self.deciding])
        with self._lock:
            if values not in self._decided:
                program = self._pipeline.decide(self._program, dict(zip(self.deciding, values)))
                placed = self._pipeline.place(program, self._pipeline.environment.devices)
                self._decided[values] = PlannedStep(self._pipeline, placed, self._frames, self._begun)
            return self._decided[values]

    def plan(self, traced: bool = False) -> Plan:
        """The plan for the next run; for one that is ``traced``, the user's own nodes run by themselves."""
        if self.final is not None and not traced:
            return self.final
        with self._lock:
            if traced:
                return self._plain_plan()
            plan = self._upcoming()
            self._begun = True
            return plan

    def prepare(self) -> None:
        """Makes the plan of the first run before it."""
        with self._lock:
            self._upcoming()

    def _upcoming(self) -> Plan:
        if config.mode == "background" and not self._begun and not (_trains(self._program) or draws_many(self._program.nodes)
                                                                    or _never_by_numpy(self._program)):
            return self._plain_plan()
        if self.final is None:
            self.final = self._pack(native=True)
            self.drivable = self.final.drivable
            if self._begun:
                for region in _regions(self.final):
                    region.ran_before(self._kernels)
        return self.final

    def _plain_plan(self) -> Plan:
        if self._node_by_node is None:
            self._node_by_node = self._pack(native=False)
        return self._node_by_node

    def run(self, feeds: list[Any], step: Step, trace: bool = False, partition_graphs: bool = False,
            recorded: bool = False, costs: bool = False) -> tuple[list[Any], RunMetadata | None]:
        """The fetched values, and what RunMetadata tells of the run if something was asked for; ``recorded``: of the plan that runs anyway.

        ``costs``, of a run that is traced, are told node by node.
        """
        if not (trace or partition_graphs or recorded):
            if self.final is None:
                return self._run_early(self.plan(), feeds, step), None
            return self.final.run(feeds, step), None
        plan, metadata = self.plan(traced=not recorded), RunMetadata()
        record = Trace(waits=recorded) if trace or recorded else None
        values = plan.run(feeds, step, record)
        if record is not None:
            metadata.step_stats.CopyFrom(record.step_stats())
        if partition_graphs:
            fill_partition_graphs(plan.node_lists, metadata)
        if costs:
            fill_cost_graph(plan.node_lists, metadata)
        return values, metadata

    def is_measured(self, every: int, after: int) -> bool:
        """Counts a run of a session with ``build_cost_model``: of those after the first ``after`` each ``every``-th is measured."""
        if not every:
            return False
        self._counted += 1
        return self._counted > after and (self._counted - after) % every == 0

    def run_probed(self, feeds: list[Any], step: Step, probe: Probe) -> list[Any]:
        """The fetched values; the step runs node by node, and ``probe`` is told of each."""
        step.probe = Probed(probe)
        return self.plan(traced=True).run(feeds, step, step.probe)

    def _run_early(self, plan: Plan, feeds: list[Any], step: Step) -> list[Any]:
        """A run by the first plan, or the first by the final one: counts what happens in loops."""
        before = kernels_in_functions()
        if plan is self._node_by_node and plan.in_order and step.deadline is None and self._may_be_long:
            try:
                with at_most(_LONG):
                    values = plan.run(feeds, step)
            except LongLoop:
                self._kernels = kernels_in_functions() - before
                return self._run_early(self.plan(), feeds, step)
        else:
            values = plan.run(feeds, step)
        if plan.in_order:  # otherwise other threads may have run some
            self._kernels = kernels_in_functions() - before
        return values

    @functools.cached_property
    def _may_be_long(self) -> bool:
        """Whether a first run by NumPy is worth breaking off if it is: it has loops, and native code would come of them."""
        return config.mode == "background" and any(node.definition.repeats for node in self._program.nodes) and can_begin_anew(self._program)

    def _pack(self, native: bool) -> Plan:
        with uncollected():
            return self._pipeline.pack(self._program, native, self._frames)
