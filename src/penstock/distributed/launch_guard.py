"""No orphans: a small process that outlives the launcher by a moment and ends what it left behind.

Contract. The guard holds the reading end of a pipe whose only writer is the launcher, which tells it of each process group before that group's
program begins (``+PID``) and after it is gone (``-PID``). When the pipe is closed, because the launcher has ended, however that happened,
the guard kills the groups that are left, removes the folders that it was told of (``=PATH``, in hexadecimal digits), and ends. A program waits at a
gate (``wait_at_gate``) until the guard knows of it; if the launcher dies before that, the gate closes and the program never begins.
"""
from __future__ import annotations

import os
import signal
import subprocess
import sys
from types import TracebackType

GATE = "PENSTOCK_LAUNCH_GATE"  # environment variable: the descriptor at which a launched program waits

# Only what every interpreter has at its start: the guard takes little memory and is there at once.
_GUARD = """
import os, signal, sys
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
groups, folders = set(), []
for line in sys.stdin:
    if line[0] == "=":
        folders.append(bytes.fromhex(line[1:]))
    else:
        (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
for group in groups:
    try:
        os.killpg(group, signal.SIGKILL)
    except OSError:
        continue
if folders:
    import shutil, time
    last = time.monotonic() + 5.0
    for folder in folders:
        while os.path.lexists(folder) and time.monotonic() < last:  # a killed program may write for a moment yet
            shutil.rmtree(folder, ignore_errors=True)
            time.sleep(0.05)
"""


class Guard:
    """The launcher's end; a context manager. Leaving it kills every group that is still known, and removes the folders that were named."""

    def __enter__(self) -> Guard:
        self._process = subprocess.Popen([sys.executable, "-I", "-S", "-c", _GUARD], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                         stderr=subprocess.DEVNULL, text=True, start_new_session=True)
        return self

    def start(self, command: list[str], environment: dict[str, str]) -> subprocess.Popen[bytes]:
        """Starts a program in a process group of its own, its output in pipes."""
        gate, opener = os.pipe()
        try:
            process = subprocess.Popen(command, env={**environment, GATE: str(gate)}, pass_fds=(gate,), start_new_session=True,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self._tell(f"+{process.pid}")
            os.write(opener, b"+")
        finally:
            os.close(gate)
            os.close(opener)
        return process

    def remove_at_the_end(self, folder: str) -> None:
        """A folder of the launcher that no program may outlive: it goes with them."""
        self._tell(f"={os.fsencode(os.path.abspath(folder)).hex()}")

    def program_ended(self, process: subprocess.Popen[bytes]) -> None:
        """A program has ended: so does what it started."""
        kill_group(process.pid, signal.SIGKILL)
        self._tell(f"-{process.pid}")

    def _tell(self, line: str) -> None:
        assert self._process.stdin is not None
        print(line, file=self._process.stdin, flush=True)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(10.0)


def kill_group(group: int, number: int) -> None:
    """Sends a signal to a process group; nothing if it is gone."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return


def wait_at_gate() -> None:
    """Called by a launched program before it begins: returns when the guard knows of it. Other programs are not held up."""
    gate = os.environ.pop(GATE, "")
    if not gate.isdigit():
        return
    try:
        opened = os.read(int(gate), 1)
        os.close(int(gate))
    except OSError:  # the variable came from somewhere else
        return
    if not opened:
        sys.exit("the launcher is gone")
