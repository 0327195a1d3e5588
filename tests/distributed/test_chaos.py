"""A training job whose tasks are killed and stopped at random ends with the right answer, and leaves nothing behind."""
from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import pytest

from support.training_job import TrainingJob, loss, undisturbed

TASKS = ["ps 0", "ps 1", "worker 0", "worker 1"]


def left_behind(job: TrainingJob) -> list[str]:
    """Processes of the job and files in shared memory that are still there."""
    pids = job.all_pids()
    alive = [f"process {pid}" for pid in pids if Path(f"/proc/{pid}").exists()]
    return alive + [name for name in os.listdir("/dev/shm") if any(f"penstock-{pid}-" in name for pid in pids)]


def chaos(tmp_path: Path, seconds: float, steps: int, pause: tuple[float, float], seed: int) -> tuple[TrainingJob, int]:
    """Runs the job, and for so long sends it signals; returns it with the number of accidents."""
    chance, accidents = random.Random(seed), 0
    with TrainingJob(tmp_path, steps, pace=0.01) as job:
        job.wait_for_step(1)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(chance.uniform(*pause))
            task = chance.choice(TASKS)
            if chance.random() < 0.25:
                stopped = job.signal(task, signal.SIGSTOP)
                time.sleep(chance.uniform(0.5, 2.0))
                accidents += stopped and job.signal(task, signal.SIGCONT)
            else:
                accidents += job.signal(task)
        step, w = job.result(seconds + 120.0)
    assert step == steps, "the exact step, whatever happened"
    expected = loss(undisturbed(steps))
    assert 0.8 * expected < loss(w) < 1.25 * expected, f"the loss is {loss(w)}; undisturbed it is {expected}"
    assert not left_behind(job)
    return job, accidents


def test_a_few_accidents(tmp_path):
    job, accidents = chaos(tmp_path, seconds=8.0, steps=500, pause=(1.5, 3.0), seed=1)
    assert accidents >= 2, job.lines


@pytest.mark.nightly
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", [2, 3])
def test_two_minutes_of_accidents(tmp_path, seed):
    job, accidents = chaos(tmp_path, seconds=120.0, steps=5000, pause=(1.0, 8.0), seed=seed)
    assert accidents >= 10, job.lines
