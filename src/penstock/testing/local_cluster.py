"""``tf.test.create_local_cluster``: a cluster for tests, all of its tasks in this process."""
from __future__ import annotations

from typing import Any

from penstock.distributed.cluster_spec import ClusterSpec
from penstock.distributed.launch_process import free_ports
from penstock.distributed.server import Server


def create_local_cluster(num_workers: int, num_ps: int, protocol: str = "grpc", worker_config: Any = None,
                         ps_config: Any = None) -> tuple[list[Server], list[Server]]:
    """Servers of workers and of parameter servers that know each other, on free ports."""
    addresses = [f"localhost:{port}" for port in free_ports(num_workers + num_ps)]
    cluster = ClusterSpec({"worker": addresses[:num_workers], "ps": addresses[num_workers:]})

    def servers(job: str, count: int, config: Any) -> list[Server]:
        return [Server(cluster, job_name=job, task_index=index, protocol=protocol, config=config) for index in range(count)]
    return servers("worker", num_workers, worker_config), servers("ps", num_ps, ps_config)
