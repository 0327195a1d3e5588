"""The other tasks of a cluster, as a master and a worker see them: called by name, over whatever transport carries the messages."""
from __future__ import annotations

import contextlib
import logging
import os
import queue
import time
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from penstock.distributed.link import OnDone, OnPart, ignore_part
from penstock.distributed.messages import ERROR, Message, error_from
from penstock.distributed.steps import Deliver
from penstock.errors import DeadlineExceededError, InternalError, OpError, UnavailableError, exception_type_from_error_code

_log = logging.getLogger("tensorflow")
START_PATIENCE = float(os.environ.get("PENSTOCK_START_TIMEOUT", "600"))  # seconds that a task may take to start
_PATIENCE = 10.0  # seconds of waiting for a task until that is logged
TENSOR = "t"  # the method of a tensor on its way


def no_check() -> None:
    """Nothing ends the waiting early."""


@contextlib.contextmanager
def deadline(timeout_ms: int) -> Iterator[float]:
    """The seconds that tasks may take to start within a time limit (0: none), which ends the waiting with a DeadlineExceededError."""
    limit, began = timeout_ms / 1000, time.monotonic()
    try:
        yield min(START_PATIENCE, limit) if limit else START_PATIENCE
    except UnavailableError as error:
        if not limit or time.monotonic() - began < limit:
            raise
        raise DeadlineExceededError(None, None, f"there was no answer within {timeout_ms} ms: {error.message}") from None


class Conversation(Protocol):
    """A request under way; see ``link.Request``."""

    def send(self, message: Message) -> None:
        """A further message to the other side."""

    def cancel(self) -> None:
        """Gives up, if there is no reply yet."""


class Transport(Protocol):
    """How messages reach an address.

    A call that fails raises, or hands to ``done``, an OpError: UnavailableError if no server answers there or the
    connection is lost. A request is delivered at most once. ``done`` is called exactly once, from any thread; ``part``
    is called, before that, for each message that comes before the reply.
    """

    def call(self, address: str, message: Message, timeout: float | None = None, wait: bool = False) -> Message:
        """The reply to a request; with ``wait``, the server at the address may first have to start."""

    def start(self, address: str, message: Message, done: OnDone, part: OnPart = ignore_part) -> Conversation:
        """Sends a request without waiting for its reply."""

    def together(self) -> contextlib.AbstractContextManager[None]:
        """What this thread sends inside may be collected, and goes out at the end: do not wait for a reply inside."""


class Peers:
    """Calls tasks by their names; errors that come back name the task."""

    def __init__(self, addresses: dict[str, str], transport: Transport, own: str = "") -> None:
        self.addresses, self.own, self._transport = addresses, own, transport
        self._learned: dict[str, str] = {}  # tasks that are not in the cluster as it was given to this one

    def learn(self, addresses: dict[str, str]) -> None:
        """Where tasks are that joined later. What was given at the start stays: it may be another, better way to the same task."""
        self._learned.update({task: address for task, address in addresses.items() if task not in self.addresses})

    def addresses_by_task(self) -> dict[str, str]:
        """All tasks that can be called."""
        return {**self._learned, **self.addresses}

    def address(self, task: str) -> str:
        """Where a task is; UnavailableError if that is not known."""
        address = self.addresses.get(task) or self._learned.get(task)
        if address is None:
            raise UnavailableError(None, None, f"{task} is not in the cluster that this task was given, and has not joined it")
        return address

    def call(self, task: str, message: Message, timeout: float | None = None) -> Message:
        """The reply of a task; raises the error that it answers with."""
        try:
            reply = self._transport.call(self.address(task), message, timeout)
        except UnavailableError as error:
            raise self._lost(task, error) from None
        return raise_error_of(reply)  # it may tell of another task that is lost

    def wait_for(self, task: str, message: Message, patience: float, check: Callable[[], None] = no_check) -> Message:
        """The reply of a task that may not have started yet; UnavailableError after ``patience`` seconds.

        ``check`` is called now and then while it waits, and may raise to end that.
        """
        end = time.monotonic() + patience
        while True:
            left = end - time.monotonic()
            try:
                return raise_error_of(self._transport.call(self.address(task), message, max(0.01, min(left, _PATIENCE)), wait=True))
            except UnavailableError as error:
                if left <= _PATIENCE:
                    raise self._lost(task, error) from None
                check()
                _log.info("still waiting for %s at %s", task, self.address(task))

    def converse(self, task: str, message: Message, answer: Callable[[Message], Message]) -> Message:
        """``call``; this thread also answers, by ``answer``, each message that comes before the reply."""
        return answering(lambda done, part: self.start(task, message, done, part), answer)

    def start(self, task: str, message: Message, done: OnDone, part: OnPart = ignore_part) -> Conversation:
        """Sends a request; ``done`` gets the reply, or the error."""
        def answered(reply: Message | None, error: OpError | None) -> None:
            if isinstance(error, UnavailableError):
                error = self._lost(task, error)
            if reply is not None and reply.method == ERROR:
                done(None, error_from(reply.fields))
            else:
                done(reply, error)

        return self._transport.start(self.address(task), message, answered, part)

    def together(self) -> contextlib.AbstractContextManager[None]:
        """What this thread sends inside goes out at the end: do not wait for a reply inside."""
        return self._transport.together()

    def fetch(self, task: str, step: int, deliver: Deliver) -> Callable[[], None]:
        """Asks a task for all tensors of a step that it has for this one; returns what gives that up."""
        def ended(reply: Message | None, error: OpError | None) -> None:
            if error is not None:
                deliver("", None, error)

        message = Message("RecvTensors", {"step": step, "receiver": self.own})
        return self.start(task, message, ended, lambda part: deliver_tensor(part, deliver)).cancel

    def _lost(self, task: str, error: OpError) -> OpError:
        text = error.message if task in error.message else f"{task} at {self.address(task)} cannot be reached: {error.message}"
        return exception_type_from_error_code(error.error_code)(None, None, text)


def answering(start: Callable[[OnDone, OnPart], Conversation], answer: Callable[[Message], Message]) -> Message:
    """The reply to a request that ``start`` sends; raises the error that there is instead. See ``Peers.converse``."""
    came: queue.SimpleQueue[tuple[Message | None, OpError | None, bool]] = queue.SimpleQueue()
    conversation = start(lambda reply, error: came.put((reply, error, True)), lambda part: came.put((part, None, False)))
    try:
        while True:
            message, error, last = came.get()
            if error is not None:
                raise error
            assert message is not None
            if last:
                return message
            conversation.send(answer(message))
    finally:  # Ctrl-C, or an error of ``answer``: nothing may go on behind the caller's back
        conversation.cancel()


def tensor_message(key: str, value: Any) -> Message:
    """A tensor on its way to another task."""
    return Message(TENSOR, {"k": key}, [], [value])


def deliver_tensor(message: Message, deliver: Deliver) -> None:
    """Takes a tensor of another task."""
    key = message.fields.get("k")
    if type(key) is not str or len(message.tensors) != 1:
        deliver("", None, InternalError(None, None, f"a tensor of another task is malformed: {message.fields!r}"))
    else:
        deliver(key, message.tensors[0], None)


def raise_error_of(reply: Message) -> Message:
    """Raises the error that a reply carries; returns other replies."""
    if reply.method == ERROR:
        raise error_from(reply.fields)
    return reply


def ignore(reply: Any, error: Any) -> None:
    """For requests whose outcome changes nothing: an abort of a task that may be dead."""
