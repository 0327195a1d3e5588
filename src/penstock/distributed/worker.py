"""The worker: what a task does for the masters of a cluster. It keeps registered parts of graphs, runs them, and hands
their tensors to other tasks.

No sockets here: ``service.py`` maps messages to these methods, and ``peers`` are asked for the tensors of other tasks.
Variables, queues and tables live in the task's containers and are shared by all sessions by name; what belongs to a
session (random states) goes with it.
"""
from __future__ import annotations

import itertools
import logging
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tensorboard.compat.proto.config_pb2 import ConfigProto, RunMetadata
from tensorboard.compat.proto.graph_pb2 import GraphDef

from penstock.distributed.activity import Activity
from penstock.distributed.cluster_spec import task_of
from penstock.distributed.parts import program_of
from penstock.distributed.peers import Peers
from penstock.distributed.probing import TaskProbe
from penstock.distributed.remote_calls import RemoteCalls
from penstock.distributed.steps import Deliver, Steps
from penstock.distributed.tenants import Tenants
from penstock.errors import AbortedError, InternalError, InvalidArgumentError, OpError
from penstock.execute.environment import Environment
from penstock.execute.pipeline import Pipeline, PlannedStep
from penstock.execute.step import Step
from penstock.native.machine.team import native_alone
from penstock.ops.transfer import Recv
from penstock.program.devices import Device, local_devices
from penstock.program.ir import Program
from penstock.program.passes import options_of
from penstock.state.resources import Resources

_log = logging.getLogger("tensorflow.worker")
_QUICK = 0.001  # seconds
SHORT = 0.003  # seconds: work that a second thread makes hardly shorter, while it spins on a CPU that tasks on the same machine need

Ended = Callable[[list[Any], "OpError | None"], None]  # the results of a part, or its error


@dataclass(slots=True)
class RunOrder:
    """How to run a part: the step's number, its time limit, and what its RunMetadata should tell."""

    step: int
    timeout_ms: int = 0
    trace: bool = False
    partition_graphs: bool = False
    recorded: bool = False  # as it is, with its native regions
    probe: TaskProbe | None = None  # what a debugger looks with


@dataclass(slots=True)
class Registered:
    """A part that was registered: whose it is, its plans, how many feeds it takes, which tasks it gets tensors of, how much work it is."""

    session: str
    planned: PlannedStep
    feeds: int
    senders: list[str]
    seconds: float = 1.0  # of a processor

    def took(self, seconds: float) -> None:
        """It has run. One long run says little: others may have had the processor."""
        self.seconds = min(seconds, 1.5 * self.seconds)


class Worker:
    """One task. ``incarnation`` tells this process from an earlier or later one at the same address."""

    def __init__(self, task: str, config: Any, peers: Peers) -> None:
        self.task, self.incarnation = task, secrets.randbits(62) | 1
        self.devices: list[Device] = local_devices(config, task, self.incarnation)
        self._threads = config.intra_op_parallelism_threads if config is not None else 0
        self.resources = Resources()
        self.steps = Steps(task, peers.fetch)
        self._peers = peers
        self.has_neighbours = False  # do other tasks of the cluster use the CPUs of this machine?
        self.activity = Activity()
        self.tenants = Tenants()
        self._sessions: dict[str, Pipeline] = {}
        self._remote: dict[str, RemoteCalls] = {}  # of each session
        self._graphs: dict[str, Registered] = {}  # by handle
        self._numbers = itertools.count()
        self._lock = threading.Lock()

    # --- graphs ------------------------------------------------------------------------------------------------------

    def register(self, session: str, graph_def: GraphDef, fetches: list[str], frames: bool, config: ConfigProto) -> str:
        """Prepares a part for running; returns its handle. Done once per part. ``config`` is the session's: which passes run, whose state it sees."""
        program = program_of(graph_def, fetches)
        for node in program.nodes:
            if task_of(node.device) != self.task:
                raise InvalidArgumentError(None, None, f"'{node.name}' is for {node.device}; this task is {self.task}")
        with self._lock:
            pipeline = self._sessions.get(session)
            if pipeline is None:
                pipeline = self._sessions[session] = self._pipeline(session, config)
            handle = f"{self.incarnation:x}-{next(self._numbers)}"  # a handle of an earlier incarnation is never found
        planned = PlannedStep(pipeline, program, frames)
        planned.prepare()
        self._graphs[handle] = Registered(session, planned, len(program.args), self._senders(program))
        return handle

    def _pipeline(self, session: str, config: ConfigProto) -> Pipeline:
        """Plans the parts of a session, by the session's options; threads that it does not name are the task's."""
        resources = Resources() if config.isolate_session_state else self.resources
        threads = config.intra_op_parallelism_threads or self._threads
        environment = Environment(self.devices, config.allow_soft_placement, resources=resources, threads=threads, passes=options_of(config))
        remote = self._remote[session] = RemoteCalls(session, config, self._peers)
        environment.call_on_task = remote.call
        return Pipeline(environment)

    def _senders(self, program: Program) -> list[str]:
        """The other tasks that tensors come from."""
        tasks = {task_of(node.attrs["send_device"]): None for node in program.nodes if node.definition is Recv}
        return [task for task in tasks if task != self.task]

    def end_session(self, session: str) -> None:
        """Forgets the parts of a session and what belongs to it alone."""
        with self._lock:
            self._graphs = {handle: item for handle, item in self._graphs.items() if item.session != session}
            pipeline, remote = self._sessions.pop(session, None), self._remote.pop(session, None)
        if pipeline is not None:
            pipeline.environment.private.clear()
        if remote is not None:
            remote.end()
        self.tenants.ended(session)

    def end_forgotten(self, now: float) -> None:
        """Ends the sessions of masters that are gone, and what is left of their steps; to be called now and then."""
        self.steps.drop_forgotten(now)
        for session in self.tenants.forgotten(now):
            _log.info("session %s ends here: its master is gone", session)
            self.end_session(session)

    def session_of(self, handle: str) -> str:
        """Whose part it is; "" if there is none."""
        registered = self._graphs.get(handle)
        return "" if registered is None else registered.session

    def reset(self, containers: list[str]) -> None:
        """Clears containers of variables and other resources; all of them if none is named."""
        with self._lock:
            pipelines = list(self._sessions.values())
        for resources in (self.resources, *(pipeline.environment.private for pipeline in pipelines)):
            resources.clear(containers)

    # --- steps -------------------------------------------------------------------------------------------------------

    def run(self, handle: str, feeds: list[Any], order: RunOrder) -> tuple[list[Any], RunMetadata | None]:
        """Runs a part; returns what it was asked for, not to be written to."""
        registered = self._find_graph(handle, feeds)
        step = self.steps.begin(order.step, order.timeout_ms)
        failure: OpError | None = None
        started = time.thread_time()
        try:
            step.rendezvous.fetch(registered.senders)  # type: ignore[attr-defined]
            if order.probe is not None:
                return _run_probed(registered.planned, feeds, step, order.probe), None
            with native_alone(self.has_neighbours and registered.seconds < SHORT):
                results, metadata = registered.planned.run(feeds, step, order.trace, order.partition_graphs, order.recorded)
            registered.took(time.thread_time() - started)
            self.activity.count()
            return results, metadata
        except OpError as error:
            failure = error
            raise
        except Exception as error:  # whatever happens in a step, the task goes on
            _log.exception("step %d failed on %s", order.step, self.task)
            failure = InternalError(None, None, f"{type(error).__name__} on {self.task}: {error}")
            raise failure from error
        finally:
            self.steps.end(order.step, failure)

    def start(self, handle: str, feeds: list[Any], order: RunOrder, done: Ended) -> None:
        """``run`` for a part that is quick: this thread begins with it, and whichever thread brings it a tensor goes on."""
        registered = self._find_graph(handle, feeds)
        plan = registered.planned.drivable
        assert plan is not None, "a part that is quick can be driven"
        step = self.steps.begin(order.step, order.timeout_ms)

        def ended(error: OpError | None) -> None:
            results: list[Any] = []
            registered.took(run.seconds)
            try:
                if error is None:
                    results = plan.fetched([run.slots])
                    self.activity.count()
            except OpError as failure:
                error = failure
            self.steps.end(order.step, error)
            done(results, error)

        run = plan.drive(feeds, step, ended)
        run.alone = self.has_neighbours
        try:
            step.rendezvous.fetch(registered.senders)  # type: ignore[attr-defined]
        except OpError as error:
            self.steps.end(order.step, error)
            raise
        run.begin()

    def _find_graph(self, handle: str, feeds: list[Any]) -> Registered:
        registered = self._graphs.get(handle)
        if registered is None:
            raise AbortedError(None, None, f"Graph handle {handle} is not found on {self.task}: the task was restarted since it was registered, and "
                               "the variables it held are lost. Restore or initialise them.")
        if len(feeds) != registered.feeds:
            raise InvalidArgumentError(None, None, f"part {handle} takes {registered.feeds} feeds, not {len(feeds)}")
        return registered

    def is_quick(self, handle: str, order: RunOrder) -> bool:
        """True if a part took next to no time of a processor when it ran last: a thread of its own would cost more. Then ``start`` it."""
        registered = self._graphs.get(handle)
        return (registered is not None and registered.seconds < _QUICK and registered.planned.drivable is not None
                and not (order.timeout_ms or order.trace or order.partition_graphs or order.recorded or order.probe))

    def connect(self, step: int, task: str, sink: Callable[[str, Any], None]) -> Deliver:
        """Tensors of a step for ``task`` go to ``sink``; returns what takes those that come from there."""
        return self.steps.connect(step, task, sink)

    def attach(self, step: int, receiver: str, sink: Callable[[str, Any], None], ended: Callable[[BaseException | None], None]) -> None:
        """Another task asks for its tensors of a step."""
        self.steps.attach(step, receiver, sink, ended)

    def abort(self, step: int, error: OpError) -> None:
        """The master gives up a step."""
        self.steps.abort(step, error)


def _run_probed(planned: PlannedStep, feeds: list[Any], step: Step, probe: TaskProbe) -> list[Any]:
    """Runs a part node by node. A debugger has seen all that a tensor was computed of before another task gets the tensor."""
    probe.begin(step)
    step.rendezvous.before_send = probe.flush  # type: ignore[attr-defined]
    try:
        return planned.run_probed(feeds, step, probe)
    finally:
        probe.end()
