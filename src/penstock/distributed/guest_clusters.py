"""Clusters that sessions bring along (``ConfigProto.cluster_def``): beside the task that it was started as, a server is a task of each of them.

The master of such a session finds itself among the addresses, has the other tasks join under the names that they have there, and speaks to them in
messages that carry the name of the cluster. Each member has a worker for it, with the devices of its server under another name; variables are those
of the server, unless the session keeps its state to itself. A member leaves when the session is closed, or when the connection to its master is lost.
"""
from __future__ import annotations

import contextlib
import secrets
import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

from tensorboard.compat.proto.cluster_pb2 import ClusterDef
from tensorboard.compat.proto.config_pb2 import ConfigProto

from penstock.distributed.cluster_spec import ClusterSpec
from penstock.distributed.link import OnDone, OnPart, ignore_part
from penstock.distributed.messages import Message
from penstock.distributed.peers import START_PATIENCE, Conversation, Peers, Transport
from penstock.distributed.worker import Worker
from penstock.errors import AbortedError, InvalidArgumentError

GUEST = "guest"  # the field of a message that names the cluster which it belongs to


class Membership(NamedTuple):
    """What a server is in a cluster that a session has brought."""

    cluster: str
    worker: Worker
    peers: Peers


class _Labelled:
    """A transport whose messages carry the name of a cluster."""

    def __init__(self, transport: Transport, cluster: str) -> None:
        self._transport, self._cluster = transport, cluster

    def _with_cluster(self, message: Message) -> Message:
        return Message(message.method, {**message.fields, GUEST: self._cluster}, message.blobs, message.tensors)

    def call(self, address: str, message: Message, timeout: float | None = None, wait: bool = False) -> Message:
        """See ``Transport``."""
        return self._transport.call(address, self._with_cluster(message), timeout, wait)

    def start(self, address: str, message: Message, done: OnDone, part: OnPart = ignore_part) -> Conversation:
        """See ``Transport``."""
        return self._transport.start(address, self._with_cluster(message), done, part)

    def together(self) -> contextlib.AbstractContextManager[None]:
        """See ``Transport``."""
        return self._transport.together()


class GuestClusters:
    """The clusters that a server is a guest of. ``addresses`` are its own names, ``config`` the options of its devices."""

    def __init__(self, host: Worker, config: Any, transport: Transport, addresses: Sequence[str]) -> None:
        self._host, self._config, self._transport, self._addresses = host, config, transport, addresses
        self._members: dict[str, Membership] = {}
        self._lock = threading.Lock()

    def create(self, config: ConfigProto) -> Membership:
        """A new cluster for a session, which all its tasks have joined; this server is the one at its address."""
        tasks = ClusterSpec(config.cluster_def).addresses()
        own = next((task for task, address in tasks.items() if address in self._addresses), None)
        if own is None:
            raise InvalidArgumentError(None, None, f"the cluster_def of the session does not contain this server: it has "
                                       f"{', '.join(tasks.values())}, and this one is {self._addresses[0]}")
        member = self.join(secrets.token_hex(8), own, config.cluster_def, config.isolate_session_state)
        try:
            for task, address in tasks.items():
                if task != own:
                    message = Message("JoinCluster", {"cluster": member.cluster, "task": task, "isolated": config.isolate_session_state},
                                      [config.cluster_def.SerializeToString()])
                    Peers({task: address}, self._transport).wait_for(task, message, START_PATIENCE)
        except BaseException:
            self.dissolve(member)
            raise
        return member

    def join(self, cluster: str, task: str, definition: ClusterDef, isolated: bool) -> Membership:
        """Makes this server a task of a cluster."""
        tasks = ClusterSpec(definition).addresses()
        if task not in tasks:
            raise InvalidArgumentError(None, None, f"{task} is not a task of the cluster that it is to join")
        peers = Peers(tasks, _Labelled(self._transport, cluster), task)
        worker = Worker(task, self._config, peers)
        if not isolated:
            worker.resources = self._host.resources
        member = Membership(cluster, worker, peers)
        with self._lock:
            self._members[cluster] = member
        return member

    def member(self, cluster: str) -> Membership:
        """What this server is in a cluster; AbortedError if it is no longer there."""
        member = self._members.get(cluster)
        if member is None:
            raise AbortedError(None, None, f"{self._addresses[0]} does not belong to the cluster of this session any more: its master was lost, or "
                               "the task was restarted")
        return member

    def leave(self, cluster: str) -> None:
        """Ends the membership of this server; steps under way are aborted."""
        with self._lock:
            member = self._members.pop(cluster, None)
        if member is not None:
            member.worker.steps.abort_all(AbortedError(None, None, f"{member.worker.task} has left the cluster of the session"))

    def dissolve(self, member: Membership) -> None:
        """Ends a cluster that this server has created: all tasks leave it."""
        for task, address in member.peers.addresses.items():
            if task != member.worker.task:
                self._transport.start(address, Message("LeaveCluster", {"cluster": member.cluster}), _ignore)
        self.leave(member.cluster)


def _ignore(reply: Message | None, error: Any) -> None:
    """A task that cannot be reached has left."""
