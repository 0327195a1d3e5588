"""A link: the conversations of two tasks over one connection.

No sockets and no threads of its own: a Carrier takes its frames, and hands it those that come.

Contract. A request is delivered once or not at all. ``done`` of a conversation is called exactly once: with the reply,
with CancelledError after ``cancel``, or with UnavailableError when the link is lost; ``part``, for messages that come
before the reply, never after it. The other side's ``Served`` learns of a cancellation and of a lost link, unless it has
replied.
"""
from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from typing import Any, Protocol

from penstock.distributed.messages import MalformedMessage, Message, decode, encode, error_message
from penstock.distributed.wire import CANCEL, DONE, MORE, OPEN, PART
from penstock.errors import CancelledError, DeadlineExceededError, OpError

OnDone = Callable[["Message | None", "OpError | None"], None]
OnPart = Callable[[Message], None]
Serve = Callable[[Message, "Served"], None]


class Carrier(Protocol):
    """What brings frames to the other side."""

    def send(self, kind: int, conversation: int, buffers: list[Any]) -> None:
        """Sends a frame, in the order of the calls of one thread; if the connection is lost this does nothing: the link is told by ``lost``."""


def ignore_part(message: Message) -> None:
    """For conversations in which nothing comes before the reply."""


def _do_nothing(*_: Any) -> None:
    """For callbacks that must not be called again."""


class Request:
    """A conversation that this side has opened."""

    __slots__ = ("_done", "_link", "_part", "number")

    def __init__(self, link: Link, number: int, done: OnDone, part: OnPart) -> None:
        self._link, self.number, self._done, self._part = link, number, done, part

    def send(self, message: Message) -> None:
        """A further message to the other side."""
        self._link.carrier.send(MORE, self.number, encode(message))

    def cancel(self) -> None:
        """Gives up, if there is no reply yet."""
        if self._link.forget(self.number):
            self._link.carrier.send(CANCEL, self.number, [])
            self.ended(None, CancelledError(None, None, "the call was given up"))

    def deliver(self, message: Message) -> None:
        """A message has come before the reply."""
        self._part(message)

    def ended(self, reply: Message | None, error: OpError | None) -> None:
        """The reply has come, or never will."""
        done = self._done
        self._done = self._part = _do_nothing  # they may refer to this request: what they hold would have to wait for the garbage collector
        done(reply, error)


class Served:
    """A conversation that the other side has opened; see ``service.Caller``."""

    __slots__ = ("_early", "_gone", "_link", "_lock", "_lost", "_more", "_number", "_replied")

    def __init__(self, link: Link, number: int) -> None:
        self._link, self._number = link, number
        self._lock = threading.Lock()
        self._gone: list[Callable[[], None]] = []
        self._more: Callable[[Message], None] | None = None
        self._early: list[Message] = []  # what came before ``on_more``
        self._replied = self._lost = False

    @property
    def connection(self) -> Link:
        """Where the other side speaks from."""
        return self._link

    def part(self, message: Message) -> None:
        """Sends something before the reply."""
        self._link.carrier.send(PART, self._number, encode(message))

    def reply(self, message: Message) -> None:
        """Ends the conversation."""
        with self._lock:
            if self._replied:
                return
            self._replied = True
            self._more, self._gone = None, []  # they lead back here: nothing should wait for the garbage collector
        try:
            buffers = encode(message)
        except OpError as error:
            buffers = encode(error_message(error))
        self._link.carrier.send(DONE, self._number, buffers)
        self._link.forget_served(self._number)  # now ``drain`` need not wait for it

    def on_gone(self, callback: Callable[[], None]) -> None:
        """Has ``callback`` called if the other side gives up or is lost before it got the reply."""
        with self._lock:
            if not self._lost:
                self._gone.append(callback)
                return
        callback()

    def on_more(self, callback: Callable[[Message], None]) -> None:
        """Has ``callback`` called with further messages of the other side."""
        with self._lock:
            self._more, early = callback, self._early
            self._early = []
        for message in early:
            callback(message)

    def on_lost(self, callback: Callable[[], None]) -> None:
        """Has ``callback`` called when the connection ends, at any later time."""
        self._link.on_lost(callback)

    def deliver(self, message: Message) -> None:
        """A further message has come."""
        with self._lock:
            more = self._more
            if more is None:
                if not self._replied:
                    self._early.append(message)
                return
        more(message)

    def lost(self) -> None:
        """The other side is not interested any more."""
        with self._lock:
            if self._replied:
                return
            self._replied = self._lost = True
            callbacks, self._gone = self._gone, []
        for callback in callbacks:
            callback()


class Link:
    """Both ends of a connection: opens conversations, and serves those of the other side.

    ``serve(message, served)`` answers a request, now or later, from any thread; it must not block.
    """

    def __init__(self, carrier: Carrier, serve: Serve | None = None) -> None:
        self.carrier, self._serve = carrier, serve
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._calls: dict[int, Request] = {}
        self._served: dict[int, Served] = {}
        self._lost: OpError | None = None
        self._callbacks: list[Callable[[], None]] = []
        self._answered = threading.Condition(self._lock)

    def open(self, message: Message, done: OnDone, part: OnPart = ignore_part) -> Request:
        """Begins a conversation."""
        buffers = encode(message)
        with self._lock:
            number = next(self._numbers) & 0xffffffff
            call = Request(self, number, done, part)
            lost = self._lost
            if lost is None:
                self._calls[number] = call
        if lost is not None:
            done(None, lost)
        else:
            self.carrier.send(OPEN, number, buffers)
        return call

    def call(self, message: Message, timeout: float | None = None) -> Message:
        """The reply to a request; DeadlineExceededError if there is none in time."""
        ended, outcome = threading.Event(), list[tuple[Message | None, OpError | None]]()

        def done(reply: Message | None, error: OpError | None) -> None:
            outcome.append((reply, error))
            ended.set()

        conversation = self.open(message, done)
        try:
            in_time = ended.wait(timeout)
        finally:  # Ctrl-C: nothing may go on behind the caller's back
            conversation.cancel()
        reply, error = outcome[0]
        if not in_time:
            raise DeadlineExceededError(None, None, f"there is no reply within {timeout} s")
        if error is not None:
            raise error
        assert reply is not None
        return reply

    def forget(self, number: int) -> bool:
        """Takes a conversation that was opened here off the list; False if it is not on it."""
        with self._lock:
            return self._calls.pop(number, None) is not None

    def forget_served(self, number: int) -> None:
        """A conversation that was opened there has its reply."""
        with self._answered:
            self._served.pop(number, None)
            if not self._served:
                self._answered.notify_all()

    def drain(self, seconds: float) -> None:
        """Waits until all that was asked is answered, but no longer than this."""
        with self._answered:
            self._answered.wait_for(lambda: not self._served, seconds)

    def received(self, kind: int, number: int, data: Any) -> None:
        """A frame has come; MalformedMessage if it makes no sense, after which the link is of no use any more."""
        if kind in (PART, DONE):
            call = self._calls.get(number)
            if call is None:
                return  # it was given up
            message = decode(data)  # if it makes no sense the call is still known, and learns that the link is lost
            if kind == PART:
                call.deliver(message)
            elif self.forget(number):
                call.ended(message, None)
        elif kind == OPEN:
            self._open(number, decode(data))
        elif kind == MORE:
            served = self._served.get(number)
            if served is not None:
                served.deliver(decode(data))
        elif kind == CANCEL:
            with self._lock:
                served = self._served.pop(number, None)
            if served is not None:
                served.lost()
        else:
            raise MalformedMessage(f"a frame of kind {kind} is not expected here")

    def _open(self, number: int, message: Message) -> None:
        if self._serve is None or number in self._served:
            raise MalformedMessage(f"conversation {number} cannot be opened: {'it is already' if self._serve else 'this side serves nothing'}")
        served = Served(self, number)
        with self._lock:
            self._served[number] = served
        self._serve(message, served)

    def on_lost(self, callback: Callable[[], None]) -> None:
        """Has ``callback`` called when the connection ends, at once if it has."""
        with self._lock:
            if self._lost is None:
                self._callbacks.append(callback)
                return
        callback()

    def lost(self, error: OpError) -> None:
        """The connection is gone."""
        with self._lock:
            if self._lost is not None:
                return
            self._lost = error
            callbacks, self._callbacks = self._callbacks, []
            calls, self._calls = self._calls, {}
            served, self._served = self._served, {}
        for call in calls.values():
            call.ended(None, error)
        for conversation in served.values():
            conversation.lost()
        for callback in callbacks:
            callback()

    @property
    def alive(self) -> bool:
        """False once it is lost."""
        return self._lost is None
