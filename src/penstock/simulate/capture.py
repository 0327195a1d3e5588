"""Runs a program as worker 0 of a cluster, measures its steps, and writes their profile: in a process that it may use as it likes.

    python -m penstock.simulate.capture ORDER.json

The cluster is here: all parameter servers and the worker are servers of this process, over the ``local`` transport, which takes the place of gRPC.
The program is stopped when its step has run often enough. Plans are those that tasks really run; only their kernels are timed.
"""
from __future__ import annotations

import itertools
import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from penstock.cli.run import main as run_main
from penstock.distributed import transports
from penstock.distributed.cluster_spec import task_name
from penstock.distributed.launch_plan import LaunchPlan, Task, environment
from penstock.distributed.server import Server, in_process
from penstock.distributed.step_run import PlannedPart
from penstock.distributed.transport_local import LocalTransportKind
from penstock.distributed.worker import Worker
from penstock.estimator.tasks import MissingChief
from penstock.execute.plan import Plan
from penstock.execute.report import Described
from penstock.native.machine.team import native_alone, team
from penstock.ops.transfer import Send
from penstock.platform.cpus import available_cpus, shared_cache_bytes
from penstock.program.devices import Kernel
from penstock.program.ir import Node, Program
from penstock.program.stages import Observer, observing
from penstock.session.observers import RunObserver, SessionRun, observing_runs
from penstock.simulate.profile import JobProfile, StepProfile
from penstock.simulate.work_blocks import LARGE, Measured, PlanOfTask, step_profile
from penstock.state.resources import Ref, held_value

NO_CHIEF = 3  # the exit code if the program is an estimator, and its cluster has no chief
_WARM = 5  # runs of a step before it counts
_UPDATES = 3  # of a synchronous optimizer, which another thread makes, after those by which it gets warm
_SAMPLES = 400


@dataclass
class CaptureOrder:
    """What to measure: a program with its arguments, told of a cluster; ``profile`` is where the result goes."""

    program: list[str]
    ps: int
    workers: int
    profile: str
    flags: str = ""
    runs: int = 40
    seconds: float = 20.0
    chief: bool = False  # one of the workers is a chief, as estimators have it; it is the one that is measured

    @property
    def measured_task(self) -> Task:
        """The task that the program is run as."""
        return Task("chief" if self.chief else "worker", 0)

    def to_json(self) -> str:
        """The order as text."""
        return json.dumps(asdict(self))


class Enough(BaseException):
    """The program has run its step often enough. No Exception, so that programs do not catch it."""


class _Timer(Observer):
    """Times every kernel of every plan. All tasks are in this process, and their native code would share its cores: one region runs at a time, with
    one thread, with one beside another that uses the cache, with all of them, and with all of them beside as many others, in turn, so that these are
    measured on the same machine, however its speed changes; the last several times in a row, since threads get used to a crowd."""

    def __init__(self) -> None:
        self._native = threading.Lock()
        self.measured: dict[Node, Measured] = {}
        self._regions: dict[Node, Described] = {}
        self._user, self._crowd = CacheUser(), CacheUser(available_cpus())
        self._losses: dict[str, list[int]] = {}  # of the threads of each task, in a crowd
        self._taken: dict[str, int] = {}  # how often each accumulator gave its gradients

    def fewest_updates(self) -> float:
        """How often gradients were taken of each accumulator; infinity if there is none."""
        return min(self._taken.values(), default=float("inf"))

    def note_memory(self) -> None:
        """Regions have an arena each, beside the results that they hand out. To be called once."""
        for node, region in self._regions.items():
            self.measured[node].arena = region.describe().arena_bytes
            self.measured[node].memory += self.measured[node].arena

    def planned(self, plan: Plan, program: Program) -> None:
        plan.wrap_kernels(self._time)

    def _time(self, node: Node, kernel: Kernel, region: Described | None) -> Kernel:
        record = self.measured.setdefault(node, Measured())
        if region is not None:
            self._regions[node] = region
        meets = node.definition.coordinates
        sends = node.definition is Send
        if meets == "take":
            self._taken.setdefault(node.name, 0)

        by_itself: AbstractContextManager[Any] = self._native if region is not None else nullcontext()
        turns = itertools.cycle([record.seconds] if region is None else [record.seconds, record.beside, record.together] * 3 + [record.crowded] * 6)

        def run(*values: Any, **options: Any) -> Any:
            times = next(turns)
            given = _of_one_worker(values) if meets == "take" else values
            shared = times is record.together or times is record.crowded
            with by_itself, native_alone(not shared), self._beside(times, record, node) as users:
                cores = _cores_without(users) if shared else 0.0
                start = time.perf_counter()
                result = kernel(*given, **options)
                seconds = time.perf_counter() - start
                cores = _cores_without(users) - cores if shared else 0.0
            if meets == "take":
                self._taken[node.name] += 1
            if len(times) < _SAMPLES and not node.definition.blocking:
                times.append(cores if times is record.crowded else seconds)
                if times is record.together:
                    record.cores.append(cores)
            record.memory = max(record.memory, _own_bytes(result))
            record.touched = max(record.touched, _bytes_of(values) + _own_bytes(result))
            if sends:
                record.bytes = int(getattr(held_value(values[0]), "nbytes", 0))
            elif meets:
                record.resource = node.inputs[0][0].name
                record.count = _count(meets, values)
                record.total += record.count
            return result

        return run

    def _beside(self, times: list[float], record: Measured, node: Node) -> AbstractContextManager[CacheUser | None]:
        """What uses the machine meanwhile."""
        if times is record.crowded:
            return self._in_a_crowd(_task(node))
        return self._user if times is record.beside and record.touched >= LARGE else nullcontext()

    @contextmanager
    def _in_a_crowd(self, task: str) -> Iterator[CacheUser]:
        """Threads that lose much in a crowd rest for a while (``native/machine/driver.py``): they do so here, and not in what is measured next."""
        team.give_losses(self._losses.get(task, []))
        with self._crowd as crowd:
            yield crowd
        self._losses[task] = team.take_losses()


class CacheUser:
    """While the block lasts, other threads go through more memory than the cache holds, as other tasks of a machine do."""

    def __init__(self, threads: int = 1) -> None:
        self.pieces = 0  # how many pieces of that they have gone through
        self._array = np.zeros(0, np.float32)
        self._count, self._threads = threads, list[threading.Thread]()
        self._is_over = threading.Event()

    def __enter__(self) -> CacheUser:
        if not self._array.size:
            self._array = np.zeros(2 * max(shared_cache_bytes(), LARGE) // 4, np.float32)
        self._is_over.clear()
        self._threads = [threading.Thread(target=self._use, daemon=True) for _ in range(self._count)]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join()

    def cores(self) -> float:
        """The seconds of a core that the threads have used (Linux)."""
        return sum(time.clock_gettime(time.pthread_getcpuclockid(thread.ident)) for thread in self._threads if thread.ident is not None)

    def _use(self) -> None:
        for piece in itertools.cycle(np.array_split(self._array, 32)):  # each without the interpreter
            if self._is_over.is_set():
                return
            np.add(piece, 1.0, out=piece)
            self.pieces += 1


def _cores_without(users: CacheUser | None) -> float:
    """The seconds of a core that this process has used, those threads left out."""
    return time.process_time() - (users.cores() if users is not None else 0.0)


def _own_bytes(result: Any) -> int:
    """The bytes of the arrays that a kernel has made: views of others and variables take none."""
    values = result if isinstance(result, (tuple, list)) else (result,)
    return sum(value.nbytes for value in values if isinstance(value, np.ndarray) and value.base is None)


def _bytes_of(values: tuple[Any, ...]) -> int:
    """Of arrays and variables."""
    return sum(int(getattr(held_value(value), "nbytes", 0)) for value in values)


def _of_one_worker(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """What takes the mean of some gradients is to be content with one: the other workers are not here, and no update would be made without them."""
    return (values[0], np.minimum(values[1], np.ones_like(values[1])), *values[2:])


def _count(meets: str, values: tuple[Any, ...]) -> int:
    """How many elements or gradients an operation on a queue or an accumulator is about."""
    if meets in ("take", "dequeue_many"):
        return int(values[1])
    if meets == "enqueue_many":
        first = values[1][0] if isinstance(values[1], (list, tuple)) else values[1]
        return len(first)
    return 1


class _Watch(RunObserver):
    """Counts the steps of the program; when one of its main thread has run often enough, they are noted and the program ends."""

    def __init__(self, order: CaptureOrder, timer: _Timer) -> None:
        self.profile: JobProfile | None = None
        self._order, self._timer = order, timer
        self._task = task_name(order.measured_task.job, order.measured_task.index)
        self._counts: dict[Any, int] = {}
        self._main: set[Any] = set()
        self._began = time.monotonic()
        self._looked_at = 0  # operations of the graph

    def before(self, run: SessionRun) -> None:
        operations = run.graph.get_operations()
        other = next((op for op in operations[self._looked_at:] if self._is_on_another_worker(op.device)), None)
        self._looked_at = len(operations)
        if other is not None:
            print(f"penstock simulate: operation '{other.name}' is on {other.device}, and the program runs as {self._task} alone. What workers do "
                  "with each other cannot be measured like that; a program whose strategy averages gradients over a ring is simulated without its "
                  "strategy: penstock simulate --mode allreduce", file=sys.stderr, flush=True)
            os._exit(1)  # threads of the program may wait for the others

    def _is_on_another_worker(self, device: str) -> bool:
        job, _, rest = device.partition("/task:")
        return job.startswith(("/job:worker", "/job:chief")) and rest != "" and \
            task_name(job.removeprefix("/job:").partition("/")[0], int(rest.partition("/")[0])) != self._task

    def after(self, run: SessionRun) -> None:
        session = getattr(run.backend, "_session", None)
        if session is None:
            return  # not of the cluster
        key = tuple(tuple(each.name for each in group) for group in (list(run.feeds), run.wanted.tensors, run.wanted.targets))
        self._counts[key] = count = self._counts.get(key, 0) + 1
        if count == _WARM:
            for record in self._timer.measured.values():
                record.forget_times()
        if threading.current_thread() is threading.main_thread() and self.profile is None:
            self._main.add(key)
            late = time.monotonic() - self._began > self._order.seconds and count > _WARM + 2
            if (count >= self._order.runs + _WARM and self._timer.fewest_updates() >= _WARM + _UPDATES) or late:
                feeds = sum(int(getattr(value, "nbytes", 0)) for value in run.feeds.values())
                self.profile = self._note(session, key, feeds)
                raise Enough

    def _note(self, session: str, main: Any, feeds: int) -> JobProfile:
        master = next(service.master for service in in_process.values() if service.master.task == self._task)
        self._timer.note_memory()
        plans = {key[:3]: plan for key, plan in master.session(session)._plans.items()}
        groups: dict[str, str] = {}
        step = self._profile_of(plans[main], groups)
        step.feeds, step.runs = feeds, self._counts[main]
        beside = []
        for key, plan in plans.items():
            if key not in self._main and self._counts.get(key, 0) >= 2:
                other = self._profile_of(plan, groups)
                other.runs = self._counts[key]
                beside += [other] if other.waits else []  # one that waits for nothing has its pace from a clock, and takes next to nothing
        counted = [main, *(key for key in plans if key not in self._main)]
        order = self._order
        return JobProfile(" ".join(order.program), order.ps, order.workers, step, beside, _variables(), self._queue_contents(plans, counted))

    def _profile_of(self, plan: list[PlannedPart], groups: dict[str, str]) -> StepProfile:
        own_first = sorted(plan, key=lambda part: part.task != self._task)
        return step_profile([PlanOfTask(part.task, _tables(part)) for part in own_first], self._timer.measured, groups)

    def _queue_contents(self, plans: dict[Any, list[PlannedPart]], counted: list[Any]) -> dict[str, dict[str, Any]]:
        """What queues were given by steps that run once: tokens, for example."""
        often = {(part.task, node.name) for key in counted for part in plans[key] for table in _tables(part) for node in table.nodes}
        held: dict[str, dict[str, Any]] = {}
        for node, record in self._timer.measured.items():
            kind = node.definition.coordinates
            if kind in ("enqueue", "enqueue_many") and record.total and (_task(node), node.name) not in often:
                resource = held.setdefault(f"{_task(node)} {record.resource}", {"elements": 0})
                resource["elements"] += record.total
        return held


def _task(node: Node) -> str:
    return node.device.rsplit("/device:", 1)[0]


def _worker(task: str) -> Worker:
    return next(service._worker for service in in_process.values() if service.master.task == task)


def _tables(part: PlannedPart) -> Any:
    planned = _worker(part.task)._graphs[part.handle].planned
    plan = planned.final or planned.plan()
    if not plan.device_plans:
        raise SystemExit(f"penstock simulate: a loop or conditional of the step spans tasks, {part.task} among them, and cannot be simulated. "
                         "Give all operations of its body one device, the worker's")
    return plan.device_plans


def _variables() -> dict[str, dict[str, int]]:
    """The bytes of each task's variables."""
    return {service.master.task: {name: int(resource.value.nbytes) for (_, name, _), resource in service._worker.resources.items()
                                  if isinstance(resource, Ref) and resource.value is not None}
            for service in set(in_process.values())}


def main(path: str) -> int:
    """Carries out the order in a file."""
    with open(path, encoding="utf-8") as file:
        order = CaptureOrder(**json.load(file))
    transports.register("grpc", LocalTransportKind)
    plan = LaunchPlan(order.program, order.ps, order.workers - order.chief, order.chief, flags=order.flags)
    cluster = plan.cluster({task: f"{task.job}-{task.index}:2222" for task in plan.tasks()})
    servers = [Server(cluster, "ps", index) for index in range(order.ps)]
    me = order.measured_task
    os.environ.update(environment(me, cluster, None))
    timer = _Timer()
    watch = _Watch(order, timer)
    with observing(timer), observing_runs(watch), suppress(Enough):
        try:
            run_main(plan.command(me, cluster)[4:])
        except MissingChief:
            sys.excepthook(*sys.exc_info())
            return NO_CHIEF
    if watch.profile is None:
        print(f"penstock simulate: {order.program[0]} ended without running a step on the cluster {order.runs + _WARM} times "
              f"(--runs); a session of a cluster is tf.Session(server.target)", file=sys.stderr)
        return 1
    with open(order.profile, "w", encoding="utf-8") as file:
        file.write(watch.profile.to_json().replace(f"/job:{me.job}/", "/job:worker/"))  # in whose place simulated workers come
    del servers
    sys.stdout.flush()
    os._exit(0)  # the program's own threads need not end


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
