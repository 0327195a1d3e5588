"""What a program's steps are made of and what they cost, as measured: all that a simulation needs to know of it. Profiles can be kept as JSON.

The names of tasks are those of the program that was measured, in which ``WORKER`` ran the step; a simulated worker takes its place.
"""
from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from typing import Any

from penstock.distributed.cluster_spec import task_name

WORKER = task_name("worker", 0)
LEFT = "/job:worker/left"  # the worker before the one whose step it is


@dataclass
class TensorMessage:
    """Tensors that go together from one part of a step to another."""

    to: str
    tensors: int
    bytes: int
    number: int  # in its step


@dataclass
class Meeting:
    """An operation on a queue or an accumulator: ``kind`` is the ``coordinates`` of its op (``graph/properties.py``), ``count`` how many elements or
    gradients it puts in or waits for, ``resource`` of which object."""

    kind: str
    resource: str
    count: int = 1


@dataclass
class WorkBlock:
    """Nodes of a part that can run when the same things have come: how many seconds of one core they take, in the interpreter, there on large arrays
    (``moving``), and in native code, which part of the latter cannot be shared out among cores, and for which part of that the other threads hold
    their cores; how much longer native code takes if others use the cache all the time, and how many bytes it has for that; how many times as long
    its threads take, which wait for each other, if others use all cores, too."""

    needs: list[int] = field(default_factory=list)  # blocks of the part
    receives: list[int] = field(default_factory=list)  # numbers of messages
    sends: list[TensorMessage] = field(default_factory=list)
    meetings: list[Meeting] = field(default_factory=list)
    python: float = 0.0
    moving: float = 0.0
    native: float = 0.0
    serial: float = 0.0
    held: float = 0.0
    uncached: float = 0.0
    crowded: float = 1.0
    touched: int = 0
    nodes: int = 0


@dataclass
class TaskPart:
    """What one task does in a step; how many bytes that takes beside its variables, and what takes the most of them."""

    task: str
    blocks: list[WorkBlock] = field(default_factory=list)
    memory: int = 0
    largest: str = ""
    largest_memory: int = 0


@dataclass
class StepProfile:
    """A step of a session, cut by task. The first part is that of the task whose session it is."""

    parts: list[TaskPart] = field(default_factory=list)
    feeds: int = 0  # bytes
    runs: int = 0  # how often it was measured

    def part(self, task: str) -> TaskPart | None:
        """The part of a task, if it has one."""
        return next((part for part in self.parts if part.task == task), None)

    @property
    def message_bytes(self) -> int:
        """Of all its messages."""
        return sum(message.bytes for part in self.parts for block in part.blocks for message in block.sends)

    @property
    def used_bytes(self) -> int:
        """What it moves through the caches: messages, and the arrays of native code."""
        return self.message_bytes + sum(block.touched for part in self.parts for block in part.blocks)

    @property
    def waits(self) -> bool:
        """Does it meet others at queues or accumulators?"""
        return any(block.meetings for part in self.parts for block in part.blocks)


@dataclass
class JobProfile:
    """What a worker of a job does: its step, again and again, and what else goes on in the chief's session."""

    program: str
    ps: int
    workers: int  # that the program was told of
    step: StepProfile
    beside: list[StepProfile] = field(default_factory=list)  # of the chief's queue runners
    variables: dict[str, dict[str, int]] = field(default_factory=dict)  # task -> name -> bytes
    held: dict[str, dict[str, Any]] = field(default_factory=dict)  # queues and accumulators: what they held when the first step began

    def to_json(self) -> str:
        """The profile as text."""
        return json.dumps(dataclasses.asdict(self), indent=1)

    @classmethod
    def from_json(cls, text: str) -> JobProfile:
        """The profile in a text; ValueError if there is none."""
        try:
            fields = json.loads(text)
            return cls(**{**fields, "step": _step(fields["step"]), "beside": [_step(each) for each in fields["beside"]]})
        except (KeyError, TypeError, json.JSONDecodeError) as error:
            raise ValueError(f"this is not the profile of a job: {error!r}") from None


def _step(fields: dict[str, Any]) -> StepProfile:
    parts = [TaskPart(**{**part, "blocks": [_block(block) for block in part["blocks"]]}) for part in fields["parts"]]
    return StepProfile(**{**fields, "parts": parts})


def _block(fields: dict[str, Any]) -> WorkBlock:
    sends, meetings = [TensorMessage(**each) for each in fields["sends"]], [Meeting(**each) for each in fields["meetings"]]
    return WorkBlock(**{**fields, "sends": sends, "meetings": meetings})
