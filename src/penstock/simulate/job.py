"""A job on a simulated cluster: its tasks, the steps of its workers, and what they take.

A step goes as ``distributed/step_run.py`` has it: the worker's session orders the parts of other tasks, then runs its own; tensors travel as they
become ready; the step is over when the master's state machine (``distributed/step_state.py``) says so.
"""
from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.distributed.cluster_spec import task_name
from penstock.distributed.shared_segments import SHARED_MIN
from penstock.distributed.step_state import Done, Finish, StepState
from penstock.distributed.worker import SHORT
from penstock.simulate.clock import Clock
from penstock.simulate.coordination import MeetingPlace, Stamp
from penstock.simulate.costs import Costs
from penstock.simulate.machine import Crowding, Process, SimulatedMachine
from penstock.simulate.machines import MachineSpec
from penstock.simulate.network import Fabric, NetworkLink, NetworkSpeed
from penstock.simulate.profile import LEFT, WORKER, JobProfile, StepProfile, TaskPart, TensorMessage, WorkBlock
from penstock.simulate.stragglers import Straggling

ETHERNET = NetworkSpeed.parse("10Gbit,50us")
NONE = Straggling()
ORDER_BYTES = 300.0  # of a message without tensors
Span = Callable[[str, str, float, float], None]  # (task, what, begin, end)


@dataclass(frozen=True)
class Cluster:
    """What a job runs on. All tasks on one machine, or each on its own."""

    workers: int
    cores: float = 16
    network: NetworkSpeed = ETHERNET
    one_machine: bool = False
    straggling: Straggling = NONE
    machines: tuple[MachineSpec, ...] = ()  # if they are not alike, or run several tasks; tasks that none of them has get machines of their own

    def with_more(self, cores: float = 1.0, bandwidth: float = 1.0, latency: float = 1.0) -> Cluster:
        """The same cluster with so many times the cores, the bandwidth, the latency."""
        def network(old: NetworkSpeed) -> NetworkSpeed:
            return NetworkSpeed(old.bandwidth * bandwidth, old.latency * latency)
        machines = tuple(replace(each, cores=each.cores * cores, network=network(each.network)) for each in self.machines)
        return replace(self, cores=self.cores * cores, network=network(self.network), machines=machines)


@dataclass
class Result:
    """What a simulated job did; steps before ``warm`` of them per worker do not count."""

    seconds: float = 0.0
    step_times: list[float] = field(default_factory=list)
    busy_machines: dict[str, float] = field(default_factory=dict)  # machine -> share of its cores
    busy_interpreters: dict[str, float] = field(default_factory=dict)  # task -> share of the time
    busy_links: dict[str, float] = field(default_factory=dict)  # "ps 0 out" -> share of its bandwidth
    dropped: int = 0
    ran_out: float = 0.0  # seconds of the simulated time after which it was given up; 0 if it was not
    step_memory: dict[str, int] = field(default_factory=dict)  # task -> the most bytes that its steps have taken at the same time

    @property
    def rate(self) -> float:
        """Steps per second of all workers."""
        return len(self.step_times) / self.seconds if self.seconds else 0.0

    def quantile(self, share: float) -> float:
        """The time that ``share`` of the steps stay below."""
        ordered = sorted(self.step_times)
        return ordered[min(int(share * len(ordered)), len(ordered) - 1)] if ordered else 0.0


class Simulation:
    """One run of a job. ``span`` is told what tasks did when."""

    def __init__(self, profile: JobProfile, costs: Costs, cluster: Cluster, seed: int = 0, span: Span | None = None) -> None:
        self.clock, self.cluster, self.span = Clock(), cluster, span
        self.local, self.costs = costs, costs.between(cluster.one_machine)
        self.profile = profile
        self.random = random.Random(seed)
        self.fabric = Fabric(self.clock, cluster.network, costs.latency)
        self.places = MeetingPlace(lambda function: self.clock.after(0.0, function))
        self._machines: list[SimulatedMachine] = []
        self._processes: dict[str, Process] = {}
        self._made: dict[int, list[_Tables]] = {}  # by the identity of a step of the profile, which is kept
        self._start_processes()
        for resource, held in profile.held.items():
            self.places.hold(resource, held["elements"])

    def _start_processes(self) -> None:
        cluster, where = self.cluster, dict[str, SimulatedMachine]()
        if cluster.one_machine:
            where = dict.fromkeys(self._tasks(), SimulatedMachine(self.clock, cluster.cores, "the machine"))
        for spec in cluster.machines:
            machine = SimulatedMachine(self.clock, spec.cores, ", ".join(map(readable, spec.tasks)))
            self.fabric.links[machine] = NetworkLink(spec.network)
            where.update(dict.fromkeys(spec.tasks, machine))
        costs = self.local
        server = Crowding(costs.crowded, costs.queued, costs.spread)
        worker = server._replace(queued=1.0)  # what its messages cost was measured where those of two servers came together
        for task in self._tasks():
            machine = where.get(task) or SimulatedMachine(self.clock, cluster.cores, readable(task))
            self._processes[task] = Process(machine, task, worker if task.startswith("/job:worker/") else server, self.random)
        self._machines = list(dict.fromkeys(process.machine for process in self._processes.values()))

    def costs_between(self, one: Process, other: Process) -> Costs:
        """What messages between two tasks cost."""
        return self.local.between(one.machine is other.machine)

    def _tasks(self) -> Iterator[str]:
        """The tasks of the cluster: those that the profile names, and as many workers as there are."""
        others = {part.task for step in (self.profile.step, *self.profile.beside) for part in step.parts} | set(self.profile.variables)
        yield from sorted(others - {WORKER, LEFT})
        yield from (task_name("worker", index) for index in range(self.cluster.workers))

    def tables(self, step: StepProfile) -> list[_Tables]:
        """Those of a step's parts."""
        if id(step) not in self._made:
            self._made[id(step)] = [_Tables(part) for part in step.parts]
        return self._made[id(step)]

    def process(self, task: str) -> Process:
        """The process of a task."""
        return self._processes[task]

    def run(self, steps: int = 100, warm: int = 5, limit: float = 3600.0) -> Result:
        """Has every worker run ``warm`` steps and then, together, ``steps`` per worker; ``limit`` is in seconds of the simulated time."""
        result, target, warm = Result(), steps * self.cluster.workers, max(warm, 1)
        begun: list[tuple[float, Any]] = []

        def ended(worker: _Loop, begin: float) -> None:
            if worker.done == warm and not begun and all(other.done >= warm for other in workers):
                begun.append((self.clock.now, self._usage()))
            elif begun:
                result.step_times.append(self.clock.now - begin)
                if len(result.step_times) >= target:
                    self.clock.stop()

        workers = [_Loop(self, index, self.profile.step, ended, delayed=True) for index in range(self.cluster.workers)]
        loops = [*workers, *self._beside()]
        for index, loop in enumerate(loops):
            self.clock.after(index * 1e-5, loop.begin)
        self.clock.run(limit)
        result.ran_out = limit if self.clock.now >= limit else 0.0
        if begun:
            start, usage = begun[0]
            result.seconds = self.clock.now - start
            self._fill_in(result, usage)
        return result

    def _beside(self) -> Iterator[_Loop]:
        """The steps of queue runners: those that wait for other tasks are the chief's, others go on in every worker."""
        for step in self.profile.beside:
            waits_elsewhere = any(meeting.kind == "take" for part in step.parts for block in part.blocks for meeting in block.meetings)
            for index in range(1 if waits_elsewhere else self.cluster.workers):
                yield _Loop(self, index, step, _ignore)

    def _usage(self) -> Any:
        return ({machine: machine.busy for machine in self._machines},
                {task: process.in_python for task, process in self._processes.items()},
                {machine: (self.fabric.link(machine).sent, self.fabric.link(machine).received) for machine in self._machines})

    def _fill_in(self, result: Result, before: Any) -> None:
        if not result.seconds:
            return
        busy, in_python, links = before
        result.busy_interpreters = {readable(task): (process.in_python - in_python[task]) / result.seconds
                                    for task, process in self._processes.items()}
        for machine in self._machines:
            result.busy_machines[machine.name] = (machine.busy - busy[machine]) / result.seconds / machine.cores
            if not self.cluster.one_machine:
                link = self.fabric.link(machine)
                for direction, now, then in (("out", link.sent, links[machine][0]), ("in", link.received, links[machine][1])):
                    share = (now - then) / result.seconds / link.network.bandwidth
                    result.busy_links[f"{machine.name} {direction}"] = share
        result.dropped = self.places.dropped()
        result.step_memory = {task: process.most_memory for task, process in self._processes.items()}


def readable(task: str) -> str:
    """``ps 0`` for ``/job:ps/replica:0/task:0``."""
    pieces = task.strip("/").split("/")
    return f"{pieces[0].partition(':')[2]} {pieces[-1].partition(':')[2]}"


def _ignore(worker: _Loop, begin: float) -> None:
    """Steps beside those of the workers do not count."""


class _Loop:
    """A session that runs one step again and again."""

    def __init__(self, simulation: Simulation, worker: int, step: StepProfile, ended: Callable[[_Loop, float], None], delayed: bool = False) -> None:
        self.simulation, self.step, self.done = simulation, step, 0
        self.task, self.left = task_name("worker", worker), task_name("worker", (worker - 1) % simulation.cluster.workers)
        self.tables = simulation.tables(step)
        self.stamp, self.own = Stamp(), (step.message_bytes, step.used_bytes)
        self._ended, self._delayed = ended, delayed
        self._moved: dict[SimulatedMachine, tuple[float, float, float, float]] = {}  # bytes moved and used, when the last two steps began

    def moved(self, machine: SimulatedMachine) -> float:
        """How many bytes the tasks of a machine moved between the beginnings of the last two steps."""
        before, last, _, _ = self._moved.get(machine, (0.0, 0.0, 0.0, 0.0))
        return last - before

    def used(self, machine: SimulatedMachine) -> float:
        """How many bytes went through its caches meanwhile."""
        _, _, before, last = self._moved.get(machine, (0.0, 0.0, 0.0, 0.0))
        return last - before

    def begin(self) -> None:
        """The next step."""
        simulation = self.simulation
        begin = simulation.clock.now
        delay = simulation.cluster.straggling.delay(simulation.random) if self._delayed else 0.0

        def over() -> None:
            if simulation.span is not None:
                simulation.span(self.task, f"step {self.done}", begin, simulation.clock.now)
            self.done += 1
            self._ended(self, begin)
            self.begin()

        step = _WorkerStep(self, over)
        for machine in {part.process.machine for part in step.parts.values()}:
            _, moved, _, used = self._moved.get(machine, (0.0, machine.moved, 0.0, machine.used))
            self._moved[machine] = moved, machine.moved, used, machine.used
        if delay:
            simulation.clock.after(delay, step.begin)
        else:
            step.begin()


class _WorkerStep:
    """One step of a worker."""

    def __init__(self, loop: _Loop, over: Callable[[], None]) -> None:
        self.loop, self.simulation, self._over = loop, loop.simulation, over
        self.parts = {part.task: _PartRun(self, part, tables) for part, tables in zip(loop.step.parts, loop.tables)}
        self._state = StepState(self.parts)

    def task(self, name: str) -> str:
        """A task of the profile, as one of the cluster."""
        return self.loop.task if name == WORKER else self.loop.left if name == LEFT else name

    def begin(self) -> None:
        """Orders the parts of other tasks, then runs the worker's own."""
        costs, own = self.simulation.costs, self.simulation.process(self.loop.task)
        others = [part for name, part in self.parts.items() if name != WORKER]
        own.python(costs.step + costs.order / 2 * len(others), lambda: self._order(others))

    def _order(self, others: list[_PartRun]) -> None:
        for part in others:
            part.order()
        if WORKER in self.parts:
            self.parts[WORKER].begin()

    def ended(self, part: _PartRun) -> None:
        """A part has run: the master hears of it."""
        part.process.take(-part.part.memory)
        name, costs = part.part.task, self.simulation.costs
        if name == WORKER:
            self._done(name)
            return
        own = self.simulation.process(self.loop.task)
        part.process.python(costs.part / 2, lambda: self.simulation.fabric.send(
            part.process.machine, own.machine, ORDER_BYTES, own.python, costs.order / 2, lambda: self._done(name)))

    def _done(self, name: str) -> None:
        if any(isinstance(instruction, Finish) for instruction in self._state.handle(Done(name))):
            self._over()


class _Tables:
    """Which blocks of a part wait for what: made once, used by every run of it."""

    def __init__(self, part: TaskPart) -> None:
        self.is_short = sum(block.python + block.moving + block.native for block in part.blocks) < SHORT
        self.pending = [len(block.needs) + len(block.receives) + 1 for block in part.blocks]  # one for the order
        self.behind: list[list[int]] = [[] for _ in part.blocks]
        self.receivers: dict[int, list[int]] = {}
        for index, block in enumerate(part.blocks):
            for other in block.needs:
                self.behind[other].append(index)
            for number in block.receives:
                self.receivers.setdefault(number, []).append(index)


class _PartRun:
    """A part of one step: its blocks run as what they need is there."""

    def __init__(self, step: _WorkerStep, part: TaskPart, tables: _Tables) -> None:
        self.step, self.part = step, part
        self.process = step.simulation.process(step.task(part.task))
        self._tables, self._pending, self._left = tables, tables.pending.copy(), len(part.blocks)

    def order(self) -> None:
        """The worker tells another task to run this part."""
        simulation, costs = self.step.simulation, self.step.simulation.costs
        origin = simulation.process(self.step.loop.task)
        simulation.fabric.send(origin.machine, self.process.machine, ORDER_BYTES, self.process.python, costs.part / 2, self.begin)

    def begin(self) -> None:
        """What waits for nothing can run."""
        self.process.take(self.part.memory)
        if not self.part.blocks:
            self.step.ended(self)
        for index in range(len(self.part.blocks)):
            self._came(index)

    def arrived(self, number: int) -> None:
        """A message has been read."""
        for index in self._tables.receivers[number]:
            self._came(index)

    def _came(self, index: int) -> None:
        self._pending[index] -= 1
        if not self._pending[index]:
            block = self.part.blocks[index]
            waits = [meeting for meeting in block.meetings if meeting.kind not in ("accumulate", "advance")]
            self._meet(waits, lambda: self._compute(index, block))

    def _meet(self, meetings: list[Any], then: Callable[[], None]) -> None:
        if not meetings:
            then()
            return
        meeting = meetings[0]
        task, _, name = meeting.resource.partition(" ")
        resource = f"{self.step.task(task)} {name}"
        self.step.simulation.places.meet(meeting, resource, self.step.loop.stamp, lambda: self._meet(meetings[1:], then))

    def _compute(self, index: int, block: WorkBlock) -> None:
        simulation = self.step.simulation
        begin = simulation.clock.now

        def in_native() -> None:
            if block.native:
                self.process.machine.used += block.touched
                self.process.native(block.native, ended, block.serial, self._tables.is_short, block.uncached * self._replaced(), block.held,
                                    block.crowded, block.uncached)
            else:
                ended()

        def ended() -> None:
            if simulation.span is not None and simulation.clock.now > begin:
                simulation.span(self.process.name, f"{block.nodes} nodes", begin, simulation.clock.now)
            self._meet([meeting for meeting in block.meetings if meeting.kind in ("accumulate", "advance")], lambda: self._finish(index, block))

        if block.python or block.moving:
            self.process.python(block.python, in_native, block.moving * self._slower())
        else:
            in_native()

    def _slower(self) -> float:
        """How many times as long large arrays take as they did when the step was measured."""
        loop = self.step.loop
        return self.step.simulation.local.slower_beside(loop.moved(self.process.machine), loop.own[0])

    def _replaced(self) -> float:
        """Which part of the arrays that native code found in the cache then it does not find now."""
        loop = self.step.loop
        return self.step.simulation.local.replaced(loop.used(self.process.machine), loop.own[1])

    def _finish(self, index: int, block: WorkBlock) -> None:
        for message in block.sends:
            self._send(message)
        self._left -= 1
        for after in self._tables.behind[index]:
            self._came(after)
        if not self._left:
            self.step.ended(self)

    def _send(self, message: TensorMessage) -> None:
        simulation, goal = self.step.simulation, self.step.parts[message.to]
        there, size = goal.process, message.bytes
        costs = simulation.costs_between(self.process, there)
        writing, reading = (size * each * costs.slower(self.step.loop.moved(process.machine))
                            for each, process in ((costs.send_byte, self.process), (costs.receive_byte, there)))
        for machine in {self.process.machine, there.machine}:
            machine.moved += size
            machine.used += size
        pieces = _first_and_rest(message) if self.process.machine is there.machine else [(1.0, 1.0)]
        left = len(pieces)

        def came() -> None:
            nonlocal left
            left -= 1
            if not left:
                goal.arrived(message.number)

        def send(written: float, read: float) -> None:
            sending, receiving = (costs.message + message.tensors * each for each in (costs.send, costs.receive))

            def sent() -> None:
                simulation.fabric.send(self.process.machine, there.machine, written * size + ORDER_BYTES, there.python, read * receiving, came,
                                       read * reading)

            self.process.python(written * sending, sent, written * writing)

        for piece in pieces:
            send(*piece)


def _first_and_rest(message: TensorMessage) -> list[tuple[float, float]]:
    """In which pieces a message is written and, as these come, read. Large tensors go through shared memory one by one: the first is there to be read
    while the others are written, and when the last one is there the others have been read. Two pieces take as long as one for each tensor."""
    if message.bytes < message.tensors * SHARED_MIN:
        return [(1.0, 1.0)]  # they are collected
    first = 1.0 / message.tensors
    return [(first, 1.0 - first), (1.0 - first, first)] if message.tensors > 1 else [(1.0, 1.0)]
