"""Launches a job on this machine: every task is a process, on a free port of the loopback interface."""
from __future__ import annotations

import functools
import selectors
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from penstock.distributed import launch_state as life
from penstock.distributed.launch_engine import Engine, cluster_secret_for, inherited_environment
from penstock.distributed.launch_guard import Guard
from penstock.distributed.launch_logs import Printer
from penstock.distributed.launch_plan import GUESTS, LaunchPlan, Task, environment
from penstock.distributed.launch_process import LaunchedProcess, free_ports

_BEAT = 0.1  # seconds between two looks at the processes


def launch(plan: LaunchPlan, max_restarts: int = 3, grace: float = 5.0, secret: str | None = None, color: str = "auto",
           out: TextIO | None = None, err: TextIO | None = None, healthy_after: float = life.HEALTHY_AFTER) -> int:
    """Runs a job to its end, and returns its exit code. Ctrl-C ends all tasks.

    The cluster's secret is ``secret``, or that of this process's environment, or a new one.
    """
    with local_job(plan, max_restarts, grace, secret, color, out, err, healthy_after) as job:
        return job.run()


@contextmanager
def local_job(plan: LaunchPlan, max_restarts: int = 3, grace: float = 5.0, secret: str | None = None, color: str = "auto",
              out: TextIO | None = None, err: TextIO | None = None, healthy_after: float = life.HEALTHY_AFTER,
              folder: str | None = None) -> Iterator[LocalJob]:
    """``launch`` for a caller that wants to look at the job, and at its tasks, while ``run`` runs it in another thread.

    ``folder`` is removed when the job, or this process, has ended, however that happens.
    """
    printer = Printer(out or sys.stdout, err or sys.stderr, plan.tasks(), color)
    with Guard() as guard, selectors.DefaultSelector() as selector:
        if folder is not None:
            guard.remove_at_the_end(folder)
        state = life.LaunchState(plan.tasks(), max_restarts, grace, healthy_after)
        yield LocalJob(plan, state, printer, guard, selector, cluster_secret_for(secret))


class LocalJob(Engine):
    """A job in processes of this machine; ``cluster`` has the addresses of its tasks."""

    def __init__(self, plan: LaunchPlan, state: life.LaunchState, printer: Printer, guard: Guard, selector: selectors.BaseSelector,
                 secret: str) -> None:
        super().__init__(plan, state, printer)
        self._guard, self._selector, self._secret = guard, selector, secret
        members = [task for task in plan.tasks() if task.job not in GUESTS]
        self.cluster = plan.cluster({task: f"127.0.0.1:{port}" for task, port in zip(members, free_ports(len(members)))})
        self._running: dict[Task, LaunchedProcess] = {}
        printer.note(", ".join(f"{job} {' '.join(addresses)}" for job, addresses in self.cluster.items()))

    def start(self, task: Task) -> None:
        variables = {**inherited_environment(), **environment(task, self.cluster, self._secret)}
        self._running[task] = LaunchedProcess(self._guard, self._selector, self.plan.command(task, self.cluster), variables,
                                              functools.partial(self.printer.line, task))

    def signal(self, task: Task, number: int) -> None:
        if task in self._running:
            self._running[task].signal(number)

    def look(self) -> None:
        for key, _ in self._selector.select(_BEAT):
            key.data.read(key.fileobj)
        for task, process in list(self._running.items()):
            code = process.ended()
            if code is not None:
                del self._running[task]
                self.handle(life.Exited(task, code))

    def close(self) -> None:
        for process in self._running.values():
            process.kill()
