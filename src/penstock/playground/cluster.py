"""The cluster of a board: real processes, started by our launcher, that train the board's network together.

A thread runs the launcher, which starts tasks again that end; another one follows the training through a session of its own: it reads the variables a
few times a second, and the board that they are loaded into is drawn as any other. Both end with ``close``; and if the server's process ends in any
other way, the launcher's guard ends the tasks and removes their folder.
"""
from __future__ import annotations

import os
import shutil
import signal
import socket
import tempfile
import threading
from collections import Counter, defaultdict, deque
from typing import Any

import numpy as np
from tensorboard.compat.proto.config_pb2 import ConfigProto

from penstock.distributed.launch_engine import cluster_secret_for
from penstock.distributed.launch_local import LocalJob, local_job
from penstock.distributed.launch_plan import LaunchPlan, Task
from penstock.distributed.launch_state import RUNNING, WAITING
from penstock.distributed.status import record_cluster
from penstock.errors import OpError
from penstock.graph.graph import Graph
from penstock.monitor.cluster import lanes
from penstock.ops.constant import placeholder
from penstock.playground.cluster_notes import STARTING, note
from penstock.playground.cluster_program import PAUSE, REPORTED, ClusterSettings, build_network, write_cluster_program
from penstock.playground.settings import BadSettings, Settings
from penstock.session.session import Session
from penstock.variables.assign import assign

_EVERY = 0.15  # seconds between two looks at the variables
_PATIENCE_MS = 4000  # for one look
_KEPT = 60  # lines of the tasks' output
_RESTARTS = 100  # a person kills for fun
_SLOWEST = 2.0  # seconds
_RECORDED = 6  # steps of each worker in a timeline


class _Log:
    """The end of what tasks and launcher write: a stream that keeps its last lines."""

    def __init__(self) -> None:
        self.lines: deque[str] = deque(maxlen=_KEPT)

    def write(self, text: str) -> None:
        """Keeps whole lines; the printer writes no others."""
        self.lines.extend(line for line in text.splitlines() if line.strip())

    def flush(self) -> None:
        """Nothing is held back."""

    def isatty(self) -> bool:
        """No colours, no status line."""
        return False


class BoardCluster:
    """One job. ``weights`` and ``biases`` are the last values that were seen; None before the first."""

    def __init__(self, settings: Settings, wanted: ClusterSettings) -> None:
        self.settings, self.wanted = settings, wanted
        self.text = write_cluster_program(settings, wanted)
        self.weights: Any = None
        self.biases: Any = None
        self.step, self.reports = 0, np.zeros([wanted.workers, len(REPORTED)], np.float32)
        self._error: OpError | None = None  # of the last look at the variables
        self._serving: dict[Task, int] = {}  # tasks that were seen to serve, and how often each had been started again by then
        self._pauses = [PAUSE] * wanted.workers
        self._ask_for_pauses = False
        self._log = _Log()
        self._over = threading.Event()
        self._job: LocalJob | None = None
        self._folder = tempfile.mkdtemp(prefix="penstock-playground-")
        program = os.path.join(self._folder, "playground.py")
        with open(program, "w", encoding="utf-8") as file:
            file.write(self.text)
        os.environ.setdefault("PENSTOCK_CLUSTER_SECRET", cluster_secret_for(None))  # the session that follows the training has to know it
        self._plan = LaunchPlan([program, os.path.join(self._folder, "checkpoints")], wanted.ps, wanted.workers)
        self._ready = threading.Event()
        self._threads = [threading.Thread(target=target, name=f"penstock-playground-{name}", daemon=True)
                         for name, target in (("launcher", self._launch), ("follower", self._follow))]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Ends all tasks, and waits until they have."""
        self._over.set()
        if self._ready.wait(30) and self._job is not None:
            self._job.interrupt(signal.SIGTERM)
        for thread in self._threads:
            thread.join(30)
        shutil.rmtree(self._folder, ignore_errors=True)  # if the launcher did not come far enough to do it

    # --- what a page asks for ----------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """The tasks, what the workers report, and the last lines."""
        states = {task: self._state_of(task) for task in self._plan.tasks()}
        restarts = self._job.state.restarts_of if self._job is not None else (lambda task: 0)
        tasks = [{"name": str(task), "job": task.job, "index": task.index, "state": state, "restarts": restarts(task),
                  **(self._report(task.index) if task.job == "worker" else {})} for task, state in states.items()]
        trouble = STARTING if self.weights is None else note(self.wanted, [task for task, state in states.items() if state != RUNNING], self._error)
        return {"tasks": tasks, "step": int(self.step), "trouble": trouble, "lines": list(self._log.lines)[-12:], "mode": self.wanted.mode,
                "program": self.text}

    def _state_of(self, task: Task) -> str:
        """What the launcher says of a task; one whose process runs is "starting" until it serves."""
        if self._job is None:
            return WAITING
        status, restarts = self._job.state.statuses()[task], self._job.state.restarts_of(task)
        if status != RUNNING or self._serving.get(task) == restarts:
            return status
        if not _listens(self._job.cluster[task.job][task.index]):
            return "starting"
        self._serving[task] = restarts
        return RUNNING

    def _report(self, index: int) -> dict[str, Any]:
        return {**dict(zip(REPORTED, map(float, self.reports[index]))), "pause": self._pauses[index], "chief": index == 0}

    def kill(self, name: Any) -> None:
        """Ends a task as kill -9 does it."""
        task = next((task for task in self._plan.tasks() if str(task) == name), None)
        if task is None or self._job is None:
            raise BadSettings(f"there is no task {name!r}")
        self._job.signal(task, signal.SIGKILL)

    def slow(self, index: Any, seconds: float) -> None:
        """How long a worker pauses after each step."""
        if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < self.wanted.workers or not 0 <= seconds <= _SLOWEST:
            raise BadSettings(f"worker {index} cannot pause for {seconds} s: there are {self.wanted.workers}, and {_SLOWEST:g} s is the longest")
        self._pauses[index] = max(PAUSE, seconds)
        self._ask_for_pauses = True

    def record(self) -> dict[str, Any]:
        """The next steps of all tasks as a timeline, and what travelled in them: bytes by task and kind; none while a task is away (``trouble``)."""
        try:
            recorded = record_cluster(self._target(), _RECORDED, 3)
        except OpError as error:
            return {**lanes([]), "travels": [], "trouble": error.message}
        for task in recorded:
            task["steps"] = [step for step in task.get("steps", ()) if trains(step)]
        picture = lanes(recorded)
        return {**picture, "travels": travels(picture), "trouble": ""}

    def _target(self) -> str:
        if self._job is None:
            raise BadSettings("the tasks are starting")
        return f"grpc://{self._job.cluster['ps'][0]}"

    # --- threads -----------------------------------------------------------------------------------------------------

    def _launch(self) -> None:
        try:
            with local_job(self._plan, _RESTARTS, 1.0, None, "never", self._log, self._log,  # type: ignore[arg-type]
                           healthy_after=5.0, folder=self._folder) as job:
                self._job = job
                self._ready.set()
                job.run()
        finally:
            self._ready.set()

    def _follow(self) -> None:
        """Looks at the variables until the end; a task that is lost is told of, and looked for again."""
        self._ready.wait()
        graph = Graph()
        with graph.as_default():
            names = build_network(self.text, self._job.cluster if self._job is not None else {})
            set_pauses = _assignment(names, self.wanted.workers)
        looked_at = [names["global_step"], names["weights"], names["biases"], names["reports"]]
        config = ConfigProto(device_filters=["/job:ps"], operation_timeout_in_ms=_PATIENCE_MS)
        while not self._over.is_set():
            try:
                with Session(self._target(), graph=graph, config=config) as session:
                    self._look_on(session, looked_at, set_pauses)
            except OpError as error:
                self._error = error
                self._over.wait(0.5)

    def _look_on(self, session: Session, looked_at: list[Any], set_pauses: Any) -> None:
        self._ask_for_pauses = True  # variables that were lost have their first values again
        while not self._over.wait(_EVERY):
            self.step, self.weights, self.biases, self.reports = session.run(looked_at)
            self._error = None
            if self._ask_for_pauses:
                operation, fed = set_pauses
                session.run(operation, {fed: self._pauses})
                self._ask_for_pauses = False


def _listens(address: str) -> bool:
    host, _, port = address.rpartition(":")
    with socket.socket() as probe:
        probe.settimeout(0.1)
        return probe.connect_ex((host, int(port))) == 0


def _assignment(names: dict[str, Any], workers: int) -> tuple[Any, Any]:
    """(the operation that sets how long workers pause, what it is fed)."""
    fed = placeholder("float32", [workers], "new_pauses")
    return assign(names["pauses"], fed).op, fed


def trains(step: dict[str, Any]) -> bool:
    """True if a recorded step computes gradients or applies them (in synchronous training the chief does that in steps of its own)."""
    return any("gradients/" in node or "/update_" in node for rows in step["devices"].values() for node, *_ in rows)


def travels(picture: dict[str, Any]) -> list[list[Any]]:
    """[what, who gets it, bytes] of a timeline, in a step in which it gets anything: workers get the values of variables, the ps get gradients."""
    steps: dict[str, Counter[int]] = defaultdict(Counter)
    for _, _, _, kind, size, device, _, step in picture["bars"]:
        if kind == "_Recv":
            steps[device][step] += size
    return [["gradients" if "/job:ps" in device else "variables", device, sizes.total() / len(sizes)] for device, sizes in sorted(steps.items())]
