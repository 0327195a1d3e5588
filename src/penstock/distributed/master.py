"""The master: keeps the sessions of clients, each with its graph, and runs their steps on the tasks of the cluster.

No sockets here: ``service.py`` maps messages to these methods, and ``Peers`` carries them to other tasks.
"""
from __future__ import annotations

import logging
import os
import secrets
import threading
import time
from typing import Any

from tensorboard.compat.proto.config_pb2 import ConfigProto

from penstock.distributed.guest_clusters import GuestClusters, Membership
from penstock.distributed.master_session import MasterSession
from penstock.distributed.messages import Message
from penstock.distributed.peers import Peers
from penstock.distributed.step_recording import Recorder
from penstock.distributed.worker import Worker
from penstock.errors import AbortedError, CancelledError, OpError, PermissionDeniedError

_RESET_PATIENCE = 10.0  # seconds, per task
LEASE = float(os.environ.get("PENSTOCK_SESSION_LEASE", "60"))  # seconds that the session of a lost client is kept
_IDLE = 3600.0  # seconds after which an unused session of a foreign client ends
_log = logging.getLogger("tensorflow")


class Master:
    """The sessions of one server."""

    def __init__(self, worker: Worker, peers: Peers, guests: GuestClusters | None = None) -> None:
        self._worker, self.peers, self.recorder, self.guests = worker, peers, Recorder(), guests
        self._created: dict[str, Membership] = {}  # the clusters of sessions that have brought one
        self._sessions: dict[str, MasterSession] = {}
        self._lock = threading.Lock()

    @property
    def task(self) -> str:
        """The task that this is the master of."""
        return self._worker.task

    def create_session(self, config: ConfigProto, foreign: bool = False) -> str:
        """A new session without a graph; returns its handle. A ``foreign`` one belongs to a client that has no secret."""
        handle = f"{self._worker.task}-{secrets.token_hex(8)}"
        worker, peers = self._worker, self.peers
        if config.cluster_def.job and foreign:
            raise PermissionDeniedError(None, None, "a client without the cluster's secret cannot have this server call others: it may not bring a "
                                        "cluster_def")
        if config.cluster_def.job and self.guests is not None:
            member = self._created[handle] = self.guests.create(config)
            worker, peers = member.worker, member.peers
        session = MasterSession(handle, config, worker, peers, self.recorder, foreign)
        with self._lock:
            self._sessions[handle] = session
        return handle

    def client_lost(self, handle: str) -> None:
        """The connection to a session's client is gone: if it does not come back in time, the session ends."""
        session = self._sessions.get(handle)
        if session is not None:
            session.client_lost = time.monotonic()

    def end_forgotten(self, now: float) -> None:
        """Ends the sessions of clients that are gone; to be called now and then.

        Of foreign clients it is not known when they go: theirs end when they have not been used for long.
        """
        for handle, session in list(self._sessions.items()):
            lost = session.client_lost
            if lost and now - lost > LEASE:
                _log.info("session %s ends: its client has been gone for %g s", handle, LEASE)
                self.close_session(handle)
            elif session.foreign and now - session.last_used > _IDLE and not session.running:
                self.close_session(handle)

    def session(self, handle: str) -> MasterSession:
        """The session with this handle; AbortedError if there is none."""
        session = self._sessions.get(handle)
        if session is None:
            raise AbortedError(None, None, f"Session {handle} is not found on {self._worker.task}: the task was restarted, or the session was "
                               "closed.")
        return session

    def sessions(self) -> list[MasterSession]:
        """All sessions that are open."""
        with self._lock:
            return list(self._sessions.values())

    def close_session(self, handle: str) -> None:
        """Ends a session: its steps are cancelled, its parts forgotten. Variables stay."""
        with self._lock:
            session = self._sessions.pop(handle, None)
        if session is not None:
            session.close(CancelledError(None, None, "Session has been closed: the step was cancelled."))
        self._dissolve(handle)

    def _dissolve(self, handle: str) -> None:
        member = self._created.pop(handle, None)
        if member is not None and self.guests is not None:
            self.guests.dissolve(member)

    def reset(self, containers: list[str]) -> None:
        """Closes all sessions, then clears containers on every task of the cluster; raises, at the end, the error of one that was not reached."""
        self.close(AbortedError(None, None, "The session was closed by Session.reset."))
        self._worker.reset(containers)
        failures = []
        for task in self.peers.addresses:
            if task != self._worker.task:
                try:
                    self.peers.call(task, Message("Reset", {"containers": containers}), _RESET_PATIENCE)
                except OpError as error:
                    failures.append(error)
        if failures:
            raise failures[0]

    def close(self, error: Any) -> None:
        """Ends all sessions."""
        with self._lock:
            sessions, self._sessions = list(self._sessions.values()), {}
        for session in sessions:
            session.close(error)
        for handle in list(self._created):
            self._dissolve(handle)
