"""The master's side of one step, without threads, clocks or sockets: events in, instructions out.

Each task runs its part. The first failure, or a cancellation by the client, is the error of the step: every task that
still runs is told to abort, and the step ends when all have answered, or when the patience with them is over. Later
errors are consequences of the first and are dropped.

>>> state = StepState(["ps", "worker"])
>>> state.handle(Done("ps"))
[]
>>> state.handle(Done("worker"))
[Finish(error=None)]
"""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from penstock.errors import OpError


@dataclass(frozen=True)
class Done:
    """Event: a task has run its part."""

    task: str


@dataclass(frozen=True)
class Failed:
    """Event: a task's part failed, or the task is lost."""

    task: str
    error: OpError


@dataclass(frozen=True)
class Cancel:
    """Event: the client gives up, or its time is over."""

    error: OpError


@dataclass(frozen=True)
class PatienceOver:
    """Event: tasks that were told to abort have had their time."""


@dataclass(frozen=True)
class Abort:
    """Instruction: tell a task to end its part with this error."""

    task: str
    error: OpError


@dataclass(frozen=True)
class Finish:
    """Instruction: the step is over, with this error or with results."""

    error: OpError | None


Event = Done | Failed | Cancel | PatienceOver
Instruction = Abort | Finish


class StepState:
    """Which tasks still run, and how the step will end."""

    def __init__(self, tasks: Iterable[str]) -> None:
        self.running = dict.fromkeys(tasks)
        self.error: OpError | None = None
        self.finished = False

    def handle(self, event: Event) -> list[Instruction]:
        """What to do now. After the end of the step nothing is."""
        if self.finished:
            return []
        if isinstance(event, (Done, Failed)):
            self.running.pop(event.task, None)
        instructions: list[Instruction] = []
        if isinstance(event, (Failed, Cancel)) and self.error is None:
            self.error = event.error
            instructions += [Abort(task, event.error) for task in self.running]
        if not self.running or isinstance(event, PatienceOver):
            self.finished = True
            instructions.append(Finish(self.error))
        return instructions
