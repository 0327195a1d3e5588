"""Debuggers of clusters: a task tells the client, by way of the master, of each node that it has run, and goes on with what it is answered.

    task     -> client   "probe"    fields: events, waits, task; tensors: the values of all events, one after the other
    client   -> task     "probed"   fields: slots, waits, task; tensors: what the last event's outputs are to be, by their slots
    client   -> tasks    "waits"    field: waits

They travel inside of the conversations that run the step (RunStep, RunGraph). An event is [node, device, frames, number of outputs, slots of those
that are values]. Events are collected; a task tells them, and waits for the answer, (1) behind a node where the client wants it to
(``Probe.waits``), (2) before it sends a tensor to another task, so that what is computed of it is told later, (3) when much has been collected. So
the client learns of nodes in an order in which they could have run on one machine, and never has to keep more than a batch of them per task.
"""
from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.distributed.messages import MalformedMessage, Message
from penstock.errors import CancelledError, InvalidArgumentError
from penstock.execute.probe import AT_BAD_VALUES, EVERYWHERE, NOWHERE, Frames, Probe, is_bad, replaced
from penstock.execute.step import Step
from penstock.graph import dtypes
from penstock.ops.transfer import Recv, Send
from penstock.program.ir import Node
from penstock.state.resources import held_value

TELL, ANSWER, WAITS = "probe", "probed", "waits"
_MODES = (NOWHERE, AT_BAD_VALUES, EVERYWHERE)
_MOST_EVENTS, _MOST_BYTES = 64, 4 << 20  # of a batch
_NO_VALUES = (dtypes.resource, dtypes.variant)


def checked_waits(value: Any) -> str:
    """One of the ways to wait; MalformedMessage if it is none."""
    if value not in _MODES:
        raise MalformedMessage(f"{value!r} is not one of {_MODES}")
    return value


class TaskProbe(Probe):
    """What looks at the part of a step on one task, and is answered by ``answered``, from any thread. ``send`` must not block."""

    def __init__(self, send: Callable[[Message], None], waits: str) -> None:
        self._send, self._waits = send, waits
        self._lock = threading.Lock()
        self._events: list[Any] = []
        self._tensors: list[Any] = []
        self._size = 0
        self._answers: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self._step: Step | None = None

    @property
    def waits(self) -> str:
        return self._waits

    def begin(self, step: Step) -> None:
        """Its part begins; cancelling it also ends the wait."""
        self._step = step
        step.on_cancel(lambda: self._answers.put(None))

    def answered(self, message: Message) -> None:
        """The client has answered, or has changed its mind about waits."""
        if message.method == ANSWER:
            self._answers.put(message)
        elif message.fields.get("waits") in _MODES:
            self._waits = message.fields["waits"]

    def tell(self, frames: Frames, device: str, node: Node, outputs: list[Any], waits: bool = True) -> list[Any] | None:
        """Tells of a node; not of those that only carry tensors between tasks."""
        if node.definition is Send or node.definition is Recv:
            return None
        with self._lock:  # nodes of other devices wait, too
            values = {slot: value for slot, value in enumerate(map(held_value, outputs)) if _can_be_told(node, slot, value)}
            self._events.append([node.name, device, frames, len(outputs), list(values)])
            self._tensors += values.values()
            self._size += sum(value.nbytes for value in values.values())
            waits = self._waits == EVERYWHERE or (self._waits == AT_BAD_VALUES and any(map(is_bad, values.values())))
            if not (waits or len(self._events) >= _MOST_EVENTS or self._size >= _MOST_BYTES):
                return None
            changes = self._hand_on(waits)
            if any(slot not in values for slot in changes):
                raise InvalidArgumentError(None, node.origin, f"the debugger has changed outputs {sorted(changes)} of '{node.name}': not all of them "
                                           "are values")
        return replaced(outputs, changes) if changes else None

    def flush(self) -> None:
        """Tells what has been collected."""
        with self._lock:
            if self._events:
                self._hand_on(False)

    def end(self) -> None:
        """Its part has ended, well or not: tells the rest. The answer changes nothing, and is not waited for."""
        with self._lock:
            if self._events:
                self._send(self._collect(False))

    def _collect(self, waits: bool) -> Message:
        message = Message(TELL, {"events": self._events, "waits": waits}, [], self._tensors)
        self._events, self._tensors, self._size = [], [], 0
        return message

    def _hand_on(self, waits: bool) -> dict[int, Any]:
        """Has the client look at all that was collected; returns what it wants in the place of the last node's outputs."""
        self._send(self._collect(waits))
        answer = self._answers.get()
        if answer is None:
            self._answers.put(None)  # for others that wait
            assert self._step is not None
            raise self._step.cancelled or CancelledError(None, None, "the step was cancelled")
        try:
            slots = answer.fields["slots"]
            if not isinstance(slots, list) or any(type(slot) is not int for slot in slots) or len(slots) != len(answer.tensors):
                raise MalformedMessage(f"{len(answer.tensors)} values for the slots {slots!r}")
            self._waits = checked_waits(answer.fields["waits"])
        except (KeyError, MalformedMessage) as error:
            raise InvalidArgumentError(None, None, f"malformed {ANSWER}: {error!r}") from None
        return dict(zip(slots, answer.tensors)) if waits else {}


class Relay:
    """What a master does for a step that is debugged: it hands on what tasks tell, to the client, and what that answers, to the task."""

    def __init__(self, send: Callable[[Message], None], waits: str) -> None:
        self._send, self.waits = send, waits
        self._lock = threading.Lock()
        self._tasks: dict[str, Callable[[Message], None]] = {}
        self._early: dict[str, list[Message]] = {}  # answers to tasks that have not joined yet

    def own(self, task: str) -> TaskProbe:
        """What looks at the part of the master's own task."""
        probe = TaskProbe(lambda message: self.report_nodes(task, message), self.waits)
        self.join(task, probe.answered)
        return probe

    def join(self, task: str, answered: Callable[[Message], None]) -> None:
        """``answered`` reaches the part of a task from now on."""
        with self._lock:
            self._tasks[task], early = answered, self._early.pop(task, [])
        for message in early:
            answered(message)

    def report_nodes(self, task: str, message: Message) -> None:
        """A task tells of its nodes."""
        self._send(Message(TELL, {**message.fields, "task": task}, [], message.tensors))

    def answered(self, message: Message) -> None:
        """The client has answered a task. If it has changed its mind about waits, all tasks have to know."""
        task, waits = message.fields.get("task"), message.fields.get("waits")
        if type(task) is not str:
            return  # the task that it was for would wait for it until the step is given up
        others: list[Callable[[Message], None]] = []
        with self._lock:
            answered = self._tasks.get(task)
            if answered is None:
                self._early.setdefault(task, []).append(message)
            if waits in _MODES and waits != self.waits:
                self.waits = waits
                others = [each for name, each in self._tasks.items() if name != task]
        if answered is not None:
            answered(message)
        for each in others:
            each(Message(WAITS, {"waits": waits}))


def _can_be_told(node: Node, slot: int, value: Any) -> bool:
    return isinstance(value, (np.ndarray, np.generic)) and node.output_dtypes[slot].base_dtype not in _NO_VALUES
