"""The output of many tasks on one terminal: each line after the name of its task, and a status line below them all."""
from __future__ import annotations

import os
import re
from typing import TextIO

from penstock.distributed.launch_plan import Task

_COLORS = (32, 33, 34, 35, 92, 93, 94, 95)  # of workers, in turn; those that serve are cyan
_SERVING = 36
_LONGEST = 64 << 10  # bytes after which a line is cut
_ERASE = "\r\x1b[K"


def wants_color(stream: TextIO, choice: str = "auto") -> bool:
    """Whether to colour what goes to a stream: ``always``, ``never``, or if it is a terminal and NO_COLOR is not set."""
    if choice != "auto":
        return choice == "always"
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


class Lines:
    """Bytes as they come, cut into lines. Of a line that was rewritten with carriage returns (a progress bar) the last version is kept.

    >>> lines = Lines()
    >>> lines.feed(b"one\\n10%\\r20%\\rdo"), lines.feed(b"ne\\n"), lines.rest()
    (['one'], ['done'], [])
    """

    def __init__(self) -> None:
        self._buffer = b""

    def feed(self, data: bytes) -> list[str]:
        """The lines that are complete now."""
        *whole, self._buffer = (self._buffer + data).split(b"\n")
        if len(self._buffer) > _LONGEST:
            whole.append(self._buffer)
            self._buffer = b""
        return [_visible_text(line) for line in whole]

    def rest(self) -> list[str]:
        """What came without an end of line."""
        left, self._buffer = self._buffer, b""
        return [_visible_text(left)] if left else []


def _visible_text(line: bytes) -> str:
    text = line.decode("utf-8", "replace").rstrip("\r")
    return re.split("\r", text)[-1]


class Printer:
    """Writes lines of tasks, and of the launcher itself; keeps a status line at the bottom if it has a terminal."""

    def __init__(self, out: TextIO, err: TextIO, tasks: list[Task], color: str = "auto", status: bool = True) -> None:
        self._streams = {"out": (out, wants_color(out, color)), "err": (err, wants_color(err, color))}
        self._width = max((len(str(task)) for task in tasks), default=0)
        self._codes = {task: _SERVING if task.serves else _COLORS[task.index % len(_COLORS)] for task in tasks}
        self._err = err
        self._has_status = status and err.isatty() and os.environ.get("TERM") != "dumb"
        self._status = ""
        self.unread = False  # True once the output is no longer read: `penstock launch ... | head`

    def line(self, task: Task, stream: str, text: str) -> None:
        """A line of a task's ``out`` or ``err``."""
        self._write(stream, f"{str(task).ljust(self._width)} |", text, self._codes[task])

    def note(self, text: str) -> None:
        """A line of the launcher."""
        self._write("err", "penstock:", text, 1)

    def status(self, text: str) -> None:
        """Replaces the status line."""
        if self._has_status and text != self._status:
            self._status = text
            self._err.write(_ERASE + text)
            self._err.flush()

    def close(self) -> None:
        """Takes the status line away."""
        self.status("")

    def _write(self, stream: str, prefix: str, text: str, code: int) -> None:
        target, colored = self._streams[stream]
        if self._status:
            self._err.write(_ERASE)
            self._err.flush()
        try:
            target.write(f"\x1b[{code}m{prefix}\x1b[0m {text}\n" if colored else f"{prefix} {text}\n")
            target.flush()
        except UnicodeEncodeError:  # a terminal without UTF-8
            target.write(f"{prefix} {text.encode('ascii', 'backslashreplace').decode()}\n")
        except BrokenPipeError:
            self.unread = True
            os.dup2(os.open(os.devnull, os.O_WRONLY), target.fileno())  # what is still to come, and what Python has kept until its end
        if self._status:
            self._err.write(self._status)
            self._err.flush()
