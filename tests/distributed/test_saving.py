"""Checkpoints of a cluster when the disk is full, or a task is killed while it writes one. See docs/failures.md."""
from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import penstock as tf
from support.cluster import PATIENCE, Processes
from support.process import environment, line_of

LIMIT = 10.0


@pytest.fixture(scope="module")
def cluster():
    with Processes(ps=1, worker=1) as cluster:
        yield cluster


@pytest.fixture
def small_disk(tmp_path):
    """A file system of one megabyte."""
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(tmp_path)], capture_output=True).returncode:
        pytest.skip("a small file system can only be mounted by root")
    yield tmp_path
    subprocess.run(["umount", "-l", str(tmp_path)], check=True)


def model(name: str, size: int):
    with tf.device("/job:ps/task:0"):
        v = tf.get_variable(name, [size], initializer=tf.zeros_initializer())
        step = tf.train.get_or_create_global_step()
    return v, step, tf.group(tf.assign_add(v, tf.ones([size])), tf.assign_add(step, 1))


def value_in(checkpoint: str, name: str) -> float:
    """All elements of a variable are equal, or the checkpoint is a mixture."""
    found = np.unique(tf.train.load_variable(checkpoint, name))
    assert len(found) == 1
    return float(found[0])


def test_a_full_disk(cluster, small_disk):
    _, step, train = model("v", 75_000)
    folder = str(small_disk / "checkpoints")

    def training():
        return tf.train.MonitoredTrainingSession(cluster.target("worker", 0), checkpoint_dir=folder, save_checkpoint_steps=1,
                                                 save_checkpoint_secs=None, save_summaries_steps=None, log_step_count_steps=None)

    with pytest.raises(tf.errors.ResourceExhaustedError, match="No space left on device") as caught:
        with training() as session:
            for _ in range(10):
                session.run(train)
    assert folder in caught.value.message and "max_to_keep" in caught.value.message, "it says where, and what to try"
    last = tf.train.latest_checkpoint(folder)
    saved = tf.train.load_variable(last, "global_step")
    assert 1 <= saved < 10 and value_in(last, "v") == saved, "the checkpoint before is whole, and still the latest"
    assert not [file for file in Path(folder).glob("*temp*/**/*") if file.is_file()], "nothing half-written takes up room"

    for old in Path(folder).glob("model.ckpt-*"):  # another program makes room
        if old.is_file() and not old.name.startswith(os.path.basename(last)):
            old.unlink()
    with training() as session:
        assert session.run(step) == saved
        session.run(train)
    assert value_in(tf.train.latest_checkpoint(folder), "v") == saved + 1


class Saving:
    """A save under way in a thread."""

    def __init__(self, saver, session, path, number):
        self.error = None
        self._thread = threading.Thread(target=self._work, args=(saver, session, path, number), daemon=True)
        self._thread.start()

    def _work(self, saver, session, path, number):
        try:
            saver.save(session, path, global_step=number, write_meta_graph=False)
        except tf.errors.OpError as error:
            self.error = error

    def ended(self):
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive(), "the save hangs"
        return self.error


def stop_while_saving(cluster, saver, session, train, folder) -> tuple[int, Saving]:
    """Starts saves, until the ps is caught in the middle of one."""
    for number in range(2, 12):
        session.run(train)
        saving, deadline = Saving(saver, session, f"{folder}/model", number), time.monotonic() + PATIENCE
        known = set(os.listdir(folder))
        while set(os.listdir(folder)) <= known:  # until something new is written
            assert time.monotonic() < deadline
        cluster.signal("ps", 0, signal.SIGSTOP)
        if not os.path.exists(f"{folder}/model-{number}.index"):
            return number, saving
        cluster.signal("ps", 0, signal.SIGCONT)
        assert saving.ended() is None
    raise AssertionError("saving was always faster")


def test_killed_while_saving(cluster, tmp_path):
    """The ps dies in the middle of a checkpoint: the one before is whole and the latest, and training goes on from it."""
    v, _, train = model("big", 16 << 20)
    saver = tf.train.Saver([v], max_to_keep=2, sharded=True)  # each task writes its own variables
    with tf.Session(cluster.target("worker", 0)) as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        saver.save(session, f"{tmp_path}/model", global_step=1, write_meta_graph=False)
        number, saving = stop_while_saving(cluster, saver, session, train, tmp_path)
        moment = time.monotonic()
        cluster.kill("ps", 0)
        error = saving.ended()
        assert isinstance(error, tf.errors.UnavailableError) and "/job:ps/replica:0/task:0" in error.message
        assert time.monotonic() - moment < LIMIT
        last = tf.train.latest_checkpoint(str(tmp_path))
        assert last == f"{tmp_path}/model-{number - 1}" and value_in(last, "big") == number - 1

        cluster.start("ps", 0)
        deadline = time.monotonic() + LIMIT
        while True:
            with contextlib.suppress(tf.errors.UnavailableError, tf.errors.AbortedError):
                saver.restore(session, last)
                break
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert np.all(session.run(v) == number - 1)
        saver.save(session, f"{tmp_path}/model", global_step=number, write_meta_graph=False)
        assert value_in(tf.train.latest_checkpoint(str(tmp_path)), "big") == number - 1
    assert not list(tmp_path.glob("*temp*")), "nothing is left of the save that failed"


SAVING = """
import sys
import penstock as tf

target, folder = sys.argv[1:]
with tf.device("/job:ps/task:0"):
    v = tf.get_variable("large", [16 << 20], initializer=tf.zeros_initializer())
saver = tf.train.Saver([v], sharded=True)
with tf.Session(target) as session:
    session.run(v.initializer)
    print("go", flush=True)
    for number in range(1, 1000):
        saver.save(session, folder + "/model", global_step=number, write_meta_graph=False)
"""


def test_a_client_killed_while_saving(cluster, tmp_path):
    """What it has left goes with the next save, of whomever."""
    process = subprocess.Popen([sys.executable, "-c", SAVING, cluster.target("worker", 0), str(tmp_path)], env=environment(), stdout=subprocess.PIPE)
    assert line_of(process) == b"go\n"
    deadline = time.monotonic() + PATIENCE
    while not list(tmp_path.glob("*_temp_*/part-*")):
        assert time.monotonic() < deadline
    process.kill()
    process.wait(PATIENCE)
    process.stdout.close()
    v, _, train = model("small", 10)
    with tf.Session(cluster.target("worker", 0)) as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        deadline = time.monotonic() + PATIENCE
        while True:  # the ps may still be writing for the client that is dead
            tf.train.Saver([v], sharded=True).save(session, f"{tmp_path}/other")
            if not list(tmp_path.glob("*temp*")):
                break
            assert time.monotonic() < deadline
    assert value_in(f"{tmp_path}/other", "small") == 1.0
