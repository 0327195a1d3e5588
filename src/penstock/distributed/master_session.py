"""A client's session on a master: its graph, the plans made of it, and the steps under way.

A plan is made once per (feeds, fetches, targets): prune, place over the devices of the tasks, cut by task, register
each part with its task. A step then costs one message per task, none for the part on the master's own task.
"""
from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Sequence
from typing import Any

from tensorboard.compat.proto.config_pb2 import ConfigProto, RunMetadata
from tensorboard.compat.proto.graph_pb2 import GraphDef

from penstock import errors
from penstock.distributed.activity import Activity
from penstock.distributed.cluster_spec import matches, task_of
from penstock.distributed.messages import Message
from penstock.distributed.parts import Part, split
from penstock.distributed.peers import Peers, deadline, ignore
from penstock.distributed.permissions import check_foreign
from penstock.distributed.probing import Relay
from penstock.distributed.session_graph import SessionGraph, spanning
from penstock.distributed.step_recording import Recorder
from penstock.distributed.step_run import PlannedPart, StepRun
from penstock.distributed.worker import RunOrder, Worker
from penstock.graph.device import DeviceSpec
from penstock.graph.node import Operation, Tensor
from penstock.program.devices import Device
from penstock.program.ir import Program
from penstock.program.partial import PartialSteps, without
from penstock.program.stages import Stages
from penstock.program.travelling import with_named_handles

_CALL_PATIENCE = 60.0  # seconds for registering a part

Plan = list[PlannedPart]


class MasterSession:
    """One session."""

    def __init__(self, handle: str, config: ConfigProto, worker: Worker, peers: Peers, recorder: Recorder,
                 foreign: bool = False) -> None:
        self._handle, self._config, self._worker, self._peers, self._recorder = handle, config, worker, peers, recorder
        self._graph = SessionGraph()
        self._plans: dict[Any, Plan] = {}
        self._registered_with: set[str] = set()  # tasks that may know parts of this session
        self._devices: dict[str, list[Device]] = {worker.task: worker.devices}
        self._lock = threading.Lock()  # guards the graph and the plans
        self._steps: dict[int, StepRun] = {}
        self._closed: errors.OpError | None = None
        self._activity = Activity()
        self._partial = PartialSteps()
        self._stages = Stages(config.allow_soft_placement, config.log_device_placement)
        self.foreign = foreign
        self.last_used = time.monotonic()
        self.client_lost = 0.0  # since when; 0 while the client is there

    def extend(self, graph_def: GraphDef, anew: bool = False) -> None:
        """Adds nodes to the graph, or to a new one in its place."""
        with self._lock:
            if anew:
                self._graph, self._plans, self._partial = SessionGraph(), {}, PartialSteps()
            self._graph.extend(graph_def)

    def run(self, names: tuple[Sequence[str], Sequence[str], Sequence[str]], values: list[Any], timeout_ms: int = 0, trace: bool = False,
            partition_graphs: bool = False, caller: Any = None, done: frozenset[Any] = frozenset(),
            probe: str = "") -> tuple[list[Any], RunMetadata | None]:
        """Runs a step; ``names`` are the feeds, the fetches and the targets, ``values`` what is fed, ``done`` operations that have run before.

        ``probe``: the caller debugs the step, and says where it has to wait (``probing.py``).
        """
        self.last_used = time.monotonic()
        timeout_ms = timeout_ms or self._config.operation_timeout_in_ms
        with deadline(timeout_ms) as patience:
            plan = self._plan(names, self.last_used + patience, done, bool(probe))
        recorded = self._recorder.wanted > 0 and not (trace or partition_graphs or probe) and self._recorder.begin()
        order = RunOrder(secrets.randbits(53), timeout_ms, trace, partition_graphs, recorded)
        relay = None
        if probe:
            relay = Relay(caller.part, probe)
            caller.on_more(relay.answered)
            order.probe = relay.own(self._worker.task)
        step = StepRun(plan, self._worker, self._peers, order, relay)
        self._steps[order.step] = step
        if self._closed is not None:
            step.cancel(self._closed)
        if caller is not None:
            caller.on_gone(lambda: step.cancel(errors.CancelledError(None, None, "the client is gone")))
        metadata = None
        try:
            results, metadata = step.run(values)
            self._activity.count()
            return results, None if recorded else metadata
        except (errors.AbortedError, errors.UnavailableError):
            self._forget_plans()
            raise
        finally:
            self._steps.pop(order.step, None)
            if recorded:
                self._recorder.end(self._handle, metadata)

    def partial_run_setup(self, feeds: list[str], fetches: list[str], targets: list[str]) -> str:
        """Prepares a step that is run in parts; returns its handle."""
        with self._lock:
            tensors, fed, operations = self._graph.elements(feeds, fetches, targets)
            return self._partial.setup(fed, tensors, operations)

    def partial_run(self, handle: str, feeds: dict[str, Any], fetches: list[str], targets: list[str], caller: Any = None) -> list[Any]:
        """Goes on with a step that is run in parts."""
        def run_part(feeds: dict[Tensor, Any], fetches: list[Tensor], targets: list[Operation], done: frozenset[Operation]) -> list[Any]:
            names = ([tensor.name for tensor in feeds], [tensor.name for tensor in fetches], [op.name for op in targets])
            return self.run(names, list(feeds.values()), caller=caller, done=done)[0]

        tensors, fed, operations = self._graph.elements(list(feeds), fetches, targets)
        return self._partial.run(handle, dict(zip(fed, feeds.values())), tensors, operations, run_part)

    @property
    def running(self) -> bool:
        """True while a step is under way."""
        return bool(self._steps)

    def awaited(self) -> list[tuple[str, float]]:
        """The tasks whose parts steps wait for, and how long those steps have run, in seconds."""
        return [waiting for step in list(self._steps.values()) for waiting in step.awaited()]

    def description(self) -> dict[str, Any]:
        """What the session does, for people."""
        activity = self._activity
        return {"session": self._handle, "uptime": round(time.monotonic() - activity.since, 1), "steps": activity.total, "running": len(self._steps),
                "steps_per_second": round(activity.rate(), 2), "plans": len(self._plans)}

    def close(self, error: errors.OpError) -> None:
        """Ends the session and the steps under way."""
        self._closed = error
        for step in list(self._steps.values()):
            step.cancel(error)
        self._end_parts()

    def _end_parts(self) -> None:
        with self._lock:
            self._plans = {}
            tasks, self._registered_with = self._registered_with, set()
        for task in tasks:
            if task == self._worker.task:
                self._worker.end_session(self._handle)
            else:
                self._peers.start(task, Message("EndSession", {"session": self._handle}), ignore)

    # --- devices -----------------------------------------------------------------------------------------------------

    def list_devices(self) -> list[Device]:
        """The devices of all tasks that the session may use, its own task's first; waits for tasks that have not started."""
        with deadline(self._config.operation_timeout_in_ms) as patience:
            end = time.monotonic() + patience
            return [device for task in self._tasks() for device in self._devices_of(task, end)]

    def _tasks(self) -> list[str]:
        own, filters = self._worker.task, list(self._config.device_filters)
        return [own, *(task for task in self._peers.addresses if task != own and matches(task, filters))]

    def _check_open(self) -> None:
        if self._closed is not None:
            raise self._closed

    def _devices_of(self, task: str, end: float) -> list[Device]:
        devices = self._devices.get(task)
        if devices is None:
            reply = self._peers.wait_for(task, Message("GetStatus"), end - time.monotonic(), self._check_open)
            names = reply.fields["devices"]
            limits = reply.fields.get("memory_limits", [Device.memory_limit_bytes] * len(names))  # tasks of earlier versions do not tell
            devices = [Device.named(name, limit, reply.fields["incarnation"]) for name, limit in zip(names, limits)]
            if any(task_of(device.name) != task for device in devices):
                raise errors.InternalError(None, None, f"{self._peers.addresses[task]} is {reply.fields['devices']}, not {task}: is the same cluster "
                                           "given to all tasks?")
            self._devices[task] = devices
        return devices

    def _candidates(self, program: Program, end: float) -> list[Device]:
        """The devices of those tasks that nodes of a program name, in the order of preference: no other task has to be up."""
        needed = {self._worker.task}
        for name in {node.device for node in program.nodes}:
            spec = DeviceSpec.from_string(name)
            wanted = DeviceSpec(spec.job, spec.replica, spec.task)
            fitting = [task for task in self._tasks() if wanted.fits(DeviceSpec.from_string(task))]
            alone = fitting[:1] == [self._worker.task] and any(spec.fits(DeviceSpec.from_string(device.name)) for device in self._worker.devices)
            needed.update(fitting[:1] if alone else fitting)
        return [device for task in self._tasks() if task in needed for device in self._devices_of(task, end)]

    # --- plans -------------------------------------------------------------------------------------------------------

    def _plan(self, names: tuple[Sequence[str], Sequence[str], Sequence[str]], end: float, done: frozenset[Any], probed: bool) -> Plan:
        feeds, fetches, targets = (tuple(part) for part in names)
        key = (feeds, fetches, targets, done, probed)
        plan = self._plans.get(key)
        if plan is None:
            graph, program = self._placed_program(feeds, fetches, targets, done, end)
            try:
                plan = self._register(split(program, every_edge=probed))
                with self._lock:
                    self._check_open()
                    if self._graph is graph:
                        plan = self._plans.setdefault(key, plan)
            finally:
                if self._closed is not None:
                    self._end_parts()  # what was registered after the end
        return plan

    def _placed_program(self, feeds: Sequence[str], fetches: Sequence[str], targets: Sequence[str], done: frozenset[Any],
                        end: float) -> tuple[Any, Program]:
        """The placed program of a step, and the graph that it is of. Conditionals and loops that turn out to span tasks are nodes in it."""
        while True:
            with self._lock:
                graph, program = self._graph, self._program(feeds, fetches, targets, done)
            devices = self._candidates(program, end)
            asked = {task_of(device.name) for device in devices}
            program = self._stages.place(program, devices, elsewhere=[task for task in self._tasks() if task not in asked])
            loops = spanning(program)
            if not loops:
                return graph, program
            with self._lock:
                graph.lower(loops)

    def _program(self, feeds: Sequence[str], fetches: Sequence[str], targets: Sequence[str], done: frozenset[Any]) -> Program:
        graph = self._graph
        wanted, fed, operations = (graph.planned(part) for part in graph.elements(feeds, fetches, targets))
        program = with_named_handles(self._stages.prune(wanted, operations, fed))
        graph.name_devices(program)
        if done:
            program = without(program, frozenset(graph.planned(done)), operations)
        if self.foreign:
            check_foreign(node.origin for node in program.nodes if node.origin is not None)
        return program

    def _register(self, parts: list[Part]) -> Plan:
        addresses = {part.task: self._peers.address(part.task) for part in parts}  # a task may not know another one that joined later
        return [PlannedPart(part.task, self._register_part(part, addresses), part.feeds, part.results) for part in parts]

    def _register_part(self, part: Part, addresses: dict[str, str]) -> str:
        self._registered_with.add(part.task)
        if part.task == self._worker.task:
            return self._worker.register(self._handle, part.graph_def(), part.fetches, part.frames, self._config)
        message = Message("RegisterGraph", {"session": self._handle, "fetches": part.fetches, "frames": part.frames, "addresses": addresses},
                          [part.graph_def().SerializeToString(), self._config.SerializeToString()])
        return self._peers.call(part.task, message, _CALL_PATIENCE).fields["handle"]

    def _forget_plans(self) -> None:
        """A task was lost: if it comes back it does not know its parts any more.

        Which one it was is not always known: a part may fail because another task did not answer it. So all parts are registered anew.
        """
        with self._lock:
            self._plans = {}
