"""Which tasks a cluster has, and where they are: ClusterSpec, the names of tasks, and the TF_CONFIG variable that schedulers set."""
from __future__ import annotations

import json
import operator
import os
from collections.abc import Mapping
from typing import Any, SupportsIndex

from tensorboard.compat.proto.cluster_pb2 import ClusterDef

from penstock.graph.device import DeviceSpec


class ClusterSpec:
    """The addresses of the tasks of each job.

    Made from a dict of jobs, whose tasks are a list of addresses or a dict {index: address}; from a ClusterDef; or from
    another ClusterSpec.

    >>> spec = ClusterSpec({"ps": ["a:1", "b:1"], "worker": {3: "c:1"}})
    >>> spec.jobs, spec.num_tasks("ps"), spec.task_indices("worker"), spec.task_address("ps", 1)
    (['ps', 'worker'], 2, [3], 'b:1')
    """

    def __init__(self, cluster: Any) -> None:
        if isinstance(cluster, ClusterSpec):
            cluster = cluster._tasks
        elif isinstance(cluster, ClusterDef):
            cluster = {job.name: dict(job.tasks) for job in cluster.job}
        elif not isinstance(cluster, Mapping):
            raise TypeError("`cluster` must be a dictionary mapping one or more job names to lists of network addresses, or a `ClusterDef` protocol "
                            f"buffer, not {type(cluster).__name__}")
        self._tasks: dict[str, dict[int, str]] = {_text(job, "Job name"): _tasks_of(job, cluster[job]) for job in cluster}

    @property
    def jobs(self) -> list[str]:
        """The names of the jobs."""
        return list(self._tasks)

    def num_tasks(self, job_name: str) -> int:
        """How many tasks a job has; ValueError for an unknown one."""
        return len(self._job(job_name))

    def task_indices(self, job_name: str) -> list[int]:
        """The indices of a job's tasks, in order."""
        return sorted(self._job(job_name))

    def task_address(self, job_name: str, task_index: int) -> str:
        """The address of a task; ValueError if there is none."""
        tasks = self._job(job_name)
        if task_index not in tasks:
            raise ValueError(f"No task with index {task_index!r} in job {job_name!r}")
        return tasks[task_index]

    def job_tasks(self, job_name: str) -> list[str | None]:
        """The addresses of a job by task index; None where an index is missing."""
        tasks = self._job(job_name)
        return [tasks.get(index) for index in range(max(tasks) + 1)] if tasks else []

    def as_dict(self) -> dict[str, Any]:
        """{job: [address, ...]}; a job whose indices have gaps is {index: address}."""
        return {job: list(tasks.values()) if list(tasks) == list(range(len(tasks))) else dict(tasks) for job, tasks in self._tasks.items()}

    def as_cluster_def(self) -> ClusterDef:
        """This cluster as a protocol buffer."""
        proto = ClusterDef()
        for name, tasks in sorted(self._tasks.items()):
            job = proto.job.add(name=name)
            for index, address in tasks.items():
                job.tasks[index] = address
        return proto

    def addresses(self) -> dict[str, str]:
        """{task name: address} of all tasks, ordered by job and index."""
        return {task_name(job, index): address for job, tasks in sorted(self._tasks.items()) for index, address in tasks.items()}

    def _job(self, job_name: str) -> dict[int, str]:
        if job_name not in self._tasks:
            raise ValueError(f"No such job in cluster: {job_name!r}")
        return self._tasks[job_name]

    def __bool__(self) -> bool:
        return bool(self._tasks)

    def __eq__(self, other: object) -> bool:
        """Equal to a cluster with the same tasks, and to a dict of them: {job: {index: address}}."""
        return self._tasks == (other._tasks if isinstance(other, ClusterSpec) else other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"ClusterSpec({self.as_dict()!r})"

    __str__ = __repr__


def _tasks_of(job: Any, tasks: Any) -> dict[int, str]:
    if isinstance(tasks, (list, tuple)):
        tasks = dict(enumerate(tasks))
    elif not isinstance(tasks, Mapping):
        raise TypeError(f"The tasks for job {job!r} must be a list or a dictionary from integers to strings.")
    for index in tasks:
        if not isinstance(index, SupportsIndex) or operator.index(index) < 0:
            raise TypeError(f"The tasks for job {job!r} must be keyed by integers from 0 on, not {index!r}.")
    return {operator.index(index): _text(tasks[index], f"Task address (task {index} of job {job!r})") for index in sorted(tasks)}


def _text(value: Any, what: str) -> str:
    """A name or address as text; TypeError if it is neither text nor bytes."""
    if not isinstance(value, (str, bytes)):
        raise TypeError(f"{what} {value!r} must be bytes or unicode")
    return value.decode() if isinstance(value, bytes) else value


# --- names of tasks --------------------------------------------------------------------------------------------------

def task_name(job: str, index: int) -> str:
    """The name of a task as it stands in the full names of its devices.

    >>> task_name("ps", 1)
    '/job:ps/replica:0/task:1'
    """
    return f"/job:{job}/replica:0/task:{index}"


def task_of(device: str) -> str:
    """The task of a full device name."""
    return device.partition("/device:")[0]


def matches(task: str, filters: list[str]) -> bool:
    """True if a task passes ``ConfigProto.device_filters``; without filters all do.

    >>> matches("/job:ps/replica:0/task:1", ["/job:ps", "/job:worker/task:0"]), matches("/job:worker/replica:0/task:1", ["/job:worker/task:0"])
    (True, False)
    """
    own = DeviceSpec.from_string(task)
    return not filters or any(_same_task(DeviceSpec.from_string(text), own) for text in filters)


def _same_task(wanted: DeviceSpec, own: DeviceSpec) -> bool:
    return all(part is None or part == mine for part, mine in ((wanted.job, own.job), (wanted.replica, own.replica), (wanted.task, own.task)))


# --- TF_CONFIG -------------------------------------------------------------------------------------------------------

def tf_config(environment: Mapping[str, str] | None = None) -> tuple[ClusterSpec, str, int]:
    """(cluster, job name, task index) as the TF_CONFIG variable tells them; ValueError if it is malformed.

    >>> tf_config({"TF_CONFIG": '{"cluster": {"ps": ["a:1"]}, "task": {"type": "ps", "index": 0}}'})
    (ClusterSpec({'ps': ['a:1']}), 'ps', 0)
    """
    text = (os.environ if environment is None else environment).get("TF_CONFIG", "{}")
    try:
        config = json.loads(text)
        task = config.get("task", {})
        cluster = ClusterSpec({job: _number(tasks) for job, tasks in config.get("cluster", {}).items()})
        return cluster, str(task.get("type", "")), int(task.get("index", 0))
    except (ValueError, TypeError, AttributeError) as error:
        raise ValueError("TF_CONFIG is not JSON of the form {'cluster': {job: [addresses]}, 'task': {'type': job, 'index': 0}}: "
                         f"{error}") from None


def _number(tasks: Any) -> Any:
    """JSON has no integer keys: {"7": address} is {7: address}."""
    return {int(index): address for index, address in tasks.items()} if isinstance(tasks, dict) else tasks
