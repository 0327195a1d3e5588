"""When a kernel is there: at once, later, never."""
from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import penstock.ops
from penstock.compiler import background
from penstock.compiler.background import Compiler
from penstock.compiler.config import config
from penstock.compiler.fusion_body import single
from penstock.compiler.native import NativeKernel
from penstock.graph import dtypes as dt
from penstock.graph.opdef import REGISTRY

SOURCE = Path(penstock.__path__[0]).parent
RELU = single(REGISTRY["Relu"], {"T": dt.float32}, [dt.float32])
LGAMMA = single(REGISTRY["Lgamma"], {"T": dt.float32}, [dt.float32])


@pytest.fixture(name="compiler")
def _compiler():
    compiler = Compiler()
    yield compiler
    compiler.close()


def test_eager_waits(compiler):
    kernel = compiler.kernel_for(RELU)
    assert isinstance(kernel, NativeKernel)
    assert compiler.kernel_for(RELU) is kernel


def test_background_gives_it_later(compiler, monkeypatch):
    monkeypatch.setattr(config, "mode", "background")
    assert compiler.kernel_for(RELU) is None
    assert compiler.wait(60)
    kernel = compiler.kernel_for(RELU)
    assert kernel is not None
    assert kernel([np.array([-1, 2], np.float32)], (2,))[0].tolist() == [0, 2]


def test_off_never(compiler, monkeypatch):
    compiler.kernel_for(RELU)
    monkeypatch.setattr(config, "mode", "off")
    assert compiler.kernel_for(RELU) is None


def test_reasons_are_kept(compiler, monkeypatch):
    monkeypatch.setattr(config, "mode", "background")
    assert compiler.kernel_for(LGAMMA) is None
    assert compiler.wait(60)
    assert compiler.kernel_for(LGAMMA) is None
    assert "lgamma" in compiler.reasons[LGAMMA.key()]


def test_a_bug_costs_speed_only(compiler, monkeypatch, caplog):
    def broken(body):
        raise ZeroDivisionError("broken")
    monkeypatch.setattr(background, "compile", broken)
    monkeypatch.setattr(config, "mode", "background")
    assert compiler.kernel_for(RELU) is None
    assert compiler.wait(60)
    assert compiler.kernel_for(RELU) is None
    assert "ZeroDivisionError" in compiler.reasons[RELU.key()]


def test_many_threads_ask(compiler, monkeypatch):
    monkeypatch.setattr(config, "mode", "background")
    threads = [threading.Thread(target=compiler.kernel_for, args=(RELU,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert compiler.wait(60)
    assert compiler.kernel_for(RELU) is not None


def test_threads_share_a_kernel(compiler):
    kernel = compiler.kernel_for(RELU)
    x = np.linspace(-1, 1, 300_000, dtype=np.float32)
    wrong: list[int] = []

    def work(index: int) -> None:
        for _ in range(10):
            if not np.array_equal(kernel([x + index], x.shape)[0], np.maximum(x + index, 0)):
                wrong.append(index)
    threads = [threading.Thread(target=work, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


PROGRAM = """
import os, sys
import numpy as np
import penstock.ops
from penstock.compiler.background import kernel_for, compiler
from penstock.compiler.fusion_body import single
from penstock.graph import dtypes as dt
from penstock.graph.opdef import REGISTRY
bodies = [single(REGISTRY[name], {"T": dt.float32}, [dt.float32]) for name in ("Tanh", "Erf", "Sin", "Softplus", "Selu")]
assert all(kernel_for(body) is None for body in bodies)
if sys.argv[1] == "fork":
    child = os.fork()
    if child:
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    kernel_for(bodies[0])
    assert compiler.wait(60) and kernel_for(bodies[0]) is not None
    os._exit(0)
"""


@pytest.mark.parametrize("how", ["exit", "fork"])
def test_programs_end_well(how, tmp_path):
    """At the end of a program, and of a forked one, while a kernel is being compiled."""
    env = {**os.environ, "PYTHONPATH": str(SOURCE), "PENSTOCK_CACHE_DIR": str(tmp_path), "PENSTOCK_COMPILE": "background"}
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", PROGRAM, how], env=env, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")


def test_bad_settings_are_named(tmp_path):
    env = {**os.environ, "PYTHONPATH": str(SOURCE), "PENSTOCK_COMPILE": "always"}
    done = subprocess.run([sys.executable, "-c", "import penstock.compiler.config"], env=env, capture_output=True, text=True, timeout=120)
    assert "PENSTOCK_COMPILE=always" in done.stderr
