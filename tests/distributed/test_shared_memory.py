"""Files in shared memory: only what this user wrote for this is taken, and nothing is left behind."""
from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from penstock.distributed import shared_memory
from penstock.distributed.messages import MalformedMessage
from penstock.distributed.shared_memory import SharedFiles, sweep, take

pytestmark = pytest.mark.process


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(shared_memory, "FOLDER", str(tmp_path))
    return tmp_path


def test_what_is_written_is_taken_once(folder):
    files = SharedFiles()
    name = files.write([b"abc", np.arange(4, dtype=np.uint8), b""])
    assert (folder / name).stat().st_mode & 0o777 == 0o600
    assert take(name).tobytes() == b"abc\x00\x01\x02\x03" and not list(folder.iterdir())
    with pytest.raises(MalformedMessage):
        take(name)
    assert take(files.write([])).size == 0


def test_untaken_files_are_removed(folder, monkeypatch):
    files = SharedFiles()
    files.write([b"x"])
    monkeypatch.setattr(shared_memory, "_SECONDS", -1.0)
    files.write([b"y"])
    assert len(list(folder.iterdir())) == 1
    files.close()
    assert not list(folder.iterdir())


@pytest.mark.parametrize("name", ["", "..", "../../etc/passwd", "/etc/passwd", "penstock-1-" + "g" * 32, "penstock-1-" + "a" * 32 + "/..", "passwd"])
def test_other_names_are_refused(folder, name):
    with pytest.raises(MalformedMessage):
        take(name)


def test_links_and_folders_are_refused(folder):
    (folder / "target").write_bytes(b"secret")
    os.symlink(folder / "target", folder / ("penstock-1-" + "a" * 32))
    (folder / ("penstock-1-" + "b" * 32)).mkdir()
    for letter in "ab":
        with pytest.raises(MalformedMessage):
            take("penstock-1-" + letter * 32)
    assert (folder / "target").exists()


def test_the_files_of_the_dead_are_swept(folder):
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    left, other = folder / f"penstock-{dead.pid}-{'a' * 32}", folder / "somebody-elses"
    for path in (left, other):
        path.write_bytes(b"x")
    mine = SharedFiles().write([b"x"])
    sweep()
    assert {path.name for path in folder.iterdir()} == {mine, other.name}


def test_no_room(monkeypatch):
    monkeypatch.setattr(shared_memory, "FOLDER", "/nowhere")
    assert SharedFiles().write([b"x"]) is None
    sweep()
