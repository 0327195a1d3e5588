"""The life of a launched job as a state machine: what happened goes in, what to do comes out. No processes and no clocks here.

The rules. A task that fails (ends with a code other than 0, or by a signal) is started again, ``max_restarts`` times, after a pause that doubles; one
that has run for ``healthy_after`` seconds before it failed begins to count anew: a job that runs for weeks has a right to accidents. The workers
decide: when all have ended well the job is done, and those that serve (ps) are stopped. When one cannot be started again the job has failed with its
code. A task that is stopped is asked first, and killed after ``grace`` seconds; the ps are asked when the last worker is gone, so that a worker can
still write a checkpoint.
"""
from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import dataclass, field

from penstock.distributed.launch_plan import Task

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0  # seconds before a task is started again
HEALTHY_AFTER = 300.0  # seconds after which a task has run well
LOST = -1000  # the "exit code" of a task whose machine is gone

WAITING, RUNNING, ENDED = "waiting", "running", "ended"


@dataclass(frozen=True)
class Begin:
    """The job is launched."""


@dataclass(frozen=True)
class Exited:
    """A task has ended; ``code`` is negative for a signal, as in subprocess."""

    task: Task
    code: int


@dataclass(frozen=True)
class Interrupt:
    """The job is asked to end: Ctrl-C, or a signal to the launcher."""

    number: int


@dataclass(frozen=True)
class Tick:
    """Time has passed."""


@dataclass(frozen=True)
class Start:
    """Start a task; ``attempt`` is 0 the first time."""

    task: Task
    attempt: int


@dataclass(frozen=True)
class Signal:
    """Send a signal to a task."""

    task: Task
    number: int


@dataclass(frozen=True)
class Note:
    """Tell the user."""

    text: str


@dataclass(frozen=True)
class Finish:
    """The job is over, with this exit code."""

    code: int


Event = Begin | Exited | Interrupt | Tick
Instruction = Start | Signal | Note | Finish


@dataclass
class _Entry:
    status: str = WAITING
    restarts: int = 0
    failures: int = 0  # since it last ran well
    started: float = 0.0
    due: float = 0.0  # when to start it, or when to send the next signal
    ladder: list[int] = field(default_factory=list)  # signals still to be sent


class LaunchState:
    """What is known of a job.

    >>> worker = Task("worker", 0)
    >>> state = LaunchState([worker], max_restarts=1)
    >>> state.handle(Begin(), 0.0)
    [Start(task=Task(job='worker', index=0), attempt=0)]
    >>> state.handle(Exited(worker, 0), 1.0)
    [Finish(code=0)]
    """

    def __init__(self, tasks: Sequence[Task], max_restarts: int = 3, grace: float = 5.0, healthy_after: float = HEALTHY_AFTER) -> None:
        self._entries = {task: _Entry() for task in tasks}
        self._deciders = [task for task in tasks if not task.serves] or list(tasks)
        self._max_restarts, self._grace, self._healthy_after = max_restarts, grace, healthy_after
        self._code: int | None = None  # the job's result, once it is being ended
        self._finished = False

    def handle(self, event: Event, now: float) -> list[Instruction]:
        """What to do after an event."""
        notes: list[Instruction] = []
        if isinstance(event, Exited):
            notes = self._exited(event, now)
        elif isinstance(event, Interrupt):
            notes = self._interrupted(event.number, now)
        return [*notes, *self._starts(now), *self._signals(now), *self._finish()]

    def statuses(self) -> dict[Task, str]:
        """Which tasks wait to be started, run, or have ended."""
        return {task: entry.status for task, entry in self._entries.items()}

    @property
    def restarts(self) -> int:
        """How many tasks were started again."""
        return sum(entry.restarts for entry in self._entries.values())

    def restarts_of(self, task: Task) -> int:
        """How often a task was started again."""
        return self._entries[task].restarts

    @property
    def ending(self) -> bool:
        """True once tasks are being stopped."""
        return self._code is not None

    # --- events ------------------------------------------------------------------------------------------------------

    def _exited(self, event: Exited, now: float) -> list[Instruction]:
        entry = self._entries[event.task]
        entry.status = ENDED
        if self.ending:
            return []
        if event.code == 0:
            if not self._running(self._deciders):
                self._end(0, [signal.SIGTERM, signal.SIGKILL], now)
            return []
        how = describe(event.code)
        if now - entry.started >= self._healthy_after:
            entry.failures = 0
        if entry.failures < self._max_restarts:
            pause = min(FIRST_PAUSE * 2 ** entry.failures, LONGEST_PAUSE)
            entry.failures += 1
            entry.restarts += 1
            entry.status, entry.due = WAITING, now + pause
            return [Note(f"{event.task} {how}; starting it again in {pause:g} s ({entry.failures} of {self._max_restarts})")]
        self._end(exit_code(event.code), [signal.SIGTERM, signal.SIGKILL], now)
        return [Note(f"{event.task} {how}, {f'{entry.failures} restarts after each other' if entry.failures else 'no restarts'}: "
                     "the job has failed")]

    def _interrupted(self, number: int, now: float) -> list[Instruction]:
        if self.ending:  # asked twice: at once
            for entry in self._entries.values():
                entry.ladder, entry.due = [signal.SIGKILL], now
            return [Note("killing what still runs")]
        self._end(128 + number, [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], now)
        return [Note(f"{signal.Signals(number).name}: ending all tasks")]

    def _end(self, code: int, ladder: list[int], now: float) -> None:
        self._code = code
        for task, entry in self._entries.items():
            entry.ladder, entry.due = [signal.SIGTERM, signal.SIGKILL] if task.serves else list(ladder), now
            if entry.status == WAITING:
                entry.status = ENDED

    # --- instructions ------------------------------------------------------------------------------------------------

    def _starts(self, now: float) -> list[Instruction]:
        due = [(task, entry) for task, entry in self._entries.items() if entry.status == WAITING and entry.due <= now]
        for _, entry in due:
            entry.status, entry.started = RUNNING, now
        return [Start(task, entry.restarts) for task, entry in due]

    def _signals(self, now: float) -> list[Instruction]:
        if not self.ending:
            return []
        first = [task for task in self._entries if not task.serves]
        recipients = self._running(first) or self._running(list(self._entries))
        sent: list[Instruction] = []
        for task in recipients:
            entry = self._entries[task]
            if entry.ladder and entry.due <= now:
                sent.append(Signal(task, entry.ladder.pop(0)))
                entry.due = now + self._grace
        return sent

    def _finish(self) -> list[Instruction]:
        if self._code is None or self._finished or self._running(list(self._entries)):
            return []
        self._finished = True
        return [Finish(self._code)]

    def _running(self, tasks: Sequence[Task]) -> list[Task]:
        return [task for task in tasks if self._entries[task].status != ENDED]


def describe(code: int) -> str:
    """An exit code in words."""
    if code == LOST:
        return "was lost with its machine"
    if code < 0:
        names = {int(number): number.name for number in signal.Signals}
        return f"was ended by {names.get(-code, f'signal {-code}')}"
    return f"ended with code {code}"


def exit_code(code: int) -> int:
    """The code that a shell would show."""
    if code == LOST:
        return 1
    return code if code >= 0 else 128 - code
