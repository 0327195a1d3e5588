"""The library, built once for all tests of a process, and programs that are compiled against it."""
from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from penstock.capi.build import build

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-Wno-unused-function"]
DEADLINE = 240


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    """The folder with ``include`` and ``lib``."""
    if shutil.which("gcc") is None:
        pytest.skip("there is no C compiler here")
    folder = tmp_path_factory.mktemp("capi")
    build(folder)
    return folder


def environment(**changes):
    return {**os.environ, "PYTHONPATH": str(ROOT / "src"), **changes}


@pytest.fixture
def run_program(installed, tmp_path):
    """Compiles a program in C or C++, with other flags if need be, and runs it; what it has printed."""
    def run(source, *arguments, flags=("-lpenstock",), code=0, **changes):
        source = Path(source)
        command = ["gcc", "-std=c11", "-D_GNU_SOURCE"] if source.suffix == ".c" else ["g++", "-std=c++17"]
        program = tmp_path / source.stem
        subprocess.run([*command, *WARNINGS, "-O1", f"-I{installed}/include", str(source), "-o", str(program), f"-L{installed}/lib", *flags,
                        f"-Wl,-rpath,{installed}/lib", "-lpthread", "-lm", "-ldl"], check=True, timeout=DEADLINE)
        finished = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=DEADLINE, check=False,
                                  env=environment(**changes))
        assert finished.returncode == code, finished.stdout + finished.stderr
        return finished.stdout
    return run
