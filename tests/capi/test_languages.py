"""Front ends in other languages over the C API: C++ and JavaScript."""
from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from capi.conftest import DEADLINE, HERE, ROOT, environment
from penstock.capi import cpp_ops
from penstock.graph.opdef import REGISTRY

EXAMPLES = ROOT / "examples" / "capi"
IRISES = ROOT / "src" / "penstock" / "datasets" / "iris.csv"
needs_cpp = pytest.mark.skipif(shutil.which("g++") is None, reason="there is no C++ compiler here")


@pytest.mark.graph
def test_nearly_every_operation_has_a_class():
    text, names = cpp_ops.header(), cpp_ops.names()
    assert re.findall(r"^class (\w+) \{$", text, flags=re.M) == names
    public = [name for name in REGISTRY if not name.startswith("_")]
    assert len(names) > 0.9 * len(public)


@needs_cpp
def test_the_front_end_in_cpp(run_program):
    assert run_program(HERE / "programs" / "client.cc") == "fine\n"


@needs_cpp
def test_the_example_in_cpp_learns(run_program):
    printed = run_program(EXAMPLES / "softmax.cc", IRISES)
    assert "irises are told right" in printed and "Dimensions must be equal, but are 3 and 4" in printed


def test_the_example_in_javascript_learns(installed):
    """koffi is found in the folder of the binding, or by $NODE_PATH."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no node here")
    if subprocess.run([node, "-e", "require('koffi')"], cwd=installed / "node", capture_output=True, timeout=DEADLINE, check=False).returncode:
        pytest.skip("node has no koffi here: npm install koffi, and NODE_PATH")
    finished = subprocess.run([node, EXAMPLES / "softmax.js", installed / "node", IRISES], capture_output=True, text=True, timeout=DEADLINE,
                              check=False, env=environment())
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert "irises are told right" in finished.stdout and "an error is an exception, with code 3" in finished.stdout
