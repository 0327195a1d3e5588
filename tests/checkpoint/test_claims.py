"""What dead processes have left of unfinished checkpoints goes with the next save; what live ones are writing stays, however long they sleep."""
from __future__ import annotations

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

import penstock as tf
from penstock.checkpoint import claims
from penstock.checkpoint.bundle_writer import BundleWriter
from support.process import environment

PATIENCE = 20.0
UNFINISHED = """
import sys, time
import numpy as np
from penstock.checkpoint.claims import claim_folders
from penstock.checkpoint.bundle_writer import BundleWriter

kind, path = sys.argv[1:]
if kind == "file":
    writer = BundleWriter(path)
    writer.add("v", np.zeros(1 << 20))
else:
    folder = claim_folders([path])
    folder.__enter__()
    with BundleWriter(path + "/part-00000-of-00002") as writer:
        writer.add("v", np.zeros(3))
    part = BundleWriter(path + "/part-00001-of-00002")
print("writing", flush=True)
time.sleep(100)
"""
FOLDER = "model-3_temp_0123456789abcdef0123456789abcdef"


@pytest.fixture
def unfinished():
    """Starts a process that is in the middle of writing something."""
    started = []

    def start(kind, path):
        process = subprocess.Popen([sys.executable, "-c", UNFINISHED, kind, str(path)], env=environment(), stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout.readline() == "writing\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.wait(PATIENCE)
        process.stdout.close()


def kill(process):
    process.kill()
    process.wait(PATIENCE)


def save(folder, sharded=False):
    """Saves a variable as the checkpoint ``other-1`` of a folder."""
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.Variable([1.0, 2.0], name="v")
        sess.run(v.initializer)
        path = tf.train.Saver(sharded=sharded).save(sess, str(folder / "other"), global_step=1)
    assert tf.train.load_variable(path, "v").tolist() == [1, 2]


def temporary(folder):
    return sorted(path.name for path in folder.iterdir() if "temp" in path.name)


@pytest.mark.parametrize("sharded", [False, True])
def test_an_unfinished_file(tmp_path, unfinished, sharded):
    alive, dead = unfinished("file", tmp_path / "model-1"), unfinished("file", tmp_path / "model-2")
    assert len(temporary(tmp_path)) == 2
    alive.send_signal(signal.SIGSTOP)
    kill(dead)
    save(tmp_path, sharded)
    left = temporary(tmp_path)
    assert len(left) == 1 and left[0].startswith("model-1."), "the process that sleeps may go on writing"
    kill(alive)
    save(tmp_path, sharded)
    assert not temporary(tmp_path)


@pytest.mark.parametrize("sharded", [False, True])
def test_an_unfinished_sharded_checkpoint(tmp_path, unfinished, sharded):
    process = unfinished("folder", tmp_path / FOLDER)
    before = sorted(os.listdir(tmp_path / FOLDER))
    assert len(before) == 4, "the owner, one part with its index, and one that is being written"
    save(tmp_path, sharded)
    assert temporary(tmp_path) == [FOLDER] and sorted(os.listdir(tmp_path / FOLDER)) == before
    kill(process)
    save(tmp_path, sharded)
    assert not temporary(tmp_path)


def test_without_locks_age_decides(tmp_path, monkeypatch):
    """What TensorFlow has left has no owner; and there are file systems without locks."""
    others = ["model.index.tempstate123", FOLDER]

    def refuse(descriptor, operation):
        raise OSError("there are no locks here")

    monkeypatch.setattr(claims.fcntl, "flock", refuse)
    (tmp_path / others[1]).mkdir()
    unfinished = BundleWriter(str(tmp_path / "mine"))
    left = [tmp_path / others[0], tmp_path / FOLDER / "part-00000-of-00001.index", tmp_path / FOLDER]
    for path in left[:2]:
        path.touch()
    names = temporary(tmp_path)
    assert len(names) == 3
    save(tmp_path)
    assert temporary(tmp_path) == names, "all of them are fresh"
    for path in [*left, *tmp_path.glob("mine*")]:
        os.utime(path, (0, 0))
    with BundleWriter(str(tmp_path / "model")) as writer:
        writer.add("v", np.ones(2))
    save(tmp_path)
    assert not temporary(tmp_path)
    unfinished._file.discard()


def test_what_cannot_be_removed_stays(tmp_path, unfinished, monkeypatch):
    """In a folder that users share, files may be another user's: that is no reason for a save to fail."""
    for kind, name in (("file", "model-1"), ("folder", FOLDER)):
        kill(unfinished(kind, tmp_path / name))
    names = temporary(tmp_path)
    assert len(names) == 2
    remove = os.remove

    def refuse(path):
        if "model-1" in path or FOLDER in path:
            raise PermissionError(f"Operation not permitted: {path}")
        remove(path)

    with monkeypatch.context() as patch:
        patch.setattr(claims.os, "remove", refuse)
        for sharded in (False, True):
            save(tmp_path, sharded)
    assert temporary(tmp_path) == names
    save(tmp_path, sharded=True)
    assert not temporary(tmp_path)


def test_nothing_else_is_touched(tmp_path):
    """A folder that only looks like one of ours keeps what is not ours."""
    mine, named = tmp_path / FOLDER, tmp_path / "my_temp_files"
    for folder in (mine, named):
        folder.mkdir()
        (folder / "notes.txt").touch()
        os.utime(folder / "notes.txt", (0, 0))
        os.utime(folder, (0, 0))
    save(tmp_path, sharded=True)
    assert (mine / "notes.txt").exists() and (named / "notes.txt").exists()


def test_who_cleans_up_between_the_making_and_the_locking_of_a_file(tmp_path, monkeypatch):
    """Then the file is made again: it would be without a name."""
    path, flock, times = tmp_path / "model.index.tempstate_0", claims.fcntl.flock, []

    def late(descriptor, operation):
        times.append(operation)
        if len(times) == 1:
            os.remove(path)
        flock(descriptor, operation)

    monkeypatch.setattr(claims.fcntl, "flock", late)
    descriptor = claims.create(str(path))
    assert path.exists() and len(times) == 2
    os.close(descriptor)
