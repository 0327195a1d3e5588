"""The kernels on disk: sound, shared, bounded."""
from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import penstock.ops
from penstock.cli.main import main
from penstock.graph import dtypes as dt
from penstock.graph.opdef import REGISTRY
from penstock.native.calls import Code
from penstock.native.machine import cache, sources, target
from penstock.native.machine.team import native_driver
from support.fused import Native, native_op, one_op

SOURCE = Path(penstock.__path__[0]).parent


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch, eager):
    """An empty cache. The driver, and what names the sources, which this process has by then, are not in it."""
    native_driver()
    sources.loaded.version()
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


def test_storing_leaves_random_numbers_of_the_program_alone(monkeypatch):
    monkeypatch.setattr(cache, "_room", {})
    random.seed(7)
    before = random.getstate()
    assert works()
    assert cache.entries()
    assert random.getstate() == before


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


@pytest.mark.parametrize("spoil", [lambda folder, file: folder.chmod(0o777), lambda folder, file: file.chmod(0o666),
                                   lambda folder, file: file.symlink_to(file.rename(folder / "elsewhere"))], ids=["folder", "file", "link"])
def test_what_others_could_have_written_does_not_run(folder, spoil, caplog):
    cache.store("kernel", b"code")
    file = folder / "kernel.kernel"
    assert cache.load("kernel") == b"code"
    spoil(folder, file)
    assert cache.load("kernel") is None and cache.load("kernel") is None
    assert caplog.text.count("are not used") == (0 if file.is_symlink() else 1)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("whose", ["folder", "file"])
def test_what_belongs_to_another_user_does_not_run(folder, whose, caplog):
    cache.store("kernel", b"code")
    os.chown(folder if whose == "folder" else folder / "kernel.kernel", 65534, 65534)
    assert cache.load("kernel") is None and "belongs to user 65534" in caplog.text
    if whose == "folder":
        cache.store("other", b"code")
        assert not (folder / "other.kernel").exists()


def test_oldest_go_first(folder):
    for index in range(10):
        cache.store(str(index), bytes(1000))
        os.utime(folder / f"{index}.kernel", (index, index))
    assert cache.load("0") is not None  # used now, so it is young
    cache.evict(limit=5500)
    assert sorted(path.stem for path, _ in cache.entries()) == ["0", "7", "8", "9"]


def total() -> int:
    return sum(status.st_size for _, status in cache.entries())


def test_bound_holds_for_kernels(monkeypatch):
    """Kernels that were compiled past the limit push out the oldest files, and those that lost theirs go on working."""
    x, made = np.arange(1, 101, dtype=np.float32), {}
    works()
    monkeypatch.setattr(cache, "LIMIT", 4 * total())
    cache._room.clear()
    for name in OPS:
        Code._known.clear()
        made[name] = Native(one_op(REGISTRY[name], {"T": dt.float32}, [dt.float32]), [x], x.shape)
        age = {path: status.st_mtime for path, status in cache.entries()}
        for place, path in enumerate(sorted(age, key=age.__getitem__)):  # files of the same tick are as old as they are in this order
            os.utime(path, (place + 1, place + 1))
        assert total() <= cache.LIMIT
    left = {path.stem for path, _ in cache.entries()}
    assert 0 < len(left) < len(OPS)
    for name, kernel in made.items():
        np.testing.assert_array_equal(kernel([x])[0], REGISTRY[name].kernel(x))
    compiled = []
    generate = target._generate
    monkeypatch.setattr(target, "_generate", lambda *given: compiled.append(1) or generate(*given))
    for name in reversed(OPS):
        Code._known.clear()
        np.testing.assert_array_equal(native_op(name, x), REGISTRY[name].kernel(x))
    assert len(compiled) == len(OPS) - len(left)  # the youngest were there, the oldest are made again


def test_many_files_are_not_looked_at_for_each_one(monkeypatch):
    random.seed(0)
    looks, entries = [], cache.entries
    monkeypatch.setattr(cache, "entries", lambda: looks.append(1) or entries())
    for index in range(100):
        cache.store(str(index), bytes(1000))
    assert len(looks) <= 1
    monkeypatch.setattr(cache, "LIMIT", 50_000)
    looks.clear()
    for process in range(50):
        cache._room.clear()
        for index in range(2):
            cache.store(f"{process}/{index}".replace("/", "-"), bytes(1000))
    assert 20 < len(looks) < 60  # one for every 3125 bytes
    assert sum(status.st_size for _, status in entries()) <= cache.LIMIT * (1 + 8 * cache._UNSEEN)


def test_where_it_is(monkeypatch, tmp_path):
    monkeypatch.delenv("PENSTOCK_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.folder() == tmp_path / "penstock"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # to be ignored, says the standard
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.folder() == tmp_path / ".cache" / "penstock"


def test_a_user_without_a_home(monkeypatch):
    """There is none in some containers: each process then compiles its kernels."""
    def nowhere(cls):
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("PENSTOCK_CACHE_DIR")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", classmethod(nowhere))
    assert works()
    assert cache.entries() == []
    with pytest.raises(FileNotFoundError, match="PENSTOCK_CACHE_DIR"):
        cache.folder()


def test_command(capsys, folder):
    cache.store("name", bytes(100))
    assert main(["cache"]) == 0
    shown = capsys.readouterr().out
    assert str(folder) in shown and "1 kernel" in shown
    assert main(["cache", "--clear"]) == 0
    assert "1" in capsys.readouterr().out
    assert cache.entries() == []


OPS = ["Square", "Relu", "Neg", "Abs", "Sqrt", "Relu6", "Floor", "Softsign"]
PROGRAM = f"""
import sys
import numpy as np
import penstock.ops
from penstock.native.machine import cache
from penstock.graph.opdef import REGISTRY
from support.fused import native_op
cache.LIMIT = int(sys.argv[1])
for name in {OPS}:
    x = np.arange(100, dtype=np.float32)
    np.testing.assert_array_equal(native_op(name, x), REGISTRY[name].kernel(x))
"""


def run_two(limit: int) -> None:
    """Two processes that compile the same kernels at the same time."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(SOURCE), str(Path(__file__).parents[2])])}
    running = [subprocess.Popen([sys.executable, "-c", PROGRAM, str(limit)], env=env, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    for process in running:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors


def test_two_processes_at_once():
    run_two(cache.LIMIT)
    assert len(cache.entries()) == 10  # and the driver, and what names the sources
    assert all(cache.load(path.stem) is not None for path, _ in cache.entries())


def test_two_processes_that_push_each_other_out():
    assert works()
    limit = 3 * total()
    run_two(limit)
    assert 0 < total() <= limit * (1 + 2 * cache._UNSEEN) and len(cache.entries()) < 9
    assert all(cache.load(path.stem) is not None for path, _ in cache.entries())
    assert works()
