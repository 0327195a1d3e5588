"""A process that saves without pause is killed at any moment: the latest checkpoint is whole, always."""
from __future__ import annotations

import random
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from support.process import environment

from penstock.checkpoint.inspection import CheckpointReader
from penstock.checkpoint.state import latest_checkpoint

# Values that belong together: a mixture of two checkpoints would have two different numbers in it. The first line of output says that one is there.
SAVE_FOREVER = textwrap.dedent("""
    import sys
    import numpy as np
    from penstock.checkpoint.state import update_checkpoint_state, remove_checkpoint
    from penstock.checkpoint.writer import BundleWriter, merge

    folder, kind, number = sys.argv[1], sys.argv[2], int(sys.argv[3])

    def write(prefix, names):
        with BundleWriter(prefix) as writer:
            for name in names:
                writer.add(name, np.full(20000, number))

    while True:
        number += 1
        prefix = f"{folder}/model" if kind == "same" else f"{folder}/model-{number}"
        if kind == "merged":
            parts = [f"{folder}/temp-{number}/{part}" for part in range(2)]
            write(parts[0], ["a", "b"]), write(parts[1], ["c"])
            merge(parts, f"{folder}/model")
            prefix = f"{folder}/model"
        else:
            write(prefix, ["a", "b", "c"])
        update_checkpoint_state(folder, prefix)
        if kind == "new":
            remove_checkpoint(f"{folder}/model-{number - 2}")
        print(number, flush=True)
""")


def kill_and_look(folder, kind, started_at, delay):
    """Runs until some time after the first checkpoint; returns (last number that was reported, number that the latest checkpoint holds)."""
    process = subprocess.Popen([sys.executable, "-c", SAVE_FOREVER, str(folder), kind, str(started_at)], env=environment(),
                               stdout=subprocess.PIPE, text=True)
    try:
        reported = [process.stdout.readline()]
        time.sleep(delay)
    finally:
        process.send_signal(signal.SIGKILL)
        reported += process.stdout.read().split("\n")
        process.stdout.close()
        process.wait()
    last = max(int(line) for line in reported if line.strip())
    path = latest_checkpoint(str(folder))
    assert path is not None
    reader = CheckpointReader(path)
    found = np.unique([reader.get_tensor(name) for name in "abc"])
    assert len(found) == 1, f"a mixture: {found}"
    return last, int(found[0])


def check(folder, kind, times):
    chance, number = random.Random(0), 0
    for _ in range(times):
        last, number = kill_and_look(folder, kind, number, chance.random() * 0.02)
        assert number >= last, f"checkpoint {last} was complete, and is lost"


@pytest.mark.parametrize("kind", ["new", "same", "merged"])
def test_killed_while_saving(tmp_path, kind):
    check(tmp_path, kind, 20)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["new", "same", "merged"])
def test_killed_while_saving_often(tmp_path, kind):
    check(tmp_path, kind, 67)
