"""What all launchers share: the loop that looks at the tasks, asks ``launch_state.py`` what to do, and shows it. How tasks are run is theirs."""
from __future__ import annotations

import os
import secrets
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from penstock.distributed import launch_state as life
from penstock.distributed.launch_logs import Printer
from penstock.distributed.launch_plan import LaunchPlan, Task
from penstock.distributed.security import cluster_secret, long_enough

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Engine:
    """One job. ``start``, ``signal``, ``look`` and ``close`` are for the subclass to define."""

    def __init__(self, plan: LaunchPlan, state: life.LaunchState, printer: Printer) -> None:
        self.plan, self.state, self.printer = plan, state, printer
        self._interrupts: list[int] = []
        self._began = time.monotonic()
        self._code: int | None = None

    def start(self, task: Task) -> None:
        """Starts a task; its end is reported by ``handle(Exited(...))``, also if it cannot be started."""
        raise NotImplementedError

    def signal(self, task: Task, number: int) -> None:
        """Sends a signal to a task, if it still runs."""
        raise NotImplementedError

    def look(self) -> None:
        """Waits a moment for something to happen, prints what tasks wrote and reports those that have ended."""
        raise NotImplementedError

    def close(self) -> None:
        """Leaves nothing behind."""
        raise NotImplementedError

    def run(self) -> int:
        """Runs the job to its end; returns its exit code."""
        with _catch_signals(self._interrupts):
            try:
                self.handle(life.Begin())
                while self._code is None:
                    self.look()
                    if self._interrupts:
                        self.handle(life.Interrupt(self._interrupts.pop(0)))
                    elif self.printer.unread and not self.state.ending:
                        self.handle(life.Interrupt(signal.SIGPIPE))
                    self.handle(life.Tick())
                    self.printer.status(self._status_line())
            finally:
                self.close()
                self.printer.close()
        return self._code

    def interrupt(self, number: int) -> None:
        """Asks the job to end, as a signal to the launcher does; from any thread."""
        self._interrupts.append(number)

    def handle(self, event: life.Event) -> None:
        """Does what follows from an event."""
        for instruction in self.state.handle(event, time.monotonic()):
            if isinstance(instruction, life.Start):
                self.start(instruction.task)
            elif isinstance(instruction, life.Signal):
                self.signal(instruction.task, instruction.number)
            elif isinstance(instruction, life.Note):
                self.printer.note(instruction.text)
            else:
                self._code = instruction.code

    def _status_line(self) -> str:
        statuses = self.state.statuses()
        parts = []
        for job in dict.fromkeys(task.job for task in statuses):
            states = [status for task, status in statuses.items() if task.job == job]
            up, done = states.count(life.RUNNING), states.count(life.ENDED)
            parts.append(f"{job} {up}/{len(states)} up" + (f", {done} done" if done else ""))
        minutes, seconds = divmod(int(time.monotonic() - self._began), 60)
        restarts = f" · {self.state.restarts} restarts" if self.state.restarts else ""
        ending = " · ending" if self.state.ending else ""
        return f"[{minutes:02d}:{seconds:02d}] {' · '.join(parts)}{restarts}{ending}"


def cluster_secret_for(given: str | None) -> str:
    """The secret of a job: the one that is given, that of this process's environment, or a new one."""
    if given:
        return long_enough(given)
    secret = cluster_secret()
    return secret.decode() if secret else secrets.token_hex(32)


def inherited_environment() -> dict[str, str]:
    """The variables of this process that tasks get too, except those that name a task's place."""
    return {name: value for name, value in os.environ.items() if name not in ("TF_CONFIG", "PENSTOCK_CLUSTER_SECRET_FILE")}


@contextmanager
def _catch_signals(interrupts: list[int]) -> Iterator[None]:
    """Collects the signals that ask the launcher to end. Only the main thread can catch them; in other threads nothing changes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    wanted = [number for number in _SIGNALS if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN]  # nohup
    previous = {number: signal.signal(number, lambda caught, frame: interrupts.append(caught)) for number in wanted}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
