"""The other tasks of a cluster, as a master and a worker see them: called by name, over whatever transport carries the messages."""
from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any, Protocol

from penstock.distributed.messages import ERROR, Message, error_from
from penstock.distributed.steps import Deliver
from penstock.errors import OpError, UnavailableError, exception_type_from_error_code

_log = logging.getLogger("tensorflow")
_PATIENCE = 10.0  # seconds of waiting for a task until that is logged

Done = Callable[[Message | None, OpError | None], None]


def nothing() -> None:
    """Does nothing."""


class Transport(Protocol):
    """How messages reach an address.

    A call that fails raises, or hands to ``done``, an OpError: UnavailableError if nobody answers there or the
    connection is lost. A request is delivered at most once. ``done`` is called exactly once, from any thread.
    """

    def call(self, address: str, message: Message, timeout: float | None = None, wait: bool = False) -> Message:
        """The reply to a request; with ``wait``, somebody may first have to start listening at the address."""

    def start(self, address: str, message: Message, done: Done) -> Callable[[], None]:
        """Sends a request without waiting for its reply; returns what gives it up."""


class Peers:
    """Calls tasks by their names; errors that come back name the task."""

    def __init__(self, addresses: dict[str, str], transport: Transport, own: str = "") -> None:
        self.addresses, self.own, self._transport = addresses, own, transport
        self._learned: dict[str, str] = {}  # tasks that are not in the cluster as it was given to this one

    def learn(self, addresses: dict[str, str]) -> None:
        """Where tasks are that joined later. What was given at the start stays: it may be another, better way to the same task."""
        self._learned.update({task: address for task, address in addresses.items() if task not in self.addresses})

    def known(self) -> dict[str, str]:
        """All tasks that can be called."""
        return {**self._learned, **self.addresses}

    def address(self, task: str) -> str:
        """Where a task is; UnavailableError if nobody has said so."""
        found = self.addresses.get(task) or self._learned.get(task)
        if found is None:
            raise UnavailableError(None, None, f"{task} is not in the cluster that this task was given, and has not joined it")
        return found

    def call(self, task: str, message: Message, timeout: float | None = None) -> Message:
        """The reply of a task; raises the error that it answers with."""
        try:
            return checked(self._transport.call(self.address(task), message, timeout))
        except UnavailableError as error:
            raise self._lost(task, error) from None

    def wait_for(self, task: str, message: Message, patience: float, check: Callable[[], None] = nothing) -> Message:
        """The reply of a task that may not have started yet; UnavailableError after ``patience`` seconds.

        ``check`` is called now and then while it waits, and may raise to end that.
        """
        end = time.monotonic() + patience
        while True:
            left = end - time.monotonic()
            try:
                return checked(self._transport.call(self.address(task), message, max(0.01, min(left, _PATIENCE)), wait=True))
            except UnavailableError as error:
                if left <= _PATIENCE:
                    raise self._lost(task, error) from None
                check()
                _log.info("still waiting for %s at %s", task, self.address(task))

    def start(self, task: str, message: Message, done: Done) -> Callable[[], None]:
        """Sends a request; ``done`` gets the reply, or the error."""
        def answered(reply: Message | None, error: OpError | None) -> None:
            if isinstance(error, UnavailableError):
                error = self._lost(task, error)
            if reply is not None and reply.method == ERROR:
                done(None, error_from(reply.fields))
            else:
                done(reply, error)

        return self._transport.start(self.address(task), message, answered)

    def fetch(self, task: str, step: int, keys: list[str], deliver: Deliver) -> Callable[[], None]:
        """Asks a task for tensors of a step, until all have come."""
        return _Fetching(self, task, step, keys, deliver).give_up

    def _lost(self, task: str, error: OpError) -> OpError:
        text = error.message if task in error.message else f"{task} at {self.address(task)} cannot be reached: {error.message}"
        return exception_type_from_error_code(error.error_code)(None, None, text)


class _Fetching:
    """Asks again and again: each reply brings what is ready by then."""

    def __init__(self, peers: Peers, task: str, step: int, keys: list[str], deliver: Deliver) -> None:
        self._peers, self._task, self._step, self._deliver = peers, task, step, deliver
        self._missing = set(keys)
        self._given_up = False
        self._cancel: Callable[[], None] = nothing
        self._ask(keys)

    def _ask(self, keys: list[str]) -> None:
        message = Message("RecvTensors", {"step": self._step, "receiver": self._peers.own, "keys": keys})
        self._cancel = self._peers.start(self._task, message, self._answered)

    def _answered(self, reply: Message | None, error: OpError | None) -> None:
        if reply is None:
            self._deliver("", None, error)
            return
        for key, value in zip(reply.fields["keys"], reply.tensors):
            self._missing.discard(key)
            self._deliver(key, value, None)
        if self._missing and not self._given_up:
            self._ask([])

    def give_up(self) -> None:
        """Whatever still comes is not wanted any more."""
        self._given_up = True
        self._cancel()


def checked(reply: Message) -> Message:
    """A reply; raises the error that it carries."""
    if reply.method == ERROR:
        raise error_from(reply.fields)
    return reply


def ignore(reply: Any, error: Any) -> None:
    """For requests whose outcome changes nothing: an abort of a task that may be dead."""
