"""A process that saves without pause is killed at any moment: the latest checkpoint is whole, always."""
from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from penstock.checkpoint.bundle_writer import BundleWriter
from support.process import python

# Processes are forked from one that has imported everything, so that many can be killed. The values of a checkpoint belong together: a mixture of two
# checkpoints would have two different numbers in it. A child reports each checkpoint that is complete; none of those may be lost.
PROGRAM = """
    import os, random, signal, sys, time
    import numpy as np
    from penstock.checkpoint.contents import CheckpointReader
    from penstock.checkpoint.checkpoint_state import latest_checkpoint, remove_checkpoint, update_checkpoint_state
    from penstock.checkpoint.bundle_writer import BundleWriter, merge

    folder, kind, times = sys.argv[1], sys.argv[2], int(sys.argv[3])

    def write(prefix, number, names):
        with BundleWriter(prefix) as writer:
            for name in names:
                writer.add(name, np.full(200000 if name == "a" else 20000, number))  # a: enough for the thread that writes

    def save(number):
        prefix = f"{folder}/model-{number}" if kind == "new" else f"{folder}/model"
        if kind == "merged":
            parts = [f"{folder}/temp-{number}/{part}" for part in range(2)]
            write(parts[0], number, "ab")
            write(parts[1], number, "c")
            merge(parts, prefix)
        else:
            write(prefix, number, "abc")
        update_checkpoint_state(folder, prefix)
        if kind == "new":
            remove_checkpoint(f"{folder}/model-{number - 2}")

    def save_until_killed(number, delay):
        out, into = os.pipe()
        child = os.fork()
        if not child:
            try:
                while True:
                    number += 1
                    save(number)
                    os.write(into, b"%d " % number)
            finally:
                os._exit(1)  # a copy of the test run must not go on
        os.close(into)
        reported = os.read(out, 100)
        time.sleep(delay)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        with open(out, "rb") as rest:
            return int((reported + rest.read()).split()[-1])

    def number_in_latest():
        reader = CheckpointReader(latest_checkpoint(folder))
        found = np.unique(np.concatenate([reader.get_tensor(name) for name in "abc"]))
        assert len(found) == 1, f"a mixture: {found}"
        return int(found[0])

    chance, number = random.Random(0), 0
    for _ in range(times):
        last = save_until_killed(number, chance.random() * 0.03)
        number = number_in_latest()
        assert number >= last, f"checkpoint {last} was complete, and is lost"
    save(number + 1)
    shards, files = 2 if kind == "merged" else 1, set(os.listdir(folder))
    left = [name for name in files if ".tempstate" in name or ".data-" in name and not (
        name.partition(".data-")[0] + ".index" in files and name.endswith(f"-of-{shards:05d}"))]
    assert not left, f"left by dead processes: {left}"
    print("survived", times)
"""


@pytest.mark.parametrize("kind", ["new", "same", "merged"])
def test_killed_while_saving(tmp_path, kind):
    assert python(PROGRAM, str(tmp_path), kind, "20").stdout == "survived 20\n"


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["new", "same", "merged"])
def test_killed_while_saving_often(tmp_path, kind):
    assert python(PROGRAM, str(tmp_path), kind, "67").stdout == "survived 67\n"


@pytest.fixture
def events(monkeypatch):
    """What happens to files, in order: (what, name without the random part)."""
    found = []

    def note(what, path):
        found.append((what, Path(os.fspath(path)).name.partition(".tempstate")[0]))

    monkeypatch.setenv("PENSTOCK_FSYNC", "1")
    replace, link, remove = os.replace, os.link, os.remove
    monkeypatch.setattr(os, "fsync", lambda descriptor: note("sync", os.readlink(f"/proc/self/fd/{descriptor}")))
    monkeypatch.setattr(os, "replace", lambda source, target: (replace(source, target), note("rename", target)))
    monkeypatch.setattr(os, "link", lambda source, target: (link(source, target), note("link", target)))
    monkeypatch.setattr(os, "remove", lambda path: (remove(path), note("remove", path)))
    return found


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="the names of open files cannot be had")
def test_order_of_writes(tmp_path, events):
    """Against a power failure: nothing is renamed that is not on the disk, and nothing speaks of a file whose name is not."""
    data, index, folder = "model.data-00000-of-00001", "model.index", tmp_path.name
    new = [("sync", data), ("rename", data), ("sync", folder), ("sync", index), ("rename", index), ("sync", folder),
           ("remove", index)]  # (the claim)
    with BundleWriter(str(tmp_path / "model")) as writer:
        writer.add("v", np.zeros(3))
    assert events == new
    events.clear()
    with BundleWriter(str(tmp_path / "model")) as writer:
        writer.add("v", np.ones(3))
    other, change = "model.data-00000-of-00002", [("sync", index), ("rename", index), ("sync", folder)]
    assert events == [("sync", data), ("rename", other), ("sync", folder), *change, ("link", data), ("rename", data), ("sync", folder), *change,
                      ("remove", other), ("remove", index)]
