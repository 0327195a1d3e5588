"""``tf.contrib.cluster_resolver``: objects that know the tasks of a cluster, and which session target is its master."""
from __future__ import annotations

import json
import os
from typing import Any

from penstock.distributed.cluster_spec import ClusterSpec
from penstock.platform import logging


class ClusterResolver:
    """``tf.contrib.cluster_resolver.ClusterResolver``: what all resolvers have."""

    task_type: str | None = None
    task_id: int | None = None
    rpc_layer: str | None = "grpc"
    environment = ""

    def cluster_spec(self) -> Any:
        """The cluster."""
        raise NotImplementedError(f"{type(self).__name__}.cluster_spec")

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """The target of sessions: that of the task; "" is this process."""
        task_type = self.task_type if task_type is None else task_type
        task_id = self.task_id if task_id is None else task_id
        cluster = self.cluster_spec()
        if task_type is None or task_id is None or not cluster:
            return ""
        return _target(cluster.task_address(task_type, task_id), rpc_layer or self.rpc_layer)

    def num_accelerators(self, task_type: str | None = None, task_id: int | None = None, config_proto: Any = None) -> dict[str, int]:
        """{kind of device: number}: CPUs do not count."""
        return {}


def _target(address: str, rpc_layer: str | None) -> str:
    return f"{rpc_layer}://{address}" if rpc_layer and "://" not in address else address


class SimpleClusterResolver(ClusterResolver):
    """``tf.contrib.cluster_resolver.SimpleClusterResolver``: of a cluster that is given."""

    def __init__(self, cluster_spec: ClusterSpec, master: str = "", task_type: str | None = None, task_id: int | None = None, environment: str = "",
                 num_accelerators: dict[str, int] | None = None, rpc_layer: str | None = None) -> None:
        if not isinstance(cluster_spec, ClusterSpec):
            raise TypeError("cluster_spec must be a ClusterSpec.")
        if not isinstance(master, str):
            raise TypeError("master must be a string.")
        self._cluster_spec, self._master, self._accelerators = cluster_spec, master, num_accelerators or {}
        self.task_type, self.task_id, self.environment, self.rpc_layer = task_type, task_id, environment, rpc_layer

    def cluster_spec(self) -> ClusterSpec:
        """The given one."""
        return self._cluster_spec

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """That of a task, if one is named; else the given one."""
        if task_type is not None and task_id is not None:
            return super().master(task_type, task_id, rpc_layer)
        return self._master

    def num_accelerators(self, task_type: str | None = None, task_id: int | None = None, config_proto: Any = None) -> dict[str, int]:
        """The given number."""
        return dict(self._accelerators)


class TFConfigClusterResolver(ClusterResolver):
    """``tf.contrib.cluster_resolver.TFConfigClusterResolver``: of the cluster in the TF_CONFIG variable, as it is when it is asked for."""

    def __init__(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None,
                 environment: str | None = None) -> None:
        config = _tf_config()
        task = config.get("task", {})
        self.task_type = task.get("type") if task_type is None else task_type
        self.task_id = (int(task["index"]) if "index" in task else None) if task_id is None else task_id
        self.rpc_layer = config.get("rpc_layer", "grpc") if rpc_layer is None else rpc_layer
        self.environment = config.get("environment", "") if environment is None else environment

    def cluster_spec(self) -> ClusterSpec:
        """The cluster of TF_CONFIG."""
        return ClusterSpec(_tf_config().get("cluster", {}))


def _tf_config() -> dict[str, Any]:
    return dict(json.loads(os.environ.get("TF_CONFIG") or "{}"))


def _merge_job(job: str, parts: list[Any]) -> Any:
    """The tasks of a job that several resolvers name."""
    if all(isinstance(part, list) for part in parts):
        return [address for part in parts for address in part]
    tasks: dict[int, str] = {}
    for part in parts:
        for index, address in enumerate(part) if isinstance(part, list) else part.items():
            if index in tasks:
                raise KeyError(f"Duplicate keys detected when merging two ClusterSpecs: job {job!r}, task {index} has the addresses "
                               f"{tasks[index]} and {address}")
            tasks[index] = address
    return tasks


class UnionClusterResolver(ClusterResolver):
    """``tf.contrib.cluster_resolver.UnionClusterResolver``: the tasks of several resolvers; the master is that of the first."""

    def __init__(self, *args: ClusterResolver, **kwargs: Any) -> None:
        if not args:
            raise ValueError("At least one ClusterResolver is required.")
        for resolver in args:
            if not isinstance(resolver, ClusterResolver):
                raise TypeError(f"All arguments must be a sub-class of `ClusterResolver.` Got {type(resolver)}")
        self._resolvers = args
        self.task_type, self.task_id = kwargs.get("task_type", args[0].task_type), kwargs.get("task_id", args[0].task_id)
        self.rpc_layer, self.environment = kwargs.get("rpc_layer", args[0].rpc_layer), args[0].environment

    def cluster_spec(self) -> ClusterSpec:
        """All tasks by job. Lists of tasks follow one another; of jobs whose tasks have numbers, each number may be given once."""
        clusters = [resolver.cluster_spec().as_dict() for resolver in self._resolvers]
        return ClusterSpec({job: _merge_job(job, [cluster[job] for cluster in clusters if job in cluster])
                            for job in dict.fromkeys(job for cluster in clusters for job in cluster)})

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """That of a task, if one is named; else the master of the first resolver."""
        if task_type is not None and task_id is not None:
            return super().master(task_type, task_id, rpc_layer)
        return self._resolvers[0].master(rpc_layer=rpc_layer)


class TPUClusterResolver(ClusterResolver):
    """``tf.contrib.cluster_resolver.TPUClusterResolver``: TPUs are not there, so what would run on them runs on CPUs.

    The address of a server (``grpc://...``) is used as such; any other name means this machine, and a warning says so.
    """

    def __init__(self, tpu: Any = None, zone: str | None = None, project: str | None = None, job_name: str = "worker",
                 coordinator_name: str | None = None, coordinator_address: str | None = None, credentials: Any = "default", service: Any = None,
                 discovery_url: str | None = None) -> None:
        name = (tpu[0] if tpu else "") if isinstance(tpu, (list, tuple)) else tpu or ""
        self._tpu = name.decode() if isinstance(name, bytes) else str(name)
        self.task_type, self.task_id = job_name, 0
        if self._tpu not in ("", "local") and "://" not in self._tpu:
            logging.warning("TPUClusterResolver: Penstock does not look up TPUs such as %r. Its part runs on the CPUs of this machine.", self._tpu)
            self._tpu = ""

    def cluster_spec(self) -> ClusterSpec:
        """The server that was named; an empty cluster for this machine."""
        return ClusterSpec({str(self.task_type): [self._tpu.partition("://")[2]]} if "://" in self._tpu else {})

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """The server that was named; "" is this process."""
        return self._tpu if "://" in self._tpu else ""

    def get_master(self) -> str:
        """The older name of ``master``."""
        return self.master()

    def get_job_name(self) -> str | None:
        """The job of the server."""
        return self.task_type
