"""Kernels on disk belong to the sources that made them, also while those are being replaced."""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import penstock
from penstock.native.machine.sources import LoadedSources

TESTS = Path(__file__).parents[2]


@pytest.fixture
def package(tmp_path):
    """A copy of what kernels are made by."""
    for folder in ("native", "ops", "graph", "codec"):
        shutil.copytree(Path(penstock.__path__[0]) / folder, tmp_path / "penstock" / folder, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "penstock"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PENSTOCK_CACHE_DIR", str(tmp_path / "cache"))


def sources(package: Path) -> LoadedSources:
    """As a process has them that starts now."""
    time.sleep(0.03)  # longer than a tick of the clock that stamps files
    return LoadedSources(str(package), time.time() - 0.01)


def test_other_sources_have_another_name(package, monkeypatch):
    """A package that differs in one file of the compiler makes kernels of its own."""
    before = sources(package).version()
    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", lambda path: pytest.fail("files that have not changed are read again"))
        patch.setattr("penstock.native.machine.cache.load", lambda name: before.encode())
        assert sources(package).version() == before
    changed = package / "native" / "calls.py"
    content, status = changed.read_bytes(), changed.stat()
    changed.write_bytes(content.replace(b"kernel", b"lenrek", 1))  # as long as it was,
    os.utime(changed, ns=(status.st_atime_ns, status.st_mtime_ns))  # and with its old time
    assert sources(package).version() not in (before, None)
    changed.write_bytes(content)
    assert sources(package).version() == before
    (package / "native" / "changed.py").write_text('"""Not in the other one."""')
    assert sources(package).version() not in (before, None)


@pytest.mark.parametrize("changed", ["native/calls.py", "ops/math/elementwise.py", "codec/csv.py"])
def test_files_that_change_before_the_first_kernel(package, changed):
    loaded = sources(package)
    (package / changed).write_text("another version")
    assert loaded.version() is None and not loaded.still("")
    assert sources(package).version() is not None


def test_files_that_change_later(package, monkeypatch):
    loaded = sources(package)
    version = loaded.version()
    assert loaded.still(version)
    (package / "native" / "calls.py").write_text("another version")
    assert loaded.still(version)  # as no module was loaded since
    monkeypatch.setitem(sys.modules, "penstock.native.loaded_now", penstock)
    assert not loaded.still(version)
    assert loaded.version() is None


UPGRADED = """
import sys
from pathlib import Path
import numpy as np
import penstock.ops
from penstock.native.machine import cache
from support.fused import native_op

calls = Path(penstock.ops.__file__).parents[1] / "native" / "calls.py"
if sys.argv[1:]:
    calls.write_text(calls.read_text() + "# of another version")
assert native_op("Square", np.full(5, 3, np.float32)).tolist() == [9] * 5
from penstock.codec import library
print(len(cache.entries()), library.functions("hashes") is not None)
"""


def test_a_process_whose_package_is_upgraded(package):
    """It goes on with kernels of its own, which no other process sees."""
    shutil.copytree(penstock.__path__[0], package, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(package.parent), str(TESTS)]), "PENSTOCK_COMPILE": "eager"}

    def run(*arguments: str) -> list[str]:
        command = [sys.executable, "-c", UPGRADED, *arguments]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout.split()

    assert run("upgrade")[1] == "False"
    before = int(run("upgrade")[0])
    kept, native = run()
    assert int(kept) > before and native == "True"
