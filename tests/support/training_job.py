"""A training job under ``penstock launch`` whose tasks can be killed by name: linear regression on two ps by two asynchronous workers.

A step takes its number from the global step with ``tf.count_up_to`` before it updates the weights, so that however many workers there are, the job
ends at exactly the step that was asked for. The learning rate is 1 / steps: the loss at the end tells how many updates there were.
"""
from __future__ import annotations

import os
import queue
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from penstock.checkpoint.checkpoint_state import latest_checkpoint
from penstock.checkpoint.contents import CheckpointReader
from support.process import environment

PATIENCE = 120.0
BATCH, SEED = 16, 0
TRUE = np.array([[2.0], [-3.0], [0.5], [1.0]], np.float32)

PROGRAM = """
    import json, os, sys, time
    import numpy as np
    import tensorflow as tf
    print("pid", os.getpid(), flush=True)
    folder, last, pace, every = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
    config = json.loads(os.environ["TF_CONFIG"])
    job, index = config["task"]["type"], config["task"]["index"]
    server = tf.train.Server(config["cluster"], job_name=job, task_index=index)
    if job == "ps":
        server.join()
        sys.exit()
    true, rng = np.array(%(true)r, np.float32), np.random.RandomState(os.getpid())
    with tf.device(tf.train.replica_device_setter(cluster=config["cluster"], worker_device="/job:worker/task:%%d" %% index)):
        step = tf.train.get_or_create_global_step()
        w = tf.get_variable("w", [4, 1], initializer=tf.zeros_initializer())
        x, y = tf.placeholder(tf.float32, [None, 4]), tf.placeholder(tf.float32, [None, 1])
        loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y))
        optimizer = tf.train.GradientDescentOptimizer(1.0 / last)
        gradients = optimizer.compute_gradients(loss)
        with tf.control_dependencies([tf.count_up_to(step, last)]):
            train = optimizer.apply_gradients(gradients)
    only = tf.ConfigProto(device_filters=["/job:ps", "/job:worker/task:%%d" %% index])
    with tf.train.MonitoredTrainingSession(server.target, is_chief=index == 0, checkpoint_dir=folder, save_checkpoint_secs=None,
                                           save_checkpoint_steps=every, save_summaries_steps=None, log_step_count_steps=None, config=only) as sess:
        print("at", sess.run(step), flush=True)
        while not sess.should_stop():
            inputs = rng.normal(size=(%(batch)r, 4)).astype(np.float32)
            sess.run(train, {x: inputs, y: inputs @ true})
            time.sleep(pace)
""" % {"true": TRUE.tolist(), "batch": BATCH}


def undisturbed(steps: int) -> np.ndarray:
    """The weights of the same training by one process, without accidents."""
    w, rng = np.zeros_like(TRUE), np.random.RandomState(SEED)
    for _ in range(steps):
        x = rng.normal(size=(BATCH, 4)).astype(np.float32)
        w = w - 2.0 / (BATCH * steps) * (x.T @ (x @ w - x @ TRUE))
    return w


def loss(w: np.ndarray) -> float:
    """The expected loss, for inputs of variance 1."""
    return float(np.sum(np.square(w - TRUE)))


class TrainingJob:
    """A context manager that leaves no process behind."""

    def __init__(self, folder: Path, steps: int, pace: float = 0.005, save_every: int = 25, ps: int = 2) -> None:
        self.folder = folder
        (folder / "prog.py").write_text(textwrap.dedent(PROGRAM), encoding="utf-8")
        command = [sys.executable, "-m", "penstock", "launch", "--ps", str(ps), "--workers", "2", "--max-restarts", "1000", "--grace", "2", "prog.py",
                   "checkpoints", str(steps), str(pace), str(save_every)]
        self._process = subprocess.Popen(command, cwd=folder, env=environment(), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
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
        try:
            os.kill(self.pids()[task], number)
        except (KeyError, ProcessLookupError):
            return False
        return True

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

    def result(self, seconds: float = PATIENCE) -> tuple[int, np.ndarray]:
        """(global step, weights) at the end of the job; asserts that it ended well."""
        code = self._process.wait(seconds)
        self._reader.join(10.0)
        assert code == 0, "\n".join(self.lines)
        reader = CheckpointReader(latest_checkpoint(str(self.folder / "checkpoints")))
        return int(reader.get_tensor("global_step")), reader.get_tensor("w")

    def __exit__(self, *error: Any) -> None:
        if self._process.poll() is None:
            self._process.kill()  # the launcher's guard ends the tasks
        self._process.wait()
        self._reader.join(10.0)
        assert self._process.stdout is not None
        self._process.stdout.close()
