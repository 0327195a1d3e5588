"""Trainings that are interrupted, alone and on a cluster, go on from their last checkpoint and end at the exact step. Real processes and signals."""
from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import penstock as tf
from support.cluster import PATIENCE, free_ports
from support.estimator_job import Job
from support.process import environment
from support.training import SAVE_EVERY, TARGET, weights_after

pytestmark = pytest.mark.cluster
LAST, KILL_AT = 60, 25


def test_a_job_ends_with_the_tests_that_started_it(tmp_path):
    """Those may be killed: then nothing else ends a job that waits."""
    program = ["import sys", "from support.estimator_job import Job", "job = Job(sys.argv[1], 9)", "job.until('step', 2)",
               "print(job.process.pid, flush=True)", "input()"]
    (tmp_path / "limit").write_text("2")
    variables = environment(PYTHONPATH=os.pathsep.join([environment()["PYTHONPATH"], str(Path(__file__).parents[1])]))
    command = [sys.executable, "-c", "\n".join(program), str(tmp_path / "model")]
    with subprocess.Popen(command, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as tests:
        job = int(tests.stdout.readline())
        tests.kill()
        end = time.monotonic() + PATIENCE
        while _is_running(job) and time.monotonic() < end:
            time.sleep(0.01)
        assert not _is_running(job)


def _is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"  # nobody may be there to wait for it
    except OSError:
        return False


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=["kill -9", "Ctrl-C"])
def test_a_run_that_is_interrupted(number, tmp_path):
    folder, limit = tmp_path / "model", tmp_path / "limit"
    limit.write_text(str(KILL_AT))
    with Job(folder, LAST) as job:
        assert job.until("from") == 0
        job.until("step", KILL_AT)
        job.process.send_signal(number)
        assert job.process.wait(PATIENCE) != 0
    assert tf.train.load_variable(str(folder), "global_step") == KILL_AT // SAVE_EVERY * SAVE_EVERY
    limit.unlink()
    with Job(folder, LAST) as job:
        assert job.until("from") == KILL_AT // SAVE_EVERY * SAVE_EVERY
        assert job.until("evaluated", LAST) == job.until("done") == LAST and job.process.wait(PATIENCE) == 0
    assert tf.train.load_variable(str(folder), "global_step") == LAST
    np.testing.assert_array_equal(tf.train.load_variable(str(folder), "w0"), weights_after(LAST))


def test_every_task_of_a_cluster_is_killed(tmp_path):
    """Evaluator, worker, ps and chief are killed in turn. When the worker is gone for good, the chief ends at the exact step."""
    folder, limit = tmp_path / "model", tmp_path / "limit"
    ports = iter(free_ports(3))
    cluster = {job: [f"127.0.0.1:{next(ports)}"] for job in ("chief", "worker", "ps")}
    with contextlib.ExitStack() as stack:
        running: dict[str, Job] = {}

        def start(job):
            running[job] = stack.enter_context(Job(folder, LAST, cluster, (job, 0)))

        limit.write_text("8")
        for job in ("ps", "chief", "evaluator"):
            start(job)
        running["chief"].until("step", 5)
        running["evaluator"].until("evaluated")
        running["evaluator"].kill()
        start("worker")
        running["worker"].until("step", 8)
        running["worker"].kill()
        start("evaluator")
        limit.write_text("15")
        running["chief"].until("step", 15)
        running["ps"].kill()
        start("ps")
        limit.write_text("30")
        assert 0 < running["chief"].until("from") < 15, "all variables are restored from the last checkpoint"
        running["chief"].until("step", 30)
        start("worker")
        running["worker"].until("step", 30)
        running["worker"].kill()
        running["chief"].kill()
        start("chief")
        assert 15 < running["chief"].until("from") <= 31
        limit.unlink()
        assert running["chief"].until("done") == LAST and running["chief"].process.wait(PATIENCE) == 0
        assert running["evaluator"].until("evaluated", LAST) == LAST and running["evaluator"].process.wait(PATIENCE) == 0
    assert tf.train.load_variable(str(folder), "global_step") == LAST
    np.testing.assert_allclose(tf.train.load_variable(str(folder), "w0"), TARGET, atol=0.05)  # two workers: some gradients were stale


def test_every_task_of_an_experiment_is_killed(tmp_path):
    """The same for Experiment and learn_runner: ps, master and worker of TF_CONFIG, and a process that evaluates."""
    folder, limit = tmp_path / "model", tmp_path / "limit"
    ports = iter(free_ports(3))
    cluster = {job: [f"127.0.0.1:{next(ports)}"] for job in ("master", "worker", "ps")}
    with contextlib.ExitStack() as stack:
        running: dict[str, Job] = {}

        def start(job):
            if job == "evaluator":
                running[job] = stack.enter_context(Job(folder, LAST, kind=("experiment", "continuous_eval")))
            else:
                running[job] = stack.enter_context(Job(folder, LAST, cluster, (job, 0), ("experiment",)))

        limit.write_text("8")
        for job in ("ps", "master", "evaluator"):
            start(job)
        running["master"].until("step", 5)
        running["evaluator"].until("evaluated")
        running["evaluator"].kill()
        start("worker")
        running["worker"].until("step", 8)
        running["worker"].kill()
        limit.write_text("15")
        running["master"].until("step", 15)
        running["ps"].kill()
        start("ps")
        start("evaluator")
        limit.write_text("30")
        assert 0 < running["master"].until("from") < 15, "all variables are restored from the last checkpoint"
        running["master"].until("step", 30)
        start("worker")
        running["worker"].until("step", 30)
        running["worker"].kill()
        running["master"].kill()
        start("master")
        assert 15 < running["master"].until("from") <= 31
        limit.unlink()
        assert running["master"].until("evaluated", LAST) == LAST
        assert running["master"].until("done") == LAST and running["master"].process.wait(PATIENCE) == 0
        assert running["evaluator"].until("evaluated", LAST) == LAST and running["evaluator"].process.wait(PATIENCE) == 0
    assert tf.train.load_variable(str(folder), "global_step") == LAST
    np.testing.assert_allclose(tf.train.load_variable(str(folder), "w0"), TARGET, atol=0.05)  # two workers: some gradients were stale
