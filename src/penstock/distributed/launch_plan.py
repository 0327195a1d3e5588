"""What a launched task is given: its place in the cluster, as TF_CONFIG and, for programs older than TF_CONFIG, as flags.

Nothing is started here: a ``LaunchPlan`` is asked for the tasks of a job, and for the command and the environment of each, once addresses are known.
"""
from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

CLASSIC_FLAGS = "--job_name={job} --task_index={index} --ps_hosts={ps_hosts} --worker_hosts={worker_hosts}"
GUESTS = ("evaluator",)  # jobs that are launched, but have no server and so no place in the cluster
SERVING = ("ps",)  # jobs that run for as long as others need them


@dataclass(frozen=True)
class Task:
    """One process of a job."""

    job: str
    index: int

    def __str__(self) -> str:
        return f"{self.job} {self.index}"

    @property
    def serves(self) -> bool:
        """True if the task is there for others: the job is done when all others are."""
        return self.job in SERVING


@dataclass(frozen=True)
class LaunchPlan:
    """A job to launch: how many tasks of each kind, and the program that all of them run.

    >>> plan = LaunchPlan(["train.py", "--rate=0.1"], ps=1, workers=1, flags="--role={job}")
    >>> plan.tasks()
    [Task(job='ps', index=0), Task(job='worker', index=0)]
    >>> plan.command(Task("ps", 0), {"ps": ["a:1"]})[1:]
    ['-m', 'penstock', 'run', 'train.py', '--rate=0.1', '--role=ps']
    """

    program: list[str]  # what stands behind `penstock run`
    ps: int = 0
    workers: int = 1
    chief: bool = False  # a task of its own, as estimators have it; otherwise worker 0 is the chief by convention
    evaluator: bool = False
    flags: str = ""  # a template of further arguments

    def tasks(self) -> list[Task]:
        """The tasks in the order in which they are started."""
        counts = {"ps": self.ps, "chief": int(self.chief), "worker": self.workers, "evaluator": int(self.evaluator)}
        return [Task(job, index) for job, count in counts.items() for index in range(count)]

    def cluster(self, addresses: Mapping[Task, str]) -> dict[str, Any]:
        """The cluster of TF_CONFIG."""
        cluster: dict[str, list[str]] = {}
        for task in self.tasks():
            if task.job not in GUESTS:
                cluster.setdefault(task.job, []).append(addresses[task])
        return cluster

    def command(self, task: Task, cluster: Mapping[str, list[str]], python: str = sys.executable) -> list[str]:
        """How the task is started."""
        values = {"job": task.job, "index": str(task.index)}
        values.update({f"{job}_hosts": ",".join(cluster.get(job, ())) for job in ("ps", "worker", "chief")})
        extra = [_fill_in(word, values) for word in shlex.split(self.flags)]
        return [python, "-m", "penstock", "run", *self.program, *extra]


def environment(task: Task, cluster: Mapping[str, list[str]], secret: str | None) -> dict[str, str]:
    """The variables that a task is given. The secret travels here and never on a command line, which every user of the machine can read."""
    config = {"cluster": cluster, "task": {"type": task.job, "index": task.index}}
    variables = {"TF_CONFIG": json.dumps(config), "PYTHONUNBUFFERED": "1", "PENSTOCK_QUIET": "1"}
    return variables if secret is None else {**variables, "PENSTOCK_CLUSTER_SECRET": secret}


def _fill_in(word: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        word = word.replace("{" + name + "}", value)
    return word
