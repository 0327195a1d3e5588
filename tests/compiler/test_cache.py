"""The kernels on disk: sound, shared, bounded."""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import penstock.ops
from penstock.cli.main import main
from penstock.compiler import cache, target
from penstock.compiler.calls import Code
from support.fused import native_op

SOURCE = Path(penstock.__path__[0]).parent


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch, eager):
    """An empty cache."""
    monkeypatch.setenv("PENSTOCK_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def works() -> bool:
    """Compiles a kernel that this process does not know yet, and runs it."""
    Code._known.clear()
    return native_op("OnesLike", np.zeros(5, np.float32)).tolist() == [1.0] * 5


def test_second_time_from_disk(monkeypatch):
    assert works()
    assert len(cache.entries()) == 1
    monkeypatch.setattr(target, "_generate", lambda *_: pytest.fail("compiled again"))
    assert works()


@pytest.mark.parametrize("damage", [b"", b"garbage", None, "cut", "flip"])
def test_damaged_entries_are_rebuilt(damage, caplog):
    assert works()
    ((path, _),) = cache.entries()
    sound = path.read_bytes()
    if damage is None:
        path.unlink()
    else:
        path.write_bytes({"cut": sound[:-1], "flip": sound[:200] + bytes([sound[200] ^ 1]) + sound[201:]}.get(damage, damage))
    assert works()
    assert path.read_bytes() == sound
    assert damage is None or "damaged" in caplog.text


def test_entry_under_another_name_is_damaged(folder):
    cache.store("one", b"code")
    os.rename(folder / "one.kernel", folder / "two.kernel")
    assert cache.load("two") is None


def test_folder_that_cannot_be_used(folder):
    folder.parent.mkdir(exist_ok=True)
    folder.write_text("a file")
    assert works()
    assert cache.entries() == []


def test_oldest_go_first(folder):
    for index in range(10):
        cache.store(str(index), bytes(1000))
        os.utime(folder / f"{index}.kernel", (index, index))
    assert cache.load("0") is not None  # used now, so it is young
    cache.evict(limit=5500)
    assert sorted(path.stem for path, _ in cache.entries()) == ["0", "7", "8", "9"]


def test_where_it_is(monkeypatch, tmp_path):
    monkeypatch.delenv("PENSTOCK_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.folder() == tmp_path / "penstock"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # to be ignored, says the standard
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.folder() == tmp_path / ".cache" / "penstock"


def test_command(capsys, folder):
    cache.store("name", bytes(100))
    assert main(["cache"]) == 0
    shown = capsys.readouterr().out
    assert str(folder) in shown and "1 kernel" in shown
    assert main(["cache", "--clear"]) == 0
    assert "1" in capsys.readouterr().out
    assert cache.entries() == []


PROGRAM = """
import numpy as np
import penstock.ops
from penstock.graph.opdef import REGISTRY
from support.fused import native_op
for name in ("Square", "Relu", "Neg", "Abs", "Sqrt", "Relu6", "Floor", "Softsign"):
    x = np.arange(100, dtype=np.float32)
    np.testing.assert_array_equal(native_op(name, x), REGISTRY[name].kernel(x))
"""


def test_two_processes_at_once(folder):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(SOURCE), str(Path(__file__).parents[1])])}
    running = [subprocess.Popen([sys.executable, "-c", PROGRAM], env=env, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    for process in running:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    assert len(cache.entries()) == 9  # and the driver
    assert all(cache.load(path.stem) is not None for path, _ in cache.entries())
