"""Launches a job on many machines, with Ray: every task is a process that an actor keeps, and every actor has its bundle of a placement group.

    import penstock.distributed.ray as engine
    engine.launch(engine.Plan(["train.py"], ps=2, workers=4), cpus=2)

Ray finds the machines, keeps the resources together and notices when a machine is gone; it then finds another place for the bundle. Who is started
again, and when, is decided as on one machine (``launch_state.py``). A task that comes back has a new address: the tasks that run are told of it
(``administration.py: SetAddresses``) and go on; none of them is started again for it.
"""
from __future__ import annotations

import os
import selectors
import sys
import threading
import time
from collections.abc import Mapping
from typing import Any, TextIO

import ray
from ray.exceptions import RayError
from ray.util.placement_group import placement_group, remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from penstock.distributed import launch_state as life
from penstock.distributed.cluster_spec import task_name
from penstock.distributed.launch_engine import Engine, cluster_secret_for, inherited_environment
from penstock.distributed.launch_guard import Guard
from penstock.distributed.launch_logs import Printer
from penstock.distributed.launch_plan import GUESTS, Task, environment
from penstock.distributed.launch_plan import LaunchPlan as Plan
from penstock.distributed.launch_process import LaunchedProcess, free_ports
from penstock.distributed.messages import Message
from penstock.errors import OpError

__all__ = ["Plan", "launch"]

_BEAT = 0.25  # seconds between two looks at the actors
_PATIENCE = 30.0  # seconds without room for a task until that is told
_TOLD = 2.0  # seconds that a task gets to hear of new addresses


def launch(plan: Plan, *, address: str | None = "auto", cpus: float = 1.0, resources: Mapping[str, Mapping[str, float]] | None = None,
           strategy: str = "SPREAD", max_restarts: int = 3, grace: float = 5.0, secret: str | None = None, color: str = "auto",
           runtime_env: Mapping[str, Any] | None = None, out: TextIO | None = None, err: TextIO | None = None,
           healthy_after: float = life.HEALTHY_AFTER) -> int:
    """Runs a job to its end on a Ray cluster, and returns its exit code.

    ``resources`` gives those of the tasks of a job, where ``cpus`` is not all: ``{"ps": {"CPU": 2, "memory": 8e9}}``. ``strategy`` is that of the
    placement group. ``runtime_env`` is Ray's: with ``{"working_dir": "."}`` the program travels to the machines; otherwise it has to be there.
    A connection to Ray that exists is used and stays; otherwise one is made to ``address`` and closed.
    """
    connected = ray.is_initialized()
    if not connected:
        ray.init(address=address, log_to_driver=False)
    printer = Printer(out or sys.stdout, err or sys.stderr, plan.tasks(), color)
    tasks = plan.tasks()
    bundles = [{"CPU": cpus, **(resources or {}).get(task.job, {})} for task in tasks]
    group = placement_group(bundles, strategy=strategy)
    try:
        state = life.LaunchState(tasks, max_restarts, grace, healthy_after)
        return _Cluster(plan, state, printer, group, bundles, dict(runtime_env or {}), cluster_secret_for(secret)).run()
    finally:
        remove_placement_group(group)
        if not connected:
            ray.shutdown()


# --- on the machine of a task ----------------------------------------------------------------------------------------

class _Keeper:
    """The actor that runs one task. If it dies, its guard ends the task."""

    def __init__(self, secret: str) -> None:
        os.environ["PENSTOCK_CLUSTER_SECRET"] = secret  # this process is the task's alone, and may talk to it
        self._address = ""
        self._process: LaunchedProcess | None = None
        self._lines: list[tuple[str, str]] = []
        self._code: int | None = None
        self._news: dict[str, str] = {}

    def reserve(self) -> str:
        """The address that the task will have."""
        host = ray.util.get_node_ip_address()
        self._address = f"{host}:{free_ports(1, host)[0]}"
        return self._address

    def start(self, command: list[str], variables: dict[str, str]) -> None:
        """Starts the task, and a thread that follows it to its end."""
        started = threading.Event()
        threading.Thread(target=self._follow, args=(command, variables, started), daemon=True).start()
        started.wait()

    def look(self) -> tuple[list[tuple[str, str]], int | None]:
        """What it wrote since the last look, and its exit code."""
        code = self._code  # first: all lines are there when the code is
        lines, self._lines = self._lines, []
        return lines, code

    def signal(self, number: int) -> None:
        """Sends a signal to the task."""
        if self._process is not None and self._code is None:
            self._process.signal(number)

    def tell(self, addresses: dict[str, str]) -> None:
        """Has the task told where others are now, as soon as it listens."""
        self._news = {**self._news, **addresses}

    def _follow(self, command: list[str], variables: dict[str, str], started: threading.Event) -> None:
        code = None
        try:
            with Guard() as guard, selectors.DefaultSelector() as selector:
                variables = {**inherited_environment(), **variables}
                self._process = LaunchedProcess(guard, selector, [sys.executable, *command], variables, self._wrote)
                started.set()
                while code is None:
                    for key, _ in selector.select(_BEAT):
                        key.data.read(key.fileobj)
                    if self._news:
                        self._deliver()
                    code = self._process.ended()
        except Exception as error:  # the launcher has to hear of it, and the guard has ended the task
            self._wrote("err", f"the task cannot be followed any more: {error!r}")
        finally:
            started.set()
            self._code = 1 if code is None else code

    def _wrote(self, stream: str, line: str) -> None:
        self._lines.append((stream, line))

    def _deliver(self) -> None:
        from penstock.distributed.client import connection  # brings in gRPC, which is needed only where tasks move

        news, link = self._news, connection(f"grpc://{self._address}")
        try:
            link.call(Message("SetAddresses", {"addresses": news}), _TOLD)
            self._news = {task: address for task, address in self._news.items() if news.get(task) != address}
        except OpError:
            return  # it does not listen yet, or no more: the next round tries again
        finally:
            link.close()


# --- on the launcher's machine ---------------------------------------------------------------------------------------

class _Cluster(Engine):
    """A job in actors."""

    def __init__(self, plan: Plan, state: life.LaunchState, printer: Printer, group: Any, bundles: list[dict[str, float]],
                 runtime_env: dict[str, Any], secret: str) -> None:
        super().__init__(plan, state, printer)
        self._group, self._bundles, self._runtime_env, self._secret = group, bundles, runtime_env, secret
        self._places = {task: number for number, task in enumerate(plan.tasks())}
        self._addresses: dict[Task, str] = {}
        self._actors: dict[Task, Any] = {}
        self._reserving: dict[Task, tuple[Any, float]] = {}  # task -> (its address to come, when to say that this takes long)
        self._ready: list[Task] = []  # with an address, but not started
        self._looking: dict[Task, Any] = {}  # task -> what it has to tell, to come

    def start(self, task: Task) -> None:
        place = self._places[task]
        bundle = self._bundles[place]
        others = {name: amount for name, amount in bundle.items() if name not in ("CPU", "GPU", "memory")}
        options = {"num_cpus": bundle["CPU"], "num_gpus": bundle.get("GPU"), "memory": bundle.get("memory"), "resources": others or None,
                   "scheduling_strategy": PlacementGroupSchedulingStrategy(self._group, placement_group_bundle_index=place),
                   "runtime_env": self._runtime_env or None, "max_restarts": 0, "max_task_retries": 0}
        actor = ray.remote(_Keeper).options(**options).remote(self._secret)
        self._actors[task] = actor
        self._reserving[task] = actor.reserve.remote(), time.monotonic() + _PATIENCE

    def signal(self, task: Task, number: int) -> None:
        if task in self._looking:
            self._actors[task].signal.remote(number)
        elif task in self._actors:  # nothing runs there yet
            self._drop(task)
            self.handle(life.Exited(task, -number))

    def look(self) -> None:
        time.sleep(_BEAT)  # actors answer at once: this is the pace of looking
        pending = {ref: task for task, (ref, _) in self._reserving.items()} | {ref: task for task, ref in self._looking.items()}
        if not pending:
            return
        for ref in ray.wait(list(pending), num_returns=len(pending), timeout=0)[0]:
            task = pending[ref]
            try:
                answer = ray.get(ref)
            except RayError as error:
                self._lost(task, error)
                continue
            if task in self._reserving:
                self._reserved(task, answer)
            else:
                self._looked(task, *answer)
        self._complain()

    # --- a task's way --------------------------------------------------------------------------------------------------

    def _reserved(self, task: Task, address: str) -> None:
        """All tasks must have an address before the first one starts; the others are told of one that has moved."""
        del self._reserving[task]
        moved = task in self._addresses
        self._addresses[task] = address
        self._ready.append(task)
        if moved and task.job not in GUESTS:
            self.printer.note(f"{task} is at {address} now")
            news = {task_name(task.job, task.index): address}
            for other in self._looking:
                self._actors[other].tell.remote(news)
        if len(self._addresses) == len(self._places):
            for waiting in self._ready:
                self._begin(waiting)
            self._ready = []

    def _begin(self, task: Task) -> None:
        cluster = self.plan.cluster(self._addresses)
        command = self.plan.command(task, cluster)[1:]  # each machine has its own Python
        actor = self._actors[task]
        actor.start.remote(command, environment(task, cluster, self._secret))
        self._looking[task] = actor.look.remote()

    def _looked(self, task: Task, lines: list[tuple[str, str]], code: int | None) -> None:
        for stream, line in lines:
            self.printer.line(task, stream, line)
        if code is None:
            self._looking[task] = self._actors[task].look.remote()
        else:
            self._drop(task)
            self.handle(life.Exited(task, code))

    def _lost(self, task: Task, error: RayError) -> None:
        self.printer.note(f"{task}: {str(error).strip().splitlines()[-1].strip()}")
        self._drop(task)
        self.handle(life.Exited(task, life.LOST))

    def _drop(self, task: Task) -> None:
        self._reserving.pop(task, None)
        self._looking.pop(task, None)
        if task in self._ready:
            self._ready.remove(task)
        ray.kill(self._actors.pop(task))

    def _complain(self) -> None:
        now = time.monotonic()
        for task, (ref, when) in list(self._reserving.items()):
            if now > when:
                self.printer.note(f"{task} still waits for a machine with {self._bundles[self._places[task]]}")
                self._reserving[task] = ref, now + _PATIENCE

    def close(self) -> None:
        for task in list(self._actors):
            self._drop(task)
