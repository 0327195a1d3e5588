"""Processes that measure: one that stays for a case and answers questions, or a fresh one for each number."""
from __future__ import annotations

import json
import signal
import subprocess
import threading
from pathlib import Path
from typing import Any

from peers import Peer, environment, python_of

HERE = Path(__file__).parent
READY = 900  # seconds until a process has warmed up,
ANSWER = 600  # or has run one round


class BenchmarkFailed(Exception):
    """A measuring process ended without a result; the message has its last words."""


class Worker:
    """A process with one step of one framework; it is idle unless asked."""

    def __init__(self, peer: Peer, case: str) -> None:
        self.peer, self.case = peer, case
        command = [python_of(peer), str(HERE / "worker.py"), peer.module, peer.variant, case]
        self.process = subprocess.Popen(command, env=environment(peer), cwd=HERE, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        self._words: list[str] = []
        self._listener = threading.Thread(target=self._listen, daemon=True)  # a full pipe would stop the process
        self._listener.start()
        self.about = self._read(READY)

    def round(self, seconds: float) -> float:
        """The time of the fastest step within a span of time."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{seconds}\n")
        self.process.stdin.flush()
        return float(self._read(ANSWER)["seconds"])

    def close(self) -> None:
        """Ends the process."""
        assert self.process.stdin is not None and self.process.stdout is not None and self.process.stderr is not None
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._listener.join(2)
        self.process.stdout.close()
        self.process.stderr.close()

    def _listen(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self._words = [*self._words[-4:], line.rstrip()]

    def _read(self, seconds: float) -> dict[str, Any]:
        """The next line of JSON; whatever else a framework prints is skipped."""
        assert self.process.stdout is not None
        late = threading.Event()
        timer = threading.Timer(seconds, lambda: (late.set(), self.process.kill()))
        timer.start()
        try:
            for line in self.process.stdout:
                if line.startswith("{"):
                    return dict(json.loads(line))
        finally:
            timer.cancel()
        how = _ending(self.process.wait()) if not late.is_set() else f"no answer within {seconds:.0f} seconds"
        self.close()
        raise BenchmarkFailed("\n".join([f"{self.peer.label}, {self.case}: {how}", *self._words]))


def _ending(code: int) -> str:
    """How a process ended that should have answered."""
    return f"ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"


def measure_afresh(peer: Peer, script: str, measurement: str) -> dict[str, Any]:
    """What a fresh process of a script with core.py's arguments prints."""
    command = [python_of(peer), str(HERE / script), peer.variant, measurement]
    try:
        done = subprocess.run(command, env=environment(peer), cwd=HERE, capture_output=True, text=True, timeout=READY)
    except subprocess.TimeoutExpired as error:
        raise BenchmarkFailed(f"{peer.label}, {measurement}: no result within {READY} seconds") from error
    if done.returncode != 0:
        words = done.stderr.strip().splitlines()[-5:]
        raise BenchmarkFailed("\n".join([f"{peer.label}, {measurement}: {_ending(done.returncode)}", *words]))
    return dict(json.loads(done.stdout.splitlines()[-1]))
