"""Which task of which cluster this process is: what the TF_CONFIG variable says, checked.

A cluster has one chief (called "master" in clusters of the first years), workers and parameter servers. An evaluator is a task beside the cluster:
it computes by itself, and knows the others by their checkpoints only.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.distributed.cluster_spec import ClusterSpec


class TaskType:
    """The jobs of a cluster."""

    MASTER = "master"
    PS = "ps"
    WORKER = "worker"
    CHIEF = "chief"
    EVALUATOR = "evaluator"


class MissingChief(ValueError):
    """The cluster has no chief, without which estimators do not train."""


@dataclass(eq=False, repr=False)
class ConfiguredTask:
    """What a task knows of itself and its cluster. A RunConfig is one, with more properties."""

    cluster_spec: ClusterSpec
    task_type: str
    task_id: int
    is_chief: bool
    master: str
    evaluation_master: str
    num_ps_replicas: int
    num_worker_replicas: int
    global_id_in_cluster: int | None


def task_from(tf_config: dict[str, Any]) -> ConfiguredTask:
    """The task that TF_CONFIG describes; without a cluster, the only worker there is."""
    cluster = ClusterSpec(tf_config.get("cluster", {}))
    if not cluster:
        return _local_task(tf_config)
    chief = TaskType.MASTER if TaskType.MASTER in cluster.jobs else TaskType.CHIEF
    if chief == TaskType.MASTER and TaskType.CHIEF in cluster.jobs:
        raise ValueError("If `master` node exists in `cluster`, job `chief` is not supported.")
    job, index = _checked_task(cluster, tf_config.get("task", {}), chief)
    if job == TaskType.EVALUATOR:
        if chief == TaskType.MASTER:
            raise ValueError("If `master` node exists in `cluster`, task_type `evaluator` is not supported.")
        return ConfiguredTask(ClusterSpec({}), job, index, False, "", tf_config.get("eval_session_master", ""), 0, 0, None)
    sizes = {name: len(cluster.job_tasks(name)) for name in cluster.jobs}
    return ConfiguredTask(cluster, job, index, job == chief, _master(cluster, job, index, tf_config), "", sizes.get(TaskType.PS, 0),
                sizes.get(TaskType.WORKER, 0) + sizes[chief], _global_id(sizes, job, index, chief))


def worker_of(strategy: Any) -> ConfiguredTask:
    """The task of a worker whose strategy keeps it in step with others: the first one is the chief, whatever its job."""
    own = strategy.extended
    return ConfiguredTask(own.cluster, own.job, own.index, own.should_checkpoint, own.target, "", 0, own.workers, own.worker)


def _local_task(tf_config: dict[str, Any]) -> ConfiguredTask:
    task = tf_config.get("task", {})
    if task.get("type", TaskType.WORKER) != TaskType.WORKER:
        raise ValueError('If "cluster" is not set in TF_CONFIG, task type must be WORKER.')
    if _index_of(task) != 0:
        raise ValueError('If "cluster" is not set in TF_CONFIG, task index must be 0.')
    return ConfiguredTask(ClusterSpec({}), TaskType.WORKER, 0, True, tf_config.get("session_master", ""),
                          tf_config.get("eval_session_master", ""), 0, 1, 0)


def _index_of(task: dict[str, Any]) -> int:
    """The index of a task, which may be written as a string."""
    try:
        return int(task.get("index", 0))
    except (TypeError, ValueError):
        raise ValueError(f"The index of the task {task.get('type')!r} in TF_CONFIG must be a number: {task['index']!r}") from None


def _checked_task(cluster: ClusterSpec, task: dict[str, Any], chief: str) -> tuple[str, int]:
    if chief not in cluster.jobs:
        raise MissingChief(f'If "cluster" is set in TF_CONFIG, it must have one "{chief}" node.')
    if len(cluster.job_tasks(chief)) > 1:
        raise ValueError(f'The "cluster" in TF_CONFIG must have only one "{chief}" node.')
    job = task.get("type")
    if not job:
        raise ValueError('If "cluster" is set in TF_CONFIG, task type must be set.')
    if task.get("index") is None:
        raise ValueError(f'If "cluster" is set in TF_CONFIG, task index must be set. That of the {job} is missing.')
    index = _index_of(task)
    if index < 0:
        raise ValueError(f"Task index must be non-negative number. That of the {job} in TF_CONFIG is {index}.")
    _check_addresses(cluster)
    if job == TaskType.EVALUATOR:
        return job, index
    hint = f"in the cluster_spec:\n{cluster}\n\nNote that these values may be coming from the TF_CONFIG environment variable."
    if job not in cluster.jobs:
        raise ValueError(f"{job} is not a valid task_type {hint}")
    if index >= len(cluster.job_tasks(job)):
        raise ValueError(f"{index} is not a valid task_id for task_type {job} {hint}")
    return job, index


def _check_addresses(cluster: ClusterSpec) -> None:
    """ValueError for two tasks with one address."""
    tasks: dict[str, str] = {}
    for task, address in cluster.addresses().items():
        if address in tasks:
            raise ValueError(f'The tasks {tasks[address]} and {task} of the "cluster" in TF_CONFIG have the same address: {address}')
        tasks[address] = task


def _master(cluster: ClusterSpec, job: str, index: int, tf_config: dict[str, Any]) -> str:
    """The target of sessions: the task's own server; none if the cluster has one job of one task."""
    if "session_master" in tf_config:
        return str(tf_config["session_master"])
    if len(cluster.jobs) == 1 and len(cluster.addresses()) == 1:
        return ""
    return f"grpc://{cluster.task_address(job, index)}"


def _global_id(sizes: dict[str, int], job: str, index: int, chief: str) -> int:
    """The number of a task among all: the chief is 0, parameter servers come last."""
    order = [chief, *sorted(name for name in sizes if name not in (chief, TaskType.PS)), TaskType.PS]
    return sum(sizes[name] for name in order[:order.index(job)]) + index
