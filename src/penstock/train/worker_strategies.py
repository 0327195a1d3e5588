"""Strategies over several processes, which TF_CONFIG or a cluster resolver names: workers in step with each other, or with parameter servers.

With all-reduce each worker has variables of its own and builds a graph of its own; where values of replicas are reduced, they go around a ring of all
workers (``distributed/allreduce.py``). The first worker leads: monitored sessions inside of ``strategy.scope()`` give the others its variables before
the first step, and again when a worker was lost (``train/allreduce.py``); it alone writes and restores checkpoints. All workers must reduce the same
values in the same steps.
"""
from __future__ import annotations

import weakref
from typing import Any

from tensorboard.compat.proto.config_pb2 import ConfigProto

from penstock.distributed.allreduce import Ring
from penstock.distributed.cluster_spec import ClusterSpec, tf_config
from penstock.distributed.server import Server
from penstock.graph.convert import to_tensor
from penstock.graph.graph import default_graph
from penstock.train.allreduce import AllReduceHook
from penstock.train.device_setter import replica_device_setter
from penstock.train.strategies import Strategy, StrategyExtended

_servers: dict[str, Server] = {}  # {address: the server of a task of this process}


def _task_of(cluster_resolver: Any) -> tuple[ClusterSpec, str, int]:
    """The cluster and this task, by a resolver or TF_CONFIG."""
    if cluster_resolver is None:
        cluster, job, index = tf_config()
    else:
        cluster, job, index = cluster_resolver.cluster_spec(), cluster_resolver.task_type, cluster_resolver.task_id
    return ClusterSpec(cluster or {}), job or "worker", index or 0


class WorkersExtended(StrategyExtended):
    """A replica on each of several workers; this process is one of them."""

    experimental_between_graph = True

    def __init__(self, strategy: Strategy, cluster: ClusterSpec, job: str, index: int) -> None:
        self.cluster, self.job, self.index = cluster, job, index
        self._tasks = _workers_of(cluster)
        own = f"/job:{job}/task:{index}"
        if own not in self._tasks:
            raise ValueError(f"This task, {own}, is not one of the cluster's workers: {', '.join(self._tasks)}. Which one it is, the entry `task` "
                             "of TF_CONFIG tells.")
        super().__init__(strategy, [own + "/device:CPU:0"])
        self.worker, self.workers = self._tasks.index(own), len(self._tasks)
        self.should_checkpoint = self.should_save_summary = self.worker == 0
        self._rings: weakref.WeakKeyDictionary[Any, list[Ring]] = weakref.WeakKeyDictionary()

    def reduce_to(self, reduce_op: Any, value: Any, destinations: Any) -> Any:
        """The sum or mean of the values of all workers. Slices are made dense."""
        return self.batch_reduce_to(reduce_op, [(value, destinations)])[0]

    def batch_reduce_to(self, reduce_op: Any, value_destination_pairs: Any) -> list[Any]:
        """``reduce_to`` for several values, which go around together."""
        own = [super(WorkersExtended, self).reduce_to("SUM", value, destinations) for value, destinations in value_destination_pairs]
        places = [place for place, value in enumerate(own) if value is not None]
        rings = self._rings_here()
        ring = Ring(self.worker, self.workers, name=f"collective_all_reduce_{len(rings)}/", tasks=self._tasks)
        rings.append(ring)
        reduced = ring.allreduce([to_tensor(own[place]) for place in places], str(getattr(reduce_op, "value", reduce_op)).lower())
        by_place = dict(zip(places, reduced))
        return [by_place.get(place) for place in range(len(own))]

    def _rings_here(self) -> list[Ring]:
        return self._rings.setdefault(default_graph(), [])

    # --- for monitored sessions --------------------------------------------------------------------------------------

    @property
    def target(self) -> str:
        """The target of sessions: the server of this task, which starts when it is first asked for."""
        address = self.cluster.task_address(self.job, self.index)
        if address not in _servers:
            _servers[address] = Server(self.cluster, job_name=self.job, task_index=self.index)
        return _servers[address].target

    def make_session_run_hook(self) -> AllReduceHook:
        """The hook with which the workers start together."""
        return AllReduceHook(self._rings_here())


def _workers_of(cluster: ClusterSpec) -> list[str]:
    """The devices of the tasks that train, the leader first."""
    return [f"/job:{job}/task:{index}" for job in ("chief", "master", "worker") if job in cluster.jobs for index in cluster.task_indices(job)]


class MultiWorkerMirroredStrategy(Strategy):
    """``tf.distribute.experimental.MultiWorkerMirroredStrategy``: a replica on each worker of TF_CONFIG; the sum of their gradients is applied."""

    def __init__(self, communication: Any = None, cluster_resolver: Any = None) -> None:
        cluster, job, index = _task_of(cluster_resolver)
        spans = len(_workers_of(cluster)) > 1 and job != "evaluator"
        super().__init__(WorkersExtended(self, cluster, job, index) if spans else StrategyExtended(self, ["/cpu:0"]))

    def update_config_proto(self, config_proto: Any) -> Any:
        """The configuration of sessions that see all workers."""
        config = ConfigProto()
        config.CopyFrom(config_proto)
        if isinstance(self._extended, WorkersExtended):
            del config.device_filters[:]
        return config


class CollectiveAllReduceStrategy(MultiWorkerMirroredStrategy):
    """``tf.contrib.distribute.CollectiveAllReduceStrategy``: the same, told a number of GPUs."""

    def __init__(self, num_gpus_per_worker: int = 0, communication: Any = None) -> None:
        super().__init__(communication)


class ParameterServerStrategy(Strategy):
    """``tf.distribute.experimental.ParameterServerStrategy``: variables on the ``ps`` tasks of TF_CONFIG; each worker trains by itself."""

    def __init__(self, cluster_resolver: Any = None) -> None:
        cluster, job, index = _task_of(cluster_resolver)
        if not cluster.jobs:
            super().__init__(StrategyExtended(self, ["/cpu:0"]))
            return
        super().__init__(StrategyExtended(self, [""], replica_device_setter(worker_device=f"/job:{job}/task:{index}", cluster=cluster)))
        self._extended.has_servers = "ps" in cluster.jobs


class ContribParameterServerStrategy(ParameterServerStrategy):
    """``tf.contrib.distribute.ParameterServerStrategy``: the same, told a number of GPUs."""

    def __init__(self, num_gpus_per_worker: int = 0) -> None:
        super().__init__()


def run_standard_tensorflow_server(session_config: Any = None) -> Server:
    """``tf.contrib.distribute.run_standard_tensorflow_server``: the server of the task that TF_CONFIG names, started."""
    cluster, job, index = tf_config()
    if not cluster.jobs:
        raise ValueError('"cluster" is not found in TF_CONFIG.')
    if not job:
        raise ValueError('"task_type" is not found in TF_CONFIG.')
    return Server(cluster, job_name=job, task_index=index, config=session_config)
