"""A cluster whose tasks come, go and fail at random, for simulated hours: what the protocol does then.

The transport is a virtual clock: frames of real links (``distributed/link.py``) arrive after a delay, or never if a process has died. On both sides
are the tables and state machines that tasks have: ``Steps`` and ``Tenants`` on a parameter server, a ``StepState`` per step in a worker's master.
Only kernels and plans are left out: a parameter server sends a tensor, gets one back and has done its part.
"""
from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from penstock.distributed import step_state
from penstock.distributed.cluster_spec import task_name
from penstock.distributed.link import Link, Request, Served
from penstock.distributed.messages import Message, error_fields, error_from, error_message
from penstock.distributed.peers import deliver_tensor, tensor_message
from penstock.distributed.step_run import PATIENCE
from penstock.distributed.steps import Steps
from penstock.distributed.tenants import Tenants
from penstock.errors import AbortedError, OpError, UnavailableError
from penstock.simulate.clock import Clock

_LATENCY = 0.0005  # seconds, of a message
_SWEEP = 10.0  # seconds between looks at what was forgotten
_RETRY = 1.0  # seconds until a worker whose step failed tries again
_VALUE = np.zeros((), np.float32)


@dataclass(frozen=True)
class Habits:
    """How long tasks live, on average, in seconds."""

    worker_life: float = 600.0
    ps_life: float = 7200.0
    restart: float = 5.0
    graceful: float = 0.5  # the share of workers that end their session before they leave
    compute: float = 1.0  # seconds of a worker in a step


@dataclass
class Counts:
    """What happened."""

    begun: int = 0
    done: int = 0
    failed: int = 0
    given_up: int = 0  # the worker itself died
    longest: float = 0.0  # seconds from the beginning of a step to its end
    frames: int = 0
    deaths: dict[str, int] = field(default_factory=lambda: {"ps": 0, "worker": 0})


class _Wire:
    """One direction of a connection."""

    def __init__(self, cluster: Churn) -> None:
        self.other: Link | None = None
        self._cluster, self.cut = cluster, False

    def send(self, kind: int, conversation: int, buffers: list[Any]) -> None:
        """Sends a frame."""
        self._cluster.counts.frames += 1
        self._cluster.clock.after(_LATENCY, self._arrive, kind, conversation, b"".join(buffers))

    def _arrive(self, kind: int, conversation: int, data: bytes) -> None:
        if not self.cut and self.other is not None:
            self.other.received(kind, conversation, data)


class _Connection:
    """A worker's link to a parameter server, and the other end of it."""

    def __init__(self, cluster: Churn, server: _Server) -> None:
        self._clock, self.server = cluster.clock, server
        self._there, self._back = _Wire(cluster), _Wire(cluster)
        self.link = self._back.other = Link(self._there)
        self._served = self._there.other = Link(self._back, server.serve)
        server.connections.add(self)

    def end(self) -> None:
        """One of the two processes is gone: the other one hears of it a little later."""
        self._there.cut = self._back.cut = True
        self.server.connections.discard(self)
        error = UnavailableError(None, None, "connection lost")
        self._clock.after(_LATENCY, self.link.lost, error)
        self._clock.after(_LATENCY, self._served.lost, error)


class _Server:
    """A parameter server, until it dies."""

    def __init__(self, cluster: Churn, task: str) -> None:
        self.task, self._cluster = task, cluster
        self.steps = Steps(task, lambda *_: _nothing, lambda: cluster.clock.now)
        self.tenants = Tenants(lambda: cluster.clock.now)
        self.sessions: set[str] = set()
        self.connections: set[_Connection] = set()

    def serve(self, message: Message, caller: Served) -> None:
        """Answers a request, as ``distributed/service.py`` does."""
        fields = message.fields
        if message.method == "RegisterGraph":
            self.sessions.add(fields["session"])
            self.tenants.speaks(fields["session"], caller)
        elif message.method == "EndSession":
            self._end(fields["session"])
        elif message.method == "AbortStep":
            self.steps.abort(fields["step"], error_from(fields["error"]))
        elif fields["session"] not in self.sessions:
            caller.reply(error_message(AbortedError(None, None, "the handle of the graph is not found: the task was restarted")))
            return
        else:
            self._run(fields["step"], fields["master"], fields["session"], caller)
            return
        caller.reply(Message("ok"))

    def _run(self, number: int, master: str, session: str, caller: Served) -> None:
        caller.on_gone(lambda: self.steps.abort(number, AbortedError(None, None, "the master of the step is gone")))
        self.tenants.speaks_again(session, caller)
        try:
            deliver = self.steps.connect(number, master, lambda key, value: caller.part(tensor_message(key, value)))
            caller.on_more(lambda more: deliver_tensor(more, deliver))
            step = self.steps.begin(number, 0)
        except OpError as error:
            caller.reply(error_message(error))
            return

        def updated(value: Any, error: BaseException | None) -> None:
            self.steps.end(number, None if error is None else AbortedError(None, None, str(error)))
            caller.reply(Message("ok") if error is None else error_message(AbortedError(None, None, str(error))))

        step.rendezvous.send(f"{self.task};{master};parameter", _VALUE)
        step.rendezvous.recv(f"{master};{self.task};gradient", updated)

    def sweep(self, now: float) -> None:
        """What a server does once in a while."""
        self.steps.drop_forgotten(now)
        for session in self.tenants.forgotten(now):
            self._end(session)

    def _end(self, session: str) -> None:
        self.sessions.discard(session)
        self.tenants.ended(session)


def _nothing() -> None:
    """Nothing was asked for."""


class _Worker:
    """A worker with a master and a session of its own, until it dies."""

    def __init__(self, cluster: Churn, index: int, name: str) -> None:
        self.cluster, self.task, self.session = cluster, task_name("worker", index), name
        self.alive = True
        self._connections: dict[str, _Connection] = {}
        self.step: _FragileStep | None = None
        cluster.clock.after(0.0, self.register)

    def connection(self, task: str) -> _Connection:
        """The connection to a parameter server; a new one if it was lost."""
        known = self._connections.get(task)
        if known is None or not known.link.alive:
            known = self._connections[task] = _Connection(self.cluster, self.cluster.servers[task])
        return known

    def register(self) -> None:
        """Registers its part with every parameter server that is there; then, or if one is not, goes on."""
        waiting = len(self.cluster.tasks)
        if not self.alive:
            return

        def answered(reply: Message | None, error: OpError | None) -> None:
            nonlocal waiting
            waiting -= 1
            if not waiting:
                self.cluster.clock.after(0.0, self.begin)

        for task in self.cluster.tasks:
            if task in self.cluster.servers:
                self.connection(task).link.open(Message("RegisterGraph", {"session": self.session}), answered)
            else:
                answered(None, None)

    def begin(self) -> None:
        """The next step."""
        if self.alive and not self.cluster.closing:
            self.step = _FragileStep(self)
            self.step.begin()

    def ended(self, error: OpError | None) -> None:
        """A step has ended."""
        self.step = None
        if self.alive:
            if error is None:
                self.cluster.clock.after(0.0, self.begin)
            else:
                self.cluster.clock.after(_RETRY, self.register)

    def leave(self, graceful: bool) -> None:
        """Ends; a step that is under way is given up."""
        self.alive = False
        if self.step is not None:
            self.cluster.counts.given_up += 1
            self.step.state.finished = True
        for connection in self._connections.values():
            if graceful and connection.link.alive:
                connection.link.open(Message("EndSession", {"session": self.session}), lambda reply, error: None)
            self.cluster.clock.after(4 * _LATENCY if graceful else 0.0, connection.end)


class _FragileStep:
    """One step of a worker: ``distributed/step_run.py`` on the virtual clock."""

    def __init__(self, worker: _Worker) -> None:
        self.worker, self.cluster = worker, worker.cluster
        self.number = self.cluster.next_number()
        self.state = step_state.StepState([worker.task, *self.cluster.tasks])
        self._came = 0
        self._requests: dict[str, Request] = {}
        self._began = self.cluster.clock.now
        self._warned = False

    def begin(self) -> None:
        """Orders all parts."""
        self.cluster.counts.begun += 1
        for task in self.cluster.tasks:
            if task not in self.cluster.servers:
                self._event(step_state.Failed(task, UnavailableError(None, None, f"no server listens at {task}")))
                continue
            message = Message("RunGraph", {"session": self.worker.session, "step": self.number, "master": self.worker.task})
            self._requests[task] = self.worker.connection(task).link.open(message, self._answered(task), self._arrived)

    def _answered(self, task: str) -> Callable[[Message | None, OpError | None], None]:
        return lambda reply, error: self._event(step_state.Done(task) if reply is not None else step_state.Failed(
            task, error or UnavailableError(None, None, "lost")))

    def _arrived(self, message: Message) -> None:
        self._came += 1
        if self._came == len(self.cluster.tasks):
            self.cluster.clock.after(self.cluster.habits.compute, self._send)

    def _send(self) -> None:
        if self.worker.alive and not self.state.finished:
            for task, request in self._requests.items():
                request.send(tensor_message(f"{self.worker.task};{task};gradient", _VALUE))
            self._event(step_state.Done(self.worker.task))

    def _event(self, event: step_state.Event) -> None:
        for instruction in self.state.handle(event):
            if isinstance(instruction, step_state.Finish):
                self._finish(instruction.error)
            elif instruction.task == self.worker.task:
                self.cluster.clock.after(0.0, self._event, step_state.Failed(instruction.task, instruction.error))
            elif instruction.task in self.cluster.servers:
                message = Message("AbortStep", {"step": self.number, "error": error_fields(instruction.error)})
                self.worker.connection(instruction.task).link.open(message, lambda reply, error: None)
        if self.state.error is not None and not self.state.finished and not self._warned:
            self._warned = True
            self.cluster.clock.after(PATIENCE, self._event, step_state.PatienceOver())

    def _finish(self, error: OpError | None) -> None:
        counts = self.cluster.counts
        counts.longest = max(counts.longest, self.cluster.clock.now - self._began)
        if error is None:
            counts.done += 1
        else:
            counts.failed += 1
            for request in self._requests.values():
                request.cancel()
        self.worker.ended(error)


class Churn:
    """The cluster: as many parameter servers and workers as are wanted, which die and come back."""

    def __init__(self, ps: int, workers: int, habits: Habits = Habits(), seed: int = 0) -> None:
        self.clock, self.counts, self.habits, self.closing = Clock(), Counts(), habits, False
        self._random, self._numbers, self._sessions = random.Random(seed), 0, 0
        self.tasks = [task_name("ps", index) for index in range(ps)]
        self.servers: dict[str, _Server] = {}
        self.workers: dict[int, _Worker] = {}
        for task in self.tasks:
            self._start_server(task)
        for index in range(workers):
            self.clock.after(self._random.random(), self._join, index)
        self.clock.after(_SWEEP, self._sweep)

    def run(self, seconds: float, rest: float = 0.0) -> Counts:
        """Lets the cluster live, then, for ``rest`` seconds, lets nothing begin any more."""
        self.clock.run(self.clock.now + seconds)
        if rest:
            self.closing = True
            self.clock.run(self.clock.now + rest)
        return self.counts

    def next_number(self) -> int:
        """Of a step."""
        self._numbers += 1
        return self._numbers

    def _sweep(self) -> None:
        for server in self.servers.values():
            server.sweep(self.clock.now)
        self.clock.after(_SWEEP, self._sweep)

    def _start_server(self, task: str) -> None:
        self.servers[task] = _Server(self, task)
        self.clock.after(self._random.expovariate(1.0 / self.habits.ps_life), self._kill_server, task)

    def _kill_server(self, task: str) -> None:
        if self.closing:
            return
        self.counts.deaths["ps"] += 1
        for connection in list(self.servers.pop(task).connections):
            connection.end()
        self.clock.after(self.habits.restart, self._start_server, task)

    def _join(self, index: int) -> None:
        if self.closing:
            return
        self._sessions += 1
        worker = self.workers[index] = _Worker(self, index, f"session {self._sessions}")
        self.clock.after(self._random.expovariate(1.0 / self.habits.worker_life), self._remove, index, worker)

    def _remove(self, index: int, worker: _Worker) -> None:
        if self.closing:
            return
        self.counts.deaths["worker"] += 1
        worker.leave(self._random.random() < self.habits.graceful)
        del self.workers[index]
        self.clock.after(self._random.expovariate(1.0 / self.habits.restart), self._join, index)
