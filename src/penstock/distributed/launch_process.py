"""A launched process: its output, line by line, and its end; and the ports that tasks listen on."""
from __future__ import annotations

import os
import random
import selectors
import signal
import socket
from collections.abc import Callable
from typing import Any

from penstock.distributed.launch_guard import Guard, kill_group
from penstock.distributed.launch_logs import Lines

_READ = 1 << 16

Sink = Callable[[str, str], None]  # ("out" or "err", a line)


class LaunchedProcess:
    """A process under a guard. What it writes goes to ``sink``, whenever the selector says that there is something."""

    def __init__(self, guard: Guard, selector: selectors.BaseSelector, command: list[str], environment: dict[str, str], sink: Sink) -> None:
        self._guard, self._selector, self._sink = guard, selector, sink
        self._process = guard.start(command, environment)
        self._pipes: dict[Any, tuple[str, Lines]] = {self._process.stdout: ("out", Lines()), self._process.stderr: ("err", Lines())}
        for pipe in self._pipes:
            os.set_blocking(pipe.fileno(), False)
            selector.register(pipe, selectors.EVENT_READ, self)

    def read(self, pipe: Any) -> None:
        """Hands on what is there."""
        stream, lines = self._pipes[pipe]
        data = pipe.read(_READ)
        if data == b"":
            self._selector.unregister(pipe)
        for line in lines.feed(data) if data else []:
            self._sink(stream, line)

    def ended(self) -> int | None:
        """The exit code once it has ended, its last words are handed on, and whatever it started has ended too."""
        if self._process.poll() is None:
            return None
        self._guard.program_ended(self._process)
        self._close()
        return self._process.returncode

    def signal(self, number: int) -> None:
        """A request goes to the program, which knows its own helpers; what kills goes to all of them."""
        if number == signal.SIGKILL:
            kill_group(self._process.pid, signal.SIGKILL)
        elif self._process.poll() is None:
            self._process.send_signal(number)

    def kill(self) -> None:
        """Ends it, and waits until it has."""
        self.signal(signal.SIGKILL)
        self._process.wait()
        self.ended()

    def _close(self) -> None:
        """A process that it started elsewhere may still hold a pipe: that is not waited for."""
        for pipe, (stream, lines) in self._pipes.items():
            rest = pipe.read() if pipe in self._selector.get_map() else None
            for line in lines.feed(rest or b"") + lines.rest():
                self._sink(stream, line)
            if pipe in self._selector.get_map():
                self._selector.unregister(pipe)
            pipe.close()
        self._pipes = {}


def free_ports(count: int, host: str = "127.0.0.1") -> list[int]:
    """Ports without a listener, outside the range from which outgoing connections take theirs:
    a task that is started again must get its own back."""
    lowest = _first_ephemeral_port()
    ports: list[int] = []
    for port in random.SystemRandom().sample(range(lowest // 2, lowest), lowest - lowest // 2):
        if len(ports) == count:
            return ports
        if _is_free(host, port):
            ports.append(port)
    raise OSError(f"there are no {count} free ports between {lowest // 2} and {lowest}")


def _first_ephemeral_port() -> int:
    try:
        with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as file:
            return max(int(file.read().split()[0]), 4096)
    except OSError:  # not Linux: its usual range does elsewhere too, as each port is tried
        return 32768


def _is_free(host: str, port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:  # another process has it
            return False
        return True


