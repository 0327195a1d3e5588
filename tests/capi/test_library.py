"""Programs in C against libpenstock: they were written for TensorFlow's C API, and some of them have run there."""
from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest

import penstock as tf
from capi.conftest import DEADLINE, HERE, ROOT, environment
from penstock.capi import library
from penstock.capi.declarations import declarations, defined_in_c, forwarded

PROGRAMS = HERE / "programs"
IRISES = ROOT / "src" / "penstock" / "datasets" / "iris.csv"


@pytest.mark.graph
def test_each_function_of_the_header_is_there():
    names = [each.name for each in declarations()]
    assert len(names) == len(set(names)) > 160
    assert library.missing() == []
    assert defined_in_c() <= set(names)
    assert len(forwarded()) + len(defined_in_c()) == len(names)


def test_the_library_exports_what_the_header_declares(installed):
    loaded = ctypes.PyDLL(str(installed / "lib" / "libtensorflow.so.1"))
    for each in declarations():
        assert hasattr(loaded, each.name)


@pytest.mark.parametrize("name", ["conformance", "rest", "bindings"])
def test_a_program_behaves_as_with_tensorflow(name, run_program):
    """Its output was recorded from TensorFlow 1.15.5: ``record_conformance.sh``."""
    printed = run_program(PROGRAMS / f"{name}.c", flags=("-ltensorflow",))
    assert printed == (PROGRAMS / f"{name}.txt").read_text()


def test_wrong_calls_give_a_status(run_program):
    printed = run_program(PROGRAMS / "abuse.c").splitlines()
    assert printed[0] == "tensors: 1 1 1 1" and printed[-1] == "survived"
    assert len(printed) > 45
    assert not [line for line in printed if line.endswith("ACCEPTED")]


def test_threads_run_one_session_and_ten_thousand_runs_leave_nothing_behind(run_program):
    assert "threads agree" in run_program(PROGRAMS / "threads.c", 10000, 8, PENSTOCK_COMPILE="background")


def test_the_example_learns(run_program):
    printed = run_program(ROOT / "examples" / "capi" / "softmax.c", IRISES, PENSTOCK_COMPILE="background")
    assert "step 0: loss 1.099" in printed and "irises are told right" in printed


def test_a_saved_model_is_served(run_program, tmp_path):
    with tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 3], "x")
        w = tf.Variable([[1.0], [10.0], [100.0]])
        y = tf.identity(tf.matmul(x, w), "y")
        session.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(session, str(tmp_path / "model"), {"x": x}, {"y": y})
    printed = run_program(PROGRAMS / "serve.c", tmp_path / "model", "x", "y")
    assert printed == "answer: type 1, [1, 1], 4 bytes: 321\nmeta graph 1\nagain: Graph is non-empty.\n"


def test_a_python_program_can_load_it(installed):
    """The interpreter that is there already is used."""
    text = f"""
import ctypes
library = ctypes.CDLL({str(installed / 'lib' / 'libpenstock.so')!r})
library.TF_NewGraph.restype = library.TF_GraphOperationByName.restype = ctypes.c_void_p
graph = ctypes.c_void_p(library.TF_NewGraph())
assert graph.value
assert library.TF_GraphOperationByName(graph, b"none") is None
library.TF_DeleteGraph(graph)
print("fine")
"""
    assert subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=DEADLINE, check=True,
                          env=environment()).stdout == "fine\n"


def test_without_python_there_is_a_status(run_program):
    printed = run_program(PROGRAMS / "serve.c", "folder", "x", "y", code=1, PENSTOCK_PYTHON="/nonexistent/python")
    assert "needs a Python with penstock" in printed and "PENSTOCK_PYTHON" in printed


def test_another_python_is_used_if_it_is_named(run_program, tmp_path):
    with tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 3], "x")
        tf.saved_model.simple_save(session, str(tmp_path / "model"), {"x": x}, {"y": tf.negative(x, "y")})
    printed = run_program(PROGRAMS / "serve.c", tmp_path / "model", "x", "y", PENSTOCK_PYTHON=sys.executable)
    assert "-1 -2 -3" in printed
