"""Resolvers of clusters whose tasks others have started: by Slurm, in Kubernetes, in a group of Google's machines.

Each asks when it is asked, so that its answer is that of the moment. The clients of Kubernetes and of Google are packages of their own; without
them, a client has to be given.
"""
from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from importlib import import_module
from itertools import islice
from typing import Any

from penstock.distributed.cluster_spec import ClusterSpec
from penstock.estimator.cluster_resolver import ClusterResolver


def _client_package(module: str, package: str, resolver: str) -> Any:
    """A module of a client. ImportError that says what to install."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(f"{module} must be installed before using the {resolver}: pip install {package}; or pass a client of your own.") from error


class SlurmClusterResolver(ClusterResolver):
    """``tf.contrib.cluster_resolver.SlurmClusterResolver``: of the tasks that ``srun`` (or ``mpirun``) has started.

    ``jobs`` says how many tasks each job has. Tasks fill the nodes in the order of their ranks; those of a node have ports from ``port_base`` on.
    """

    def __init__(self, jobs: dict[str, int], port_base: int = 8888, gpus_per_node: int = 1, gpus_per_task: int = 1, tasks_per_node: int | None = None,
                 auto_set_gpu: bool = True, rpc_layer: str | None = "grpc") -> None:
        rank, size = ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE") if "OMPI_COMM_WORLD_RANK" in os.environ else ("SLURM_PROCID", "SLURM_NTASKS")
        self._rank = int(os.environ[rank])
        if tasks_per_node is None and "SLURM_NTASKS_PER_NODE" not in os.environ:
            raise RuntimeError("Neither `tasks_per_node` or SLURM_NTASKS_PER_NODE is set.")
        self._tasks_per_node = int(os.environ["SLURM_NTASKS_PER_NODE"]) if tasks_per_node is None else tasks_per_node
        self._jobs, self._port_base, self.rpc_layer = dict(sorted(jobs.items())), port_base, rpc_layer
        self._gpus_per_node, self._gpus_per_task, self._auto_set_gpu = gpus_per_node, gpus_per_task, auto_set_gpu
        self.task_type = self.task_id = None
        if self._tasks_per_node * gpus_per_task > gpus_per_node:
            raise RuntimeError(f"Requested more GPUs per node then available: {self._tasks_per_node} tasks with {gpus_per_task} each on a node with "
                               f"{gpus_per_node}.")
        if sum(jobs.values()) != int(os.environ[size]):
            raise RuntimeError(f"Requested more tasks then assigned tasks: {jobs} are {sum(jobs.values())}, {size} is {os.environ[size]}.")

    def cluster_spec(self) -> ClusterSpec:
        """The tasks by job. Now ``task_type`` and ``task_id`` are known, and with ``auto_set_gpu`` CUDA_VISIBLE_DEVICES is set."""
        nodes = self._resolve_hostnames()
        addresses = (f"{node}:{self._port_base + place}" for node in nodes for place in range(self._tasks_per_node))
        cluster, first = {}, 0
        for job, number in self._jobs.items():
            cluster[job] = list(islice(addresses, number))
            if first <= self._rank < first + number:
                self.task_type, self.task_id = job, self._rank - first
            first += number
        if self._auto_set_gpu is True:
            own = self._rank % self._tasks_per_node * self._gpus_per_task
            os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, range(own, own + self._gpus_per_task)))
        return ClusterSpec(cluster)

    def _resolve_hostnames(self) -> list[str]:
        """The names of the nodes."""
        return subprocess.check_output(["scontrol", "show", "hostname"]).decode().split()

    def get_task_info(self) -> tuple[str | None, int | None]:
        """(job, index) of this process, once ``cluster_spec`` was called."""
        return self.task_type, self.task_id

    def num_accelerators(self, task_type: str | None = None, task_id: int | None = None, config_proto: Any = None) -> dict[str, int]:
        """The given number of GPUs."""
        return {"GPU": self._gpus_per_node}


class KubernetesClusterResolver(ClusterResolver):
    """``tf.contrib.cluster_resolver.KubernetesClusterResolver``: of the pods with the labels of each job."""

    def __init__(self, job_to_label_mapping: dict[str, list[str]] | None = None, tf_server_port: int = 8470, rpc_layer: str | None = "grpc",
                 override_client: Any = None) -> None:
        if override_client is None:
            _client_package("kubernetes", "kubernetes", type(self).__name__)
        self._labels, self._port, self._override_client = job_to_label_mapping or {"worker": ["job-name=tensorflow"]}, tf_server_port, override_client
        self.task_type, self.task_id, self.rpc_layer = None, None, rpc_layer

    def cluster_spec(self) -> ClusterSpec:
        """The pods of each job in the order of their names. RuntimeError for one that is not running."""
        client = self._override_client or self._new_client()
        return ClusterSpec({job: [address for selector in selectors for address in self._addresses(client, selector)]
                            for job, selectors in self._labels.items()})

    def _new_client(self) -> Any:
        kubernetes = _client_package("kubernetes", "kubernetes", type(self).__name__)
        kubernetes.config.load_kube_config()
        return kubernetes.client.CoreV1Api()

    def _addresses(self, client: Any, selector: str) -> Iterator[str]:
        for pod in sorted(client.list_pod_for_all_namespaces(label_selector=selector).items, key=lambda pod: pod.metadata.name):
            if pod.status.phase != "Running":
                raise RuntimeError(f'Pod "{pod.metadata.name}" is not running; phase: "{pod.status.phase}"')
            yield f"{pod.status.host_ip}:{self._port}"


class GCEClusterResolver(ClusterResolver):
    """``tf.contrib.cluster_resolver.GCEClusterResolver``: of the running machines of an instance group of Google's Compute Engine."""

    def __init__(self, project: str, zone: str, instance_group: str, port: int, task_type: str = "worker", task_id: int = 0,
                 rpc_layer: str | None = "grpc", credentials: Any = "default", service: Any = None) -> None:
        self._place, self._group, self._port = {"project": project, "zone": zone}, instance_group, port
        self._task_type, self.task_id, self.rpc_layer = task_type, task_id, rpc_layer
        self._service = self._new_service(credentials) if service is None else service

    def _new_service(self, credentials: Any) -> Any:
        discovery = _client_package("googleapiclient.discovery", "google-api-python-client oauth2client", type(self).__name__)
        if credentials == "default":
            credentials = _client_package("oauth2client.client", "oauth2client", type(self).__name__).GoogleCredentials.get_application_default()
        return discovery.build("compute", "v1", credentials=credentials)

    @property
    def task_type(self) -> str:
        """The job of the machines; it stays what it was when the resolver was made."""
        return self._task_type

    @task_type.setter
    def task_type(self, task_type: str) -> None:
        raise RuntimeError("You cannot reset the task_type of the GCEClusterResolver after it has been created.")

    def cluster_spec(self) -> ClusterSpec:
        """The machines, sorted by address."""
        return ClusterSpec({self._task_type: sorted(f"{self._address(name)}:{self._port}" for name in self._names())})

    def _names(self) -> Iterator[str]:
        """The names of the machines that run, page by page."""
        groups = self._service.instanceGroups()
        request = groups.listInstances(**self._place, instanceGroups=self._group, body={"instanceState": "RUNNING"}, orderBy="name")
        while request is not None:
            response = request.execute()
            for machine in response["items"]:
                yield machine["instance"].rpartition("/")[2]
            request = groups.listInstances_next(previous_request=request, previous_response=response)

    def _address(self, name: str) -> str:
        return self._service.instances().get(**self._place, instance=name).execute()["networkInterfaces"][0]["networkIP"]
