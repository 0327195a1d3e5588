"""Python programs in processes of their own, which find the same Penstock as the tests."""
from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import penstock

SOURCE = str(Path(penstock.__path__[0]).parent)


def environment(**extra: str) -> dict[str, str]:
    """The variables of this process, with Penstock on the path."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [SOURCE, os.environ.get("PYTHONPATH")])), **extra}


def python(program: str, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Runs a program text. With ``check``, the test fails with the program's stderr if the program fails."""
    command = [sys.executable, "-c", textwrap.dedent(program), *arguments]
    result = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=60)
    if check:
        assert result.returncode == 0, result.stderr
    return result


def line_of(process: subprocess.Popen[str], patience: float = 60.0) -> str:
    """The next line that a process writes; "" if it ends without one, or is killed because it writes none in this time."""
    assert process.stdout is not None
    watchdog = threading.Timer(patience, process.kill)
    watchdog.start()
    try:
        return process.stdout.readline()
    finally:
        watchdog.cancel()
        watchdog.join()


def end_with_parent() -> None:
    """Ends this process when the one that started it is gone, also by kill -9: then its standard input, a pipe of the parent's, ends."""
    def watch() -> None:
        while os.read(0, 1):  # not by sys.stdin, which Python locks and closes when it ends
            pass
        os._exit(1)

    threading.Thread(target=watch, daemon=True, name="end with parent").start()
