"""tf.train.Server: a task of a cluster in this process. It is a master for clients and a worker for all masters, over gRPC."""
from __future__ import annotations

import logging
import signal
import threading
import time
from typing import Any

from tensorboard.compat.proto.cluster_pb2 import ClusterDef
from tensorboard.compat.proto.config_pb2 import ConfigProto

from penstock import errors
from penstock.distributed.cluster_spec import ClusterSpec, task_name
from penstock.distributed.foreign import ForeignMaster
from penstock.distributed.foreign_doors import ForeignDoors
from penstock.distributed.grpc_common import server_options
from penstock.distributed.grpc_server import GrpcServer
from penstock.distributed.master import Master
from penstock.distributed.peers import Peers
from penstock.distributed.security import LOOPBACK, Access
from penstock.distributed.server_def import ServerDef
from penstock.distributed.service import Service
from penstock.distributed.transport_grpc import GrpcTransport
from penstock.distributed.worker import Worker
from penstock.platform.logging import runtime_logger
from penstock.platform.open_files import raise_open_files

_log = logging.getLogger("tensorflow")

_LAST_PORT = 65535
_BEAT = 1.0  # seconds between looks at whose client is gone

in_process: dict[str, Service] = {}  # address -> the service of a server in this process: clients here need no network


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
        host, port = _host_and_port(address)
        access = self._access = Access.from_environment()
        open_files = raise_open_files()
        self._grpc = GrpcServer(access, server_options(len(cluster.addresses()), open_files), self._foreign_call)
        if access.local and host not in LOOPBACK:
            _log.warning("There is no PENSTOCK_CLUSTER_SECRET and no certificate: %s listens on the loopback interface only, and not at %s.",
                         self._task, address)
        self._port = self._grpc.bind(access.listening_host(host), port)
        self._transport = GrpcTransport(access)
        own = f"{host}:{self._port}"  # the port may have been left to the system
        self._addresses = {own, f"localhost:{self._port}", f"127.0.0.1:{self._port}"}
        peers = Peers({**cluster.addresses(), self._task: own}, self._transport, self._task)
        self._worker = Worker(self._task, definition.default_session_config, peers.fetch)
        self._master = Master(self._worker, peers)
        try:
            self._foreign = ForeignDoors(ForeignMaster(self._master), access, host, self._port, open_files)
        except errors.OpError:
            self._grpc.stop(0.0)
            raise
        self._stopped = threading.Event()
        self._stop_asked = threading.Event()
        self._started = False
        if start:
            self.start()

    @classmethod
    def create_local_server(cls, config: Any = None, start: bool = True) -> Server:
        """A cluster of one task, on a free port."""
        return cls({"local": ["localhost:0"]}, protocol="grpc", config=config, start=start)

    @property
    def server_def(self) -> Any:
        """The ServerDef proto of this task."""
        return self._server_def

    @property
    def target(self) -> str:
        """What to give ``tf.Session`` to connect to this task."""
        return f"grpc://localhost:{self._port}"

    def start(self) -> None:
        """Begins to serve; does nothing if it does already."""
        if self._stopped.is_set():
            raise errors.FailedPreconditionError(None, None, "a server that was stopped cannot be started again")
        if not self._started:
            self._started = True
            service = Service(self._master, self._worker, self._stop_asked.set)
            self._grpc.start(service)
            self._foreign.start()
            runtime_logger().info("%s serves at port %d; who may connect: %s; of TensorFlow's own clients: %s", self._task, self._port, self._access,
                                  self._foreign)
            in_process.update(dict.fromkeys(self._addresses, service))
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
            self._grpc.stop(0.0)
            self._foreign.stop(0.0)
            self._stopped.set()
        self._stopped.wait(10.0)

    def _foreign_call(self, call: Any) -> Any:
        return self._foreign.at_task(call)

    def _await_stop(self) -> None:
        while not self._stop_asked.wait(_BEAT):
            now = time.monotonic()
            self._master.end_forgotten(now)
            self._worker.end_forgotten(now)
            self._grpc.send_strangers_away(now)
            self._foreign.send_away(now)
        for address in self._addresses:
            in_process.pop(address, None)
        error = errors.UnavailableError(None, None, f"{self._task} was stopped")
        self._master.close(error)
        self._worker.steps.abort_all(error)
        self._grpc.stop()
        self._foreign.stop()
        self._transport.close()
        self._worker.reset([])
        self._stopped.set()


def _host_and_port(address: str) -> tuple[str, int]:
    """The parts of a task's own address; InvalidArgumentError if it has no port that one can listen on."""
    host, _, port = address.rpartition(":")
    if not host or not (port.isascii() and port.isdigit()) or int(port) > _LAST_PORT:
        raise errors.InvalidArgumentError(None, None, f'Could not parse port for local server from "{address}": an address is host:port')
    return host, int(port)


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
    definition.protocol = protocol or definition.protocol or "grpc"
    if definition.protocol != "grpc":
        raise errors.NotFoundError(None, None, f"No server factory registered for the given ServerDef: the protocol {definition.protocol!r} is "
                                   "unknown; there is grpc")
    if config is not None:
        if not isinstance(config, ConfigProto):
            raise TypeError(f"config must be a tf.ConfigProto, but got {type(config)}")
        definition.default_session_config.CopyFrom(config)
    return definition
