"""A training job in processes, for tests that disturb it: two ps, two workers (``support/training_program.py``), and what starts them again."""
from __future__ import annotations

import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from penstock.checkpoint.checkpoint_state import latest_checkpoint
from penstock.checkpoint.contents import CheckpointReader
from support.process import environment
from support.training_program import TRUE

PATIENCE = 120.0
HERE = Path(__file__).parent


@dataclass
class Setting:
    """What is trained, and how."""

    steps: int
    pace: float = 0.005  # seconds between two steps of a worker
    save_every: int = 25
    model: str = "linear"  # or "rnn", with partitioned variables
    mode: str = "async"  # or "sync"
    restarter: bool = False  # instead of `penstock launch`
    variables: dict[str, str] = field(default_factory=dict)  # of the environment

    def command(self) -> list[str]:
        """What runs the job."""
        program = [str(HERE / "training_program.py"), "checkpoints", str(self.steps), str(self.pace), str(self.save_every), self.model, self.mode]
        if self.restarter:
            return [sys.executable, str(HERE / "restarter.py"), "2", "2", *program]
        return [sys.executable, "-m", "penstock", "launch", "--ps", "2", "--workers", "2", "--max-restarts", "1000", "--grace", "2", *program]


def expected_loss(steps: int, updates: int) -> float:
    """The loss of the linear model after so many updates, at the rate of a job of so many steps: each goes the same part of the way that is left."""
    return float(np.sum(np.square(TRUE))) * (1.0 - 2.0 / steps) ** (2 * updates)


def loss(w: np.ndarray) -> float:
    """That of the linear model."""
    return float(np.sum(np.square(w - TRUE)))


class TrainingJob:
    """A context manager that leaves no process behind."""

    def __init__(self, folder: Path, setting: Setting) -> None:
        self.folder, self.setting = folder, setting
        self._process = subprocess.Popen(setting.command(), cwd=folder, env=environment(**setting.variables), text=True, stdout=subprocess.PIPE,
                                         stderr=subprocess.STDOUT)
        self.lines: list[str] = []
        self._news: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.lines.append(line.rstrip())
            self._news.put(line)
        self._news.put(None)

    def __enter__(self) -> TrainingJob:
        return self

    def wait_for(self, pattern: str, seconds: float = PATIENCE) -> re.Match[str]:
        """The next line that matches."""
        deadline = time.monotonic() + seconds
        while True:
            line = self._news.get(timeout=max(0.01, deadline - time.monotonic()))
            assert line is not None, "\n".join(["the job has ended:", *self.lines])
            found = re.search(pattern, line)
            if found:
                return found

    def pids(self) -> dict[str, int]:
        """The processes of the tasks that have begun, by name: the last one of each."""
        matches = [re.match(r"(\w+ \d+) +\| pid (\d+)", line) for line in list(self.lines)]
        return {found[1]: int(found[2]) for found in matches if found}

    def all_pids(self) -> list[int]:
        """All processes that tasks have had."""
        return [int(found[1]) for found in (re.search(r"\| pid (\d+)", line) for line in self.lines) if found]

    def signal(self, task: str, number: int = signal.SIGKILL) -> bool:
        """Sends a signal to a task; False if it has none just now."""
        pid = self.pids().get(task)
        try:
            if pid is None or "training_program" not in Path(f"/proc/{pid}/cmdline").read_text():  # the number may be another process's by now
                return False
            os.kill(pid, number)
        except (FileNotFoundError, ProcessLookupError):
            return False
        return True

    def is_running(self) -> bool:
        """Whether the job has not ended."""
        return self._process.poll() is None

    def step_saved(self) -> int:
        """The step of the latest checkpoint; 0 without one."""
        path = latest_checkpoint(str(self.folder / "checkpoints"))
        return int(path.rpartition("-")[2]) if path else 0

    def wait_for_step(self, step: int) -> None:
        """Until a checkpoint of this step or a later one is there."""
        deadline = time.monotonic() + PATIENCE
        while self.step_saved() < step:
            assert time.monotonic() < deadline and self._process.poll() is None, "\n".join(self.lines)
            time.sleep(0.05)

    def result(self) -> dict[str, np.ndarray]:
        """The variables at the end of the job; asserts that it ended well. It may take its time, as long as it goes on."""
        step, looks = -1, 0  # counted, not timed: where the job gets no processor, neither does this loop
        while self.is_running():
            step, looks = (step, looks + 1) if self.step_saved() == step else (self.step_saved(), 0)
            assert looks < 10 * PATIENCE, "\n".join(["the job makes no steps:", *self.lines])
            time.sleep(0.1)
        self._reader.join(10.0)
        assert self._process.returncode == 0, "\n".join(self.lines)
        reader = CheckpointReader(latest_checkpoint(str(self.folder / "checkpoints")))
        return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}

    def losses(self) -> list[float]:
        """Those that workers have seen, now and then."""
        matches = [re.search(r"\| loss (\S+)", line) for line in list(self.lines)]
        return [float(found[1]) for found in matches if found]

    def __exit__(self, *error: Any) -> None:
        if self._process.poll() is None:
            self._process.kill()  # the launcher's guard ends the tasks; the restarter has none
            if self.setting.restarter:
                self._reader.join(1.0)
                for task in self.pids():
                    self.signal(task)
        self._process.wait()
        self._reader.join(10.0)
        assert self._process.stdout is not None
        self._process.stdout.close()
