"""Clusters for tests: inside this process over the local transport, and in real processes on 127.0.0.1."""
from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import penstock
import penstock as tf
from penstock.distributed.cluster_spec import ClusterSpec, task_name
from penstock.distributed.master import Master
from penstock.distributed.messages import Message
from penstock.distributed.peers import Peers
from penstock.distributed.service import Service
from penstock.distributed.transport_local import LocalNetwork
from penstock.distributed.worker import Worker
from penstock.graph.graph import default_graph
from penstock.session.backend import step_options
from penstock.session.fetches import Fetches, expand_feeds
from penstock.session.remote import RemoteBackend
from support.process import line_of

PATIENCE = 20.0  # seconds; what has not come by then never will


class LocalCluster:
    """Tasks of one process on a LocalNetwork; the address of a task is its name."""

    def __init__(self, jobs: dict[str, int], start: bool = True) -> None:
        self.network = LocalNetwork()
        self.spec = ClusterSpec({job: [task_name(job, index) for index in range(count)] for job, count in jobs.items()})
        self.workers: dict[str, Worker] = {}
        if start:
            for task in self.spec.addresses():
                self.start(task)

    def start(self, task: str, config: Any = None) -> None:
        """(Re)starts a task, which begins without variables."""
        self.join(task, self.spec, config=config)

    def join(self, task: str, spec: ClusterSpec, address: str = "", config: Any = None) -> None:
        """Starts a task with a cluster, and perhaps at an address, that the others were not given."""
        address = address or task
        peers = Peers(spec.addresses(), self.network.transport(address), task)
        worker = Worker(task, config, peers)
        self.workers[task] = worker
        self.network.listen(address, Service(Master(worker, peers), worker, lambda: self.network.kill(address)))

    def session(self, task: str, graph: Any = None, config: Any = None) -> LocalSession:
        """A client's session on the master of a task."""
        return LocalSession(self, task, graph or default_graph(), config or tf.ConfigProto())

    def kill(self, task: str) -> None:
        """As kill -9 does it."""
        self.network.kill(task)


class _Link:
    """A client's connection."""

    def __init__(self, cluster: LocalCluster, task: str) -> None:
        self._task = task
        self._peers = Peers({task: task}, cluster.network.transport("client"))

    def call(self, message: Message, timeout: float | None = None) -> Message:
        return self._peers.call(self._task, message, timeout)

    wait_for = call

    def converse(self, message: Message, answer: Any) -> Message:
        return self._peers.converse(self._task, message, answer)

    def close(self) -> None:
        """Nothing to close."""


class LocalSession:
    """What tf.Session is on top of a back end, as far as tests need it."""

    def __init__(self, cluster: LocalCluster, task: str, graph: Any, config: Any) -> None:
        self.graph, self.remote = graph, RemoteBackend(_Link(cluster, task), graph, config)

    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
        wanted = Fetches(self.graph, fetches)
        values, metadata = self.remote.run(wanted, expand_feeds(self.graph, feed_dict or {}), step_options(options, run_metadata is not None))
        if metadata is not None:
            run_metadata.CopyFrom(metadata)
        return wanted.build(values)

    def run_probed(self, fetches: Any, probe: Any, feed_dict: Any = None) -> Any:
        wanted = Fetches(self.graph, fetches)
        return wanted.build(self.remote.run_probed(wanted, expand_feeds(self.graph, feed_dict or {}), probe))

    def close(self) -> None:
        self.remote.close()


# --- processes -------------------------------------------------------------------------------------------------------

_SERVE = """
import json, os, sys, threading, penstock as tf
threading.Thread(target=lambda: os._exit(1) if not os.read(0, 1) else None, daemon=True).start()  # nothing serves on when the tests are gone
spec = json.loads(sys.argv[1], object_hook=lambda jobs: {int(key) if key.isdigit() else key: value for key, value in jobs.items()})
job, task = sys.argv[2], int(sys.argv[3])
server = tf.train.Server(tf.train.ClusterSpec(spec), job_name=job, task_index=task)
print("ready", flush=True)
server.join()
print("joined", flush=True)
"""


def free_ports(count: int) -> list[int]:
    """Ports that are free."""
    sockets = [socket.socket() for _ in range(count)]
    for item in sockets:
        item.bind(("127.0.0.1", 0))
    ports = [item.getsockname()[1] for item in sockets]
    for item in sockets:
        item.close()
    return ports


class Processes:
    """A cluster in processes of its own; a context manager that leaves none behind."""

    def __init__(self, environment: dict[str, str] | None = None, **jobs: int) -> None:
        ports = iter(free_ports(sum(jobs.values())))
        self.spec = {job: [f"127.0.0.1:{next(ports)}" for _ in range(count)] for job, count in jobs.items()}
        source = str(Path(penstock.__path__[0]).parent)
        self._environment = {**os.environ, "PYTHONPATH": source, **(environment or {})}
        self.views: dict[tuple[str, int], Any] = {}  # the cluster as one task is told it, where that differs
        self.prelude = ""  # what tasks do first
        self.processes: dict[tuple[str, int], subprocess.Popen[str]] = {}
        self._logs: dict[tuple[str, int], Any] = {}

    def __enter__(self) -> Processes:
        try:
            for job, addresses in self.spec.items():
                for index in range(len(addresses)):
                    self.start(job, index, wait=False)
            for task in self.processes:
                self._await(*task)
        except BaseException:
            self.__exit__()  # the others would serve for ever
            raise
        return self

    def _await(self, job: str, index: int) -> None:
        """Waits until a task serves."""
        process = self.processes[job, index]
        line = line_of(process, 3 * PATIENCE)
        assert line.strip() == "ready", f"{job} {index} does not serve:\n{self.errors(job, index)}"

    def errors(self, job: str, index: int) -> str:
        """What a task has written to its standard error."""
        log = self._logs[job, index]
        log.seek(0)
        return log.read()

    def start(self, job: str, index: int, wait: bool = True) -> None:
        """(Re)starts a task."""
        view = json.dumps(self.views.get((job, index), self.spec))
        if (job, index) not in self._logs:  # not a pipe: one that nobody reads fills, and then its task waits
            self._logs[job, index] = tempfile.TemporaryFile("a+")  # noqa: SIM115 (closed with the cluster)
        log = self._logs[job, index]
        process = subprocess.Popen([sys.executable, "-c", self.prelude + _SERVE, view, job, str(index)], env=self._environment, text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)
        self.processes[job, index] = process
        if wait:
            self._await(job, index)

    def target(self, job: str, index: int) -> str:
        """For ``tf.Session``."""
        return "grpc://" + self.spec[job][index]

    def signal(self, job: str, index: int, number: int) -> None:
        """Sends a signal to a task."""
        self.processes[job, index].send_signal(number)

    def kill(self, job: str, index: int) -> None:
        """kill -9, and waits until it is dead."""
        self.processes[job, index].kill()
        self._reap(self.processes.pop((job, index)))

    def __exit__(self, *error: Any) -> None:
        for process in self.processes.values():
            process.send_signal(signal.SIGCONT)
            process.kill()
        for process in self.processes.values():
            self._reap(process)
        for log in self._logs.values():
            log.close()

    @staticmethod
    def _reap(process: subprocess.Popen[str]) -> None:
        process.wait(PATIENCE)
        process.stdout.close()
        process.stdin.close()
