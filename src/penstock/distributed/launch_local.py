"""Launches a job on this machine: carries out what ``launch_state.py`` decides, with processes, pipes and signals."""
from __future__ import annotations

import os
import random
import secrets
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from penstock.distributed import launch_state as life
from penstock.distributed.launch_guard import Guard, kill_group
from penstock.distributed.launch_logs import Lines, Printer
from penstock.distributed.launch_plan import GUESTS, Plan, Task, environment

_BEAT = 0.1  # seconds between two looks at the processes
_READ = 1 << 16
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def launch(plan: Plan, max_restarts: int = 3, grace: float = 5.0, secret: str | None = None, color: str = "auto",
           out: TextIO | None = None, err: TextIO | None = None) -> int:
    """Runs a job to its end, and returns its exit code. Ctrl-C ends all tasks.

    The cluster's secret is ``secret``, or that of this process's environment, or a new one.
    """
    return _Launch(plan, life.LaunchState(plan.tasks(), max_restarts, grace), secret or given_secret() or secrets.token_hex(32),
                   Printer(out or sys.stdout, err or sys.stderr, plan.tasks(), color)).run()


def given_secret() -> str | None:
    """The secret that the environment has for a cluster."""
    from penstock.distributed.security import cluster_secret  # what imports gRPC and the error tree is not needed to start processes

    found = cluster_secret()
    return None if found is None else found.decode()


def free_ports(count: int, host: str = "127.0.0.1") -> list[int]:
    """Ports that nobody listens on, outside the range from which outgoing connections take theirs:
    a task that is started again must get its own back."""
    lowest = _first_ephemeral_port()
    found: list[int] = []
    for port in random.SystemRandom().sample(range(lowest // 2, lowest), lowest - lowest // 2):
        if len(found) == count:
            return found
        if _is_free(host, port):
            found.append(port)
    raise OSError(f"there are no {count} free ports between {lowest // 2} and {lowest}")


def _first_ephemeral_port() -> int:
    try:
        with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as file:
            return max(int(file.read().split()[0]), 4096)
    except OSError:
        return 32768


def _is_free(host: str, port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
        return True


class _Output:
    """What a process writes."""

    def __init__(self, process: subprocess.Popen[bytes], task: Task, printer: Printer) -> None:
        self._printer, self._task = printer, task
        self._pipes = {process.stdout: ("out", Lines()), process.stderr: ("err", Lines())}
        for pipe in self._pipes:
            os.set_blocking(pipe.fileno(), False)  # type: ignore[union-attr]

    def register(self, selector: selectors.BaseSelector) -> None:
        for pipe in self._pipes:
            selector.register(pipe, selectors.EVENT_READ, self)  # type: ignore[arg-type]

    def read(self, pipe: Any) -> bool:
        """Prints what is there; False when nothing more will come."""
        stream, lines = self._pipes[pipe]
        try:
            data = pipe.read(_READ)
        except OSError:
            return False
        if data is None:
            return True
        for line in lines.feed(data) if data else lines.rest():
            self._printer.line(self._task, stream, line)
        return bool(data)

    def close(self, selector: selectors.BaseSelector) -> None:
        """Prints what is left. A process that it started may still hold the pipe: nobody waits for that."""
        for pipe, (stream, lines) in self._pipes.items():
            if pipe in selector.get_map():
                selector.unregister(pipe)  # type: ignore[arg-type]
                for line in lines.feed(pipe.read() or b"") + lines.rest():  # type: ignore[union-attr]
                    self._printer.line(self._task, stream, line)
            pipe.close()  # type: ignore[union-attr]


class _Launch:
    """One job."""

    def __init__(self, plan: Plan, state: life.LaunchState, secret: str, printer: Printer) -> None:
        self._plan, self._state, self._secret, self._printer = plan, state, secret, printer
        members = [task for task in plan.tasks() if task.job not in GUESTS]
        self._cluster = plan.cluster({task: f"127.0.0.1:{port}" for task, port in zip(members, free_ports(len(members)))})
        self._running: dict[Task, tuple[subprocess.Popen[bytes], _Output]] = {}
        self._selector = selectors.DefaultSelector()
        self._interrupts: list[int] = []
        self._started = time.monotonic()
        self._code: int | None = None

    def run(self) -> int:
        self._printer.note(", ".join(f"{job} {' '.join(addresses)}" for job, addresses in self._cluster.items()))
        with Guard() as self._guard, _caught(self._interrupts), self._selector:
            try:
                self._happened(life.Begin())
                while self._code is None:
                    self._look()
            finally:
                self._kill_all()
                self._printer.close()
        return self._code

    def _look(self) -> None:
        for key, _ in self._selector.select(_BEAT):
            if not key.data.read(key.fileobj):
                self._selector.unregister(key.fileobj)
        if self._interrupts:
            self._happened(life.Interrupt(self._interrupts.pop(0)))
        for task, (process, output) in list(self._running.items()):
            if process.poll() is not None:
                self._end(task, process, output)
                self._happened(life.Exited(task, process.returncode))
        self._happened(life.Tick())
        self._printer.status(self._status_line())

    def _end(self, task: Task, process: subprocess.Popen[bytes], output: _Output) -> None:
        del self._running[task]
        self._guard.gone(process)
        output.close(self._selector)

    def _happened(self, event: life.Event) -> None:
        for instruction in self._state.handle(event, time.monotonic()):
            self._do(instruction)

    def _do(self, instruction: life.Instruction) -> None:
        if isinstance(instruction, life.Start):
            self._start(instruction.task)
        elif isinstance(instruction, life.Signal):
            self._signal(instruction)
        elif isinstance(instruction, life.Note):
            self._printer.note(instruction.text)
        elif isinstance(instruction, life.Finish):
            self._code = instruction.code

    def _start(self, task: Task) -> None:
        variables = {**os.environ, **environment(task, self._cluster, self._secret)}
        process = self._guard.start(self._plan.command(task, self._cluster), variables)
        output = _Output(process, task, self._printer)
        output.register(self._selector)
        self._running[task] = process, output

    def _signal(self, instruction: life.Signal) -> None:
        """A request goes to the program, which knows its own helpers; what kills goes to all of them."""
        if instruction.task not in self._running:
            return
        process = self._running[instruction.task][0]
        if instruction.number == signal.SIGKILL:
            kill_group(process.pid, signal.SIGKILL)
        elif process.poll() is None:
            process.send_signal(instruction.number)

    def _kill_all(self) -> None:
        for task, (process, output) in list(self._running.items()):
            kill_group(process.pid, signal.SIGKILL)
            process.wait()
            self._end(task, process, output)

    def _status_line(self) -> str:
        statuses = self._state.statuses()
        parts = []
        for job in dict.fromkeys(task.job for task in statuses):
            states = [status for task, status in statuses.items() if task.job == job]
            up, done = states.count(life.RUNNING), states.count(life.ENDED)
            parts.append(f"{job} {up}/{len(states)} up" + (f", {done} done" if done else ""))
        minutes, seconds = divmod(int(time.monotonic() - self._started), 60)
        restarts = f" · {self._state.restarts} restarts" if self._state.restarts else ""
        ending = " · ending" if self._state.ending else ""
        return f"[{minutes:02d}:{seconds:02d}] {' · '.join(parts)}{restarts}{ending}"


@contextmanager
def _caught(interrupts: list[int]) -> Iterator[None]:
    """Collects signals that want the launcher to end. Only the main thread can; elsewhere they do what they always do."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = {number: signal.signal(number, lambda caught, frame: interrupts.append(caught)) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
