"""tf.train.Server: a task of a cluster in this process. It is a master for clients and a worker for all masters, over any transport."""
from __future__ import annotations

import signal
import threading
import time
from typing import Any

from tensorboard.compat.proto.cluster_pb2 import ClusterDef
from tensorboard.compat.proto.config_pb2 import ConfigProto

from penstock import errors
from penstock.distributed.cluster_spec import ClusterSpec, task_name
from penstock.distributed.guest_clusters import GuestClusters
from penstock.distributed.master import Master
from penstock.distributed.peers import Peers
from penstock.distributed.server_def import ServerDef
from penstock.distributed.service import Service
from penstock.distributed.transports import DEFAULT, schemes, transport_kind
from penstock.distributed.worker import Worker
from penstock.platform.freed_memory import keep_freed_memory

_BEAT = 1.0  # seconds between looks at whose client is gone

in_process: dict[str, Service] = {}  # target -> the service of a server in this process: clients here need no network


class Server:
    """A task: ``Server(cluster, job_name="ps", task_index=0)``. It serves until ``stop``, SIGTERM (while it is joined)
    or the end of the process.

    >>> server = Server.create_local_server()
    >>> server.target.startswith("grpc://localhost:")
    True
    >>> server.stop()
    """

    def __init__(self, server_or_cluster_def: Any, job_name: str | None = None, task_index: int | None = None, protocol: str | None = None,
                 config: Any = None, start: bool = True) -> None:
        self._server_def = make_server_def(server_or_cluster_def, job_name, task_index, protocol, config)
        definition = self._server_def
        cluster = ClusterSpec(definition.cluster)
        try:
            address = cluster.task_address(definition.job_name, definition.task_index)
        except ValueError as error:
            raise errors.InvalidArgumentError(None, None, str(error)) from None
        self._task = task_name(definition.job_name, definition.task_index)
        kind, tasks = transport_kind(definition.protocol), cluster.addresses()
        self._listener = kind.listen(self._task, address, len(tasks))
        self._transport = kind.transport(self._listener.address)
        peers = Peers({**tasks, self._task: self._listener.address}, self._transport, self._task)
        self._worker = Worker(self._task, definition.default_session_config, peers)
        hosts = [each.rpartition(":")[0] for each in tasks.values()]
        self._worker.has_neighbours = hosts.count(address.rpartition(":")[0]) > 1
        guests = GuestClusters(self._worker, definition.default_session_config, self._transport, [self._listener.address, *self._listener.aliases])
        self._master = Master(self._worker, peers, guests)
        self._stopped = threading.Event()
        self._stop_asked = threading.Event()
        self._service = Service(self._master, self._worker, self._stop_asked.set)
        self._listener.attach(self._service)
        self._started = False
        if start:
            self.start()

    @classmethod
    def create_local_server(cls, config: Any = None, start: bool = True) -> Server:
        """A cluster of one task, on a free port."""
        return cls({"local": ["localhost:0"]}, protocol=DEFAULT, config=config, start=start)

    @property
    def server_def(self) -> Any:
        """The ServerDef proto of this task."""
        return self._server_def

    @property
    def target(self) -> str:
        """What to give ``tf.Session`` to connect to this task."""
        return self._targets()[0]

    def _targets(self) -> list[str]:
        """All names of this task for clients in this process."""
        listener = self._listener
        return [f"{self._server_def.protocol}://{address}" for address in (*listener.aliases, listener.address)]

    def start(self) -> None:
        """Begins to serve; does nothing if it does already."""
        keep_freed_memory()  # tensors that come and go with each step
        if self._stopped.is_set():
            raise errors.FailedPreconditionError(None, None, "a server that was stopped cannot be started again")
        if not self._started:
            self._started = True
            self._listener.start()
            in_process.update(dict.fromkeys(self._targets(), self._service))
            threading.Thread(target=self._await_stop, name="penstock-server-stop", daemon=True).start()

    def join(self) -> None:
        """Waits until the server is stopped: by ``stop``, by a client's request, or by SIGTERM, after which the program ends as it likes."""
        in_main = threading.current_thread() is threading.main_thread()
        previous = signal.getsignal(signal.SIGTERM) if in_main else None
        if in_main and previous is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, lambda number, frame: self._stop_asked.set())
        try:
            while not self._stopped.wait(1.0):  # a wait without an end would not notice signals everywhere
                pass
        finally:
            if in_main and previous is signal.SIG_DFL:
                signal.signal(signal.SIGTERM, previous)

    def stop(self) -> None:
        """Ends the server: its sessions and steps are cancelled, its port is free, its variables are gone."""
        self._stop_asked.set()
        if not self._started:
            self._listener.stop(0.0)
            self._stopped.set()
        self._stopped.wait(10.0)

    def _await_stop(self) -> None:
        while not self._stop_asked.wait(_BEAT):
            now = time.monotonic()
            self._master.end_forgotten(now)
            self._worker.end_forgotten(now)
            self._listener.beat(now)
        for target in self._targets():
            in_process.pop(target, None)
        error = errors.UnavailableError(None, None, f"{self._task} was stopped")
        self._master.close(error)
        self._worker.steps.abort_all(error)
        self._listener.stop()
        self._transport.close()
        self._worker.reset([])
        self._stopped.set()


def make_server_def(server_or_cluster_def: Any, job_name: str | None, task_index: int | None, protocol: str | None, config: Any) -> Any:
    """The ServerDef of a task; job and index may be left out where there is only one."""
    definition = ServerDef()
    if isinstance(server_or_cluster_def, ServerDef):
        definition.CopyFrom(server_or_cluster_def)
    else:
        definition.cluster.CopyFrom(server_or_cluster_def if isinstance(server_or_cluster_def, ClusterDef)
                                    else ClusterSpec(server_or_cluster_def).as_cluster_def())
    if job_name is not None:
        definition.job_name = job_name
    elif not definition.job_name:
        if len(definition.cluster.job) != 1:
            raise ValueError("Must specify an explicit `job_name`.")
        definition.job_name = definition.cluster.job[0].name
    jobs = {job.name: job for job in definition.cluster.job}
    if definition.job_name not in jobs:
        raise errors.InternalError(None, None, f'Job "{definition.job_name}" was not defined in cluster')
    if task_index is not None:
        definition.task_index = task_index
    elif not isinstance(server_or_cluster_def, ServerDef):
        if len(jobs[definition.job_name].tasks) != 1:
            raise ValueError("Must specify an explicit `task_index`.")
        definition.task_index = next(iter(jobs[definition.job_name].tasks))
    definition.protocol = protocol or definition.protocol or DEFAULT
    if definition.protocol not in schemes():
        raise errors.NotFoundError(None, None, f"No server factory registered for the given ServerDef: the protocol {definition.protocol!r} is "
                                   f"unknown; there is {', '.join(schemes())}")
    if config is not None:
        if not isinstance(config, ConfigProto):
            raise TypeError(f"config must be a tf.ConfigProto, but got {type(config)}")
        definition.default_session_config.CopyFrom(config)
    return definition
