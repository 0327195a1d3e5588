"""Training jobs whose tasks are killed and stopped at random end with the right answer, and leave nothing behind.

What is promised of asynchronous training (docs/failures.md): the exact step at the end, and weights that have seen each update once. What is
not promised: that a checkpoint is one moment of the whole cluster. Others go on while it is saved or restored, so that the number of updates in the
weights and the global step drift apart by what others did between the two. ``check_updates`` tells the three apart.
"""
from __future__ import annotations

import os
import random
import shutil
import signal
import time
from pathlib import Path

import pytest

from support.certificates import NAMES, make_certificates
from support.training_job import Setting, TrainingJob, expected_loss, loss

TASKS = ["ps 0", "ps 1", "worker 0", "worker 1"]
ALLOWED_DRIFT = 30  # updates, for each accident and for the last checkpoint


def left_behind(job: TrainingJob) -> list[str]:
    """Processes of the job and files in shared memory that are still there."""
    pids = job.all_pids()
    alive = [f"process {pid}" for pid in pids if Path(f"/proc/{pid}").exists()]
    return alive + [name for name in os.listdir("/dev/shm") if any(f"penstock-{pid}-" in name for pid in pids)]


def disturb(job: TrainingJob, seconds: float, pause: tuple[float, float], chance: random.Random) -> int:
    """Sends signals to random tasks for so long; returns how many accidents that were."""
    accidents, end = 0, time.monotonic() + seconds
    while time.monotonic() < end and job.is_running():
        time.sleep(chance.uniform(*pause))
        task = chance.choice(TASKS)
        if chance.random() < 0.25:
            stopped = job.signal(task, signal.SIGSTOP)
            time.sleep(chance.uniform(0.5, 2.0))
            accidents += stopped and job.signal(task, signal.SIGCONT)
        else:
            accidents += job.signal(task)
    return accidents


def check_updates(job: TrainingJob, values: dict, accidents: int) -> int:
    """How many updates more than steps there were; asserts what is promised of the two and of the weights."""
    steps, updates = job.setting.steps, int(values["updates"])
    assert int(values["global_step"]) == steps, "the exact step, whatever happened"
    if job.setting.model == "linear":
        expected = expected_loss(steps, updates)
        assert 0.93 * expected < loss(values["w"]) < 1.07 * expected, f"the loss is {loss(values['w'])}; {updates} updates should give {expected}"
    drift, allowed = updates - steps, ALLOWED_DRIFT * (1 + accidents)
    assert abs(drift) <= allowed, f"{updates} updates in {steps} steps; {accidents} accidents explain at most {allowed}"
    return drift


def check(job: TrainingJob, accidents: int) -> dict:
    """The figures of a job, when it has ended; asserts that it ended as it should."""
    values = job.result()
    figures = {"accidents": accidents, "step": int(values["global_step"])}
    if job.setting.mode == "async":
        figures["drift"] = check_updates(job, values, accidents)
    else:
        assert int(values["global_step"]) >= job.setting.steps
    losses = job.losses()
    figures["loss"] = (losses[0], sum(losses[-4:]) / 4)
    assert figures["loss"][1] < 0.5 * figures["loss"][0], losses
    for worker in range(2):
        assert any((job.folder / f"events-{worker}").iterdir()), f"worker {worker} has written no events"
    assert not left_behind(job)
    return figures


def chaos(folder: Path, seconds: float, setting: Setting, pause: tuple[float, float], seed: int) -> dict:
    """Runs the job, and for so long sends it signals; returns its figures."""
    with TrainingJob(folder, setting) as job:
        job.wait_for_step(1)
        accidents = disturb(job, seconds, pause, random.Random(seed))
        return check(job, accidents)


def test_a_few_accidents(tmp_path):
    figures = chaos(tmp_path, 8.0, Setting(steps=500, pace=0.01), pause=(1.5, 3.0), seed=1)
    assert figures["accidents"] >= 2, figures


# Between them: both that start tasks again, both models (the second with partitioned variables), both ways to train, with TLS and without.
LONG = {
    "launch, async": Setting(steps=12_000, pace=0.03, save_every=100),
    "restarter, async, rnn, tls": Setting(steps=8_000, pace=0.03, save_every=100, model="rnn", restarter=True),
    "launch, sync, rnn, tls": Setting(steps=2_000, pace=0.03, save_every=50, model="rnn", mode="sync"),
    "restarter, sync": Setting(steps=3_000, pace=0.03, save_every=50, mode="sync", restarter=True),
}


def secured(setting: Setting, folder: Path) -> Setting:
    """With certificates; ``penstock launch`` makes a secret besides."""
    setting.variables = dict(zip(NAMES, make_certificates(folder / "tls", "ours")))
    return setting


@pytest.mark.nightly
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", LONG)
def test_ten_minutes_of_accidents(tmp_path, name, seconds=600.0):
    if name.endswith("tls") and shutil.which("openssl") is None:
        pytest.skip("there is no openssl command")
    setting = secured(LONG[name], tmp_path) if name.endswith("tls") else LONG[name]
    figures = chaos(tmp_path, seconds, setting, pause=(1.0, 8.0), seed=len(name))
    print(f"{name}: {seconds:g} s, {figures}")
    assert figures["accidents"] >= seconds / 12, figures
