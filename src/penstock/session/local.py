"""The back end of a session without a target: plans and runs its steps in this process."""
from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tensorboard.compat.proto.config_pb2 import RunMetadata

from penstock import errors
from penstock.execute.environment import Environment
from penstock.execute.pipeline import Pipeline, PlannedStep
from penstock.execute.probe import Probe
from penstock.execute.step import Step
from penstock.graph.graph import Graph
from penstock.graph.node import Operation, Tensor
from penstock.platform.garbage import uncollected
from penstock.platform.logging import get_logger
from penstock.program.devices import Device, local_devices
from penstock.program.partial import PartialSteps, without
from penstock.program.passes import options_of
from penstock.program.resource_groups import ResourceGroups
from penstock.program.travelling import with_named_handles
from penstock.session.backend import PLAIN, StepOptions
from penstock.session.fetches import Fetches
from penstock.session.results import hand_out
from penstock.state.result_memory import RESULTS

_log = get_logger()

_CLOSED = "Session has been closed: the step was cancelled."
_GROWTH_LIMIT = 10  # runs in a row, each after the graph grew, until a warning
_open: weakref.WeakSet[LocalBackend] = weakref.WeakSet()


class LocalKind:
    """Sessions of this process; see ``backend.BackendKind``."""

    def connect(self, target: str, graph: Graph, config: Any) -> LocalBackend:
        """A new session."""
        return LocalBackend(graph, config)

    def reset(self, target: str, containers: list[str], config: Any) -> None:
        """Clears containers of all sessions."""
        for backend in list(_open):
            backend.environment.resources.clear(containers)


class LocalBackend:
    """Keeps the state of a session and the plans of its steps; see ``backend.Backend``."""

    def __init__(self, graph: Graph, config: Any) -> None:
        self._graph, self._timeout = graph, config.operation_timeout_in_ms
        self.environment = Environment(local_devices(config), config.allow_soft_placement, config.log_device_placement,
                                       getattr(graph, "resources", None), config.intra_op_parallelism_threads, options_of(config))
        self.pipeline = Pipeline(self.environment)
        self.planned: dict[Any, PlannedStep] = {}  # by fetches, targets and feeds
        self._planned_for = -1  # the graph's mutation count that they were made for
        self._seen_ops, self._growth = 0, 0
        self._cost_model = (config.graph_options.build_cost_model, config.graph_options.build_cost_model_after)
        self._partial = PartialSteps()
        self._groups = ResourceGroups()
        self._steps: set[Step] = set()  # under way, or idle
        self._idle: list[Step] = []  # have ended, and can be used again
        self._closed = False
        _open.add(self)

    def run(self, wanted: Fetches, feeds: dict[Tensor, Any], options: StepOptions) -> tuple[list[Any], RunMetadata | None]:
        """Runs a step in this thread, as far as nothing in it waits."""
        last = wanted.last
        if last is None or last[0] != self._graph._mutations or last[1] != tuple(feeds) or options is not PLAIN or self._timeout \
                or self._cost_model[0]:
            planned = self._plan_for(wanted, tuple(feeds)).for_feeds([*feeds.values()])
            costs = planned.is_measured(*self._cost_model) and options.metadata
            with self._track(Step(options.timeout_ms or self._timeout)) as step:
                values, metadata = planned.run(list(feeds.values()), step, options.trace or costs, options.partition_graphs, costs=costs)
            return hand_out(values, keep=True), metadata
        try:  # from here on for small steps
            step = self._idle.pop()
        except IndexError:  # all are under way, or there is none yet
            step = self._register(Step())
        try:
            values = last[2].run([*feeds.values()], step)
        except BaseException:
            self._steps.discard(step)
            raise
        if step.pristine:
            self._idle.append(step)
        else:
            self._steps.discard(step)
        return hand_out(values, keep=True), None

    def run_probed(self, wanted: Fetches, feeds: dict[Tensor, Any], probe: Probe) -> list[Any]:
        """Runs a step node by node."""
        planned = self._plan_for(wanted, tuple(feeds))
        with self._track(Step(self._timeout)) as step:
            return hand_out(planned.run_probed(list(feeds.values()), step, probe))

    def _register(self, step: Step) -> Step:
        """The step, which ``close`` can cancel from now on."""
        self._steps.add(step)
        if self._closed:  # it came after the session's check, and may not have seen the step
            step.cancel(errors.CancelledError(None, None, _CLOSED))
        return step

    @contextmanager
    def _track(self, step: Step) -> Iterator[Step]:
        """A step that ``close`` can cancel."""
        self._register(step)
        try:
            yield step
        finally:
            self._steps.discard(step)

    # --- steps in parts ----------------------------------------------------------------------------------------------

    def partial_run_setup(self, wanted: Fetches, feeds: list[Tensor]) -> str:
        """Prepares a step that is run in parts."""
        return self._partial.setup(feeds, wanted.tensors, wanted.targets)

    def partial_run(self, handle: str, wanted: Fetches, feeds: dict[Tensor, Any]) -> list[Any]:
        """Goes on with a step that is run in parts."""
        return hand_out(self._partial.run(handle, feeds, wanted.tensors, wanted.targets, self._run_part))

    def _run_part(self, feeds: dict[Tensor, Any], fetches: list[Tensor], targets: list[Operation], done: frozenset[Operation]) -> list[Any]:
        planned = self._step_for(fetches, targets, tuple(feeds), done)
        with self._track(Step(self._timeout)) as step:
            return planned.run(list(feeds.values()), step)[0]

    # --- plans -------------------------------------------------------------------------------------------------------

    def _plan_for(self, wanted: Fetches, feeds: tuple[Tensor, ...]) -> PlannedStep:
        planned = self._step_for(wanted.tensors, wanted.targets, feeds)
        if planned.final is not None and not planned.deciding:
            wanted.last = (self._graph._mutations, feeds, planned.final)
        return planned

    def _step_for(self, fetches: Sequence[Tensor], targets: Sequence[Operation], feeds: tuple[Tensor, ...],
                  done: frozenset[Operation] = frozenset()) -> PlannedStep:
        if self._planned_for != self._graph._mutations:
            self.planned, self._planned_for = {}, self._graph._mutations
        key = (*fetches, None, *targets, done, *feeds)
        planned = self.planned.get(key)
        if planned is None:
            self._notice_growth()
            with uncollected():
                program = self.pipeline.prune(fetches, targets, feeds)
                program = with_named_handles(program)
                if len(self.environment.devices) > 1:
                    self._groups.name_devices(program, self._graph)
                if done:
                    program = without(program, done, list(targets))
                planned = self.planned[key] = PlannedStep(self.pipeline, self.pipeline.place(program, self.environment.devices))
        else:
            self._growth = 0
        return planned

    def _notice_growth(self) -> None:
        """Warns, once, of a program that adds ops to the graph inside its loop: each run then needs a new plan."""
        ops = self._graph._ops
        self._growth = self._growth + 1 if len(ops) > self._seen_ops else 0
        self._seen_ops = len(ops)
        if self._growth == _GROWTH_LIMIT:
            _log.warning("The graph grew before each of the last %d runs, to %d operations; the newest is '%s', made at %s. Operations that are "
                         "made inside a loop pile up and make every run slower: build the graph once, before the loop (graph.finalize() finds "
                         "the line).", _GROWTH_LIMIT, len(ops), ops[-1].name, ops[-1].origin)

    # --- life --------------------------------------------------------------------------------------------------------

    def list_devices(self) -> list[Device]:
        """The devices of this process."""
        return list(self.environment.devices)

    def close(self) -> None:
        """Cancels the steps under way, frees variables and queues."""
        self._closed = True
        for step in list(self._steps):
            step.cancel(errors.CancelledError(None, None, _CLOSED))
        self.planned = {}
        self.pipeline.clear()
        self.environment.clear()
        RESULTS.clear()
