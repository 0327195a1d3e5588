"""gRPC as a transport of the registry: a server's end, which other tasks and TensorFlow's own clients connect to, and a caller's end."""
from __future__ import annotations

import logging
from typing import Any

from penstock import errors
from penstock.distributed.foreign import ForeignMaster
from penstock.distributed.foreign_doors import ForeignDoors
from penstock.distributed.grpc_common import server_options
from penstock.distributed.grpc_server import GrpcServer
from penstock.distributed.security import LOOPBACK, Access
from penstock.distributed.service import Service
from penstock.distributed.transport_grpc import GrpcTransport
from penstock.platform.logging import runtime_logger
from penstock.platform.open_files import raise_open_files

_log = logging.getLogger("tensorflow")
_LAST_PORT = 65535


class Grpc:
    """See ``transports.TransportKind``. An address is host:port; who may connect is in the environment (``security.py``)."""

    def check(self, address: str) -> None:
        """There has to be a host, and a port that is not 0."""
        host, _, port = address.rpartition(":")
        if not (host and port.isdecimal() and 0 < int(port) <= _LAST_PORT):
            raise ValueError("grpc://host:port does, with a port below 65536")

    def listen(self, task: str, address: str, tasks: int) -> GrpcListener:
        """Takes a port; 0 leaves the choice to the system."""
        host, _, port = address.rpartition(":")
        if not host or not (port.isascii() and port.isdigit()) or int(port) > _LAST_PORT:
            raise errors.InvalidArgumentError(None, None, f'Could not parse port for local server from "{address}": an address is host:port')
        return GrpcListener(task, host, int(port), tasks)

    def transport(self, origin: str = "") -> GrpcTransport:
        """Callers show who they are by the secret or certificate of this process."""
        return GrpcTransport(Access.from_environment())


class GrpcListener:
    """The ports of a task: one for other tasks, and perhaps one for TensorFlow's clients."""

    def __init__(self, task: str, host: str, port: int, tasks: int) -> None:
        self._task, self._host = task, host
        access = self._access = Access.from_environment()
        self._open_files = raise_open_files()
        self.tasks = GrpcServer(access, server_options(tasks, self._open_files), lambda call: self.foreign.at_task(call))
        if access.local and host not in LOOPBACK:
            _log.warning("There is no PENSTOCK_CLUSTER_SECRET and no certificate: %s listens on the loopback interface only, and not at %s:%d.",
                         task, host, port)
        self._port = self.tasks.bind(access.listening_host(host), port)
        self.address = f"{host}:{self._port}"
        self.aliases = [f"localhost:{self._port}", f"127.0.0.1:{self._port}"]
        self.foreign: Any = None

    def attach(self, service: Service) -> None:
        """Opens the port for TensorFlow's clients, if there is to be one."""
        self._service = service
        try:
            self.foreign = ForeignDoors(ForeignMaster(service.master), self._access, self._host, self._port, self._open_files)
        except errors.OpError:
            self.tasks.stop(0.0)
            raise

    def start(self) -> None:
        """Begins to answer."""
        self.tasks.start(self._service)
        self.foreign.start()
        runtime_logger().info("%s serves at port %d; who may connect: %s; of TensorFlow's own clients: %s", self._task, self._port, self._access,
                              self.foreign)

    def beat(self, now: float) -> None:
        """Ends connections and calls that have been silent for too long."""
        self.tasks.send_strangers_away(now)
        self.foreign.send_away(now)

    def stop(self, grace: float = 0.5) -> None:
        """Ends after what is being answered has had ``grace`` seconds."""
        self.tasks.stop(grace)
        if self.foreign is not None:
            self.foreign.stop(grace)
